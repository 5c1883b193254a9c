"""How quickly an export like ChatGPT's comes in, and in how much memory: `python -m benchmarks.importing`."""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.client import environment
from benchmarks.corpus import START_MS, vocabulary

MEGABYTES = 100
# Runs a command line and tells the most memory that it had.
MEASURED = """
import resource, sys
from commonplace.cli.main import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


class Writer:
    """Words as people and models write them: sentences, lists, headings and code."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._words = vocabulary()
        self._weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(self._words))))

    def words(self, count: int) -> list[str]:
        return self.chance.choices(self._words, cum_weights=self._weights, k=count)

    def id(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128)))

    def sentence(self) -> str:
        return " ".join(self.words(self.chance.randint(6, 22))).capitalize() + "."

    def question(self) -> str:
        return " ".join(self.sentence() for _ in range(self.chance.randint(1, 4)))

    def answer(self) -> str:
        parts = [f"## {' '.join(self.words(4)).title()}"]
        for _ in range(self.chance.randint(1, 6)):
            parts.append(" ".join(self.sentence() for _ in range(self.chance.randint(1, 5))))
            if self.chance.random() < 0.3:
                parts.append("\n".join(f"- **{self.words(1)[0]}**: {self.sentence()}" for _ in range(3)))
            if self.chance.random() < 0.3:
                a, b, c = self.words(3)
                body = f'    {b}_{c} = {a}.get("{b}", {self.chance.randrange(999)})\n    return {b}_{c}'
                parts.append(f"```python\ndef {a}_{b}({c}: str) -> int:\n{body}\n```")
        return "\n\n".join(parts)


def conversations(megabytes: float, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Conversations until they have that many bytes as JSON."""
    writer, written, number = Writer(seed), 0, 0
    while written < megabytes * 1e6:
        made = conversation(writer, START_MS / 1000 + number * 3600)
        number += 1
        written += len(json.dumps(made)) + 2
        yield made


def conversation(writer: Writer, began: float) -> dict[str, Any]:
    """One conversation of some turns, with the overhead of the real thing."""
    root, key = writer.id(), writer.id()
    mapping: dict[str, Any] = {root: {"id": root, "message": None, "parent": None, "children": []}}
    parent = root
    # The first node is an empty one of the system, which ChatGPT hides.
    for turn in range(-1, 2 * writer.chance.randint(2, 20)):
        role = "system" if turn < 0 else "assistant" if turn % 2 else "user"
        text = "" if turn < 0 else writer.answer() if turn % 2 else writer.question()
        id_ = writer.id()
        mapping[id_] = {
            "id": id_,
            "message": message(writer, id_, role, text, parent, began + 20 * turn),
            "parent": parent,
            "children": [],
        }
        mapping[parent]["children"].append(id_)
        parent = id_
    return {
        "title": " ".join(writer.words(4)).title(),
        "create_time": began,
        "update_time": began + 3000,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": parent,
        "plugin_ids": None,
        "conversation_id": key,
        "conversation_template_id": None,
        "gizmo_id": None,
        "gizmo_type": None,
        "is_archived": False,
        "is_starred": None,
        "safe_urls": [],
        "blocked_urls": [],
        "default_model_slug": "gpt-4o",
        "conversation_origin": None,
        "voice": None,
        "async_status": None,
        "disabled_tool_ids": [],
        "id": key,
    }


def message(writer: Writer, id_: str, role: str, text: str, parent: str, at: float) -> dict[str, Any]:
    return {
        "id": id_,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {
            "is_visually_hidden_from_conversation": role == "system",
            "selected_github_repos": [],
            "selected_all_github_repos": False,
            "serialization_metadata": {"custom_symbol_offsets": []},
            "message_source": None,
            "turn_exchange_id": writer.id(),
            "is_complete": True,
            "finish_details": {"type": "stop", "stop_tokens": [200002]},
            "citations": [],
            "content_references": [],
            "model_slug": "gpt-4o",
            "default_model_slug": "gpt-4o",
            "parent_id": parent,
            "request_id": writer.id(),
            "timestamp_": "absolute",
            "message_type": None,
        },
        "recipient": "all",
        "channel": None,
    }


def write_export(path: Path, megabytes: float) -> None:
    """A `conversations.json` of about that size."""
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for number, made in enumerate(conversations(megabytes)):
            file.write((", " if number else "") + json.dumps(made))
        file.write("]")


def importing(megabytes: float, folder: Path) -> list[tuple[str, str, str]]:
    """Rows of (what, figure, ratio): a fresh import, and the same once more."""
    export = folder / f"export-{megabytes:g}.json"
    if not export.exists():
        write_export(export, megabytes)
    size = export.stat().st_size / 1e6
    env = environment() | {"COMMONPLACE_EMBEDDER": "off"}
    rows = []
    with tempfile.TemporaryDirectory() as data_dir:
        for what in ("new", "all known"):
            command = [sys.executable, "-c", MEASURED, "import", str(export), "--json", "--data-dir", data_dir]
            began = time.perf_counter()
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
            seconds = time.perf_counter() - began
            counted = json.loads(done.stdout)["messages"]
            peak = int(done.stderr.split()[-1]) / (1e6 if sys.platform == "darwin" else 1e3)
            number = counted["added"] + counted["known"]
            rows.append(
                (f"import {size:.0f} MB, {number:,} messages, {what}", f"{seconds:.1f} s", f"{size / seconds:.1f} MB/s")
            )
            rows.append((f"most memory, {what}", f"{peak:.0f} MB", f"{number / seconds:,.0f}/s"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=MEGABYTES, help="size of the export")
    parser.add_argument("--keep", type=Path, help="folder for the export; a temporary one if omitted")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for row in importing(options.megabytes, options.keep or Path(temporary)):
            print(f"| {row[0]:58} | {row[1]:>12} | {row[2]:>10} |", flush=True)


if __name__ == "__main__":
    main()
