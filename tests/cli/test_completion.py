"""Tab completes commands, options, projects, types and ids, in real shells, quickly and without harm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.system_packages import program

from commonplace.cli.completion import SHELLS, completion_script
from commonplace.config import Settings

from .conftest import Outcome, Run
from .test_lightness import HEAVY

SCRIPT = """
import sys, json
from commonplace.cli.main import run
try:
    run([])
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def complete(*words: str) -> dict[str, str]:
    """What Tab offers after these words, the last of which is incomplete, each with what is said about it."""
    done = press_tab(*words)
    assert done.code == 0, done
    rows = [line.split("\t") for line in done.out.splitlines() if line]
    return {value: about for _kind, value, about in rows}


def press_tab(*words: str, shell: str = "powershell") -> Outcome:
    line = "\n".join(("commonplace", *words))
    env = {**os.environ, "_COMMONPLACE_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_INCOMPLETE": words[-1]}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, env=env, timeout=60, text=True)
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def filled(run: Run) -> None:
    run("add", "Sessions live in Redis", "-t", "decision", "-p", "github.com/acme/shop-api")
    run("add", "Never log request bodies", "-t", "guideline", "-p", "github.com/acme/shop-web")
    run("conversations", "add", "Brand colours", stdin="User: Which blue?\nAI: Navy.\n")


@pytest.mark.usefixtures("filled")
def test_commands_options_and_stored_values_are_offered() -> None:
    assert complete("con") == {
        "context": "Show what to know before working on a project.",
        "contradictions": "Find statements that contradict each other, and settle them.",
        "conversations": "List, read, add, move, archive and count conversations.",
        "connect": "Connect your editors and agents to this memory.",
    }
    assert {"show", "add", "prune"} <= set(complete("conversations", ""))
    assert {"--project", "--type"} <= set(complete("list", "--"))
    assert complete("list", "-p", "") == {
        "shop-web": "github.com/acme/shop-web, 1 items",
        "shop-api": "github.com/acme/shop-api, 1 items",
    }
    assert list(complete("context", "shop-a")) == ["shop-api"]
    assert list(complete("search", "x", "--project", "github.com/acme/shop-a")) == ["github.com/acme/shop-api"]
    assert set(complete("list", "-t", "g")) == {"guideline"} and "decision" in complete("add", "x", "--type", "dec")
    assert complete("show", "")["1"] == "decision: Sessions live in Redis"
    assert set(complete("connect", "c")) == {"claude-code", "claude-desktop", "cursor", "cline", "codex"}
    assert list(complete("conversations", "show", "").values()) == ["Brand colours"]
    assert list(complete("completion", "b")) == ["bash"]
    assert {"--kind", "-k"} & set(complete("add", "--k"))


@pytest.mark.usefixtures("filled")
def test_old_names_and_wrong_words_print_nothing_on_the_way() -> None:
    for words in (("store", "Talk", "--fo"), ("nosuch", ""), ("conversations", "nosuch", ""), ("repair", "--")):
        done = press_tab(*words)
        assert done.code == 0 and "old name" not in done.err + done.out
    assert "--folder" in press_tab("store", "Talk", "--fo").out


@pytest.mark.no_store
def test_nothing_is_created_where_there_is_no_store(settings: Settings) -> None:
    assert complete("list", "-p", "") == {} and complete("show", "") == {}
    assert "decision" in complete("list", "-t", "")
    assert not settings.database.exists()


def test_a_store_that_cannot_be_read_offers_nothing(settings: Settings) -> None:
    settings.database.write_bytes(b"not a database at all" * 1000)
    assert complete("list", "-p", "") == {}


@pytest.mark.usefixtures("filled")
def test_it_loads_nothing_heavy() -> None:
    for words in (("con",), ("list", "-p", ""), ("show", "")):
        loaded = set(json.loads(press_tab(*words).err.splitlines()[-1]))
        assert not loaded & HEAVY
        if words == ("con",):
            assert not {"apsw", "commonplace.cli.search_and_context", "commonplace.memory.local_memory"} & loaded


@pytest.mark.parametrize("shell", [*SHELLS])
def test_each_shell_has_its_script(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0 and f"{shell}_complete" in done.out and "commonplace" in done.out
    assert f"commonplace completion {shell}" in done.err
    assert run("completion", shell, "--json").data == {"shell": shell, "script": completion_script(shell)}


def test_the_shell_in_use_is_the_default(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert run("completion").out.startswith("#compdef commonplace")
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    monkeypatch.delenv("PSModulePath", raising=False)
    done = run("completion")
    assert done.code == 2 and "Name your shell: bash, zsh, fish, powershell." in done.err


def program_on_path(folder: Path) -> str:
    """A PATH with a `commonplace` that runs this one."""
    program = folder / "bin" / "commonplace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m commonplace "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash")
@pytest.mark.usefixtures("filled")
def test_bash_completes(folder: Path) -> None:
    script = (
        'eval "$(commonplace completion bash 2>/dev/null)"; '
        'try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=();'
        ' _commonplace_completion commonplace; echo "${COMPREPLY[@]}"; }; '
        "try commonplace rec; try commonplace list -p shop-a; try commonplace sh"
    )
    env = {**os.environ, "PATH": program_on_path(folder)}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, timeout=60)
    assert done.stdout.split() == ["recall", "shop-api", "show", "shown"], done


@pytest.mark.usefixtures("filled")
def test_fish_completes(folder: Path) -> None:
    if program("fish") is None:
        pytest.skip("fish is not here, and cannot be installed")
    script = "commonplace completion fish 2>/dev/null | source; complete -C 'commonplace list -p shop-a'"
    env = {**os.environ, "PATH": program_on_path(folder)}
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, env=env, timeout=60)
    assert done.stdout.split("\t")[0] == "shop-api", done
