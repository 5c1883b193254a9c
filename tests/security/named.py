"""Tests by their ids, as documents and tables name them: whether there is such a test, and what it says."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def source_of(id_: str) -> str:
    """The text of the test `tests/room/test_thing.py::test_name`, or of the module without a name; empty if none."""
    path, _, name = id_.partition("::")
    if not (ROOT / path).is_file():
        return ""
    return _tests(path).get(name, "") if name else (ROOT / path).read_text(encoding="utf-8")


@cache
def _tests(path: str) -> dict[str, str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.get_source_segment(text, node) or "" for node in functions}
