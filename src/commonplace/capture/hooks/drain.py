"""Draining: the events in the spool are read and stored, oldest first, each once, by one process at a time.

A truncated payload is used as far as it goes. A stop whose payload lacks the agent's answer gets it from the end of the
host's transcript; only lines from before the stop count, since a drain may run much later. If it runs at once, such a
stop and what follows wait a moment for the transcript.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace.capture.hooks.context_refresh import contexts_wanted_after
from commonplace.capture.hooks.drain_attempts import DrainAttempts
from commonplace.capture.hooks.remember_events import remember_events
from commonplace.capture.hooks.spool_reader import (
    UnreadableEvent,
    has_waiting_events,
    read_record,
    refuse_event,
    remove_events,
    remove_leftovers,
    spool_path,
    waiting_events,
)
from commonplace.config import Settings
from commonplace.errors import InvalidInput, StoreError, TimedOut
from commonplace.fast.drain_process import DrainLock
from commonplace.hosts.hook_event import Event, HookRecord
from commonplace.hosts.host import hooks_of
from commonplace.memory.local_memory import LocalMemory
from commonplace.watchdog import Watchdog

# How deep a truncated payload may be nested.
_MAX_DEPTH = 200
TAIL_BYTES = 1 << 20
"""Bytes at the end of a transcript that are read."""
# Clocks of a host and its hook differ a little, and a line may be written just after the hook started.
_SLACK_MS = 2_000
# A host may write the last answer to its transcript a moment after the hook of the stop.
_TRANSCRIPT_MS = 5_000
_TEXT_TYPES = ("text", "output_text")


def read_event(record: HookRecord) -> Event | None:
    """The event of a record; None if there is nothing to remember in it. UnreadableEvent says why it is invalid."""
    try:
        hooks = hooks_of(record.host)
    except InvalidInput:
        raise UnreadableEvent("broken-plugin") from None
    if hooks is None:
        raise UnreadableEvent("unknown-host")
    event = hooks.read(record.event, _payload(record), record)
    if event is None and record.ended == "silent" and not record.prompt:
        # Its host may have written its payload too late.
        raise UnreadableEvent("silent")
    return event


def _payload(record: HookRecord) -> dict[str, Any]:
    if not record.payload.strip(b" \t\r\n\0"):
        return {}
    try:
        text = record.payload.decode("utf-8-sig", "strict" if record.ended == "whole" else "ignore")
    except UnicodeDecodeError:
        raise UnreadableEvent("not-text") from None
    try:
        found = json.loads(text if record.ended == "whole" else close_truncated_json(text))
    except RecursionError:
        raise UnreadableEvent("too-deep") from None
    except ValueError as error:
        raise UnreadableEvent("truncated" if _ends_early(text, error) else "not-json") from None
    if not isinstance(found, dict):
        raise UnreadableEvent("not-an-object")
    return found


# What decides where JSON can be closed: its strings, brackets and commas.
_JSON_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?)|[{}\[\],]', re.DOTALL)


def close_truncated_json(text: str) -> str:
    """Close JSON that was cut off: whatever was open ends there, and an incomplete member is dropped."""
    closers: list[str] = []
    # Where the last complete value or member ended, and what has to be closed there.
    safe, closing = 0, ""
    whole = text
    for mark in _JSON_MARK.finditer(text):
        sign = mark[0]
        if sign.startswith('"'):
            if not mark["end"]:
                # The text ends in this string, maybe with half an escape.
                whole = text[: mark.end()] + '"'
            continue
        if sign in "{[":
            closers.append("}" if sign == "{" else "]")
        elif sign in "}]":
            if not closers:
                continue
            closers.pop()
        if len(closers) > _MAX_DEPTH:
            raise UnreadableEvent("too-deep")
        safe = mark.start() if sign == "," else mark.end()
        closing = "".join(reversed(closers))
    whole += "".join(reversed(closers))
    try:
        json.loads(whole)
    except ValueError:
        return text[:safe] + closing
    return whole


def _ends_early(text: str, error: ValueError) -> bool:
    at = getattr(error, "pos", 0)
    return at >= len(text.rstrip()) or "Unterminated" in str(error)


def with_last_answer(event: Event) -> Event:
    """The event of a stop with the answer that its transcript ends with, if the payload had none."""
    if event.kind != "stop" or event.text.strip() or event.agent or not event.transcript.endswith(".jsonl"):
        return event
    return replace(event, text=_last_answer(_last_lines(event.transcript), event.at_ms))


def _is_answer_missing(event: Event) -> bool:
    """Whether a stop that has just happened lacks an answer that its transcript may have soon."""
    lacks = event.kind == "stop" and not event.text.strip() and not event.agent and event.transcript.endswith(".jsonl")
    return lacks and 0 <= time.time() * 1000 - event.at_ms < _TRANSCRIPT_MS and Path(event.transcript).is_file()


def _last_lines(path: str) -> list[bytes]:
    """The last whole lines of a regular file, the newest first; none if it cannot be read."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return []
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return []
        start = max(0, found.st_size - TAIL_BYTES)
        os.lseek(descriptor, start, os.SEEK_SET)
        lines = b"".join(iter(lambda: os.read(descriptor, TAIL_BYTES), b"")).split(b"\n")
    except OSError:
        return []
    finally:
        os.close(descriptor)
    return lines[: 0 if start else None : -1]


