"""What a generator of requests cannot know: which ids exist, that a name is used once, where cursors come from, what
words name a time."""

from __future__ import annotations

import itertools
import re
from typing import Any

import schemathesis
from schemathesis import GenerationMode

KNOWN_ITEMS = 20
TIMES = ("7d", "yesterday", "last week", "2026-11-01", "2026-11-01T09:00", "")
_numbers = itertools.count()


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    number = next(_numbers)
    name = (case.headers or {}).get("Idempotency-Key")
    if isinstance(name, str) and re.fullmatch(r"[!-~]{1,200}", name):
        case.headers["Idempotency-Key"] = f"{name[:180]}-{number}"
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    if case.query and isinstance(case.query.get("cursor"), str):
        del case.query["cursor"]
    for told in (case.query, case.body):
        for name in {"since", "until"} & told.keys() if isinstance(told, dict) else ():
            if isinstance(told[name], str):
                told[name] = TIMES[number % len(TIMES)]
    if "/items/{id}" in case.path and number % 2:
        case.path_parameters["id"] = str(number % KNOWN_ITEMS + 1)
