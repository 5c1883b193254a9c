"""Candidates of a search: what a question asks for, and the passages that may answer it.

They are found by words, meaning, time and the title of a conversation, and as replies to what only repeats the
question. They come with what is known of them (`Evidence`); search_steps.py scores them. What has no vector yet gets
one before.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from commonplace.errors import StoreError, TooLarge
from commonplace.memory.embedding_worker import EMBED_FIRST_PASSAGES, EMBED_FIRST_SECONDS, NO_WAIT
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import MESSAGE_ROLES, PROPOSED, Item, Scope, VectorHit
from commonplace.ranking.scoring import Evidence
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.store.types import Job
from commonplace.text.dates import NamedTime, named_time
from commonplace.text.query import (
    Query,
    is_about_questions,
    is_only_question,
    like_pattern,
    may_name_somebody,
    parse_query,
    plain_words,
    repeats_question,
    repeats_words,
    speaker_role,
    without_names,
)
from commonplace.text.sentences import is_small_talk
from commonplace.text.tokens import index_text, stem

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

MAX_QUERY = 10_000
# Shorter ones are kept as they were parsed.
SHORT_QUERY = 500
# Everybody has a role: to name it names nobody.
_ROLES = frozenset(map(stem, MESSAGE_ROLES))
# What hooks note of any session: that commands ran, and how much was done.
_COUNTED = re.compile(r"Ran ")
_BEGUN = re.compile(r"\b(\w++)\*")
# A question of so few words may name a conversation: with this share of them in its label, and this share of the label
# in the question. So many labels are read, and so many of the latest conversations are candidates.
TITLE_WORDS, TITLE_SHARE, LABEL_SHARE, LABELS_READ, TITLES = 8, 0.6, 0.5, 500, 20
# What a title is worth beside the words of the best message: a message that holds them says more.
TITLE_SCORE = 0.7
# So much of what is of a time that was named is looked at too.
OF_A_TIME = 200
# Characters of a reply that are read, to tell whether it says something.
READ_CHARACTERS = 2_000
# What only repeats a question has at most twice its characters and these.
REPEATED_MORE = 80
# What it is worth to hold the words of a question that says nothing: "how", "the".
EMPTY_WORDS = 0.2
# What a program that runs once embeds before it answers, the newest first, in small steps; the rest waits for the next
# one, or a server.
EMBED_SECONDS, EMBED_STEP = 0.5, 4
# The same before a question: first what holds its words.
QUESTION_SECONDS, QUESTION_PASSAGES = 2.0, 1_000
# The same for what is made of vectors alone.
TOPIC_SECONDS = 10.0


PendingVector: TypeAlias = "Callable[[], NDArray[float32] | None]"


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question, understood once: its words, its meaning (None when only words can be used), and whom it names.

    Beside its topic it may seek the words of one role, or something of a time. `waiting` is how many
    passages where it is asked could not be compared by meaning, because they have no vector yet. `text` is what a
    model reads of it. If it is `thorough`, more hits are read together with it.
    """

    query: Query
    pending_vector: PendingVector
    names: frozenset[str]
    role: str | None = None
    time: NamedTime | None = None
    waiting: int = 0
    text: str = ""
    thorough: bool = False

    @property
    def vector(self) -> NDArray[float32] | None:
        """What it means. Another thread makes that: who asks for it later waits less."""
        return self.pending_vector()


@lru_cache(maxsize=256)
def _parse_again(question: str) -> Query:
    """What is asked again is parsed once."""
    return parse_query(question, QUERY_COLUMNS)


class PendingQuestion(NamedTuple):
    """A question of which the words are known, before anything is read for it."""

    query: Query
    by_meaning: bool
    # None if the model did not begin yet.
    vector: PendingVector | None


def start_embedding(memory: LocalMemory, question: str, *, by_meaning: bool = True) -> PendingQuestion:
    """Read the words of a question, and have the model begin with its vector."""
    if len(question) > MAX_QUERY:
        raise TooLarge(f"The query has {len(question)} characters, more than {MAX_QUERY}.", "Ask a shorter question.")
    query = _parse_again(question) if len(question) <= SHORT_QUERY else parse_query(question, QUERY_COLUMNS)
    # A model that is ready begins at once, unless the question may name a speaker: then it is read without the name.
    at_once = by_meaning and memory.embeddings.is_ready and not may_name_somebody(query.text)
    return PendingQuestion(query, by_meaning, memory.embeddings.begin_query(query.text) if at_once else None)


