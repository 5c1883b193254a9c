"""What a server says on standard error: words for people, or one JSON object on each line for programs.

Nothing that somebody remembered, asked or keeps secret is said: of a fault its kind and place are told, not its
message, and of what a library says only who said it and where.
"""

from __future__ import annotations

import contextvars
import json
import logging
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.config import Settings
from commonplace.text.dates import iso_time
from commonplace.text.redact import redact

# Those whose words are known to hold nothing of callers.
TRUSTED = ("commonplace", "uvicorn")

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
"""Of the request that is being answered, so that whatever is said meanwhile names it."""

_log = logging.getLogger("commonplace")


def set_up_logging(settings: Settings) -> None:
    """Say everything from the level of the settings on, in their format. Libraries are heard from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines() if settings.log_format == "json" else _Words())
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING))
    for name in TRUSTED:
        logging.getLogger(name).setLevel(level)


def announce(event: str, **fields: object) -> None:
    """Say something whatever the level is."""
    record = _log.makeRecord(_log.name, logging.INFO, __file__, 0, event, (), None, extra={"fields": fields})
    _log.handle(record)


def is_logged(level: int) -> bool:
    return _log.isEnabledFor(level)


def log_event(level: int, event: str, fields: Mapping[str, object], words: str) -> None:
    """Say what happened: to programs by its name and fields, to people in words."""
    _log.log(level, event, extra={"fields": fields, "words": words})


class _Words(logging.Formatter):
    """For people."""

    def format(self, record: logging.LogRecord) -> str:
        told = getattr(record, "words", "") or " ".join(_event(record).split("\n"))
        fault = _fault(record)
        return f"commonplace: {told}" + (f": {fault['fault']} at {', '.join(fault['trace'])}" if fault else "")


class _Lines(logging.Formatter):
    """For programs."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": iso_time(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "event": _event(record),
        }
        if not _is_trusted(record):
            told |= {"logger": record.name, "where": f"{record.filename}:{record.lineno}"}
        if current := request_id.get():
            told["request_id"] = current
        fields: Mapping[str, object] = getattr(record, "fields", {})
        told |= {name: value for name, value in fields.items() if value is not None}
        return json.dumps(told | _fault(record), ensure_ascii=False)


def _event(record: logging.LogRecord) -> str:
    if _is_trusted(record):
        return redact(record.getMessage())
    return f"{record.name} said something at {record.filename}:{record.lineno}"


def _is_trusted(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in TRUSTED


def _fault(record: logging.LogRecord) -> dict[str, Any]:
    """The kinds of an exception and of its causes, and where it came from, innermost last; not what it says."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return {}
    frames = traceback.extract_tb(error.__traceback__)
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < 5:
        kinds.append(type(cause).__name__)
        cause = cause.__cause__
    trace = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-12:]]
    return {"fault": " from ".join(kinds), "trace": trace}
