"""Failed commands, and whether the same command passed later."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.model import Item
from commonplace.store.types import ItemHeader
from commonplace.text.sentences import shorten
from commonplace.text.shell_commands import command_covers, normalise_command

MAX_COMMAND, MAX_REASON = 200, 240
_CALL = re.compile(r"\[[^\s\]]+\] (.+)")


@dataclass(frozen=True, slots=True)
class FailedCommand:
    """A command that failed, described by its last failure; `fixed_ms` is when it passed after that, if it did."""

    command: str
    why: str
    at_ms: int
    session_id: int | None
    times: int
    fixed_ms: int | None


@dataclass(frozen=True, slots=True)
class CommandRun:
    """One time that a command ran. `why` is empty if it did not fail; `passed` if it is known to have gone well."""

    command: str
    why: str
    at_ms: int
    session_id: int | None
    passed: bool = False


def find_failed_commands(
    happened: Iterable[ItemHeader], bodies: Callable[[Sequence[int]], Mapping[int, str]]
) -> list[FailedCommand]:
    """What failed, the last first. `bodies` reads the texts of some items: those of turns in which something did."""
    oldest_first = sorted(happened, key=lambda one: (one.at_ms, one.item_id))
    texts = bodies([one.item_id for one in oldest_first if one.details.get("errors")])
    runs: dict[str, list[CommandRun]] = {}
    passed: list[CommandRun] = []
    for one in oldest_first:
        for run in _runs(one, texts.get(one.item_id, "")):
            runs.setdefault(normalise_command(run.command), []).append(run)
            if run.passed:
                passed.append(run)
    found = [failure for same in runs.values() if (failure := _failure(same, passed)) is not None]
    return sorted(found, key=lambda failure: failure.at_ms, reverse=True)


def passed_after(happened: Iterable[ItemHeader], command: str, at_ms: int) -> bool:
    """Whether a command, or a test run that includes it, went well after a moment."""
    later = (run for one in happened if one.at_ms > at_ms for run in _runs(one, ""))
    return any(run.passed and command_covers(run.command, command) for run in later)


def command_runs(item: Item) -> list[CommandRun]:
    """The commands that an item reports, in their order."""
    head = (item.id, item.kind, item.type, item.title, item.details, item.meta, item.project)
    found = ItemHeader(*head, None, item.author, item.review, item.created_ms)
    return list(_runs(found, item.body))


def _failure(runs: Sequence[CommandRun], passed: Sequence[CommandRun]) -> FailedCommand | None:
    """What became of one command, given each time that it ran, and all that went well."""
    failed = [run for run in runs if run.why]
    if not failed:
        return None
    last = failed[-1]
    same = (run.at_ms for run in runs[runs.index(last) + 1 :])
    wider = (run.at_ms for run in passed if run.at_ms > last.at_ms and command_covers(run.command, last.command))
    fixed = min([*same, *wider], default=None)
    command, why = shorten(last.command, MAX_COMMAND), shorten(last.why, MAX_REASON)
    return FailedCommand(command, why, last.at_ms, last.session_id, len(failed), fixed)


def _runs(one: ItemHeader, body: str) -> Iterable[CommandRun]:
    """The commands that an item reports; of a message, those of its turn."""
    if one.kind == "message":
        return _of_turn(one, body)
    if one.type != "command":
        return ()
    command = one.details.get("facts", "").partition("\n")[0] or one.title
    passed = one.meta.get("went_well") is True
    return (CommandRun(command, str(one.meta.get("error") or ""), one.at_ms, one.session_id, passed),)


def _of_turn(one: ItemHeader, body: str) -> Iterable[CommandRun]:
    """The commands of a whole turn of an agent, each with what was printed before the next call."""
    commands = [line.strip() for line in one.details.get("commands", "").splitlines() if line.strip()]
    errors = [line.strip() for line in one.details.get("errors", "").splitlines() if line.strip()]
    if not errors:
        return [CommandRun(command, "", one.at_ms, one.session_id, passed=True) for command in commands]
    called = [(command, next((line for line in errors if line in printed), "")) for command, printed in _calls(body)]
    return [
        CommandRun(command, why, one.at_ms, one.session_id, passed=not why)
        for command, why in called
        if command in commands
    ]


def _calls(body: str) -> Iterable[tuple[str, Sequence[str]]]:
    """Each call of a tool as transcripts write it (`[tool] command`), with the lines up to the next call."""
    found: list[tuple[str, list[str]]] = []
    fence = ""
    for line in map(str.strip, body.splitlines()):
        if not fence and (call := _CALL.match(line)):
            found.append((call[1], []))
        elif line.startswith("```") and not line.strip("`"):
            # What a tool printed may have fences of its own, which are shorter.
            fence = line if not fence else "" if line == fence else fence
        elif found:
            found[-1][1].append(line)
    return found
