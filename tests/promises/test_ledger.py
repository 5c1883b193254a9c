"""Both directions: no promise without a test, no test for a promise that nobody made."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from tests.promises.ledger import BOOKS, LEDGER

TESTS = Path(__file__).parent.parent


def marked(path: Path) -> list[tuple[str, str]]:
    """(promise, test) of every promise mark in a test module, read without running it."""
    found = []
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if ".promise(" in text else ():
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "promise":
                where = f"{path.relative_to(TESTS)}::{node.name}"
                assert node.name.startswith("test_"), f"{where} is no test"
                assert mark.args, f"{where} names no promise"
                for argument in mark.args:
                    assert isinstance(argument, ast.Constant), f"{where} computes its promise"
                    found.append((str(argument.value), where))
    return found


@functools.cache
def proved_promises() -> list[tuple[str, str]]:
    return [pair for path in sorted(TESTS.rglob("test_*.py")) for pair in marked(path)]


def test_every_promise_is_proved_by_a_test() -> None:
    proved = {promise for promise, _test in proved_promises()}
    assert [f"{p.id}: {p.says}" for p in LEDGER.values() if p.id not in proved] == []


def test_every_mark_names_a_promise() -> None:
    assert [f"{test} marks {promise}" for promise, test in proved_promises() if promise not in LEDGER] == []


def test_no_two_promises_share_an_id() -> None:
    assert len(LEDGER) == sum(map(len, BOOKS))
