"""Lines are read in little memory, whole, from any offset, packed or not, in any encoding."""

from __future__ import annotations

import codecs
import gzip
import importlib.util
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capture.transcripts.corpus import Claude, reading, texts, write

from commonplace.capture.transcript_lines import MAX_LINE, Line, first_bytes, read_lines
from commonplace.errors import InvalidInput


def test_a_line_too_long_is_passed_over_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(b'{"first": 1}\n{"long": "')
        for _ in range(50):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n{"last": 1}\n')
    tracemalloc.start()
    found = list(read_lines(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(line.raw, line.finished) for line in found] == [
        (b'{"first": 1}\n', True),
        (None, True),
        (b'{"last": 1}\n', True),
    ]
    assert found[2].offset == path.stat().st_size - len(b'{"last": 1}\n')
    assert peak < 3 * MAX_LINE


def test_a_session_with_a_line_too_long_goes_on_behind_it(tmp_path: Path) -> None:
    session = Claude()
    session.user("Go")
    session.user("x" * (MAX_LINE + 1))
    session.says("Gone.")
    (turn,), pass_ = reading(write(tmp_path / "s.jsonl", session.records), "claude-code")
    assert texts(turn) == [("text", "Go"), ("text", "Gone.")] and pass_.counts.oversize == 1


def test_the_last_line_may_be_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntwo")
    assert list(read_lines(path)) == [Line(0, b"one\n"), Line(4, b"two", finished=False)]
    assert list(read_lines(path, 4)) == [Line(4, b"two", finished=False)]
    assert list(read_lines(path, 99)) == []


@pytest.mark.parametrize("finished", [b"", b"\n"])
def test_an_unfinished_record_counts_only_when_it_is_whole(tmp_path: Path, finished: bytes) -> None:
    session = Claude()
    session.user("Go")
    session.says("Gone.")
    path = write(tmp_path / "s.jsonl", session.records)
    whole = path.read_bytes().removesuffix(b"\n") + finished
    path.write_bytes(whole)
    (turn,), pass_ = reading(path, "claude-code")
    assert len(turn.blocks) == 2 and pass_.counts.malformed == 0
    path.write_bytes(whole[:-10])
    (turn,), pass_ = reading(path, "claude-code")
    assert len(turn.blocks) == 1 and pass_.counts.malformed == 0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_encodings_are_understood(tmp_path: Path, encoding: str) -> None:
    session = Claude()
    session.user("Grüße, 世界 🌍")
    session.says("Danke.")
    session.user("Und weiter")
    path = write(tmp_path / "s.jsonl", session.records)
    plain, _ = reading(path, "claude-code")
    path.write_bytes(path.read_bytes().decode().encode(encoding))
    found, pass_ = reading(path, "claude-code")
    assert found == plain and pass_.counts.replaced == pass_.counts.malformed == 0
    assert reading(path, "claude-code", pass_.position)[0] == plain[-1:]


def test_utf_16_of_either_order(tmp_path: Path) -> None:
    path = tmp_path / "be.jsonl"
    path.write_bytes(codecs.BOM_UTF16_BE + "{\u0a0a}\nok\n".encode("utf-16-be"))
    assert [line.raw for line in read_lines(path)] == ["{\u0a0a}\n".encode(), b"ok\n"]


def test_bytes_that_are_no_text_are_replaced_and_counted(tmp_path: Path) -> None:
    session = Claude()
    session.user("before XX after")
    session.says("honest \ufffd")
    path = write(tmp_path / "s.jsonl", session.records)
    path.write_bytes(path.read_bytes().replace(b"XX", b"\xff\xfe"))
    (turn,), pass_ = reading(path, "claude-code")
    assert texts(turn) == [("text", "before \ufffd\ufffd after"), ("text", "honest \ufffd")]
    assert pass_.counts.replaced == 1


def test_text_that_no_database_takes_is_replaced(tmp_path: Path) -> None:
    session = Claude()
    session.user("a \ud800 b \0 c")
    path = tmp_path / "s.jsonl"
    path.write_text('{"type":"user","uuid":"u","message":{"content":"a \\ud800 b \\u0000 c"}}\n', encoding="utf-8")
    (turn,), _ = reading(path, "claude-code")
    assert texts(turn) == [("text", "a \ufffd b \ufffd c")] and turn.digest


def test_numbers_and_nestings_that_python_refuses_are_malformed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"n": ' + b"9" * 10_000 + b"}\n" + b'{"d": ' * 500_000 + b"1" + b"}" * 500_000 + b"\n")
    turns, pass_ = reading(path, "claude-code")
    assert turns == [] and pass_.counts.malformed == 2


def test_a_nesting_that_python_takes_is_read_to_a_depth(tmp_path: Path) -> None:
    deep = '{"edits":[' * 150 + '{"path":"a.py"}' + "]}" * 150
    part = f'{{"type":"tool_use","id":"t","name":"Edit","input":{deep}}}'
    path = tmp_path / "s.jsonl"
    path.write_text(f'{{"type":"assistant","uuid":"u","message":{{"content":[{part}]}}}}\n', encoding="utf-8")
    (turn,), _ = reading(path, "claude-code")
    assert turn.blocks[0].tool == "Edit"


# A frame of Zstandard with its content as it is: 12 bytes, one raw block, the last.
_ZSTD = b"\x28\xb5\x2f\xfd\x20\x0c" + (12 << 3 | 1).to_bytes(3, "little") + b'{"a": 1}\nx\n\n'
_CAN_ZSTD = any(
    importlib.util.find_spec(name.partition(".")[0]) and importlib.util.find_spec(name)
    for name in ("compression.zstd", "backports.zstd", "zstandard")
)


def test_zstandard_is_read_where_python_can_and_told_where_not(tmp_path: Path) -> None:
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(_ZSTD)
    if _CAN_ZSTD:
        assert [line.raw for line in read_lines(path, 9)] == [b"x\n", b"\n"]
    else:
        with pytest.raises(InvalidInput, match="Zstandard"):
            list(read_lines(path))


@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b"")), max_size=8), st.integers(1, 30))
def test_lines_and_offsets_hold_for_any_bytes(tmp_path: Path, written: list[bytes], limit: int) -> None:
    data = b"".join(raw + b"\n" for raw in written)
    path = tmp_path / "any.jsonl"
    path.write_bytes(b"-\n" + data)
    packed = tmp_path / "any.gz"
    packed.write_bytes(gzip.compress(b"-\n" + data))
    found = list(read_lines(path, 2, limit))
    assert list(read_lines(packed, 2, limit)) == found
    assert [line.raw for line in found] == [raw + b"\n" if len(raw) < limit else None for raw in written]
    assert all(next(read_lines(path, line.offset, limit)) == line for line in found)


def test_the_head_of_a_torn_file_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "torn.gz"
    path.write_bytes(gzip.compress(b"x" * 100)[:15])
    assert first_bytes(path, 10) == b""
