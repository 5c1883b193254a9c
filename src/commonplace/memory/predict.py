"""Predict: what came next in situations like this one, what fixed the same error, and what was never fixed.

A fix is known by the command that failed with an error and passed later: the same command, or a test run that includes
it. What was edited between, and what the agent wrote afterwards, show how.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from commonplace.memory.captured_events import ANSWER_TYPE
from commonplace.memory.failed_commands import CommandRun, command_runs
from commonplace.memory.graph import walk_links
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.open_steps import text_before_steps
from commonplace.memory.projects import is_in_scope
from commonplace.memory.recall import Hit, recall
from commonplace.memory.recall_chunks import CHUNK_KINDS, EVERYWHERE, Chunk, chunks_of, is_small_talk_item
from commonplace.model import Item, Scope, SessionScope
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.dates import DAY_MS
from commonplace.text.query import parse_query
from commonplace.text.references import error_key, errors_in, references
from commonplace.text.sentences import (
    brief_summary,
    content_stems,
    describes_fix,
    error_line,
    is_small_talk,
    key_sentence,
    sentences,
    shorten,
    text_from_error,
    title_of,
)
from commonplace.text.shell_commands import shows_failures_fixed

# How far ahead in a session, and then in its project, it is looked for how something ended.
AHEAD, AHEAD_IN_PROJECT = 60, 200
# How many passages with the words of an error are looked at to tell in which sessions it was met.
ERROR_PASSAGES = 50
MOST_FILES, COMMAND = 4, 80
_LATER_MS = 366 * DAY_MS
_VERDICT = re.compile(r"\W*(?:exit(?:ed with)? (?:code|status)\b.*|\d+ (?:failed|passed|errors?)\b.*)", re.IGNORECASE)
_FEWEST_LETTERS = 12
# How Python says where an error was raised, each line of code indented below its place.
_FRAME = re.compile(r'\s*(?:File "[^"]*", line \d|Traceback \(most recent call last\))')
# How pytest marks the lines of an error.
_MARKED = re.compile(r"(?<!\s)\s*+E\s{2,}")


@dataclass(frozen=True, slots=True)
class Fix:
    """The item that says most about a fix, its text, and what was changed and run."""

    item: Item
    text: str
    how: str


def errors_in_item(item: Item) -> tuple[str, ...]:
    """The errors in an item; of a failed command at least what it printed."""
    found = references(item.text).errors
    error = item.details.get("errors", "") if item.kind == "message" else item.meta.get("error")
    return found if found or not isinstance(error, str) else _keys_of_lines(error)


def errors_of_output(output: str) -> tuple[str, ...]:
    """The errors in what a failed command printed; at least its first telling line."""
    return errors_in(output) or _keys_of_lines(output)


def _keys_of_lines(error: str) -> tuple[str, ...]:
    lines = [line for line in error.splitlines() if not _VERDICT.fullmatch(line.strip())]
    if any(map(_FRAME.match, lines)):
        # Where it was raised differs each time; what was raised stands at the margin.
        lines = [line for line in lines if not line[:1].isspace() and not _FRAME.match(line)]
    keys = (error_key(_MARKED.sub("", line)) for line in lines)
    return tuple(key for key in keys if sum(map(str.isalpha, key)) >= _FEWEST_LETTERS)[:1]


def items_with_error(memory: LocalMemory, error: str, but: Sequence[int], scope: Scope = EVERYWHERE) -> list[Item]:
    """Other items of sessions in a scope with the same error, also word for word repetitions."""
    words = " ".join(re.findall(r"\w+", error.replace("#", " ")))
    if not words:
        return []
    query, scope = parse_query(words, QUERY_COLUMNS), replace(scope, kinds=CHUNK_KINDS)
    hits = memory.store.search_text(query, scope, ERROR_PASSAGES).hits
    items = memory.store.get(list(dict.fromkeys(hit.item_id for hit in hits if hit.item_id not in but)))
    return [item for item in items.values() if item.session and error in errors_in_item(item)]


def session_items_after(memory: LocalMemory, item: Item) -> list[Item]:
    """What came after an item in its session, from the item itself on."""
    session = memory.store.sessions_of([item.id]).get(item.id)
    if session is None:
        return [item]
    scope = Scope(kinds=CHUNK_KINDS, sessions=SessionScope(ids=(session.id,), empty=True))
    found = memory.store.items_between(scope, item.created_ms, item.created_ms + _LATER_MS, AHEAD, oldest_first=True)
    return [one for one in found if (one.created_ms, one.id) >= (item.created_ms, item.id)]


def find_fix_by_rerun(memory: LocalMemory, after: Sequence[Item], error: str) -> Fix | None:
    """How the command that failed with an error came to pass, in the same session or in a later one."""
    runs = [(item, run) for item in after for run in command_runs(item)]
    failed = [place for place, (item, run) in enumerate(runs) if _failed_with(item, run, error)]
    if not failed:
        return None
    output, command = runs[failed[-1]][0].text, runs[failed[-1]][1].command
    for item, run in runs[failed[-1] + 1 :]:
        if run.passed and shows_failures_fixed(run.command, command, output):
            return _fix(after, runs[failed[0]][0], item, run.command)
    return _fixed_in_later_session(memory, runs[failed[-1]][0], command)


def _fixed_in_later_session(memory: LocalMemory, failed: Item, command: str) -> Fix | None:
    """The same in a later session of the project."""
    scope = Scope.inside(failed.project, kinds=("observation",), types=("command",))
    end = failed.created_ms + _LATER_MS
    later = memory.store.items_between(scope, failed.created_ms + 1, end, AHEAD_IN_PROJECT, oldest_first=True)
    for item in later:
        for run in command_runs(item) if item.session != failed.session else ():
            if run.passed and shows_failures_fixed(run.command, command, failed.text):
                return _fix(session_items_after(memory, item), item, item, run.command)
    return None


def _fix(items: Sequence[Item], failed: Item, passed: Item, command: str) -> Fix:
    ids = [item.id for item in items]
    between = items[ids.index(failed.id) : ids.index(passed.id) + 1]
    files = [file for item in between for file in item.details.get("files_modified", "").split(", ") if file]
    changed = ", ".join(dict.fromkeys(reversed(files[-MOST_FILES:])))
    ran = f"`{shorten(command, COMMAND)}` passed afterwards."
    how = f"Changed {changed}; {ran}" if changed else ran
    answer = next((item for item in items[ids.index(passed.id) :] if _is_answer(item)), None)
    return Fix(answer or passed, text_before_steps(answer.text) if answer else "", how)


def _failed_with(item: Item, run: CommandRun, error: str) -> bool:
    return bool(run.why) and (error in errors_in(run.why) or error in errors_in_item(item))


def _is_answer(item: Item) -> bool:
    return item.type == ANSWER_TYPE or (item.kind == "message" and item.details.get("role") == "assistant")


# The end of a context says what is going on now.
CONTEXT_CHARACTERS = 2_000
SITUATIONS = 12
LAST_SENTENCES = 3
LAST_PASSAGES = 8
# A situation has to be rather like this one before what followed it is of use; so does what is told.
ALIKE, USEFUL = 0.35, 0.3
STEPS = 4
# For so many errors it is looked up in which sessions they were met.
ERRORS = 6
# What a context says already in this share of its words is not news.
KNOWN_SHARE = 0.8
# What came of a situation is told in its place, unless it has far less to do with this one.
IN_PLACE = 0.4
TITLE, SUMMARY, ERROR = 100, 240, 120
# What a cure of the very error that is met now is worth, beside other things; and what is about another error.
FIX_WEIGHT, UNRESOLVED_WEIGHT, OTHER_ERROR_WEIGHT = 1.25, 1.1, 0.5

_ASKING = ("user", "tool")

Way = Literal["", "Fixed before", "Repeated error, fixed before", "Unresolved", "Repeated error, unresolved"]
_UNRESOLVED: tuple[Way, ...] = ("Unresolved", "Repeated error, unresolved")


@dataclass(frozen=True, slots=True)
class Prediction:
    """Something from before that may help now."""

    chunk: Chunk
    title: str
    summary: str
    relevance: float

    @property
    def text(self) -> str:
        """What the passage says."""
        return self.chunk.text


@dataclass(frozen=True, slots=True)
class _Candidate:
    item: Item
    passage: int
    worth: float
    way: Way = ""
    error: str = ""
    after: str = ""
    how: str = ""


def predict(memory: LocalMemory, context: str, limit: int = 5, scope: Scope = EVERYWHERE) -> list[Prediction]:
    """What followed in situations like this, in a scope, best first; nothing that the context says itself."""
    now = context[-CONTEXT_CHARACTERS:]
    hits: dict[int, Hit] = {}
    for focus in _focuses(now):
        for hit in recall(memory, _plain(focus), replace(scope, kinds=CHUNK_KINDS), SITUATIONS).hits:
            if hit.relevance >= max(ALIKE, hits[hit.passage_id].relevance if hit.passage_id in hits else 0.0):
                hits[hit.passage_id] = hit
    if not hits:
        return []
    situations = {passage: hit.relevance * _worth_of_errors(hit.item, now) for passage, hit in hits.items()}
    inside = is_in_scope(memory, scope)
    walked = walk_links(memory, situations, depth=STEPS, most=4 * limit, direction="forward")
    after = [one for one in walked if inside(one.item)]
    found = [_Candidate(hit.item, passage, situations[passage]) for passage, hit in hits.items()]
    found += [_Candidate(one.item, one.passage_id, one.weight) for one in after if one.weight >= USEFUL]
    found += _of_errors(memory, found, now, scope)
    return _predictions(memory, found, context, limit)


def _worth_of_errors(item: Item, now: str) -> float:
    """What an item is worth to somebody who meets an error now: little if it is about other errors."""
    met, folded = references(now).errors, now.casefold()
    errors = errors_in_item(item) if met else ()
    same = any(error in met or _message_of(error) in folded for error in errors)
    return OTHER_ERROR_WEIGHT if errors and not same else 1.0


def _focuses(now: str) -> list[str]:
    """What a context may be about: all of it, each of its errors, each of its last sentences."""
    errors = [error.replace("#", " ") for error in references(now).errors]
    telling = [sentence for sentence in sentences(now) if not is_small_talk(sentence)]
    return list(dict.fromkeys([now, *errors, *telling[-LAST_SENTENCES:]]))


def _plain(context: str) -> str:
    """A context is no query: what looks like operators in it are words."""
    query = parse_query(context, QUERY_COLUMNS)
    if not query.strict:
        return context
    return " ".join(word.surface.replace(":", " ") for word in query.words)


def _of_errors(memory: LocalMemory, found: Sequence[_Candidate], now: str, scope: Scope) -> list[_Candidate]:
    """For each error in the sessions found: what fixed it, or that nothing did; an error of now counts more."""
    met = references(now).errors
    seen: defaultdict[str, list[_Candidate]] = defaultdict(list)
    for one in found:
        for error in errors_in_item(one.item) if one.item.session else ():
            seen[error].append(one)
    best = sorted(seen, key=lambda error: -max(one.worth for one in seen[error]))
    for error in best[:ERRORS]:
        # What says the same was found once: the sessions have to be counted before that.
        worth = max(one.worth for one in seen[error])
        others = items_with_error(memory, error, [one.item.id for one in seen[error]], scope)
        seen[error] += [_Candidate(item, 0, worth) for item in others]
    folded = now.casefold()
    return [
        made
        for error, where in seen.items()
        for made in _of_error(memory, error, where, now=error in met or _message_of(error) in folded)
    ]


def _message_of(error: str) -> str:
    """What an error says, without what it is called."""
    return error.rpartition(": ")[2] or error


def _of_error(memory: LocalMemory, error: str, where: Sequence[_Candidate], *, now: bool) -> list[_Candidate]:
    endings = [(one, _ending(memory, one.item, error)) for one in where]
    repeated = len({one.item.session for one in where}) > 1
    if fixes := [(one, ending) for one, ending in endings if ending and ending.fixed]:
        way: Way = "Repeated error, fixed before" if repeated else "Fixed before"
        worth = FIX_WEIGHT if now else 1.0
        return [_Candidate(end.item, 0, one.worth * worth, way, error, end.text, end.how) for one, end in fixes]
    if outcomes := [(one, ending) for one, ending in endings if ending and _came_of(ending.text)]:
        return [_Candidate(end.item, 0, one.worth, after=end.text) for one, end in outcomes]
    last, ending = max(endings, key=lambda pair: (pair[0].item.created_ms, pair[0].item.id))
    worth, text = last.worth * (UNRESOLVED_WEIGHT if now else 1.0), ending.text if ending else ""
    way = "Repeated error, unresolved" if repeated else "Unresolved"
    return [_Candidate(last.item, last.passage, worth, way, error, text)]


@dataclass(frozen=True, slots=True)
class _Ending:
    item: Item
    text: str
    how: str = ""
    fixed: bool = False


def _ending(memory: LocalMemory, item: Item, error: str) -> _Ending | None:
    """How an error ended in its session: what fixed it, else what came of it."""
    after = session_items_after(memory, item)
    if fix := find_fix_by_rerun(memory, after, error):
        return _Ending(fix.item, fix.text, fix.how, fixed=True)
    replies = [one for one in after if not _asks(one) and not is_small_talk_item(one)]
    # A turn of an agent may hold both the error and its cure.
    texts = [(one, text_from_error(one.text, error) if one.id == item.id else one.text) for one in replies]
    for tells in (describes_fix, _came_of, _says_something):
        if found := next((pair for pair in texts if tells(pair[1])), None):
            return _Ending(*found, fixed=tells is describes_fix)
    return None


def _asks(item: Item) -> bool:
    """Whether it is a question, or what a tool printed, and no answer."""
    return item.details.get("role") in _ASKING or item.type == "prompt"


def _came_of(text: str) -> bool:
    """Whether it says what was done, if not that it helped."""
    return key_sentence(text, (), SUMMARY).is_outcome


def _says_something(text: str) -> bool:
    return not all(map(is_small_talk, sentences(text)))


def _predictions(memory: LocalMemory, found: Iterable[_Candidate], context: str, limit: int) -> list[Prediction]:
    """One for each session, and for each thing that belongs to none."""
    known, about = content_stems(context), content_stems(context[-CONTEXT_CHARACTERS:])
    groups: defaultdict[str, list[_Candidate]] = defaultdict(list)
    for one in found:
        groups[one.item.session or one.item.uid].append(one)
    chosen = [one for group in groups.values() for one in [_chosen(group, known)] if one is not None]
    chosen.sort(key=lambda one: (-one.worth, -one.item.created_ms, one.item.id))
    parts = memory.store.passages_of([one.item.id for one in chosen if not one.passage])
    scored = [
        (one.item, one.passage or _part(memory, parts[one.item.id], one, about), min(1.0, one.worth)) for one in chosen
    ]
    chosen_as = {one.item.id: one for one in chosen}
    found_once: dict[str, Prediction] = {}
    for chunk in chunks_of(memory, scored):
        suggestion = _suggestion(chunk, chosen_as[chunk.item.id], about)
        found_once.setdefault(suggestion.summary.casefold(), suggestion)
    return list(found_once.values())[:limit]


def _part(memory: LocalMemory, parts: Sequence[int], one: _Candidate, about: frozenset[str]) -> int:
    """The passage of a long item that shows the suggestion; how something ended is near the end."""
    if len(parts) == 1:
        return parts[0]
    last = parts[-LAST_PASSAGES:]
    texts = {passage: found.text for passage, found in memory.store.passage_texts(last).items()}
    fixes = [passage for passage in last if one.way and describes_fix(texts[passage])]
    return max(fixes or last, key=lambda passage: key_sentence(texts[passage], about, SUMMARY).worth)


def _chosen(group: Sequence[_Candidate], known: frozenset[str]) -> _Candidate | None:
    """What a session has to say: about an error, else what came of the situation, else the situation itself."""
    best = max(one.worth for one in group)
    news = [one for one in group if one.way or not (is_small_talk_item(one.item) or _is_known(one.item, known))]
    replies = [one for one in news if not _asks(one.item) and one.worth >= IN_PLACE * best]
    best_ones = [one for one in news if one.way] or replies or news
    return replace(max(best_ones, key=lambda one: (one.worth, one.item.created_ms)), worth=best) if best_ones else None


def _is_known(item: Item, known: frozenset[str]) -> bool:
    """Whether the context says it itself; what a tool printed says nothing."""
    words = content_stems(item.text or item.title)
    return item.details.get("role") == "tool" or (bool(words) and len(words & known) >= KNOWN_SHARE * len(words))


def _suggestion(chunk: Chunk, one: _Candidate, about: frozenset[str]) -> Prediction:
    item = chunk.item
    label = chunk.session.label if chunk.session and item.kind == "message" else ""
    title = label or title_of(item.title) or chunk.topic or chunk.slug
    text = one.after or (item.text if len(item.text) <= 2 * SUMMARY else chunk.text)
    line = brief_summary(text or chunk.text, about, SUMMARY, cure=bool(one.way))
    if one.how:
        line = f"{brief_summary(one.after, about, SUMMARY, cure=True)} {one.how}" if one.after else one.how
    if one.way in _UNRESOLVED:
        line = f"{shorten(error_line(item.text, one.error), ERROR)} — nothing later in that session says it was solved."
        line += f" {key_sentence(one.after, about, ERROR).text}" if one.after else ""
    return Prediction(
        chunk,
        shorten(f"{one.way}: {title}" if one.way else title, TITLE),
        f"{line} ({chunk.day}, {chunk.slug})",
        chunk.score,
    )
