"""The syntax tree of a strict query, and what it means.

A tree is built of `Term`s under `And`, `Or` and `Not`; it never asks for "everything but", because negation floats to
the root, where `Query.inverted` keeps it. `matches` is the meaning that every database engine has to reproduce.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.text.tokens import Form, index_text


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


@dataclass(frozen=True, slots=True)
class Signed:
    """A tree, or everything except what it matches."""

    node: Node
    inverted: bool = False


def conjunction(operands: list[Signed]) -> Signed:
    """AND of all operands; the excluded ones end up to the right of a single NOT."""
    wanted = [operand.node for operand in operands if not operand.inverted]
    excluded = [operand.node for operand in operands if operand.inverted]
    if not wanted:
        return Signed(_any(excluded), inverted=True)
    return Signed(_without(_all(wanted), excluded))


def disjunction(operands: list[Signed]) -> Signed:
    """OR of all operands. With an exclusion among them it is the exclusion of the rest: a OR NOT b = NOT (b NOT a)."""
    wanted = [operand.node for operand in operands if not operand.inverted]
    excluded = [operand.node for operand in operands if operand.inverted]
    if not excluded:
        return Signed(_any(wanted))
    return Signed(_without(_all(excluded), wanted), inverted=True)


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


def _all(nodes: list[Node]) -> Node:
    flat = [part for node in nodes for part in (node.parts if isinstance(node, And) else (node,))]
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else And(distinct)


def _any(nodes: list[Node]) -> Node:
    flat = [part for node in nodes for part in (node.parts if isinstance(node, Or) else (node,))]
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else Or(distinct)


def _without(node: Node, excluded: list[Node]) -> Node:
    if not excluded:
        return node
    if isinstance(node, Not):
        return Not(node.left, _any([node.right, *excluded]))
    return Not(node, _any(excluded))
