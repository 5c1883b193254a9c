"""Reads a statement as far as it takes to tell which tables it names, and whether each is bound to the one space."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

SPACE = "space_id"
_TOKEN = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\"[^\"]+\"|[A-Za-z_]\w*|\$\d+|\d+(?:\.\d+)?|::|[<>!=]+|[^\s\w]")
_BEFORE_TABLE = {"from", "join", "update", "into", "using", "only"}
_CLAUSES = {*"select from using where set on values group order returning limit".split()}
_NO_ALIAS = {
    *"set where on using join left right inner cross full natural values select order group limit offset".split(),
    *"for union except intersect returning default as lateral window having do overriding".split(),
}
# A value that is the same for all rows: what is bound to it is bound.
_VALUE = re.compile(r"\$\d+|\d+|current_setting|new|old", re.IGNORECASE)


@dataclass
class Block:
    """A query: the tables that it names by their aliases, and what each one's space is held to be equal to."""

    parent: Block | None
    tables: dict[str, str] = field(default_factory=dict)
    tied: list[tuple[str, str]] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)

    def owner(self, alias: str) -> Block | None:
        block: Block | None = self
        while block is not None and alias not in block.tables:
            block = block.parent
        return block


def tokens(statement: str) -> list[str]:
    found = (token for token in _TOKEN.findall(statement) if not token.startswith("--"))
    return [token if token.startswith(("'", '"')) else token.lower() for token in found]


def loose(statement: str, tables: Collection[str]) -> list[str]:
    """The tables of ours that a statement names without binding them to a space."""
    blocks: list[Block] = []
    _read(tokens(statement), Block(None), blocks, tables)
    for block in (block for _ in blocks for block in blocks):
        # What is tied to something bound is bound; once for each block is enough for any order.
        for one, other in (*block.tied, *((b, a) for a, b in block.tied)):
            home, away = block.owner(one), block.owner(other)
            if home is not None and (away is None or other in away.bound):
                home.bound.add(one)
    return [table for block in blocks for alias, table in block.tables.items() if alias not in block.bound]


def _read(words: list[str], block: Block, blocks: list[Block], tables: Collection[str]) -> None:
    """Take a query apart: what is in parentheses and has a SELECT of its own is another one inside."""
    blocks.append(block)
    inner: list[list[str]] = []
    first, *others = _between(list(_parts(words, inner)), ("union", "except", "intersect"))
    for message, part in ((first, block), *((other, Block(block.parent)) for other in others)):
        if part is not block:
            blocks.append(part)
        _note(message, part, tables)
        for number in (int(word[1:]) for word in message if word.startswith("(") and word != "("):
            _read(inner[number], Block(part), blocks, tables)


def _parts(words: list[str], inner: list[list[str]]) -> Iterator[str]:
    """The words of a query, with `(n` in place of the nth query inside it."""
    at = 0
    while at < len(words):
        if words[at] == "(" and at + 1 < len(words) and words[at + 1] in ("select", "with", "("):
            end = _closing(words, at)
            if "select" in words[at:end]:
                inner.append(words[at + 1 : end])
                yield f"({len(inner) - 1}"
                at = end + 1
                continue
        yield words[at]
        at += 1


def _closing(words: list[str], at: int) -> int:
    depth = 0
    for place in range(at, len(words)):
        depth += {"(": 1, ")": -1}.get(words[place], 0)
        if not depth:
            return place
    raise ValueError(f"a parenthesis is not closed: {' '.join(words)}")


def _between(words: list[str], marks: Collection[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word in marks:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _note(words: list[str], block: Block, tables: Collection[str]) -> None:
    clause, depth = "", 0
    for at, word in enumerate(words):
        before, after = words[at - 1] if at else "", words[at + 1 : at + 3]
        clause = word if word in _CLAUSES else clause
        depth += {"(": 1, ")": -1}.get(word, 0)
        listed = before == "," and clause in ("from", "using") and not depth
        if word in tables and (before in _BEFORE_TABLE or listed) and after[:1] != ["."]:
            if before == "into" and after[:1] == ["("]:
                columns = words[at + 1 : _closing(words, at + 1)]
                if SPACE in columns:
                    continue
            alias = [name for name in after if name != "as"][:1]
            named = bool(alias) and re.fullmatch(r"[a-z_]\w*", alias[0]) is not None and alias[0] not in _NO_ALIAS
            block.tables[alias[0] if named else word] = word
    for at, word in enumerate(words):
        if word == SPACE:
            _tie(words, at, block)


def _tie(words: list[str], at: int, block: Block) -> None:
    """What a mention of the space is compared with."""
    mine = words[at - 2] if at > 1 and words[at - 1] == "." else ""
    start = at - 2 if mine else at
    if words[at + 1 : at + 2] == ["="]:
        other = words[at + 2 : at + 5]
    elif start and words[start - 1] == "=":
        other = words[max(0, start - 4) : start - 1]
        other = other if len(other) == 3 and other[1] == "." else other[-1:]
    else:
        return
    aliases = [mine] if mine else list(block.tables)
    if other and (_VALUE.fullmatch(other[0]) or other[0].startswith("(")):
        for alias in aliases:
            home = block.owner(alias)
            if home is not None:
                home.bound.add(alias)
    elif len(other) == 3 and other[1:] == [".", SPACE]:
        block.tied += [(alias, other[0]) for alias in aliases]
