"""Questions: what one asks for, understood once: its words, its meaning, and whom and what it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from commonplace.errors import TooLarge
from commonplace.memory.conversations import ROLES
from commonplace.memory.local_memory import LocalMemory
from commonplace.store.indexed_text import QUERY_COLUMNS
from commonplace.text.dates import NamedTime, named_time
from commonplace.text.query import Query, parse_query, speaker_role, without_names
from commonplace.text.tokens import stem

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

MAX_QUERY = 10_000
# Shorter ones are kept as they were parsed.
SHORT_QUERY = 500
# Everybody has a role: to name it names nobody.
_ROLES = frozenset(map(stem, ROLES))
_BEGUN = re.compile(r"(\w+)\*")


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question, understood once: its words, its meaning (None when only words can be used), and whom it names.

    Beside its topic it may seek the words of one role, or something of a time. `waiting` is how many
    passages where it is asked could not be compared by meaning, because they have no vector yet. `text` is what a
    model reads of it. If it is `thorough`, more hits are read together with it.
    """

    query: Query
    vector: NDArray[float32] | None
    names: frozenset[str]
    role: str | None = None
    time: NamedTime | None = None
    waiting: int = 0
    text: str = ""
    thorough: bool = False


@lru_cache(maxsize=256)
def _parse_again(question: str) -> Query:
    """What is asked again is parsed once."""
    return parse_query(question, QUERY_COLUMNS)


def parse_question(memory: LocalMemory, question: str, *, by_meaning: bool = True) -> ParsedQuestion:
    """What a question asks for; to ask it again costs no second look at its meaning."""
    if len(question) > MAX_QUERY:
        raise TooLarge(f"The query has {len(question)} characters, more than {MAX_QUERY}.", "Ask a shorter question.")
    query = _parse_again(question) if len(question) <= SHORT_QUERY else parse_query(question, QUERY_COLUMNS)
    words = [] if query.strict else [word for word in query.words if word.token not in _ROLES]
    named = memory.store.speakers(words) if words else []
    # Who speaks is seldom said in what they say: with the name, "Wow, Ann!" would be nearest to all about Ann.
    text = without_names(query.text, [word.surface for word in named])
    text = text if any(map(str.isalnum, text)) else query.text
    vector = memory.embeddings.embed_query(text) if by_meaning else None
    names = frozenset(word.token for word in named)
    if query.strict:
        return ParsedQuestion(query, vector, names, text=text)
    time = named_time(query.text, memory.clock())
    return ParsedQuestion(query, vector, names, speaker_role(query.text), time, text=text)


def is_filter(question: str) -> bool:
    """Whether a question has operators, so that every hit satisfies it, and none is more likely than another."""
    return parse_query(question[:MAX_QUERY], QUERY_COLUMNS).strict


def query_tokens(question: str) -> frozenset[str]:
    """The index tokens that a question looks for; one that ends with an asterisk stands for all that begin so."""
    query = parse_query(question[:MAX_QUERY], QUERY_COLUMNS)
    exact = {token for word in query.words for token in (word.token, *word.phrase, *word.parts)}
    begun = {f"{word.casefold()}*" for word in _BEGUN.findall(question[:MAX_QUERY])} if query.strict else set()
    return frozenset(exact | begun)
