"""Sekha's own packages, its Python SDK and its bridge to agents, with our server in place of its controller."""

from __future__ import annotations

import json
from pathlib import Path

from judges.installed import HERE, python, run, version
from judges.report import Finding, Report
from judges.served import served

SCRIPT = HERE / "sekha_client.py"
# Its bridge to agents needs the first major version of the protocol's SDK.
ENVIRONMENT = "mcp1"
PACKAGES = ("sekha-python-sdk", "sekha-mcp")


def judge(folder: Path) -> Report:
    checks, findings = 0, list[Finding]()
    with served(folder / "http") as server:
        for package in PACKAGES:
            done = run([python(ENVIRONMENT), str(SCRIPT), package, server.url, server.key], folder / "home")
            try:
                output = json.loads(done.stdout)
            except ValueError:
                output = {"checks": 1, "failures": [f"{done.returncode}: {done.stdout}{done.stderr}"[-500:]]}
            checks += output["checks"]
            findings += [Finding(package, failure.split()[0], failure) for failure in output["failures"]]
    return Report(
        "sekha", ", ".join(f"{name} {version(name, ENVIRONMENT)}" for name in PACKAGES), checks, tuple(findings)
    )
