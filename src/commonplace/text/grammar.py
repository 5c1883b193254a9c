"""The query grammar: AND OR NOT "phrase" prefix* column:term and parentheses, as in FTS5 but more forgiving.

Operators are upper-case words. Terms side by side are an implicit AND, which binds tightest; then NOT, AND, OR.
Beyond FTS5: `a AND NOT b` and a leading `NOT b` are allowed, parentheses may stand beside terms, and a bare word may
hold punctuation (`src/auth.ts`, `v1.2`). `NEAR(a b, n)` asks for all its terms at any distance; `^` is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.text.lexer import OPERANDS, Kind, Lexeme, NotGrammar, lex
from commonplace.text.syntax import Signed, Term, conjunction, disjunction, inversion
from commonplace.text.tokens import ACRONYMS, STOP_WORDS, fold, phrase_forms, prefix_forms, term_forms

MAX_OPERANDS = 128
MAX_DEPTH = 16
"""Beyond these a text is no query that someone wrote as one; it is taken as plain words."""

_WORDY_GROUP = 4
_WORDY_QUESTION = 3
_TELLING_VERBS = frozenset({"done", "give", "got", "help", "know", "let", "like", "need", "show", "tell", "want"})
_FUNCTION_WORDS = STOP_WORDS - _TELLING_VERBS


@dataclass(frozen=True, slots=True)
class Parsed:
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
            beside = [*range(max(i - 1, 0), i), *range(i + 1, min(i + 2, len(lexemes)))]
            # Single letters stand for themselves here: `a AND b`.
            if any(idle[j] and len(lexemes[j].text) > 1 for j in beside):
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
        """Operands side by side. Among them function words do not count, and beside a phrase, prefix or column filter
        neither do the other bare words of a question or of a wordy text: those only help to rank."""
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
