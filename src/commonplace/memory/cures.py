"""Cures: what put an error right, told by the command that failed with it and went well later.

That needs no word of anybody: the same command, or a test run that includes it, passed. What was edited between, and
what the agent said afterwards, tell how.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.memory.answers import ANSWER
from commonplace.memory.book import Book
from commonplace.memory.chunks import KINDS_TOLD
from commonplace.memory.failures import Run, runs_of
from commonplace.model import Item, Scope, SessionScope
from commonplace.store.columns import QUERY_COLUMNS
from commonplace.text.commands import covers
from commonplace.text.query import parse
from commonplace.text.references import error_key, errors_in, references
from commonplace.text.steps import before_steps
from commonplace.text.summarise import shorten

# How far ahead in a session, and then in its project, it is looked for how something ended.
AHEAD, AHEAD_IN_PROJECT = 60, 200
# How many passages with the words of an error are looked at to tell in which sessions it was met.
LOOKED_AT = 50
MOST_FILES, COMMAND = 4, 80
_LATER_MS = 366 * 86_400_000
_VERDICT = re.compile(r"\W*(?:exit(?:ed with)? (?:code|status)\b.*|\d+ (?:failed|passed|errors?)\b.*)", re.IGNORECASE)
_FEWEST_LETTERS = 12


@dataclass(frozen=True, slots=True)
class Cure:
    """The item that tells most of a cure, what it says, and what was changed and run."""

    item: Item
    said: str
    how: str


def errors_of(item: Item) -> tuple[str, ...]:
    """The errors that an item tells of; of a command that failed, at least what it printed."""
    found = references(item.text).errors
    error = item.details.get("errors", "") if item.kind == "message" else item.meta.get("error")
    if found or not isinstance(error, str):
        return found
    lines = (line for line in error.splitlines() if not _VERDICT.fullmatch(line.strip()))
    keys = (error_key(line) for line in lines)
    return tuple(key for key in keys if sum(map(str.isalpha, key)) >= _FEWEST_LETTERS)[:1]


def met_again(book: Book, error: str, but: Sequence[int]) -> list[Item]:
    """Other items of sessions that tell of the same error, also those that say it word for word alike."""
    words = " ".join(re.findall(r"\w+", error.replace("#", " ")))
    if not words:
        return []
    hits = book.store.search_text(parse(words, QUERY_COLUMNS), Scope(kinds=KINDS_TOLD), LOOKED_AT).hits
    items = book.store.get(list(dict.fromkeys(hit.item_id for hit in hits if hit.item_id not in but)))
    return [item for item in items.values() if item.session and error in errors_of(item)]


def following(book: Book, item: Item) -> list[Item]:
    """What came after an item in its session, from the item itself on."""
    session = book.store.sessions_of([item.id]).get(item.id)
    if session is None:
        return [item]
    scope = Scope(kinds=KINDS_TOLD, sessions=SessionScope(ids=(session.id,), empty=True))
    found = book.store.items_between(scope, item.created_ms, item.created_ms + _LATER_MS, AHEAD, oldest_first=True)
    return [one for one in found if (one.created_ms, one.id) >= (item.created_ms, item.id)]


def cured_by_rerun(book: Book, after: Sequence[Item], error: str) -> Cure | None:
    """How the command that failed with an error came to pass, in the same session or in a later one."""
    runs = [(item, run) for item in after for run in runs_of(item)]
    failed = [place for place, (item, run) in enumerate(runs) if _failed_with(item, run, error)]
    if not failed:
        return None
    command = runs[failed[-1]][1].command
    passed = next((item for item, run in runs[failed[-1] + 1 :] if run.passed and covers(run.command, command)), None)
    if passed is not None:
        return _cure(after, runs[failed[0]][0], passed, command)
    return _cured_later(book, runs[failed[-1]][0], command)


def _cured_later(book: Book, failed: Item, command: str) -> Cure | None:
    """The same in a later session of the project."""
    scope = Scope.inside(failed.project, kinds=("observation",), types=("command",))
    end = failed.created_ms + _LATER_MS
    later = book.store.items_between(scope, failed.created_ms + 1, end, AHEAD_IN_PROJECT, oldest_first=True)
    for item in later:
        if item.session != failed.session and any(run.passed and covers(run.command, command) for run in runs_of(item)):
            return _cure(following(book, item), item, item, command)
    return None


def _cure(told: Sequence[Item], failed: Item, passed: Item, command: str) -> Cure:
    ids = [item.id for item in told]
    between = told[ids.index(failed.id) : ids.index(passed.id) + 1]
    files = [file for item in between for file in item.details.get("files_modified", "").split(", ") if file]
    changed = ", ".join(dict.fromkeys(reversed(files[-MOST_FILES:])))
    ran = f"`{shorten(command, COMMAND)}` passed afterwards."
    how = f"Changed {changed}; {ran}" if changed else ran
    answer = next((item for item in told[ids.index(passed.id) :] if _is_answer(item)), None)
    return Cure(answer or passed, before_steps(answer.text) if answer else "", how)


def _failed_with(item: Item, run: Run, error: str) -> bool:
    return bool(run.why) and (error in errors_in(run.why) or error in errors_of(item))


def _is_answer(item: Item) -> bool:
    return item.type == ANSWER or (item.kind == "message" and item.details.get("role") == "assistant")