def parse_question(memory: LocalMemory, question: str, *, by_meaning: bool = True) -> ParsedQuestion:
    """What a question asks for; to ask it again costs no second look at its meaning."""
    return parse(memory, start_embedding(memory, question, by_meaning=by_meaning))


def parse(memory: LocalMemory, pending: PendingQuestion) -> ParsedQuestion:
    """What a question asks for, whom it names included."""
    query, by_meaning, vector = pending
    words = [] if query.strict else [word for word in query.words if word.token not in _ROLES]
    named = memory.store.speakers(words) if words else []
    # Who speaks is seldom said in what they say: with the name, "Wow, Ann!" would be nearest to all about Ann.
    text = without_names(query.text, [word.surface for word in named])
    if not any(map(str.isalnum, text)):
        text = query.text
    if not by_meaning:
        vector = _no_vector
    elif vector is None or text != query.text:
        vector = memory.embeddings.begin_query(text)
    names = frozenset(word.token for word in named)
    if query.strict:
        return ParsedQuestion(query, vector, names, text=text)
    time = named_time(query.text, memory.clock())
    return ParsedQuestion(query, vector, names, speaker_role(query.text), time, text=text)


def _no_vector() -> None:
    return None


def is_filter(question: str) -> bool:
    """Whether a question has operators, so that every hit satisfies it, and none is more likely than another."""
    return parse_query(question[:MAX_QUERY], QUERY_COLUMNS).strict


def query_tokens(question: str) -> frozenset[str]:
    """The index tokens that a question looks for; one that ends with an asterisk stands for all that begin so."""
    query = parse_query(question[:MAX_QUERY], QUERY_COLUMNS)
    exact = {token for word in query.words for token in (word.token, *word.phrase, *word.parts)}
    begun = {f"{word.casefold()}*" for word in _BEGUN.findall(question[:MAX_QUERY])} if query.strict else set()
    return frozenset(exact | begun)


def embed_waiting(
    memory: LocalMemory,
    parsed: ParsedQuestion,
    scopes: Sequence[Scope],
    most: int = EMBED_FIRST_PASSAGES,
    seconds: float = EMBED_FIRST_SECONDS,
) -> ParsedQuestion:
    """Embed what has no vector yet before a question is answered: first what holds its words, then the newest.

    Not inside a moment of the store, because vectors are stored. What did not fit the time is counted in the question.
    """
    if not something_waits(memory, parsed):
        return parsed

    def waiting() -> list[Job]:
        found = [memory.store.search_text(parsed.query, scope, most, count=False).hits for scope in scopes]
        by_rank = [hit.passage_id for rank in zip_longest(*found) for hit in rank if hit is not None]
        jobs = {job.id: job for job in memory.store.pending_jobs(by_rank)[:most]}
        for scope in scopes:
            if len(jobs) < most:
                jobs |= {job.id: job for job in memory.store.newest_pending_jobs(scope, most)}
        return list(jobs.values())[:most]

    memory.embeddings.embed_now(waiting, seconds)
    return replace(parsed, waiting=sum(memory.store.pending(scope) for scope in scopes))


def embed_for_question(memory: LocalMemory, question: str, scopes: Sequence[Scope]) -> None:
    """Embed what may answer a question, however much was just written, in a program that runs once."""
    embed_waiting(memory, parse_question(memory, question), scopes, QUESTION_PASSAGES, QUESTION_SECONDS)


def embed_pending(memory: LocalMemory, seconds: float = EMBED_SECONDS) -> None:
    """Embed what was just written. A store that cannot be written now still answers."""
    with contextlib.suppress(StoreError):
        memory.embeddings.catch_up(batch=EMBED_STEP, seconds=seconds, patience=NO_WAIT)


def something_waits(memory: LocalMemory, parsed: ParsedQuestion) -> bool:
    """Whether anything has no vector yet that a question could be compared with."""
    return memory.store.pending() > 0 and parsed.vector is not None


@dataclass(slots=True)
class Candidates:
    """What may answer: what is known of each passage, and the item that it belongs to. `total` counts all that match.

    `past` are items that have changed since the moment that is asked about, as they were then, and `past_texts` is what
    they said. No passage of the store holds that, so each has one with a negative number, its own.
    """

    evidence: dict[int, Evidence]
    item_of_passage: dict[int, int]
    total: int
    past: dict[int, Item] = field(default_factory=dict)
    past_texts: dict[int, str] = field(default_factory=dict)

    @property
    def best_bm25(self) -> float:
        return max((signals.bm25 for signals in self.evidence.values()), default=0.0)


