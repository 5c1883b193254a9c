"""The inspector of the protocol's authors, a client that others wrote: lists, calls and reads, in both eras."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judges.installed import run, script, version
from judges.report import Finding, Report
from judges.served import open_to_all, remembered, served, stdio

PACKAGE = "@modelcontextprotocol/inspector"
ERAS = ("legacy", "modern")
TOOL_ERROR = 5


@dataclass(frozen=True, slots=True)
class Step:
    """What the inspector is told to do, how it should end, and what its answer should hold."""

    name: str
    arguments: tuple[str, ...]
    holds: Callable[[dict[str, Any]], object]
    code: int = 0


def _call(tool: str, holds: Callable[[dict[str, Any]], object], code: int = 0, **arguments: object) -> Step:
    words = ("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
    return Step(f"{tool}{'' if code == 0 else ' with a wrong argument'}", words, holds, code)


def _output_of(answer: dict[str, Any]) -> dict[str, Any]:
    return dict(answer["structuredContent"])


STEPS = (
    # Strict: a schema that not every host understands is a failure, too.
    Step("tools/list", ("--method", "tools/list", "--strict"), lambda answer: len(answer["tools"]) == 25),
    Step("resources/list", ("--method", "resources/list"), lambda answer: len(answer["resources"]) > 1),
    Step(
        "resources/templates/list",
        ("--method", "resources/templates/list"),
        lambda answer: len(answer["resourceTemplates"]) == 5,
    ),
    Step(
        "resources/read",
        ("--method", "resources/read", "--uri", "memory://rules"),
        lambda answer: "text" in answer["contents"][0],
    ),
    Step("prompts/list", ("--method", "prompts/list"), lambda answer: len(answer["prompts"]) == 3),
    Step(
        "prompts/get",
        ("--method", "prompts/get", "--prompt-name", "start_task", "--prompt-args", "project=notes"),
        lambda answer: answer["messages"],
    ),
    _call("add_memory", lambda answer: _output_of(answer)["id"], content="The inspector was here.", type="fact"),
    _call("search", lambda answer: _output_of(answer)["observations"], query="webhook retries"),
    _call("get_context", lambda answer: answer["content"], query="webhooks"),
    _call("recall", lambda answer: answer["content"], query="webhook retries"),
    _call("memory_stats", _output_of),
    _call("search", lambda answer: "'quer'" in json.dumps(answer), TOOL_ERROR, quer="webhooks"),
)


def judge(folder: Path) -> Report:
    findings: list[Finding] = []
    with remembered(folder / "stdio"):
        pass
    with served(folder / "http") as server, open_to_all(server) as url:
        ways = {"stdio": stdio(folder / "stdio"), "http": [url]}
        for way, target in ways.items():
            for era in ERAS:
                for step in STEPS:
                    findings += _run(way, target, era, step, folder / "home")
    return Report("inspector", version(PACKAGE), len(ways) * len(ERAS) * len(STEPS), tuple(findings))


def _run(way: str, target: list[str], era: str, step: Step, home: Path) -> list[Finding]:
    request = ["--cli", "--transport", way, "--protocol-era", era, "--format", "json", *step.arguments, "--", *target]
    done = run([*script(PACKAGE), *request], home, {"MCP_INSPECTOR_SECRET_STORE": "memory"})
    try:
        good = done.returncode == step.code and step.holds(json.loads(done.stdout)["result"])
    except (ValueError, LookupError, TypeError):
        good = False
    return [] if good else [Finding(f"{way} {era}", step.name, f"{done.returncode}: {done.stdout}{done.stderr}"[:500])]
