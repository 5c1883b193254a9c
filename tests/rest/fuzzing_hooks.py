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
# What holds begins before it ends, also where a request changes only one of the two.
STARTS = ("2024-05-31", "2024-05-31T18:00", "none", "")
ENDS = ("31 May", "end of Q3", "tomorrow", "30d", "in 2 weeks", "none", "")
NAMING_TIMES = {
    **dict.fromkeys(("since", "until", "as_of"), TIMES),
    "valid_from": STARTS,
    **dict.fromkeys(("valid_until", "expires"), ENDS),
}
_numbers = itertools.count()


_seen: set[tuple[object, ...]] = set()


@schemathesis.hook
def filter_case(_context: Any, case: Any) -> bool:
    """Something to remember says one of 32 things at least, and for each of them all else is enumerated: take one of
    each kind, description, number of fields, and type of the field that is wrong."""
    described = getattr(case.meta.phase.data, "description", None) if case.meta is not None else None
    if described is None or not isinstance(case.body, dict) or "kind" not in case.body:
        return True
    wrong = type(case.body.get(described.partition(":")[0]))
    fields = len(case.body) if "subset" in described else 0
    one = (case.operation.label, described, str(case.body["kind"]), fields, wrong)
    is_new = one not in _seen
    _seen.add(one)
    return is_new


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
    several = case.body.get("items") if isinstance(case.body, dict) else None
    for message in (case.query, case.body, *(several if isinstance(several, list) else ())):
        for name in NAMING_TIMES.keys() & message.keys() if isinstance(message, dict) else ():
            if isinstance(message[name], str):
                message[name] = NAMING_TIMES[name][number % len(NAMING_TIMES[name])]
    if "/items/{id}" in case.path and number % 2:
        case.path_parameters["id"] = str(number % KNOWN_ITEMS + 1)
