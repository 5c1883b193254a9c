"""Predict: what came next in situations like this one, what cured the same error, and what was never cured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from commonplace.memory.book import Book
from commonplace.memory.chunks import KINDS_TOLD, Chunk, chunks_of, is_small_talk
from commonplace.memory.cures import cured_by_rerun, errors_of, following, met_again
from commonplace.memory.graph import walk
from commonplace.memory.recall import Hit, recall
from commonplace.model import Item, Scope
from commonplace.store.columns import QUERY_COLUMNS
from commonplace.text.extract import (
    error_line,
    says_little,
    since_error,
    telling_line,
    telling_words,
    tells_a_cure,
    told_briefly,
)
from commonplace.text.query import parse
from commonplace.text.references import references
from commonplace.text.sentences import sentences
from commonplace.text.summarise import shorten, title_of

# The end of a context says what is going on now.
LOOKED_AT = 2_000
SITUATIONS = 12
LAST_SENTENCES = 3
LAST_PASSAGES = 8
# A situation has to be rather like this one before what followed it is of use; so does what is told.
ALIKE, USEFUL = 0.35, 0.3
STEPS = 4
# For so many errors it is looked up in which sessions they were met.
ERRORS = 6
# What a context says already in this share of its words is not news.
SAID_ALREADY = 0.8
# What came of a situation is told in its place, unless it has far less to do with this one.
IN_PLACE = 0.4
TITLE, SUMMARY, ERROR = 100, 240, 120
# What a cure of the very error that is met now is worth, beside other things.
CURE, UNCURED = 1.25, 1.1

_ASKING = ("user", "tool")

Way = Literal["", "Fixed before", "Repeated error, fixed before", "Unresolved", "Repeated error, unresolved"]
_UNCURED: tuple[Way, ...] = ("Unresolved", "Repeated error, unresolved")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something from before that may help now."""

    chunk: Chunk
    title: str
    summary: str
    relevance: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    item: Item
    passage: int
    worth: float
    way: Way = ""
    error: str = ""
    after: str = ""
    how: str = ""


def predict(book: Book, context: str, limit: int = 5) -> list[Suggestion]:
    """What followed in situations like this, best first; nothing that the context says itself."""
    now = context[-LOOKED_AT:]
    hits: dict[int, Hit] = {}
    for focus in _focuses(now):
        for hit in recall(book, _plain(focus), Scope(kinds=KINDS_TOLD), SITUATIONS).hits:
            if hit.relevance >= max(ALIKE, hits[hit.passage_id].relevance if hit.passage_id in hits else 0.0):
                hits[hit.passage_id] = hit
    if not hits:
        return []
    situations = {passage: hit.relevance for passage, hit in hits.items()}
    after = walk(book, situations, depth=STEPS, most=4 * limit, direction="forward")
    found = [_Candidate(hit.item, hit.passage_id, hit.relevance) for hit in hits.values()]
    found += [_Candidate(one.item, one.passage_id, one.weight) for one in after if one.weight >= USEFUL]
    found += _of_errors(book, found, now)
    return _told(book, found, context, limit)


def _focuses(now: str) -> list[str]:
    """What a context may be about: all of it, each of its errors, each of its last sentences."""
    errors = [error.replace("#", " ") for error in references(now).errors]
    telling = [sentence for sentence in sentences(now) if not says_little(sentence)]
    return list(dict.fromkeys([now, *errors, *telling[-LAST_SENTENCES:]]))


def _plain(context: str) -> str:
    """A context is no query: what looks like operators in it are words."""
    query = parse(context, QUERY_COLUMNS)
    if not query.strict:
        return context
    return " ".join(word.surface.replace(":", " ") for word in query.words)


def _of_errors(book: Book, found: Sequence[_Candidate], now: str) -> list[_Candidate]:
    """For each error in the sessions that were found: what cured it, or that nothing did; one met now counts more."""
    met = references(now).errors
    seen: defaultdict[str, list[_Candidate]] = defaultdict(list)
    for one in found:
        for error in errors_of(one.item) if one.item.session else ():
            seen[error].append(one)
    best = sorted(seen, key=lambda error: -max(one.worth for one in seen[error]))
    for error in best[:ERRORS]:
        # What says the same was found once: the sessions have to be counted before that.
        worth = max(one.worth for one in seen[error])
        others = met_again(book, error, [one.item.id for one in seen[error]])
        seen[error] += [_Candidate(item, 0, worth) for item in others]
    folded = now.casefold()
    return [
        made
        for error, where in seen.items()
        for made in _of_error(book, error, where, now=error in met or _message_of(error) in folded)
    ]


def _message_of(error: str) -> str:
    """What an error says, without what it is called."""
    return error.rpartition(": ")[2] or error


def _of_error(book: Book, error: str, where: Sequence[_Candidate], *, now: bool) -> list[_Candidate]:
    endings = [(one, _ending(book, one.item, error)) for one in where]
    repeated = len({one.item.session for one in where}) > 1
    if cures := [(one, ending) for one, ending in endings if ending and ending.cured]:
        way: Way = "Repeated error, fixed before" if repeated else "Fixed before"
        worth = CURE if now else 1.0
        return [_Candidate(end.item, 0, one.worth * worth, way, error, end.said, end.how) for one, end in cures]
    if outcomes := [(one, ending) for one, ending in endings if ending and _came_of(ending.said)]:
        return [_Candidate(end.item, 0, one.worth, after=end.said) for one, end in outcomes]
    last, ending = max(endings, key=lambda pair: (pair[0].item.created_ms, pair[0].item.id))
    worth, said = last.worth * (UNCURED if now else 1.0), ending.said if ending else ""
    way = "Repeated error, unresolved" if repeated else "Unresolved"
    return [_Candidate(last.item, last.passage, worth, way, error, said)]


