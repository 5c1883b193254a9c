"""All parts together, as whoever stores turns uses them: a second run over the same files finds nothing new."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.capture.transcripts.corpus import SESSION, Claude, codex_meta, question_records, replied, write
from tests.capture.transcripts.test_cursor import BUBBLES, database

from commonplace.capture.transcript_lines import ReadMark, changed_since, mark_of_file, plain_name
from commonplace.capture.transcripts import TranscriptFile, find_transcripts, read_sessions, transcript_folders
from commonplace.hosts.host import Locations


class Notebook:
    """Turns by identity, and the marks of the files they came from."""

    def __init__(self) -> None:
        self.turns: dict[str, str] = {}
        self.marks: dict[str, ReadMark] = {}

    def take(self, home: Path) -> list[str]:
        """Read what is new; the identities of the turns that are new or grew."""
        news: list[str] = []
        for found in find_transcripts(transcript_folders(Locations(home, "linux"))):
            assert isinstance(found, TranscriptFile)
            mark = self.marks.get(plain_name(found.path))
            change = changed_since(mark, found.path) if mark else "rewritten"
            if change == "same":
                continue
            seen = mark_of_file(found.path)
            start = mark.position if mark and change != "rewritten" else None
            for reading in read_sessions(found.path, found.source, start):
                for turn in reading:
                    if self.turns.get(turn.identity) != turn.digest:
                        self.turns[turn.identity] = turn.digest
                        news.append(turn.blocks[0].text)
                seen = seen.after(reading.position)
            self.marks[plain_name(found.path)] = seen
        return news


def test_only_news_is_taken(tmp_path: Path) -> None:
    session = Claude()
    session.user("One")
    session.says("1")
    session.user("Two")
    claude = tmp_path / ".claude/projects/-srv" / f"{SESSION}.jsonl"
    write(claude, session.records)
    rollout = write(
        tmp_path / ".codex/sessions/rollout-1.jsonl", [codex_meta(), *question_records(1, "Three"), *replied(2, "3")]
    )
    base = tmp_path / ".config/Cursor/User/globalStorage/state.vscdb"
    database(base, {"cursorDiskKV": {"composerData:c1": {"conversation": BUBBLES}}}).close()
    notebook = Notebook()
    assert notebook.take(tmp_path) == ["One", "Two", "Three", "Why does login fail?"]
    assert notebook.take(tmp_path) == []
    session.says("2")
    write(claude, session.records)
    rollout.with_name("rollout-1.jsonl.gz").write_bytes(gzip.compress(rollout.read_bytes()))
    rollout.unlink()
    assert notebook.take(tmp_path) == ["Two"]
    assert notebook.take(tmp_path) == []
    write(claude, session.records[:2])
    assert notebook.take(tmp_path) == [] and len(notebook.turns) == 4
