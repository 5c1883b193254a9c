"""The server's log on standard error: text for people, or one JSON object per line for programs.

Nothing that is remembered, searched for or secret is logged: of an exception only its type and place, not its message,
and of what a library logs only its name and place.
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

# Loggers whose messages are known to contain nothing of callers.
TRUSTED = ("commonplace", "uvicorn")

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
"""The id of the request that is being answered, for everything that is logged meanwhile."""

_log = logging.getLogger("commonplace")


def set_up_logging(settings: Settings) -> None:
    """Log from the level of the settings on, in their format; of libraries from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormat() if settings.log_format == "json" else _TextFormat())
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING))
    for name in TRUSTED:
        logging.getLogger(name).setLevel(level)


def announce(event: str, **fields: object) -> None:
    """Log something whatever the level is."""
    record = _log.makeRecord(_log.name, logging.INFO, __file__, 0, event, (), None, extra={"fields": fields})
    _log.handle(record)


def is_logged(level: int) -> bool:
    return _log.isEnabledFor(level)


def log_event(level: int, event: str, fields: Mapping[str, object], message: str) -> None:
    """Log an event: for programs its name and fields, for people a message."""
    _log.log(level, event, extra={"fields": fields, "message_text": message})


class _TextFormat(logging.Formatter):
    """Text for people."""

    def format(self, record: logging.LogRecord) -> str:
        entry = getattr(record, "message_text", "") or " ".join(_event(record).split("\n"))
        fault = _fault(record)
        return f"commonplace: {entry}" + (f": {fault['fault']} at {', '.join(fault['trace'])}" if fault else "")


class _JsonFormat(logging.Formatter):
    """JSON lines for programs."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": iso_time(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "event": _event(record),
        }
        if not _is_trusted(record):
            entry |= {"logger": record.name, "where": f"{record.filename}:{record.lineno}"}
        if current := request_id.get():
            entry["request_id"] = current
        fields: Mapping[str, object] = getattr(record, "fields", {})
        entry |= {name: value for name, value in fields.items() if value is not None}
        return json.dumps(entry | _fault(record), ensure_ascii=False)


def _event(record: logging.LogRecord) -> str:
    if _is_trusted(record):
        return redact(record.getMessage())
    return f"{record.name} said something at {record.filename}:{record.lineno}"


def _is_trusted(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in TRUSTED


def _fault(record: logging.LogRecord) -> dict[str, Any]:
    """The types of an exception and of its causes, and its stack, innermost last; not its message."""
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
