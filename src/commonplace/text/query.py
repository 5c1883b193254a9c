"""Queries: a strict one in the query language that every hit must satisfy, or a plain question.

`parse_query` never fails. `Query.strict` says which of the two it is; `to_fts5` and `words_to_fts5` compile either into
a MATCH expression that SQLite always accepts. Plain questions are examined further, in English only: whose words and
which attribute are meant, and whether a text answers or only asks the same. `QueryWords` is what each word of one is
worth to a full-text index.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple

from commonplace.text.query_grammar import And, Node, Not, Or, Term, matches, parse_strict
from commonplace.text.tokens import ACRONYMS, STOP_WORDS, Form, is_paired, stem, strip_marks, term_forms, words_of

__all__ = [
    "And",
    "Node",
    "Not",
    "Or",
    "Query",
    "Term",
    "Word",
    "adjacent_words",
    "like_pattern",
    "matches",
    "parse_query",
    "plain_query",
    "to_fts5",
    "word_forms",
    "words_to_fts5",
]

MAX_WORDS = 64
"""How many plain words of a query are used: the first distinct ones."""

_MAX_PARTS = 16
# Characters of a word that is remembered.
_CACHED_SURFACE = 60
_COMPOUND = re.compile(r"\w+(?:[-./\\:@#~+&%$=]+\w+)*")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Without any of these a text is no query of the language.
_OPERATOR = re.compile(r'["“”„‟(){}*:+]|\b(?:AND|OR|NOT)\b')


@dataclass(frozen=True, slots=True)
class Word:
    """A meaningful word of a query.

    `token` is the index token to look for: the stem, of an identifier the joined word's, of a path or version the stem
    of its longest part. `phrase` (compounds only) is the whole as a token sequence, `parts` the stems of its parts.
    """

    surface: str
    token: str
    phrase: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. `tree` is set if it is strict; `inverted` means that the hits are what `tree` does not match."""

    strict: bool
    tree: Node | None
    inverted: bool
    words: tuple[Word, ...]
    text: str
    """The query for embedding: without operators, column names, quotes and excluded terms."""

    @property
    def has_content_words(self) -> bool:
        """Whether any of its words says what it is about, unlike "how" and "the"."""
        return any(not STOP_WORDS.issuperset(words_of(word.surface)) or word.surface in ACRONYMS for word in self.words)

    def accepts(self, fields: Mapping[str, str]) -> bool:
        """Whether a document (raw text per index column) may be a hit; a plain question accepts everything."""
        return self.tree is None or matches(self.tree, fields) != self.inverted


def parse_query(query: str, columns: Mapping[str, str]) -> Query:
    """Reads a query; `columns` maps the folded column names users may write to index columns.

    Anything that is not well-formed grammar with at least one operator is plain words, never an error.
    """
    parsed = parse_strict(query, columns) if _OPERATOR.search(query) else None
    if parsed is None:
        return plain_query(query)
    text = _tidy(" ".join(parsed.wanted))
    return Query(True, parsed.tree.node, parsed.tree.inverted, plain_words(text), text)


def plain_query(question: str) -> Query:
    """A query read as plain words, whatever operators they look like."""
    text = _tidy(question)
    return Query(strict=False, tree=None, inverted=False, words=plain_words(text), text=text)


def plain_words(text: str) -> tuple[Word, ...]:
    """The distinct meaningful words of a text in order; function words only if there is nothing else."""
    content: dict[tuple[str, tuple[str, ...]], Word] = {}
    empty: dict[tuple[str, tuple[str, ...]], Word] = {}
    for found in _COMPOUND.finditer(strip_marks(text)):
        surface = found[0].strip("_")
        read = _known_words if len(surface) <= _CACHED_SURFACE else _words_of_compound
        words, stop = read(surface)
        target = empty if stop else content
        if len(target) < MAX_WORDS:
            for word in words:
                target.setdefault((word.token, word.phrase), word)
        if len(content) >= MAX_WORDS:
            break
    return tuple((content or empty).values())[:MAX_WORDS]


