"""What a generator of requests cannot know: a name is for one request, and a cursor comes from a page before."""

from __future__ import annotations

import itertools
import re
from typing import Any

import schemathesis

_numbers = itertools.count()


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    name = (case.headers or {}).get("Idempotency-Key")
    if isinstance(name, str) and re.fullmatch(r"[!-~]{1,200}", name):
        case.headers["Idempotency-Key"] = f"{name[:180]}-{next(_numbers)}"
    if case.query and isinstance(case.query.get("cursor"), str):
        del case.query["cursor"]
