"""The query language: AND OR NOT "phrase" prefix* column:term and parentheses, as in FTS5 but more forgiving.

Operators are upper-case words. Terms side by side are an implicit AND, which binds tightest; then NOT, AND, OR.
Beyond FTS5: `a AND NOT b` and a leading `NOT b` are allowed, parentheses may stand next to terms, and a bare word may
hold punctuation (`src/auth.ts`, `v1.2`). `NEAR(a b, n)` asks for all its terms at any distance; `^` is ignored.

`lex` cuts a query into lexemes, `parse_strict` makes a syntax tree of `Term`s under `And`, `Or` and `Not`. A tree never
asks for "everything but", because negation floats to the root, where `Query.inverted` has it. `matches` is the meaning
that every database engine has to reproduce.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from commonplace.text.tokens import ACRONYMS, STOP_WORDS, Form, fold, index_text, phrase_forms, prefix_forms, term_forms


@dataclass(frozen=True, slots=True)
class Term:
    """A word, phrase or prefix: found where any of `forms` stands in one of `columns` (all of them if empty)."""

    surface: str
    forms: tuple[Form, ...]
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = " | ".join(" ".join(form.tokens) + "*" * form.prefix for form in self.forms)
        return f"{'+'.join(self.columns)}:[{text}]" if self.columns else f"[{text}]"


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold, each anywhere in the document."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return f"({' AND '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return f"({' OR '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Not:
    """`left` holds and `right` does not."""

    left: Node
    right: Node

    def __str__(self) -> str:
        return f"({self.left} NOT {self.right})"


Node = Term | And | Or | Not


class Signed(NamedTuple):
    """A tree, or everything except what it matches."""

    node: Node
    inverted: bool = False


def conjunction(operands: list[Signed]) -> Signed:
    """AND of all operands; the excluded ones end up to the right of a single NOT."""
    wanted = [operand.node for operand in operands if not operand.inverted]
    excluded = [operand.node for operand in operands if operand.inverted]
    if not wanted:
        return Signed(_either_node(excluded), inverted=True)
    return Signed(_excluding(_every_node(wanted), excluded))


def disjunction(operands: list[Signed]) -> Signed:
    """OR of all operands. With an exclusion among them it is the exclusion of the rest: a OR NOT b = NOT (b NOT a)."""
    wanted = [operand.node for operand in operands if not operand.inverted]
    excluded = [operand.node for operand in operands if operand.inverted]
    if not excluded:
        return Signed(_either_node(wanted))
    return Signed(_excluding(_every_node(excluded), wanted), inverted=True)


def inversion(operand: Signed) -> Signed:
    """Everything except what the operand matches."""
    return Signed(operand.node, not operand.inverted)


def matches(tree: Node, fields: Mapping[str, str]) -> bool:
    """Whether a document, given as raw text per index column, satisfies a tree."""
    return _holds(tree, {column: f" {index_text(text)} " for column, text in fields.items()})


def _holds(node: Node, streams: Mapping[str, str]) -> bool:
    match node:
        case Term():
            columns = node.columns or tuple(streams)
            return any(_stands(form, streams.get(column, "")) for form in node.forms for column in columns)
        case And():
            return all(_holds(part, streams) for part in node.parts)
        case Or():
            return any(_holds(part, streams) for part in node.parts)
        case Not():
            return _holds(node.left, streams) and not _holds(node.right, streams)


def _stands(form: Form, stream: str) -> bool:
    return f" {' '.join(form.tokens)}{'' if form.prefix else ' '}" in stream


def _every_node(nodes: list[Node]) -> Node:
    flat = [part for node in nodes for part in (node.parts if isinstance(node, And) else (node,))]
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else And(distinct)


def _either_node(nodes: list[Node]) -> Node:
    flat = [part for node in nodes for part in (node.parts if isinstance(node, Or) else (node,))]
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else Or(distinct)


def _excluding(node: Node, excluded: list[Node]) -> Node:
    if not excluded:
        return node
    if isinstance(node, Not):
        return Not(node.left, _either_node([node.right, *excluded]))
    return Not(node, _either_node(excluded))


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


class Lexeme(NamedTuple):
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


MAX_OPERANDS = 128
MAX_DEPTH = 16
"""Beyond these a text is no query that someone wrote as one; it is taken as plain words."""

_WORDY_GROUP = 4
_WORDY_QUESTION = 3
_TELLING_VERBS = frozenset({"done", "give", "got", "help", "know", "let", "like", "need", "show", "tell", "want"})
_FUNCTION_WORDS = STOP_WORDS - _TELLING_VERBS


class Parsed(NamedTuple):
    """A well-formed query that uses operators: what it asks for, and its words that are not excluded, in order."""

    tree: Signed
    wanted: tuple[str, ...]


def _is_function_word(word: str) -> bool:
    core = word.strip(",.;:!?'")
    return fold(core) in _FUNCTION_WORDS and core not in ACRONYMS


def parse_strict(query: str, columns: Mapping[str, str]) -> Parsed | None:
    """The query as grammar, or None when it is plain text: not well-formed, without operators, or a question.

    A question is a text that ends in `?`, holds three function words, or has one beside AND, OR or NOT ("should I use
    AND or OR here", "we do NOT want that"): capitals alone do not turn it into a filter, and neither does a title that
    it quotes.
    """
    try:
        lexemes = lex(query, columns)
        question = _is_question(query, lexemes)
        if question and _is_prose(lexemes):
            return None
        parser = _Parser(lexemes, question)
        tree = parser.whole()
    except NotGrammar:
        return None
    return Parsed(tree, tuple(parser.wanted)) if tree and parser.strict else None


def _is_prose(lexemes: list[Lexeme]) -> bool:
    kinds = {lexeme.kind for lexeme in lexemes}
    return "word" in kinds and kinds <= {"word", "phrase", "AND", "OR", "NOT", "+", "(", ")"}


def _is_question(query: str, lexemes: list[Lexeme]) -> bool:
    if query.rstrip().endswith("?"):
        return True
    idle = [lexeme.kind == "word" and _is_function_word(lexeme.text) for lexeme in lexemes]
    if sum(idle) >= _WORDY_QUESTION:
        return True
    for i, lexeme in enumerate(lexemes):
        if lexeme.kind in ("AND", "OR", "NOT"):
            adjacent = [*range(max(i - 1, 0), i), *range(i + 1, min(i + 2, len(lexemes)))]
            # Single letters stand for themselves here: `a AND b`.
            if any(idle[j] and len(lexemes[j].text) > 1 for j in adjacent):
                return True
    return False


class _Parser:
    """Recursive descent over the lexemes of one query; depth and number of operands are bounded."""

    def __init__(self, lexemes: list[Lexeme], question: bool) -> None:
        self.lexemes = lexemes
        self.question = question
        self.position = 0
        self.positive = True
        self.strict = False
        self.operands = 0
        self.wanted: list[str] = []

    def whole(self) -> Signed | None:
        tree = self._any((), 0)
        if self.position < len(self.lexemes):
            raise NotGrammar
        return tree

    def _next(self) -> Kind | None:
        return self.lexemes[self.position].kind if self.position < len(self.lexemes) else None

    def _accept(self, kind: Kind) -> bool:
        if self._next() != kind:
            return False
        self.position += 1
        return True

    def _any(self, columns: tuple[str, ...], depth: int) -> Signed | None:
        operands = [self._all(columns, depth)]
        while self._accept("OR"):
            operands.append(self._all(columns, depth))
        return operands[0] if len(operands) == 1 else disjunction(self._present(operands))

    def _all(self, columns: tuple[str, ...], depth: int) -> Signed | None:
        operands = [self._without(columns, depth)]
        while self._accept("AND"):
            operands.append(self._without(columns, depth))
        return operands[0] if len(operands) == 1 else conjunction(self._present(operands))

    def _without(self, columns: tuple[str, ...], depth: int) -> Signed | None:
        operands = [self._group(columns, depth)] if self._next() != "NOT" else []
        excluded: list[Signed | None] = []
        while self._accept("NOT"):
            self.positive = not self.positive
            excluded.append(self._group(columns, depth))
            self.positive = not self.positive
        if not excluded:
            return operands[0]
        return conjunction([*self._present(operands), *map(inversion, self._present(excluded))])

    def _present(self, operands: list[Signed | None]) -> list[Signed]:
        self.strict = True
        present = [operand for operand in operands if operand is not None]
        if len(present) < len(operands):
            raise NotGrammar
        return present

    def _group(self, columns: tuple[str, ...], depth: int) -> Signed | None:
        """Operands side by side. Function words do not count, and next to a phrase, prefix or column filter neither do
        the other bare words of a question or of a wordy text: those only help to rank."""
        bare: list[tuple[str, Signed]] = []
        firm: list[Signed] = []
        start = self.position
        while (kind := self._next()) in (*OPERANDS, "column", "(", "+"):
            if kind == "word":
                lexeme = self._operand()
                term = self._term(lexeme, columns)
                if lexeme.kind == "word":
                    bare.append((lexeme.text, term))
                else:
                    firm.append(term)
            elif kind == "+":
                self.position += 1
            elif (operand := self._firm(columns, depth)) is not None:
                firm.append(operand)
        if self.position == start:
            raise NotGrammar
        if firm and (self.question or len(bare) > _WORDY_GROUP):
            bare = []
        telling = [term for word, term in bare if not _is_function_word(word)]
        operands = firm + (telling if firm or telling else [term for _, term in bare])
        return conjunction(operands) if operands else None

    def _firm(self, columns: tuple[str, ...], depth: int) -> Signed | None:
        lexeme = self.lexemes[self.position]
        if lexeme.kind == "column":
            self.strict = True
            self.position += 1
            columns = lexeme.columns or columns
            if self._next() == "column" or self._next() not in (*OPERANDS, "("):
                raise NotGrammar
        if self._accept("("):
            if depth >= MAX_DEPTH:
                raise NotGrammar
            operand = None if self._next() == ")" else self._any(columns, depth + 1)
            if not self._accept(")"):
                raise NotGrammar
            return operand
        return self._term(self._operand(), columns)

    def _operand(self) -> Lexeme:
        lexeme = self.lexemes[self.position]
        self.position += 1
        self.operands += 1
        if self.operands > MAX_OPERANDS:
            raise NotGrammar
        self.strict = self.strict or lexeme.kind != "word"
        if self.positive:
            self.wanted.append(lexeme.text)
        while self._next() == "+" and self.position + 1 < len(self.lexemes):
            following = self.lexemes[self.position + 1]
            if following.kind not in OPERANDS or lexeme.kind == "prefix":
                break
            self.position += 2
            if self.positive:
                self.wanted.append(following.text)
            kind: Kind = "prefix" if following.kind == "prefix" else "phrase"
            lexeme = Lexeme(kind, f"{lexeme.text} {following.text}")
        return lexeme

    def _term(self, lexeme: Lexeme, columns: tuple[str, ...]) -> Signed:
        forms = {"word": term_forms, "phrase": phrase_forms, "prefix": prefix_forms}[lexeme.kind]
        return Signed(Term(lexeme.text, forms(lexeme.text), columns))
