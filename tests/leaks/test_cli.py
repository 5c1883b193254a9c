"""No command keeps a secret or shows one: as an argument, from a pipe, from a file, and in what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome, Run, data_dir, folder, run
from tests.leaks.planting import SEEDS, Seed, leaks, leaks_in_files

__all__ = ["data_dir", "folder", "run"]

# {} is where the secret goes; what is kept by some is read by those after them.
LINES: tuple[tuple[str, ...], ...] = (
    ("add", "Told {}", "--project", "my-api"),
    ("add", "Said {}", "--type", "rule", "--title", "{}", "--tag", "{}"),
    ("add", "Type {}", "--type", "{}"),
    ("add", "Place {}", "--project", "{}"),
    ("add", "Session {}", "--kind", "observation", "--session", "{}"),
    ("add", "Field {}", "--kind", "observation", "--field", "narrative={}"),
    ("add", "Field {}", "--field", "{}"),
    ("edit", "1", "--content", "Changed {}"),
    ("edit", "1", "--title", "{}"),
    ("edit", "{}", "--title", "x"),
    ("search", "{}"),
    ("search", "told"),
    ("context", "--project", "{}", "--query", "{}"),
    ("timeline", "{}"),
    ("timeline", "1"),
    ("show", "1", "--all"),
    ("show", "{}"),
    ("list",),
    ("list", "--type", "{}"),
    ("rules", "--global"),
    ("rules", "--project", "{}"),
    ("history", "1"),
    ("revert", "1"),
    ("supersede", "1", "--by", "{}"),
    ("forget", "{}"),
    ("restore", "{}"),
    ("streams", "cancel", "{}"),
    ("conversations", "add", "{}", "talk.json", "--folder", "{}"),
    ("conversations", "add", "Talk", "talk.txt"),
    ("conversations",),
    ("conversations", "show", "{}"),
    ("conversations", "--folder", "{}"),
    ("export", "--format", "markdown"),
    ("export",),
    ("import", "talk.txt", "--folder", "{}"),
    ("import", "{}"),
    ("learn", "rules.md"),
    ("generate", "agents"),
    ("recall", "{}"),
    ("explain", "{}"),
    ("predict", "{}"),
    ("sessions",),
    ("sessions", "--project", "{}"),
    ("sessions", "show", "{}"),
    ("conversations", "prune", "--folder", "{}"),
    ("conversations", "stats", "--folder", "{}"),
    ("projects",),
    ("projects", "alias", "my-api", "{}"),
    ("projects", "alias", "{}", "x"),
    ("keys", "create", "{}"),
    ("keys", "revoke", "{}"),
    ("keys",),
    ("topics", "--project", "{}"),
    ("status",),
    ("report", "--project", "{}"),
    ("overview", "{}"),
    ("overview", "--all"),
    ("overview", "my-api", "--done", "{}"),
    ("scrub", "--dry-run"),
    ("{}",),
    ("add", "--{}"),
)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.kind)
def test_no_command_keeps_or_shows_a_secret(run: Run, folder: Path, data_dir: Path, seed: Seed) -> None:
    talk = [{"role": "user", "content": seed.text}, {"role": "assistant", "content": "Yes."}]
    (folder / "talk.json").write_text(json.dumps({"messages": talk}), encoding="utf-8")
    (folder / "talk.txt").write_text(f"User: {seed.text}\nAI: Yes.\n", encoding="utf-8")
    (folder / "rules.md").write_text(f"- Always say {seed.text}\n", encoding="utf-8")
    lines = json.dumps({"content": f"Piped {seed.text}", "tags": [seed.text], "metadata": {seed.text: seed.text}})
    texts: list[tuple[str, Outcome]] = [("add --jsonl", run("add", "--jsonl", "-", stdin=lines))]
    texts.append(("add -", run("add", "-", stdin=f"Stdin {seed.text}")))
    for line in LINES:
        arguments = [part.replace("{}", seed.text) for part in line]
        texts.append((" ".join(line), run(*arguments)))
        texts.append((" ".join(line) + " --json", run(*arguments, "--json")))
    assert [(line, one.code) for line, one in texts if leaks(_output_of(one))] == []
    written = [path for path in folder.rglob("*") if path.is_file() and path.name not in _GIVEN]
    assert [path.name for path in written if leaks(path.read_text(encoding="utf-8", errors="replace"))] == []
    assert leaks_in_files(data_dir) == {}
    assert sum(one.code == 0 for _line, one in texts) > len(LINES) / 2


_GIVEN = ("talk.json", "talk.txt", "rules.md")


def _output_of(one: Outcome) -> str:
    return one.out + one.err
