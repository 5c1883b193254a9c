"""The tutorial is true: its commands run, and a reader sees what it says one sees, the agent's part included."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

PAGE = Path(__file__).parents[2] / "docs" / "start" / "tutorial.md"
SECTIONS = re.split(r"^## (?=\d)", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
SESSION_ENDS = {"hook_event_name": "SessionEnd", "reason": "exit"}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo terminal")


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def quotes(section: str) -> list[str]:
    """What is said to the agent and by it, as text."""
    found = re.findall(r"(?:^>.*\n)+", section, re.MULTILINE)
    return [re.sub(r"^> ?", "", quote, flags=re.MULTILINE).strip() for quote in found]


def as_pattern(word: str) -> str:
    """A word of the page: `…` stands for anything; what depends on ranking or on a busy machine may differ."""
    depends = {"now": r"(?:now|\d+ \w+ ago)", "ok": "(?:ok|remark)"}
    if re.fullmatch(r"\d+%", word):
        return r"\d+%"
    return depends.get(word, r"\S*".join(re.escape(part) for part in word.split("…")))


def shows(output: str, line: str) -> bool:
    """Whether a line of the page is in an output: its words, in this order."""
    parts = [as_pattern(word) for word in line.split()]
    words = r"\s+".join(parts).replace(r"\s+\S*\s+", r"\s+(?:\S+\s+)*?")
    return any(re.search(words, one) for one in output.splitlines())


def commands(section: str) -> list[tuple[str, list[str]]]:
    """Each command of the section with the lines that the page shows of its output."""
    found = []
    for block in blocks(section, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = part.splitlines()
            found.append((line, shown))
    return found


def test_the_tutorial_shows_what_one_sees(
    folder: Path, spawn_in_terminal: Run, spawn: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "builtin")
    project = folder / "my-api"
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    monkeypatch.chdir(project)
    (Path.home() / ".claude").mkdir(exist_ok=True)
    _install, remember, connect, work, again, *_rest = SECTIONS
    for section in (remember, connect):
        run_commands(section, spawn_in_terminal)

    def tell(event: dict[str, Any]) -> str:
        told = {"session_id": "first", "cwd": str(project), **event}
        done = spawn("hook", "claude-code", event["hook_event_name"], stdin=json.dumps(told))
        assert done.code == 0, done
        return done.out

    def start(session: str) -> str:
        reply = tell({"hook_event_name": "SessionStart", "source": "startup", "session_id": session})
        return str(json.loads(reply)["hookSpecificOutput"]["additionalContext"])

    shown_at_start(start("first"), work)
    prompt, answer = quotes(work)
    tell({"hook_event_name": "UserPromptSubmit", "prompt": " ".join(prompt.split())})
    edit = {"file_path": str(project / "src" / "login.py"), "old_string": "a", "new_string": "b"}
    tell({"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": edit, "tool_response": {}})
    tell({"hook_event_name": "Stop", "last_assistant_message": answer})
    tell(SESSION_ENDS)
    assert spawn("drain").code == 0
    shown_at_start(start("second"), again)
    run_commands(again, spawn_in_terminal)


def run_commands(section: str, terminal: Run) -> None:
    given = commands(section)
    assert given
    for line, shown in given:
        program, *arguments = shlex.split(line)
        assert program == "commonplace"
        done = terminal(*arguments, typed="a" if arguments == ["review"] else "")
        assert done.code == 0, f"{line}: {done.out}"
        seen = re.sub(r"\x1b\[[\d;]*m", "", done.out)
        assert [one for one in shown if not shows(seen, one)] == [], seen


def shown_at_start(context: str, section: str) -> None:
    (block,) = blocks(section, "text")
    assert [line for line in block.splitlines() if not shows(context, line)] == [], context


def test_a_line_that_is_not_there_is_noticed() -> None:
    output = "Remembered memory 1 (ead5d125d2b6) in my-api\n 1 decision Sessions last\n when 3 s ago 93%\n"
    assert shows(output, "Remembered memory 1 (…) in my-api") and shows(output, " 1  decision  Sess… …")
    assert shows(output, "when now 77%")
    assert not shows(output, "Remembered memory 2 (…) in my-api") and not shows(output, "decision 1")