@dataclass(frozen=True, slots=True)
class _Ending:
    item: Item
    said: str
    how: str = ""
    cured: bool = False


def _ending(book: Book, item: Item, error: str) -> _Ending | None:
    """How an error ended in its session: what put it right, else what came of it, or was said."""
    after = following(book, item)
    if cure := cured_by_rerun(book, after, error):
        return _Ending(cure.item, cure.said, cure.how, cured=True)
    replies = [one for one in after if not _asks(one) and not is_small_talk(one)]
    # A turn of an agent may hold both the error and its cure.
    said = [(one, since_error(one.text, error) if one.id == item.id else one.text) for one in replies]
    for told in (tells_a_cure, _came_of, _says_something):
        if found := next((pair for pair in said if told(pair[1])), None):
            return _Ending(*found, cured=told is tells_a_cure)
    return None


def _asks(item: Item) -> bool:
    """Whether it is a question, or what a tool printed, and no answer."""
    return item.details.get("role") in _ASKING or item.type == "prompt"


def _came_of(text: str) -> bool:
    """Whether it tells what was done, if not that it helped."""
    return telling_line(text, (), SUMMARY).is_outcome


def _says_something(text: str) -> bool:
    return not all(map(says_little, sentences(text)))


def _told(book: Book, found: Iterable[_Candidate], context: str, limit: int) -> list[Suggestion]:
    """One for each session, and for each thing that belongs to none."""
    said, about = telling_words(context), telling_words(context[-LOOKED_AT:])
    groups: defaultdict[str, list[_Candidate]] = defaultdict(list)
    for one in found:
        groups[one.item.session or one.item.uid].append(one)
    chosen = [one for group in groups.values() for one in [_chosen(group, said)] if one is not None]
    chosen.sort(key=lambda one: (-one.worth, -one.item.created_ms, one.item.id))
    parts = book.store.passages_of([one.item.id for one in chosen if not one.passage])
    scored = [
        (one.item, one.passage or _part(book, parts[one.item.id], one, about), min(1.0, one.worth)) for one in chosen
    ]
    chosen_as = {one.item.id: one for one in chosen}
    told: dict[str, Suggestion] = {}
    for chunk in chunks_of(book, scored):
        suggestion = _suggestion(chunk, chosen_as[chunk.item.id], about)
        told.setdefault(suggestion.summary.casefold(), suggestion)
    return list(told.values())[:limit]


def _part(book: Book, parts: Sequence[int], one: _Candidate, about: frozenset[str]) -> int:
    """The passage of a long item that tells what is suggested; how something ended stands at the end."""
    if len(parts) == 1:
        return parts[0]
    last = parts[-LAST_PASSAGES:]
    texts = {passage: found.text for passage, found in book.store.passage_texts(last).items()}
    cures = [passage for passage in last if one.way and tells_a_cure(texts[passage])]
    return max(cures or last, key=lambda passage: telling_line(texts[passage], about, SUMMARY).worth)


def _chosen(group: Sequence[_Candidate], said: frozenset[str]) -> _Candidate | None:
    """What a session has to say: about an error, else what came of the situation, else the situation itself."""
    best = max(one.worth for one in group)
    news = [one for one in group if one.way or not (is_small_talk(one.item) or _is_known(one.item, said))]
    replies = [one for one in news if not _asks(one.item) and one.worth >= IN_PLACE * best]
    told = [one for one in news if one.way] or replies or news
    return replace(max(told, key=lambda one: (one.worth, one.item.created_ms)), worth=best) if told else None


def _is_known(item: Item, said: frozenset[str]) -> bool:
    """Whether the context says it itself; what a tool printed says nothing."""
    words = telling_words(item.text or item.title)
    return item.details.get("role") == "tool" or (bool(words) and len(words & said) >= SAID_ALREADY * len(words))


def _suggestion(chunk: Chunk, one: _Candidate, about: frozenset[str]) -> Suggestion:
    item = chunk.item
    label = chunk.session.label if chunk.session and item.kind == "message" else ""
    title = label or title_of(item.title) or chunk.topic or chunk.slug
    text = one.after or (item.text if len(item.text) <= 2 * SUMMARY else chunk.text)
    line = told_briefly(text or chunk.text, about, SUMMARY, cure=bool(one.way))
    if one.how:
        line = f"{told_briefly(one.after, about, SUMMARY, cure=True)} {one.how}" if one.after else one.how
    if one.way in _UNCURED:
        line = f"{shorten(error_line(item.text, one.error), ERROR)} — nothing later in that session says it was solved."
        line += f" {telling_line(one.after, about, ERROR).text}" if one.after else ""
    return Suggestion(
        chunk,
        shorten(f"{one.way}: {title}" if one.way else title, TITLE),
        f"{line} ({chunk.day}, {chunk.slug})",
        chunk.score,
    )