def find_candidates(memory: LocalMemory, question: ParsedQuestion, scope: Scope, k: int) -> Candidates:
    """The best passages by words, the nearest by meaning, and those of a time or a conversation that is named."""
    query = question.query
    # Titles and words are looked up while another thread makes the vector.
    titled = _conversations_named(memory, question, scope)
    by_words = memory.store.search_text(query, scope, k)
    by_meaning = _near(memory, question, scope, k)
    scores = {hit.passage_id: hit.score for hit in by_words.hits}
    cosines = {hit.passage_id: hit.cosine for hit in by_meaning}
    unknown = [passage for passage in scores if passage not in cosines]
    passages = [*scores, *(passage for passage in cosines if passage not in scores)]
    shares = memory.store.word_shares(by_words, passages)
    if question.vector is not None and unknown:
        cosines |= memory.store.cosines(question.vector, unknown)

    worth = 1.0 if query.strict or query.has_content_words else EMPTY_WORDS
    evidence = {}
    for passage in passages:
        evidence[passage] = Evidence(scores.get(passage, 0.0), cosines.get(passage), worth * shares.get(passage, 0.0))
    item_of_passage = {hit.passage_id: hit.item_id for hit in by_meaning}
    item_of_passage |= {hit.passage_id: hit.item_id for hit in by_words.hits}
    candidates = Candidates(evidence, item_of_passage, by_words.total)
    if titled:
        _add_titled(memory, question, candidates, titled)
    return candidates


def _add_titled(
    memory: LocalMemory, question: ParsedQuestion, candidates: Candidates, titled: Mapping[int, float]
) -> None:
    """A conversation with this title answers as if its first message held most of the words of its title."""
    best = candidates.best_bm25 or 1.0
    for passage, item_id in first_passages(memory, list(titled)).items():
        known = candidates.evidence.get(passage) or evidence_by_meaning(memory, question, [passage])[passage]
        lexical, found = max(known.bm25, TITLE_SCORE * best), max(known.found, TITLE_SCORE * titled[item_id])
        candidates.evidence[passage] = Evidence(lexical, known.cosine, found)
        candidates.item_of_passage[passage] = item_id


def _near(memory: LocalMemory, question: ParsedQuestion, scope: Scope, k: int) -> list[VectorHit]:
    """What is near to a question in meaning, and what is of the time that it names."""
    if question.vector is None or question.query.strict:
        return []
    near = []
    # The nearest neighbours of a lone asterisk answer nothing.
    if any(map(str.isalnum, question.query.text)):
        near = memory.store.search_vectors(question.vector, scope, k)
    if question.time is not None:
        near += _of_the_time(memory, question.time, question.vector, scope)
    return near


def _of_the_time(memory: LocalMemory, time: NamedTime, vector: NDArray[float32], scope: Scope) -> list[VectorHit]:
    """What is of the time that a question names, near to it in meaning or not."""
    period = time.latest(memory.clock())
    happened = memory.store.item_headers(scope, period.from_ms or 0, period.to_ms or memory.clock(), OF_A_TIME)
    passages = memory.store.passages_of([event.item_id for event in happened])
    owner = {passage: item_id for item_id, group in passages.items() for passage in group}
    cosines = memory.store.cosines(vector, list(owner))
    return [VectorHit(passage, owner[passage], cosine) for passage, cosine in cosines.items()]


def _conversations_named(memory: LocalMemory, parsed: ParsedQuestion, scope: Scope) -> dict[int, float]:
    """The first messages of conversations whose title the question names, with the share of its words in the title."""
    words = parsed.query.words if not scope.kinds or "message" in scope.kinds else ()
    if parsed.query.strict or not parsed.query.has_content_words or not 0 < len(words) <= TITLE_WORDS:
        return {}
    patterns = [like_pattern(word.surface, word.token) for word in words]
    labels = memory.store.conversations_by_title(patterns, math.ceil(TITLE_SHARE * len(words)), scope, LABELS_READ)
    shares: dict[int, float] = {}
    for item_id, label in labels.items():
        if len(shares) == TITLES:
            break
        of_label = set(index_text(label).split())
        named = sum(word.token in of_label for word in words)
        if named >= TITLE_SHARE * len(words) and named >= LABEL_SHARE * len(plain_words(label)):
            shares[item_id] = named / len(words)
    return shares


