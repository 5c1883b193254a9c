"""Schemathesis over the whole OpenAPI document: more examples than the tests take, and sequences of calls."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import httpx2
from tests.mcp.conftest import DEADLINE
from tests.rest.test_fuzzing import bounded

from judges.installed import run
from judges.report import Finding, Report
from judges.served import served

ROOT = Path(__file__).parents[1]
EXAMPLES, SEED = 50, 7
# A stream of events never ends, and no schema tells what a file to import holds.
ELSEWHERE = ("/api/v1/events", "/api/v1/import")
_COUNTED = re.compile(r"(\d+) generated")


def judge(folder: Path) -> Report:
    with served(folder / "http") as server:
        document = httpx2.get(f"{server.url}/api/v1/openapi.json", timeout=DEADLINE).json()
        (folder / "openapi.json").write_text(json.dumps(bounded(document)), encoding="utf-8")
        key = f'[auth.openapi]\nbearer = {{ bearer = "{server.key}" }}\n'
        (folder / "settings.toml").write_text(key, encoding="utf-8")
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(folder / "settings.toml")),
            *("run", str(folder / "openapi.json"), "--url", server.url, "--seed", str(SEED), "--no-color"),
            *("--max-examples", str(EXAMPLES), "--phases", "examples,coverage,fuzzing,stateful"),
            *("--generation-database", "none", "--generation-codec", "iso-8859-1", "--request-timeout", "30"),
            *("--report", "junit", "--report-junit-path", str(folder / "junit.xml"), "--continue-on-failure"),
            *("--exclude-checks", "ignored_auth"),
            *(word for path in ELSEWHERE for word in ("--exclude-path", path)),
        ]
        hooks = {"SCHEMATHESIS_HOOKS": "tests.rest.fuzzing_hooks", "PYTHONPATH": str(ROOT)}
        done = run(command, folder / "home", hooks)
    counted = _COUNTED.search(done.stdout)
    findings = _failures(folder / "junit.xml")
    if counted is None or (done.returncode and not findings):
        findings = [Finding("http", "run", (done.stdout + done.stderr)[-1500:])]
    version = importlib.metadata.version("schemathesis")
    return Report("schemathesis", version, int(counted[1]) if counted else 0, tuple(findings))


def _failures(path: Path) -> list[Finding]:
    if not path.is_file():
        return []
    cases = ET.parse(path).getroot().iter("testcase")
    return [
        Finding("http", case.get("name", ""), failure.get("message") or failure.text or "")
        for case in cases
        for failure in [*case.iter("failure"), *case.iter("error")]
    ]
