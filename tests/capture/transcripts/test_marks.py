"""A file is known again: untouched, longer, rewritten or compressed."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.capture.transcripts.corpus import SESSION, Claude, codex_meta, jsonl, question_records, reading, write
from tests.capture.transcripts.test_cursor import database

from commonplace.capture.transcript_lines import ReadMark, changed_since, mark_of_file, plain_name
from commonplace.hosts.transcript import Position, Transcript


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "rollout-1.jsonl", [codex_meta(), *question_records(1, "Go"), *question_records(2, "On")])


def test_an_untouched_file_is_the_same(path: Path) -> None:
    assert changed_since(mark_of_file(path), path) == "same"


def test_a_longer_file_grew(path: Path) -> None:
    before = mark_of_file(path)
    with path.open("ab") as file:
        file.write(jsonl(question_records(3, "More")))
    assert changed_since(before, path) == "grew"


def test_a_file_that_was_short_grew_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"")
    before = mark_of_file(path)
    path.write_bytes(b'{"a": 1}\n')
    assert changed_since(before, path) == "grew"


@pytest.mark.parametrize("words", ["Gx", "Other", "A much longer beginning than before, so that it is no shorter"])
def test_other_content_is_rewritten(path: Path, words: str) -> None:
    before = mark_of_file(path)
    write(path, [codex_meta(), *question_records(1, words), *question_records(2, "On")])
    assert changed_since(before, path) == "rewritten"


def test_a_shorter_file_is_rewritten(path: Path) -> None:
    before = mark_of_file(path)
    path.write_bytes(path.read_bytes()[:-20])
    assert changed_since(before, path) == "rewritten"


def test_an_end_that_changed_is_rewritten_even_in_a_longer_file(path: Path) -> None:
    before = mark_of_file(path)
    path.write_bytes(path.read_bytes().replace(b'"On"', b'"On and on"') + jsonl(question_records(3, "More")))
    assert changed_since(before, path) == "rewritten"


def test_the_same_size_at_another_time_is_read_again(path: Path) -> None:
    before = mark_of_file(path)
    os.utime(path, ns=(0, 0))
    assert changed_since(before, path) == "rewritten"


def test_a_compressed_file_goes_on_where_the_plain_one_ended(path: Path) -> None:
    turns, first = reading(path, "codex")
    stored = mark_of_file(path).after(first.position, turns[-1].digest)
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes() + jsonl(question_records(3, "More"))))
    path.unlink()
    assert plain_name(packed) == stored.path and changed_since(stored, packed) == "compressed"
    again, second = reading(packed, "codex", stored.position)
    assert second.transcript.path == str(packed)
    assert again[0].identity == turns[-1].identity and len(again) == 2
    assert changed_since(mark_of_file(packed), packed) == "same"


def test_another_file_compressed_under_its_name_is_rewritten(path: Path) -> None:
    before = mark_of_file(path)
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(jsonl(question_records(1, "Else"))))
    assert changed_since(before, packed) == "rewritten"
    packed.write_bytes(gzip.compress(path.read_bytes())[:12])
    assert changed_since(before, packed) == "rewritten"


def test_a_compressed_file_never_grows(tmp_path: Path) -> None:
    packed = tmp_path / "rollout-1.jsonl.gz"
    packed.write_bytes(gzip.compress(jsonl(question_records(1, "Go"))))
    before = mark_of_file(packed)
    packed.write_bytes(packed.read_bytes() + gzip.compress(jsonl(question_records(2, "On"))))
    assert changed_since(before, packed) == "rewritten"


def test_what_only_the_log_of_a_database_holds_is_a_change(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    running = database(path, {"ItemTable": {"a": "1"}}, "wal")
    try:
        before = mark_of_file(path)
        assert changed_since(before, path) == "same"
        os.utime(f"{path}-wal", ns=(2**62, 2**62))
        assert changed_since(before, path) != "same"
    finally:
        running.close()


def test_a_mark_outlives_the_process(path: Path) -> None:
    turns, first = reading(path, "codex")
    stored = mark_of_file(path).after(first.position, turns[-1].digest)
    again = ReadMark.from_json(json.loads(json.dumps(stored.as_json())))
    assert again == ReadMark.from_json(stored.as_json()) and changed_since(again, path) == "same"
    assert again.position is not None and again.position.offset == first.position.offset
    assert again.position.transcript.session == SESSION and "secret" not in json.dumps(stored.as_json())
    bare = mark_of_file(path)
    assert ReadMark.from_json(json.loads(json.dumps(bare.as_json()))) == bare


def test_what_an_older_reader_read_is_read_again(path: Path) -> None:
    stored = mark_of_file(path).after(reading(path, "codex")[1].position)
    assert changed_since(stored, path) == "same"
    assert changed_since(replace(stored, reader=stored.reader - 1), path) == "rewritten"


def test_a_position_outlives_the_process() -> None:
    position = Position(Transcript("codex", "p", "s"), 7, ("a", "b"), (("u", "a"),))
    assert Position.from_json(json.loads(json.dumps(position.as_json()))) == position


def test_a_file_that_grows_while_it_is_read_loses_nothing(tmp_path: Path) -> None:
    session = Claude()
    session.user("One")
    session.says("1")
    path = write(tmp_path / "s.jsonl", session.records)
    seen = mark_of_file(path)
    turns, first = reading(path, "claude-code")
    session.says("and more")
    session.user("Two")
    write(path, session.records)
    assert changed_since(seen.after(first.position), path) == "grew"
    again, _ = reading(path, "claude-code", first.position)
    assert [len(turn.blocks) for turn in again] == [3, 1] and again[0].identity == turns[0].identity
