"""What someone asks for: a strict query in the grammar that every hit must satisfy, or a plain question.

`parse` never fails. `Query.strict` says which of the two it is; `to_fts5` and `words_to_fts5` compile either into a
MATCH expression that SQLite always accepts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from commonplace.text.grammar import parse_strict
from commonplace.text.syntax import And, Node, Not, Or, Term, matches
from commonplace.text.tokens import ACRONYMS, STOP_WORDS, Form, is_paired, stem, strip_marks, term_forms, words_of

__all__ = [
    "And",
    "Node",
    "Not",
    "Or",
    "Query",
    "Term",
    "Word",
    "forms_of",
    "like_pattern",
    "matches",
    "parse",
    "plain",
    "to_fts5",
    "words_to_fts5",
]

MAX_WORDS = 64
"""Plain words kept of a query: the first distinct ones."""

_MAX_PARTS = 16
_COMPOUND = re.compile(r"\w+(?:[-./\\:@#~+&%$=]+\w+)*")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Word:
    """A meaningful word of a query.

    `token` is the index token to look for: the stem, of an identifier the joined word's, of a path or version the stem
    of its longest part. `phrase` (compounds only) is the whole as a token sequence, `parts` its telling stems.
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
    """What was asked, for embedding: without operators, column names, quotes and excluded terms."""

    @property
    def telling(self) -> bool:
        """Whether any of its words says what it is about; "how" and "the" alone do not."""
        return any(not STOP_WORDS.issuperset(words_of(word.surface)) or word.surface in ACRONYMS for word in self.words)

    def accepts(self, fields: Mapping[str, str]) -> bool:
        """Whether a document (raw text per index column) may be a hit; a plain question accepts everything."""
        return self.tree is None or matches(self.tree, fields) != self.inverted


def parse(query: str, columns: Mapping[str, str]) -> Query:
    """Reads a query; `columns` maps the folded column names users may write to index columns.

    Anything that is not well-formed grammar with at least one operator is plain words, never an error.
    """
    parsed = parse_strict(query, columns)
    if parsed is None:
        return plain(query)
    text = _tidy(" ".join(parsed.wanted))
    return Query(True, parsed.tree.node, parsed.tree.inverted, plain_words(text), text)


def plain(question: str) -> Query:
    """A question made of words, whatever operators they look like."""
    text = _tidy(question)
    return Query(strict=False, tree=None, inverted=False, words=plain_words(text), text=text)


def plain_words(text: str) -> tuple[Word, ...]:
    """The distinct meaningful words of a text in order; function words only if there is nothing else."""
    telling: dict[tuple[str, tuple[str, ...]], Word] = {}
    empty: dict[tuple[str, tuple[str, ...]], Word] = {}
    for found in _COMPOUND.finditer(strip_marks(text)):
        surface = found[0].strip("_")
        words = words_of(surface)
        stop = STOP_WORDS.issuperset(words) and surface not in ACRONYMS
        kept = empty if stop else telling
        if len(kept) < MAX_WORDS:
            for word in _words(surface, words):
                kept.setdefault((word.token, word.phrase), word)
        if len(telling) >= MAX_WORDS:
            break
    return tuple((telling or empty).values())[:MAX_WORDS]


def like_pattern(surface: str, token: str) -> str:
    """A LIKE pattern for texts of ASCII letters that hold a word in any form: what its stem and itself begin with."""
    word = surface.casefold()
    begun = "".join(a for a, _b in takewhile(lambda pair: pair[0] == pair[1], zip(word, token, strict=False)))
    told = begun if len(begun) > 1 else word
    return "%" + "".join(char if char.isascii() and char.isalnum() else "_" for char in told) + "%"


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


def forms_of(word: Word, *, with_parts: bool) -> list[tuple[str, ...]]:
    """The token sequences any of which will do for a word; with its parts, half a path helps."""
    sought = [word.phrase] if word.phrase else [(word.token,)]
    if word.phrase and word.token not in word.phrase:
        sought.append((word.token,))
    if with_parts:
        sought += [(part,) for part in word.parts]
    return list(dict.fromkeys(sought))


def _word(word: Word, with_parts: bool) -> str:
    return _either([_form(Form(tokens)) for tokens in forms_of(word, with_parts=with_parts)])


def _form(form: Form) -> str:
    return f'"{" ".join(form.tokens)}"{" *" if form.prefix else ""}'


def _either(alternatives: list[str]) -> str:
    return alternatives[0] if len(alternatives) == 1 else f"({' OR '.join(alternatives)})"


def _filter(columns: Sequence[str]) -> str:
    quoted = " ".join('"' + column.replace('"', '""') + '"' for column in columns)
    return f"{{{quoted}}} : "