class AdjacentWords(NamedTuple):
    """Two words that stand together in a question, by what every form of them begins with."""

    one: str
    other: str

    def are_in(self, text: str, lower: str) -> bool:
        """Whether they stand together in a text too; `lower` is the same text in small letters."""
        one, other = self
        if not (lower.isascii() and one.isascii() and other.isascii()):
            return _adjacent(one, other, re.IGNORECASE).search(text) is not None
        # To look for the first word and try the pattern there is much faster than to search for the pattern.
        place = lower.find(one) if other in lower else -1
        while place >= 0:
            if _adjacent(one, other).match(lower, place):
                return True
            place = lower.find(one, place + 1)
        return False


@lru_cache(maxsize=256)
def _adjacent(one: str, other: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    # A letter and a separator at once, an underscore stands in one of the two only: else each would be tried in both.
    return re.compile(rf"\b{re.escape(one)}\w*(?:(?<=_)|[ -][ _-]*){re.escape(other)}", flags)


@lru_cache(maxsize=64)
def adjacent_words(text: str) -> tuple[AdjacentWords, ...]:
    """Each two meaningful words that stand together in a question, such as "checkout app", in any form."""
    stripped = strip_marks(text)
    found = [(word[0].casefold(), word.start(), word.end()) for word in _COMPOUND.finditer(stripped)][:MAX_WORDS]
    pairs = {
        (one, other): None
        for (one, _, end), (other, start, _) in pairwise(found)
        if stripped[end:start] == " " and one not in STOP_WORDS and other not in STOP_WORDS
    }
    return tuple(AdjacentWords(_begins(one, stem(one)), _begins(other, stem(other))) for one, other in pairs)


def _begins(word: str, token: str) -> str:
    """How every form of a word begins: what itself and its stem have in common."""
    begun = "".join(a for a, _b in takewhile(lambda pair: pair[0] == pair[1], zip(word, token, strict=False)))
    return begun if len(begun) > 1 else word


def like_pattern(surface: str, token: str) -> str:
    """A LIKE pattern for texts of ASCII letters that hold a word in any form: what its stem and itself begin with."""
    start = _begins(surface.casefold(), token)
    return "%" + "".join(char if char.isascii() and char.isalnum() else "_" for char in start) + "%"


def to_fts5(tree: Node, columns: Sequence[str] = ()) -> str:
    """A tree as an FTS5 MATCH expression; `columns` limits terms without a filter of their own.

    A query that is `inverted` compiles to what has to be excluded: rows NOT IN what this matches.
    """
    text = _node(tree)
    return f"{_filter(columns)}({text})" if columns else text


def words_to_fts5(words: Sequence[Word], op: Literal["OR", "AND"] = "OR", columns: Sequence[str] = ()) -> str:
    """Plain words as an FTS5 MATCH expression. With OR the parts of a compound count too, so that half a path helps."""
    if not words:
        return '""'
    text = "(" + f" {op} ".join(_word(word, with_parts=op == "OR") for word in words) + ")"
    return _filter(columns) + text if columns else text


def _tidy(text: str) -> str:
    return " ".join(_UNSTORABLE.sub(" ", text).split())


def _words_of_compound(surface: str) -> tuple[Sequence[Word], bool]:
    """The words of a word or compound, and whether they are function words alone."""
    words = words_of(surface)
    return _words(surface, words), STOP_WORDS.issuperset(words) and surface not in ACRONYMS


# Most words of a question or statement were in others before.
_known_words = lru_cache(maxsize=4096)(_words_of_compound)


def _words(surface: str, words: list[str]) -> list[Word]:
    if any(map(is_paired, words)):
        return [Word(word, stem(word)) for word in words]
    forms = term_forms(surface)
    if not forms:
        return []
    phrase = forms[-1].tokens
    if len(words) == 1:
        return [Word(surface, phrase[0])]
    parts = [word for word in dict.fromkeys(words) if len(word) > 1 and not word.isdigit() and word not in STOP_WORDS]
    token = forms[0].tokens[0] if len(forms) > 1 else stem(max(words, key=len))
    return [Word(surface, token, phrase, tuple(dict.fromkeys(map(stem, parts[:_MAX_PARTS]))))]


def _node(node: Node) -> str:
    match node:
        case Term():
            text = _either([_form(form) for form in node.forms])
            return f"({_filter(node.columns)}({text}))" if node.columns else text
        case And():
            return f"({' AND '.join(map(_node, node.parts))})"
        case Or():
            return f"({' OR '.join(map(_node, node.parts))})"
        case Not():
            return f"({_node(node.left)} NOT {_node(node.right)})"


def word_forms(word: Word, *, with_parts: bool) -> list[tuple[str, ...]]:
    """The token sequences, any of which matches a word; with its parts, half a path helps."""
    sequences = [word.phrase] if word.phrase else [(word.token,)]
    if word.phrase and word.token not in word.phrase:
        sequences.append((word.token,))
    if with_parts:
        sequences += [(part,) for part in word.parts]
    return list(dict.fromkeys(sequences))


def _word(word: Word, with_parts: bool) -> str:
    return _either([_form(Form(tokens)) for tokens in word_forms(word, with_parts=with_parts)])


def _form(form: Form) -> str:
    return f'"{" ".join(form.tokens)}"{" *" if form.prefix else ""}'


def _either(alternatives: list[str]) -> str:
    return alternatives[0] if len(alternatives) == 1 else f"({' OR '.join(alternatives)})"


def _filter(columns: Sequence[str]) -> str:
    quoted = " ".join('"' + column.replace('"', '""') + '"' for column in columns)
    return f"{{{quoted}}} : "


_USER_WORDS = re.compile(r"(?<![\w/.-])(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)(?![\w/-])")
_ASSISTANT_WORDS = re.compile(
    r"\b(?:(?:did|had) you|you (?:recommended|suggested|said|told|mentioned|advised|proposed|explained|gave|wrote)"
    r"|your (?:advice|answer|reply|recommendation|suggestion|proposal|explanation)s?)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_QUESTION = re.compile(r"\W*(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_ABOUT_QUESTIONS = re.compile(r"\b(?:ask(?:s|ed|ing)?|questions?)\b", re.IGNORECASE)
_PAST = re.compile(
    r"\b(?:did|have|had) (?:i|we|you)\b|\b(?:when|how long ago) (?:did|was|were)\b|\border in which\b"
    r"|\b(?:i|we|you)(?:['’](?:ve|d)| have| had)? (?:said|told|mentioned|brought up|discussed|talked|asked|decided)\b",
    re.IGNORECASE,
)
# A text is only a question if this share of it asks. It repeats a question if it shares this part of its own words with
# it, and this part of the question's words.
_ONLY, _SAME, _COVERED = 0.9, 0.6, 0.5


def speaker_role(question: str) -> Literal["user", "assistant"] | None:
    """Whose words a question is about: "did I" is about the user's, "you suggested" about the assistant's."""
    if _ASSISTANT_WORDS.search(question):
        return "assistant"
    return "user" if _USER_WORDS.search(question) else None


def is_about_questions(question: str) -> bool:
    """Whether a question is about questions that somebody asked."""
    return _ABOUT_QUESTIONS.search(question) is not None


def is_about_the_past(question: str) -> bool:
    """Whether a question is about what was said or done, so that no standing instruction answers it."""
    return _PAST.search(question) is not None


def is_keywords(question: str) -> bool:
    """Whether a question is nothing but the words to look for, such as a name: no sentence, and no question mark."""
    return "?" not in question and STOP_WORDS.isdisjoint(words_of(question))


def is_only_question(text: str) -> bool:
    """Whether a text is nothing but a question, with a question mark or without."""
    if "?" in text:
        return question_ratio(text) >= _ONLY
    return _QUESTION.match(text) is not None and len(_SENTENCE_END.split(text.strip())) == 1


def repeats_question(text: str, tokens: Collection[str]) -> bool:
    """Whether a text is only a question, with nearly the same words as one of these tokens."""
    return is_only_question(text) and repeats_words(text, tokens)


def repeats_words(text: str, tokens: Collection[str]) -> bool:
    """Whether a text has nearly the same words as a question with these tokens."""
    own = {word.token for word in plain_words(text)}
    shared = len(own.intersection(tokens))
    return shared >= _SAME * len(own) and shared >= _COVERED * len(tokens)


def question_ratio(text: str) -> float:
    """The share of a text that is questions, from 0 to 1."""
    if "?" not in text:
        return 0.0
    sentences = _SENTENCE_END.split(text)
    question_chars = sum(len(sentence) for sentence in sentences if sentence.rstrip().endswith("?"))
    return question_chars / max(1, sum(map(len, sentences)))


def may_name_somebody(question: str) -> bool:
    """Whether a word after the first is written like a name: "Ann", but neither "I" nor "API"."""
    return any(word[0].isupper() and not word.isupper() for word in question.split()[1:])


def without_names(text: str, names: Sequence[str]) -> str:
    """The text without these names, in upper or lower case, and without a possessive 's."""
    if not names:
        return text
    either = "|".join(map(re.escape, names))
    return " ".join(re.sub(rf"\b(?:{either})\b(?:['\u2019]s\b)?", " ", text, flags=re.IGNORECASE).split())


# A word in more rows than this share, within these bounds, is common: it does not find passages by itself when rarer
# words are there. How many rows more than the upper bound hold it is judged by so many of the newest.
COMMON_SHARE, COMMON_LEAST, COMMON_MOST = 0.2, 2_000, 10_000
# Among fewer rows, one in most of them is, if these are not very few: BM25 counts it for nothing anyway.
MOST_SHARE, MOST_LEAST = 0.5, 500
SAMPLE_ROWS = 5_000
# Of how many passages it is looked up whether a common word stands in them.
LOOKED_UP = 32
# A query with operators is answered from so many of the newest rows.
NEWEST_ROWS = 2_000


def common_from(rows: int) -> int:
    """In so many of the rows inside a filter a word is common."""
    return int(min(max(rows * COMMON_SHARE, COMMON_LEAST), COMMON_MOST, max(rows * MOST_SHARE, MOST_LEAST)))


def word_value(rows: int, with_word: int) -> float:
    """What a word is worth that stands in some of the rows: its inverse document frequency."""
    return math.log(1.0 + (max(rows, with_word) - with_word + 0.5) / (with_word + 0.5))


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a plain question by their numbers: what each is worth, and how many rows hold the commonest."""

    rare: tuple[int, ...]
    common: tuple[int, ...]
    worth: tuple[float, ...]
    most: int

    def add_newest(
        self, scored: Sequence[tuple[int, float]], newest: Callable[[Literal["AND", "OR"]], Sequence[int]], k: int
    ) -> tuple[list[tuple[int, float]], frozenset[int]]:
        """Rows that hold rare words, then the newest that hold common ones, and which of them hold all of these."""
        if self.rare and len(self.common) < 2:
            return [*scored], frozenset()
        together = newest("AND")
        either = newest("OR") if len(together) < k and not self.rare else ()
        known = {rowid for rowid, _score in scored}
        value = sum(self.worth[n] for n in self.common)
        added = [(rowid, value) for rowid in dict.fromkeys([*together, *either]) if rowid not in known]
        return [*scored, *added], frozenset(together)

    def shares(
        self,
        passage_ids: Sequence[int],
        holding: Callable[[int], Set[int]],
        together: frozenset[int],
        read: Callable[[Sequence[int]], Mapping[int, Collection[int]]],
    ) -> dict[int, float]:
        """The share of the words' worth in each passage.

        `holding` has the passages with a rare word. Those in `together` have all common words; which of them the first
        and the last few others have, `read` tells.
        """
        value = dict.fromkeys(passage_ids, 0.0)
        for n in self.rare:
            for passage in value.keys() & holding(n):
                value[passage] += self.worth[n]
        if self.common:
            unread = [passage for passage in value if passage not in together]
            half = LOOKED_UP // 2
            held = read([*unread[:half], *unread[half:][-half:]])
            for passage in value:
                for n in self.common if passage in together else held.get(passage, ()):
                    value[passage] += self.worth[n]
        whole = sum(self.worth) or 1.0
        return {passage: worth / whole for passage, worth in value.items()}

    def matches(self, counted: int) -> int:
        """How many passages hold any of the common words: counted as far as that is quick, and estimated beyond."""
        return counted if counted < COMMON_MOST else max(counted, self.most)