def _last_answer(newest_first: Iterable[bytes], stopped_ms: int) -> str:
    """The agent's last message before it stopped, which may be written as several lines."""
    message, parts = "", list[str]()
    for line in newest_first:
        record = _object(line)
        if record is None or (stopped_ms and _time(record) > stopped_ms + _SLACK_MS):
            continue
        if _is_prompt(record):
            if not stopped_ms or _time(record) <= stopped_ms:
                break
            # The next turn had begun: the lines so far belong to its answer.
            message, parts = "", []
            continue
        text = "\n\n".join(_texts(record))
        if text:
            name = _message_id(record)
            if parts and (not name or name != message):
                break
            message, parts = name, [text, *parts]
    return "\n\n".join(parts)


def _texts(record: Mapping[str, Any]) -> Iterator[str]:
    """The texts of one line, if it is by the agent's main thread."""
    if record.get("isSidechain") is True or record.get("isApiErrorMessage") is True:
        return
    if str(record.get("type", "")).casefold() == "planner_response":
        inner = record.get("planner_response")
        yield from _strings(inner.get("response") if isinstance(inner, Mapping) else record.get("content"))
        return
    for holder in (record.get("message"), record.get("payload"), record):
        if isinstance(holder, Mapping) and _role(record, holder) == "assistant":
            yield from _strings(holder.get("content"))
            return


def _strings(content: object) -> Iterator[str]:
    if isinstance(content, str) and content.strip():
        yield content.strip()
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") in _TEXT_TYPES and isinstance(part.get("text"), str):
            yield from _strings(part["text"])


def _is_prompt(record: Mapping[str, Any]) -> bool:
    """Whether a line is a person's prompt, which begins a turn. A tool result is none."""
    if record.get("isSidechain") is True or record.get("isMeta") is True:
        return False
    if str(record.get("type", "")).casefold() == "user_input":
        return True
    for holder in (record.get("message"), record.get("payload"), record):
        if isinstance(holder, Mapping) and _role(record, holder) == "user":
            content = holder.get("content")
            parts = content if isinstance(content, list) else []
            return isinstance(content, str) or any(
                isinstance(part, Mapping) and part.get("type") in ("text", "input_text") for part in parts
            )
    return False


def _role(record: Mapping[str, Any], holder: Mapping[str, Any]) -> str:
    role = holder.get("role") or (record.get("role") or record.get("type") if holder is not record else "")
    return role if isinstance(role, str) else ""


def _message_id(record: Mapping[str, Any]) -> str:
    message = record.get("message")
    name = message.get("id") if isinstance(message, Mapping) else None
    return name if isinstance(name, str) else ""


def _time(record: Mapping[str, Any]) -> int:
    """When a line was written; 0 if unknown."""
    stamp = record.get("timestamp")
    if isinstance(stamp, str):
        try:
            return int(datetime.fromisoformat(stamp).timestamp() * 1000)
        except (ValueError, OverflowError):
            return 0
    return 0


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# Events that are read, stored and removed together: about a quarter of a second of work.
BATCH = 250
ENDED_THE_DRAIN = "ended-the-drain"
"""Why an event is set aside at which drains died or were ended."""
TakeEvents = Callable[[Sequence[Event]], object]