def first_passages(memory: LocalMemory, item_ids: Sequence[int]) -> dict[int, int]:
    """The item of the first passage of each item, by that passage."""
    return {passages[0]: item_id for item_id, passages in memory.store.passages_of(item_ids).items()}


def evidence_by_meaning(memory: LocalMemory, parsed: ParsedQuestion, passages: Sequence[int]) -> dict[int, Evidence]:
    """What is known of passages that no word of the question found: their nearness to it, if they have vectors."""
    cosines = {} if parsed.vector is None else memory.store.cosines(parsed.vector, passages)
    return {passage: Evidence(cosine=cosines.get(passage)) for passage in passages}


def repeating(question: ParsedQuestion, items: Sequence[Item]) -> list[Item]:
    """Items that only repeat the question, unless the question is about questions.

    A captured prompt is never an answer, whatever it says. What was proposed in one is none where the question says it
    again, as a prompt does that proposes the same.
    """
    if question.query.strict or is_about_questions(question.query.text):
        return []
    return [item for item in items if _repeats(question.query, item)]


def _repeats(query: Query, item: Item) -> bool:
    """Whether an item only repeats a question."""
    tokens = {word.token for word in query.words}
    if tells_only_requests(item, lambda one: repeats_words(one, tokens), lambda one: _has_any(one, tokens)):
        return True
    text = item.text or item.title
    if item.kind in ("summary", "checkpoint"):
        # Without its request, if it says more than that.
        text = item.details_text("request", "task", "snapshot", "relevant_files") or text
    if len(text) > 2 * len(query.text) + REPEATED_MORE:
        return False
    if item.origin == "captured" and item.type == "prompt":
        return repeats_words(text, tokens)
    if item.origin == "captured" and item.review == PROPOSED and not is_only_question(query.text):
        return tokens.issuperset(word.token for word in plain_words(text))
    return repeats_question(text, tokens)


def _has_any(text: str, tokens: Collection[str]) -> bool:
    return any(word.token in tokens for word in plain_words(text))


def tells_only_requests(item: Item, repeats: Callable[[str], bool], is_about: Callable[[str], bool]) -> bool:
    """Whether a captured summary or checkpoint only has the question as a request, and tells nothing of it.

    What else it tells is about that request if there was no other; else if it shares words with the question.
    """
    if item.kind not in ("summary", "checkpoint") or item.origin != "captured":
        return False
    asked = [*item.details.get("request", "").splitlines(), *item.details.get("task", "").splitlines()]
    if not any(map(repeats, asked)):
        return False
    fields = (text for name, text in item.details.items() if name not in ("request", "task", "notes", "snapshot"))
    told = [line for text in fields for line in text.splitlines() if line.strip() and not _COUNTED.match(line)]
    return not told or (len(set(asked)) > 1 and not any(map(is_about, told)))


def replies_to(memory: LocalMemory, scope: Scope, questions: Sequence[Item]) -> dict[int, Item]:
    """For messages that repeat the question the next message of somebody else, if it says something, by their ids."""
    messages = {item.id: item for item in questions if item.kind == "message"}
    if not messages or scope.types or scope.tag or (scope.kinds and "message" not in scope.kinds):
        return {}
    turns = memory.store.turns(list(messages))
    after = memory.store.get(turn.next_id for turn in turns.values() if turn.next_id is not None)
    replies = {}
    for id_, turn in turns.items():
        if turn.next_id in after:
            reply = after[turn.next_id]
            if _is_inside(scope, reply) and _replies_to(messages[id_], reply):
                replies[id_] = reply
    return replies


def _is_inside(scope: Scope, reply: Item) -> bool:
    """Whether a reply to a message in a scope is in it too: its place and its session are those of the message."""
    return reply.kind == "message" and reply.forgotten_ms is None and scope.has_time_of(reply)


def _replies_to(question: Item, reply: Item) -> bool:
    text = reply.text[:READ_CHARACTERS]
    is_same = all(reply.details.get(name, "") == question.details.get(name, "") for name in ("role", "speaker"))
    return not is_same and not is_only_question(text) and not is_small_talk(text)
