"""Candidates of a search: what a question asks for, and the passages that may answer it.

They are found by words, meaning, time and the title of a conversation, and come with what is known of them
(`Evidence`); memory/recall.py puts them in order. What has no vector yet gets one before.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from commonplace.errors import StoreError, TooLarge
from commonplace.memory.embedding_worker import EMBED_FIRST_PASSAGES, EMBED_FIRST_SECONDS, NO_WAIT
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import MESSAGE_ROLES, Scope, VectorHit
from commonplace.ranking.scores_and_relevance import Evidence
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.store.types import Job
from commonplace.text.dates import NamedTime, named_time
from commonplace.text.query import (
    Query,
    like_pattern,
    may_name_somebody,
    parse_query,
    plain_words,
    speaker_role,
    without_names,
)
from commonplace.text.tokens import index_text, stem

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

MAX_QUERY = 10_000
# Shorter ones are kept as they were parsed.
SHORT_QUERY = 500
# Everybody has a role: to name it names nobody.
_ROLES = frozenset(map(stem, MESSAGE_ROLES))
_BEGUN = re.compile(r"\b(\w++)\*")
# A question of so few words may name a conversation: with this share of them in its label, and this share of the label
# in the question. So many labels are read, and so many of the latest conversations are candidates.
TITLE_WORDS, TITLE_SHARE, LABEL_SHARE, LABELS_READ, TITLES = 8, 0.6, 0.5, 500, 20
# What a title is worth beside the words of the best message: a message that holds them says more.
TITLE_SCORE = 0.7
# So much of what is of a time that was named is looked at too.
OF_A_TIME = 200
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


class BegunQuestion(NamedTuple):
    """A question of which the words are known, before anything is read for it."""

    query: Query
    by_meaning: bool
    # None if the model did not begin yet.
    vector: PendingVector | None


def begin_question(memory: LocalMemory, question: str, *, by_meaning: bool = True) -> BegunQuestion:
    """Parse a question, and have the model begin with it."""
    if len(question) > MAX_QUERY:
        raise TooLarge(f"The query has {len(question)} characters, more than {MAX_QUERY}.", "Ask a shorter question.")
    query = _parse_again(question) if len(question) <= SHORT_QUERY else parse_query(question, QUERY_COLUMNS)
    # A model that is ready begins at once, unless the question may name a speaker: then it is read without the name.
    at_once = by_meaning and memory.embeddings.is_ready and not may_name_somebody(query.text)
    return BegunQuestion(query, by_meaning, memory.embeddings.begin_query(query.text) if at_once else None)


def parse_question(memory: LocalMemory, question: str, *, by_meaning: bool = True) -> ParsedQuestion:
    """What a question asks for; to ask it again costs no second look at its meaning."""
    return understand(memory, begin_question(memory, question, by_meaning=by_meaning))


def understand(memory: LocalMemory, begun: BegunQuestion) -> ParsedQuestion:
    """What a question asks for, whom it names included."""
    query, by_meaning, vector = begun
    words = [] if query.strict else [word for word in query.words if word.token not in _ROLES]
    embed = memory.embeddings.begin_query if by_meaning else _no_vector
    named = memory.store.speakers(words) if words else []
    # Who speaks is seldom said in what they say: with the name, "Wow, Ann!" would be nearest to all about Ann.
    text = without_names(query.text, [word.surface for word in named])
    text = text if any(map(str.isalnum, text)) else query.text
    if vector is None or text != query.text:
        vector = embed(text)
    names = frozenset(word.token for word in named)
    if query.strict:
        return ParsedQuestion(query, vector, names, text=text)
    time = named_time(query.text, memory.clock())
    return ParsedQuestion(query, vector, names, speaker_role(query.text), time, text=text)


def _no_vector(_text: str) -> Callable[[], None]:
    return lambda: None


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


def find_candidates(
    memory: LocalMemory, parsed: ParsedQuestion, scope: Scope, k: int
) -> tuple[dict[int, Evidence], dict[int, int], int]:
    """Evidence by passage, the item each passage belongs to, and how many matched."""
    query = parsed.query
    # Its words are looked up while its vector is made.
    titled = _conversations_named(memory, parsed, scope)
    answer = memory.store.search_text(query, scope, k)
    vector = parsed.vector
    near = _near(memory, parsed, scope, k)
    cosines: dict[int, float] = {}
    owner: dict[int, int] = {}
    shares = memory.store.word_shares(answer, list(dict.fromkeys([*(hit.passage_id for hit in answer.hits), *near])))
    for passage, item_id, cosine in near.values():
        cosines[passage], owner[passage] = cosine, item_id
    unknown = [passage for passage, _item_id, _score in answer.hits if passage not in cosines]
    cosines |= {} if vector is None or not unknown else memory.store.cosines(vector, unknown)
    scores: dict[int, float] = {}
    for passage, item_id, score in answer.hits:
        scores[passage], owner[passage] = score, item_id
    share = 1.0 if query.strict or query.has_content_words else EMPTY_WORDS
    found = shares.get
    evidence = {p: Evidence(scores.get(p, 0.0), cosines.get(p), share * found(p, 0.0)) for p in owner}
    if titled:
        # A conversation with this title answers as if its first message held most of the words of its title.
        best = max(scores.values(), default=1.0)
        for passage, item_id in first_passages(memory, list(titled)).items():
            known = evidence.get(passage) or evidence_by_meaning(memory, parsed, [passage])[passage]
            lexical = max(known.bm25, TITLE_SCORE * best)
            evidence[passage] = Evidence(lexical, known.cosine, max(known.found, TITLE_SCORE * titled[item_id]))
            owner[passage] = item_id
    return evidence, owner, answer.total


def _near(memory: LocalMemory, parsed: ParsedQuestion, scope: Scope, k: int) -> dict[int, VectorHit]:
    """What is near to a question in meaning, and what is of the time that it names, by passage."""
    vector = parsed.vector
    if vector is None:
        return {}
    # The nearest neighbours of a lone asterisk answer nothing.
    has_words = not parsed.query.strict and any(map(str.isalnum, parsed.query.text))
    near = memory.store.search_vectors(vector, scope, k) if has_words else []
    near += [] if parsed.time is None else _of_the_time(memory, parsed.time, vector, scope)
    return {hit.passage_id: hit for hit in near}


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
