"""One-shot commands start fast: nothing heavy is imported that the command does not use."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from commonplace.cli.main import COMMANDS

from .conftest import Run

HEAVY = {
    *("rich", "mcp", "mcp_types", "numpy", "starlette", "uvicorn", "anyio", "pydantic", "httpx", "httpx2"),
    *("onnxruntime", "tokenizers", "asyncio", "jsonschema", "importlib.metadata", "tomlkit"),
}
SCRIPT = """
import sys
from commonplace.cli.main import run
code = run(sys.argv[1:])
import json
print(json.dumps({"code": code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""


def modules_of(*arguments: str, stdin: bytes = b"") -> set[str]:
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, env=os.environ, timeout=60, check=True)
    output = json.loads(done.stderr.decode().splitlines()[-1])
    assert output["code"] == 0, done
    return set(output["modules"])


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_the_overview_imports_no_command(arguments: tuple[str, ...]) -> None:
    loaded = modules_of(*arguments)
    ours = {f"commonplace.cli.{where.partition(':')[0]}" for _name, where, _what in COMMANDS}
    assert not loaded & (ours | HEAVY | {"apsw", "commonplace.memory", "commonplace.store"})


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--json",),
        ("add", "Something new"),
        ("add", "Something new", "--json"),
        ("list", "--json"),
        ("list",),
        ("show", "1", "--json"),
        ("status", "--json"),
        ("search", "thing", "--json"),
        ("context", "p", "--json"),
        ("timeline", "1", "--json"),
        ("edit", "1", "--title", "New", "--json"),
        ("forget", "1", "--json"),
        ("restore", "1", "--json"),
        ("history", "1", "--json"),
        ("projects", "--json"),
        ("rules", "--json"),
        ("streams", "--json"),
        ("topics", "--json"),
        ("conversations", "add", "More", "--json"),
        ("conversations",),
        ("conversations", "show", "1"),
        ("conversations", "archive", "1", "--json"),
        ("conversations", "folders"),
        ("ingest", "--json"),
        ("sessions", "--json"),
        (
            "sessions",
            "show",
        ),
        ("recall", "thing", "--min-score", "0", "--json"),
        ("explain", "thing", "--json"),
        ("export", "--all"),
        ("conversations", "prune", "--json"),
        (
            "conversations",
            "stats",
        ),
        ("report",),
        ("overview", "p"),
        ("overview", "--all", "--json"),
        ("doctor", "spool", "store", "--json"),
        ("connect", "cursor", "kiro", "--json"),
        ("disconnect", "--json"),
        ("keys", "--json"),
        ("keys", "create", "laptop", "--json"),
    ],
    ids=lambda arguments: " ".join(arguments) or "alone",
)
def test_a_command_imports_only_what_it_uses(run: Run, arguments: tuple[str, ...]) -> None:
    run("add", "Some thing", "--project", "p")
    run("conversations", "add", "Talk", stdin="User: Hello\nAI: Hi\n")
    loaded = modules_of(*arguments, stdin=b"User: What else?\nAI: Nothing\n")
    assert not loaded & HEAVY
    ours = {f"commonplace.cli.{where.partition(':')[0]}" for name, where, _what in COMMANDS if (name,) != arguments[:1]}
    mine = {f"commonplace.cli.{where.partition(':')[0]}" for name, where, _what in COMMANDS if (name,) == arguments[:1]}
    assert not loaded & (ours - mine)


def test_status_and_add_do_not_load_the_model() -> None:
    os_env = {**os.environ, "COMMONPLACE_EMBEDDER": "builtin"}
    for arguments in (("add", "x"), ("status", "--json"), ("list", "--json")):
        command = [sys.executable, "-c", SCRIPT, *arguments]
        done = subprocess.run(command, capture_output=True, env=os_env, timeout=60, check=True)
        output = json.loads(done.stderr.decode().splitlines()[-1])
        assert output["code"] == 0 and not {"onnxruntime", "tokenizers", "numpy"} & set(output["modules"])
