"""Cuts a query into lexemes, or tells that it is no query: quotes do not pair, braces hold no column names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from commonplace.text.tokens import fold, phrase_forms, prefix_forms, term_forms

MAX_LENGTH = 20_000
MAX_LEXEMES = 512
"""Beyond these a text is no query that someone wrote as one."""

_LEXEME = re.compile(
    r"""
      (?P<space> \s+ )
    | (?P<phrase> "(?:[^"]|"")*+" \*? )
    | (?P<near> NEAR\( [^()]*+ \) )
    | (?P<columns> -?\{ [^{}"()]*+ \} \s* : )
    | (?P<paren> [()] )
    | (?P<word> [^\s"(){}]+ )
    """,
    re.VERBOSE,
)
_COLUMN = re.compile(r"(-?)(\w+):(.*)", re.DOTALL)
_NEAR_DISTANCE = re.compile(r",\s*\d+\s*$")
_CURLY_QUOTES = str.maketrans("“”„‟", '""""')

Kind = Literal["word", "phrase", "prefix", "column", "AND", "OR", "NOT", "+", "(", ")"]
_OPERATORS: dict[str, Kind] = {"AND": "AND", "OR": "OR", "NOT": "NOT", "+": "+"}
OPERANDS = ("word", "phrase", "prefix")


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One piece of a query; `columns` only for the kind `column`."""

    kind: Kind
    text: str
    columns: tuple[str, ...] = ()


class NotGrammar(Exception):
    """The text is no well-formed query."""


def lex(query: str, columns: Mapping[str, str]) -> list[Lexeme]:
    """The lexemes of a query. Only `columns` (folded user name to index column) make filters; what holds no letter
    or digit is left out. Raises NotGrammar."""
    if len(query) > MAX_LENGTH:
        raise NotGrammar
    text = query.translate(_CURLY_QUOTES)
    lexemes: list[Lexeme] = []
    position = 0
    while position < len(text):
        found = _LEXEME.match(text, position)
        if found is None:
            raise NotGrammar
        position = found.end()
        part = found[0]
        match found.lastgroup:
            case "phrase":
                _check_quotes(text, found.start(), found.end())
                lexemes += _phrase(part)
            case "near":
                inner = lex(_NEAR_DISTANCE.sub("", part[5:-1]), {})
                lexemes += [Lexeme("column", part), Lexeme("(", "("), *inner, Lexeme(")", ")")]
            case "columns":
                lexemes.append(_column_list(part, columns))
            case "paren":
                lexemes.append(Lexeme("(" if part == "(" else ")", part))
            case "word":
                lexemes += _word(part, columns, glued=text[position : position + 1] in ('"', "("))
        if len(lexemes) > MAX_LEXEMES:
            raise NotGrammar
    return lexemes


def _check_quotes(text: str, start: int, end: int) -> None:
    # Quotes glued to other text are inches, code or JSON, not a phrase.
    before, after = text[start - 1 : start], text[end : end + 1]
    if (before and not before.isspace() and before not in "(:^+") or (
        after and not after.isspace() and after not in "),.;:?!+"
    ):
        raise NotGrammar


def _phrase(part: str) -> list[Lexeme]:
    kind: Kind = "prefix" if part.endswith("*") else "phrase"
    text = part.rstrip("*")[1:-1].replace('""', " ")
    return [Lexeme(kind, text)] if phrase_forms(text) else []


def _word(part: str, columns: Mapping[str, str], glued: bool) -> list[Lexeme]:
    if operator := _OPERATORS.get(part):
        return [Lexeme(operator, part)]
    column = _COLUMN.match(part)
    if column and fold(column[2]) in columns and (column[3] or glued):
        rest = _bare(column[3])
        if column[3] and not rest:
            raise NotGrammar
        return [Lexeme("column", part, _chosen([column[2]], bool(column[1]), columns)), *rest]
    return _bare(part)


def _bare(part: str) -> list[Lexeme]:
    core = part.rstrip(",.;!?")
    if len(core) > 1 and core[-1] == "*" and core.count("*") == 1 and core[-2].isalnum() and prefix_forms(core):
        return [Lexeme("prefix", core[:-1])]
    return [Lexeme("word", part)] if term_forms(part) else []


def _column_list(part: str, columns: Mapping[str, str]) -> Lexeme:
    names = part[part.index("{") + 1 : part.index("}")].split()
    if not names or any(fold(name) not in columns for name in names):
        raise NotGrammar
    return Lexeme("column", part, _chosen(names, part.startswith("-"), columns))


def _chosen(names: list[str], inverted: bool, columns: Mapping[str, str]) -> tuple[str, ...]:
    named = dict.fromkeys(columns[fold(name)] for name in names)
    if not inverted:
        return tuple(named)
    rest = tuple(column for column in dict.fromkeys(columns.values()) if column not in named)
    if not rest:
        raise NotGrammar
    return rest