@dataclass(slots=True)
class DrainResult:
    """How many events were stored, passed over or refused (by reason), and how many still wait."""

    remembered: int = 0
    passed_over: int = 0
    cut: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left: int = 0
    elsewhere: bool = False
    """Another process was draining, so nothing was done here."""
    starts: dict[tuple[str, str], None] = field(default_factory=dict)
    """The folders and sessions that will need a context next."""
    waits_because: str = ""
    """Why a server elsewhere could not be sent what waits for it."""

    def add(self, later: DrainResult) -> None:
        """Add the result of a later step."""
        self.remembered += later.remembered
        self.passed_over += later.passed_over
        self.cut += later.cut
        self.refused += later.refused
        self.left, self.elsewhere = later.left, later.elsewhere
        self.starts |= later.starts
        self.waits_because = later.waits_because or self.waits_because

    @property
    def done(self) -> int:
        return self.remembered + self.passed_over + self.refused.total()


def drain(
    memory: LocalMemory, settings: Settings, limit: int | None = None, seconds: float | None = None
) -> DrainResult:
    """Store the waiting events, oldest first: all, at most `limit`, or as many as fit into about `seconds`."""
    return drain_to(lambda events: remember_events(memory, events), settings, limit, seconds)


def drain_to(
    take: TakeEvents, settings: Settings, limit: int | None = None, seconds: float | None = None
) -> DrainResult:
    """The same into whatever takes the events; those that it cannot take now stay in the spool."""
    result, end = DrainResult(), None if seconds is None else time.monotonic() + seconds
    if not has_waiting_events(settings):
        return result
    with DrainLock(settings.data_dir) as locked:
        if not locked:
            result.elsewhere = True
            return result
        spool = spool_path(settings)
        attempts, names = DrainAttempts(spool), waiting_events(spool)
        hopeless = attempts.take_hopeless()
        for name in hopeless:
            _refuse(spool, name, ENDED_THE_DRAIN, result)
        todo = [name for name in names if name not in hopeless][:limit]
        watchdog = Watchdog(settings.data_dir, settings.busy_timeout)
        try:
            for batch in attempts.batches(todo, BATCH):
                watchdog.feed()
                with attempts.at_work(batch):
                    ready = _drain_batch(take, spool, batch, result)
                if not ready or (end is not None and time.monotonic() > end):
                    break
        finally:
            watchdog.stop()
        remove_leftovers(spool)
    result.left = len(names) - result.done
    return result


def _drain_batch(take: TakeEvents, spool: Path, names: Sequence[str], result: DrainResult) -> bool:
    """Read and store some events; False if the next one has to wait a moment."""
    events: dict[str, Event] = {}
    ready = True
    for name in names:
        try:
            record = read_record(spool, name)
            event = read_event(record)
        except (UnreadableEvent, OSError) as error:
            _refuse(spool, name, str(error) if isinstance(error, UnreadableEvent) else "unreadable-file", result)
            continue
        event = event and with_last_answer(event)
        if event and _is_answer_missing(event):
            ready = False
            break
        result.cut += record.ended in ("cut", "stalled")
        if event is None:
            result.passed_over += 1
            remove_events(spool, [name])
        else:
            events[name] = event
    _store(take, spool, events, result)
    return ready


def _store(take: TakeEvents, spool: Path, events: dict[str, Event], result: DrainResult) -> None:
    """Store all events at once; if one of them cannot be stored, each alone, so that it does not block the others."""
    if not events:
        return
    try:
        take(list(events.values()))
    except (StoreError, TimedOut, OSError):
        # Nothing is wrong with the events: they stay in the spool.
        raise
    except Exception as error:  # noqa: BLE001 - counted by its name and set aside
        if len(events) == 1:
            _refuse(spool, next(iter(events)), f"not-rememberable-{type(error).__name__}", result)
            return
        for name, event in events.items():
            _store(take, spool, {name: event}, result)
        return
    result.remembered += len(events)
    result.starts |= contexts_wanted_after(events.values())
    remove_events(spool, list(events))


def _refuse(spool: Path, name: str, reason: str, result: DrainResult) -> None:
    refuse_event(spool, name, reason)
    result.refused[reason] += 1
