"""The corpus is as its format says, and the linter finds what is not."""

from __future__ import annotations

import pytest
from training.lint import faults_of
from training.statement_pairs import NONE, Pair, faults_of_pairs, read_pairs
from training.worlds import KINDS, TYPES, read_world, read_worlds

LINES = "\n".join(f"{n} Ann: line number {n} of what Ann said" for n in range(1, 27))
SOUND = (
    "# kind: chat\n@ 2024-03-02\n1 Ann: hello\n@ 2024-03-09\n"
    + "\n".join(LINES.splitlines()[1:])
    + "".join(f"\n? single | {n} | What about number {n}?" for n in range(1, 16))
)


def test_the_corpus_is_sound() -> None:
    worlds = list(read_worlds())
    assert faults_of(worlds) == []
    assert {world.kind for world in worlds} == set(KINDS)
    assert {question.type for world in worlds for question in world.questions} <= set(TYPES)
    assert 0.05 < sum(world.held_out for world in worlds) / len(worlds) < 0.15


def test_a_sound_world_is_read_as_it_is_written() -> None:
    world = read_world("a001", SOUND.replace("1 Ann: hello", "1 Ann: hello\\nthere") + "\n? none | - | Who is Bob?")
    assert world.faults == []
    assert world.lines[0].text == "hello\nthere" and world.lines[0].day.isoformat() == "2024-03-02"
    assert world.questions[-1].gold == () and not world.held_out


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("# kind: chat", "# kind: poem"), "its kind is 'poem'"),
        (("@ 2024-03-09", "@ 2024-02-09"), "its day is before"),
        (("@ 2024-03-09", "@ 2024-13-09"), "is no day"),
        (("2 Ann:", "3 Ann:"), "where 2 is due"),
        (("? single | 15 |", "? single | 99 |"), "its gold is not in the world"),
        (("? single | 15 |", "? single | - |"), "do not agree"),
        (("? single | 15 |", "? none | 15 |"), "do not agree"),
        (("? single | 15 |", "? list | 15 |"), "needs several lines"),
        (("? single | 15 |", "? riddle | 15 |"), "its type is 'riddle'"),
        (("? single | 15 |", "? single | 15,15 |"), "named twice"),
        (("What about number 15?", "What about number 14?"), "asked twice"),
        (("5 Ann: line", "Ann said line"), "neither a kind"),
    ],
)
def test_what_is_wrong_is_said(change: tuple[str, str], fault: str) -> None:
    world = read_world("a001", SOUND.replace(*change))
    assert any(fault in message for message in world.faults), world.faults


def test_a_line_that_stands_in_two_worlds_is_found() -> None:
    text = SOUND.replace("1 Ann: hello", "1 Ann: " + "a long line that nobody writes twice by chance, not even Ann")
    assert any(
        "stands in a001 too" in fault for fault in faults_of([read_world("a001", text), read_world("a002", text)])
    )


def test_pairs_of_statements_are_sound_and_half_of_them_contradict() -> None:
    pairs = read_pairs()
    assert faults_of_pairs(pairs) == []
    assert len(pairs) > 7000 and 0.4 < sum(pair.kind != NONE for pair in pairs) / len(pairs) < 0.6
    assert 0.08 < sum(pair.held_out for pair in pairs) / len(pairs) < 0.12


def test_faults_of_pairs_are_found() -> None:
    good = Pair("moved", "The office is in Bonn.", "The office moved to Mainz.")
    bad = [good, good, good._replace(kind=NONE), good._replace(kind="shifted", later="It moved. ")]
    assert [fault.split(":")[0] for fault in faults_of_pairs(bad)] == [
        "stands there as moved and as none",
        "'shifted' is not a kind",
        "a statement is empty, too long, or has space around it",
        "2 pairs stand there twice",
    ]
