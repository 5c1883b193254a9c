"""Cisco's scanner of MCP servers, with what it has offline: rules over all that a model reads, and the door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from judges.installed import program, run, version
from judges.report import Finding, Report
from judges.served import open_to_all, remembered, served, stdio

NAME = "cisco-ai-mcp-scanner"


def judge(folder: Path) -> Report:
    with remembered(folder / "stdio"):
        pass
    command, *arguments = stdio(folder / "stdio")
    words = ["--stdio-command", command, *(f"--stdio-arg={word}" for word in arguments)]
    checks, findings = _scan("stdio tools", "yara,schema,readiness", ["stdio", *words], folder)
    with served(folder / "http") as server, open_to_all(server) as url:
        # Strangers come to the door; the rest is said to those with a key.
        looks = dict.fromkeys(("remote", "prompts", "instructions"), url) | {"protocol": f"{server.url}/mcp"}
        for kind, address in looks.items():
            counted, found = _scan(f"http {kind}", "yara,schema", [kind, "--server-url", address], folder)
            checks += counted
            findings += found
    return Report("mcp-scanner", version(NAME), checks, tuple(findings))


def _scan(where: str, analyzers: str, request: list[str], folder: Path) -> tuple[int, list[Finding]]:
    command = [program("mcp-scanner"), "--analyzers", analyzers, "--raw", "--log-level", "error", *request]
    # Its price list of models is fetched at start, unless told that the one it has will do.
    done = run(command, folder / "home", {"LITELLM_LOCAL_MODEL_COST_MAP": "True"})
    begin = min((place for place in map(done.stdout.find, "[{") if place >= 0), default=0)
    try:
        output = json.loads(done.stdout[begin:])
    except ValueError:
        return 0, [Finding(where, "run", (done.stdout + done.stderr)[-500:])]
    if isinstance(output, dict):
        # The door: one answer for a handful of checks.
        found = [Finding(where, one["details"]["check_id"], one["summary"]) for one in output["findings"]]
        return max(1, len(found)), found
    return sum(len(one["findings"]) or 1 for one in output), [one for item in output for one in _of(where, item)]


def _of(where: str, item: dict[str, Any]) -> list[Finding]:
    name = item.get("tool_name") or item.get("prompt_name") or item.get("server_name") or ""
    output = item["findings"]
    if isinstance(output, dict):
        return [
            Finding(where, f"{analyzer}:{name}", one["threat_summary"])
            for analyzer, one in output.items()
            if one["severity"] != "SAFE"
        ]
    return [Finding(where, f"{one['analyzer']}:{name}", one["summary"]) for one in output]
