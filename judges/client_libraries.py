"""Client libraries that are too large for the suite, or need another SDK: each converts and calls our tools.

The suite has the others (tests/mcp/test_client_libraries.py); what each does is in library_client.py.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.mcp.conftest import Served

from judges.installed import HERE, python, run, version
from judges.report import Finding, Report
from judges.served import remembered, served, stdio

SCRIPT = HERE / "library_client.py"
# By the name of the package: where it is installed.
LIBRARIES = (
    ("llama-index-tools-mcp", "python"),
    ("langchain-mcp-adapters", "mcp1"),
    ("google-genai", "mcp1"),
)


def judge(folder: Path) -> Report:
    checks, findings = 0, list[Finding]()
    with remembered(folder / "stdio"):
        pass
    with served(folder / "http") as server:
        for library, environment in LIBRARIES:
            for way, where in _ways(folder, server).items():
                counted, found = _run(library, environment, way, where, folder / "home")
                checks, findings = checks + counted, findings + found
    versions = ", ".join(f"{library} {version(library, environment)}" for library, environment in LIBRARIES)
    return Report("client-libraries", versions, checks, tuple(findings))


def _ways(folder: Path, server: Served) -> dict[str, list[str]]:
    return {"stdio": stdio(folder / "stdio"), "http": [f"{server.url}/mcp", server.key]}


def _run(library: str, environment: str, way: str, where: list[str], home: Path) -> tuple[int, list[Finding]]:
    """How many tools were converted and called, and what went wrong."""
    done = run([python(environment), str(SCRIPT), library, f"--{way}", *where], home)
    try:
        output = json.loads(done.stdout)
    except ValueError:
        return 1, [Finding(way, library, f"{done.returncode}: {done.stdout}{done.stderr}"[-500:])]
    return output["tools"] + output["calls"], [Finding(way, library, failure) for failure in output["failures"]]
