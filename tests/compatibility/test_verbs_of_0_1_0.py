"""Memories behind servers of version 0.1.0, and its programs that ask our servers: both still understand each other.

`verbs-0.1.0.json` has, for each method, what a program of that version sends and what a server of it answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commonplace.library.remote_calls import decode_result, encode, unpack
from commonplace.library.verbs import VERBS

RECORDED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "verbs-0.1.0.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", RECORDED)
def test_what_it_sends_is_understood(name: str) -> None:
    arguments, options = unpack(VERBS[name], RECORDED[name]["request"])
    assert arguments or options or not RECORDED[name]["request"]


@pytest.mark.parametrize("name", RECORDED)
def test_what_it_answers_is_understood_and_would_be_answered_alike(name: str) -> None:
    reply = RECORDED[name]["reply"]
    assert encode(decode_result(VERBS[name], reply)) == reply
