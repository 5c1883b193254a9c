"""mcp-fuzzer: malformed and hostile calls of every tool and every message of the protocol, over stdio and HTTP.

It calls every success a finding, since it meant to be refused. Over HTTP we listen: what was accepted must be what the
schema of the tool allows.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.mcp.conftest import DEADLINE, Served

from judges.installed import program, run, version
from judges.report import Finding, Report
from judges.served import open_to_all, remembered, served, stdio

NAME = "mcp-fuzzer"
RUNS, RUNS_PER_TYPE, SEED = 20, 10, 1
_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Listener:
    """Hears what was asked and answered over HTTP."""

    exchanges: list[tuple[Any, Any]] = field(default_factory=list)

    def keep(self, request: bytes, answered: bytes) -> None:
        try:
            pair = json.loads(request.partition(_HEAD)[2]), json.loads(answered.partition(_HEAD)[2])
        except ValueError:
            return
        self.exchanges.append(pair)

    def accepted(self) -> Iterator[tuple[str, Any]]:
        """Every tool that answered, and what it was given."""
        for request, answered in self.exchanges:
            if isinstance(request, dict) and request.get("method") == "tools/call" and isinstance(answered, dict):
                result = answered.get("result")
                if isinstance(result, dict) and not result.get("isError"):
                    yield request["params"]["name"], request["params"].get("arguments") or {}


def judge(folder: Path) -> Report:
    with remembered(folder / "stdio"):
        pass
    command = shlex.join(stdio(folder / "stdio"))
    checks, findings = _run("stdio", "stdio", command, folder)
    listener = Listener()
    with served(folder / "http") as server, open_to_all(server, listener.keep) as url:
        counted, found = _run("http", "streamablehttp", url, folder)
        allowed = _schemas(server)
    accepted = list(listener.accepted())
    for tool, arguments in accepted:
        # Null means omitted, which no schema says, so that every converter can read it.
        given = {name: value for name, value in arguments.items() if value is not None}
        for error in Draft202012Validator(allowed[tool]).iter_errors(given):
            found.append(Finding("http", f"accepted against its schema:{tool}", error.message))
    return Report(NAME, version(NAME), checks + counted + len(accepted), tuple(findings + found))


def _run(where: str, protocol: str, endpoint: str, folder: Path) -> tuple[int, list[Finding]]:
    results = folder / f"{where}-results"
    request = [
        *("--mode", "all", "--phase", "both", "--protocol-phase", "aggressive", "--seed", str(SEED)),
        *("--runs", str(RUNS), "--runs-per-type", str(RUNS_PER_TYPE), "--security-audit", "--no-corpus"),
        *("--no-network", "--fs-root", str(folder / "fuzzer-files"), "--output-dir", str(results)),
        *("--protocol", protocol, "--endpoint", endpoint),
    ]
    if where == "http":
        request += ["--security-audit-intrusive", "--allow-host", "127.0.0.1"]
    done = run([program(NAME), *request], folder / "home")
    try:
        summary = json.loads((results / "run_summary.json").read_text(encoding="utf-8"))
        output = json.loads((results / "findings.json").read_text(encoding="utf-8"))["findings"]
    except OSError:
        return 0, [Finding(where, "run", (done.stdout + done.stderr)[-500:])]
    tools = summary["tools"]["by_name"]
    found = [Finding(where, f"{one['category']}:{one['target']}", one["detail"]) for one in output]
    found += [
        Finding(where, f"{outcome}:{tool}", f"{one['outcomes'][outcome]} times")
        for tool, one in tools.items()
        for outcome in ("crashed", "anomaly")
        if one["outcomes"][outcome]
    ]
    return sum(one["total_runs"] for one in tools.values()) + summary["protocols"]["total_runs"], found


def _schemas(server: Served) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {**server.headers, "accept": "application/json, text/event-stream"}
    listed = httpx2.post(f"{server.url}/mcp", json=body, headers=headers, timeout=DEADLINE).json()["result"]["tools"]
    # Unknown arguments are refused, though the schemas do not say that either.
    return {tool["name"]: {**tool["inputSchema"], "additionalProperties": False} for tool in listed}
