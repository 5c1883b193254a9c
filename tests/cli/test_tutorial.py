"""The tutorial and the README are true: their commands run and show what they say, the agent's part included."""

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
README = PAGE.parents[2] / "README.md"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo terminal")


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def quotes(section: str) -> list[str]:
    """What is said to the agent and by it, as text."""
    found = re.findall(r"(?:^>.*\n)+", section, re.MULTILINE)
    return [re.sub(r"^> ?", "", quote, flags=re.MULTILINE).strip() for quote in found]


# Words of a page that stand for others of their kind: times, how busy the machine is, relevance, ids and dates.
FREE = {
    "now": r"(?:now|\d+ \w+ ago)",
    "ok": "(?:ok|remark)",
    r"\d+%": r"\d+%",
    r"\([\da-f]{12}\)": r"\([\da-f]{12}\)",
    r"\d{4}-\d\d-\d\d": r"\d{4}-\d\d-\d\d",
}


def as_pattern(word: str) -> str:
    """A word of a page; `…` stands for anything."""
    found = [pattern for written, pattern in FREE.items() if re.fullmatch(written, word)]
    return found[0] if found else r"\S*".join(re.escape(part) for part in word.split("…"))


def shows(output: str, line: str) -> bool:
    """Whether a line of the page is in an output: its words, in this order."""
    parts = [as_pattern(word) for word in line.split()]
    # A terminal may break lines, and a column in the middle may be shortened.
    words = r"\s+".join(parts).replace(r"\s+\S*\s+", r"\s+(?:\S+\s+){0,12}?")
    return re.search(words, output) is not None


def commands(section: str) -> list[tuple[str, list[str]]]:
    """Each command of the section with the lines that the page shows of its output."""
    found = []
    for block in blocks(section, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = part.strip().splitlines()
            found.append((line, shown))
    return found


class Agent:
    """Claude Code in a project: it runs our hooks at its events."""

    def __init__(self, project: Path, spawn: Run) -> None:
        self.project, self.spawn = project, spawn

    def tell(self, event: str, session: str = "first", **more: Any) -> str:
        payload = {"hook_event_name": event, "session_id": session, "cwd": str(self.project), **more}
        done = self.spawn("hook", "claude-code", event, stdin=json.dumps(payload))
        assert done.code == 0, done
        return done.out

    def start(self, session: str) -> str:
        """What a session is told when it starts."""
        reply = json.loads(self.tell("SessionStart", session, source="startup"))
        return str(reply["hookSpecificOutput"]["additionalContext"])

    def work(self, prompt: str, answer: str) -> None:
        """A session in which a person asks for something, and a file is edited."""
        edit = {"file_path": str(self.project / "src" / "login.py"), "old_string": "a", "new_string": "b"}
        self.tell("UserPromptSubmit", prompt=" ".join(prompt.split()))
        self.tell("PostToolUse", tool_name="Edit", tool_input=edit, tool_response={})
        self.tell("Stop", last_assistant_message=answer)
        self.tell("SessionEnd", reason="exit")
        assert self.spawn("drain").code == 0


@pytest.fixture
def agent(folder: Path, spawn: Run, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """In a new repository, on a machine with Claude Code."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "builtin")
    project = folder / "my-api"
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    monkeypatch.chdir(project)
    (Path.home() / ".claude").mkdir(exist_ok=True)
    return Agent(project, spawn)


def test_the_tutorial_shows_what_one_sees(agent: Agent, spawn_in_terminal: Run) -> None:
    _install, remember, connect, work, again, *_rest = SECTIONS
    run_commands(remember, spawn_in_terminal)
    run_commands(connect, spawn_in_terminal)
    shown_at_start(agent.start("first"), work)
    agent.work(*quotes(work))
    shown_at_start(agent.start("second"), again)
    run_commands(again, spawn_in_terminal)


def test_the_readme_shows_what_one_sees(agent: Agent, spawn_in_terminal: Run) -> None:
    run_commands(README.read_text(encoding="utf-8"), spawn_in_terminal)
    agent.work(*quotes(SECTIONS[3]))
    shown_at_start(agent.start("second"), README.read_text(encoding="utf-8"))


def run_commands(section: str, terminal: Run) -> None:
    given = commands(section)
    assert given
    for line, shown in given:
        program, *arguments = shlex.split(line)
        assert program == "commonplace"
        # Wide enough for "12 s ago" where the page says "now": a busy machine shortens no title.
        done = terminal(*arguments, typed="a" if arguments == ["review"] else "", COLUMNS="100")
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
