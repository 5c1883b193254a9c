"""The conformance suite of the protocol, in both eras: on the product, and with its fixtures on the product's stack."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.rest.conftest import settings_in

from judges.fixture_app import fixture_site
from judges.installed import run, script, version
from judges.key_proxy import introduced
from judges.report import Finding, Report
from judges.served import open_to_all, served

PACKAGE = "@modelcontextprotocol/conformance"
REVISIONS = ("2026-07-28", "2025-11-25")
SCENARIO_MS = 15_000
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
_GOOD, _UNSAID = "SUCCESS", ("INFO", "SKIPPED")


def judge(folder: Path) -> Report:
    checks, findings = 0, []
    with (
        served(folder / "product") as server,
        open_to_all(server) as product,
        fixture_site(settings_in(folder / "fixtures")) as (port, key),
        introduced(port, key) as fixtures,
    ):
        for where, url in (("product", product), ("fixtures", f"{fixtures}/mcp")):
            for revision in REVISIONS:
                counted, found = _run(url, revision, f"{where} {revision}", folder / where)
                checks += counted
                findings += found
    return Report("conformance", version(PACKAGE), checks, tuple(findings))


def _run(url: str, revision: str, where: str, folder: Path) -> tuple[int, list[Finding]]:
    results = folder / revision
    request = ["server", "--url", url, "--requirements", revision, "--timeout", str(SCENARIO_MS), "-o", str(results)]
    done = run([*script(PACKAGE), *request], folder / "home")
    if not results.is_dir():
        return 0, [Finding(where, "run", (done.stdout + done.stderr)[-500:])]
    checks, findings = 0, []
    for scenario in sorted(results.iterdir()):
        name = _STAMP.sub("", scenario.name).removeprefix("server-")
        for check in json.loads((scenario / "checks.json").read_text(encoding="utf-8")):
            if check["status"] in _UNSAID:
                continue
            checks += 1
            if check["status"] != _GOOD:
                text = check.get("errorMessage") or check.get("description") or check["status"]
                findings.append(Finding(where, f"{name}:{check['id']}", text))
    return checks, findings
