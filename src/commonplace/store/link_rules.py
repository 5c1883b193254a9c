"""How passages are linked: where a passage stands, what it mentions, and whether it may refer back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.store.damage import texts_of
from commonplace.store.indexed_text import columns_of
from commonplace.store.rows import kind_of, passage_text
from commonplace.text.references import References, file_key

# The columns of a `LinkedPassage`, and of a row that `text_of` and `may_refer_back` read.
PASSAGE_COLUMNS = "p.id, p.item_id, p.seq, i.created_ms, i.session_id, i.project_id, i.uid"
PASSAGE_TEXT_COLUMNS = f"""{PASSAGE_COLUMNS}, p.text, i.kind, i.type, i.title,
       CASE WHEN p.text IS NULL THEN i.body ELSE '' END, CASE WHEN p.seq = 0 THEN i.details ELSE '{{}}' END"""


@dataclass(frozen=True, slots=True)
class LinkedPassage:
    """A passage, and where it stands."""

    id: int
    item_id: int
    seq: int
    created_ms: int
    session_id: int | None
    project_id: int | None
    item_uid: str

    @property
    def order(self) -> tuple[int, int, int]:
        return self.created_ms, self.item_id, self.seq


@dataclass(frozen=True, slots=True)
class SessionTies:
    """What a session says of others: which it continues, and which item started it."""

    key: str
    continues: str | None
    started_by: str | None


def mentions_of(passage: LinkedPassage, found: References) -> list[tuple[str, int]]:
    """What a passage mentions: the kind of link it makes, and a hash. Files and names are those of its project."""
    place = passage.project_id or 0
    named = [("file", place, file_key(file)) for file in found.files]
    named += [("error", 0, error) for error in found.errors]
    named += [("name", place, name) for name in found.names]
    return [(rel, _hash(rel, where, text)) for rel, where, text in dict.fromkeys(named)]


def session_failure(passage: LinkedPassage) -> int:
    """The mention that all errors of a session share."""
    return _hash("failed", passage.session_id or 0, "")


def linked_passage(row: Sequence[Any]) -> LinkedPassage:
    return LinkedPassage(*row[:7])


def text_of(row: Sequence[Any]) -> str:
    """The text of the passage; of the first one of an item also the files that the item names."""
    text, kind, type_, title, body, details = row[7:]
    texts = {} if details == "{}" else texts_of(details)
    whole = passage_text(text, kind, type_, title, body, details)
    files = columns_of(kind_of(kind), "", "", "", texts, ()).get("files", "") if texts else ""
    return f"{whole}\n{files.replace(',', ' ')}" if files else whole


def may_refer_back(row: Sequence[Any]) -> bool:
    """Whether a person may be speaking: only then does a phrase refer back."""
    seq, kind, details = row[2], row[8], row[12]
    return bool(seq == 0 and (kind != "message" or texts_of(details).get("role", "user") == "user"))


def _hash(kind: str, where: int, text: str) -> int:
    """48 bits: enough to tell things apart, and short in the file."""
    mention = f"{kind}\0{where}\0{text}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(mention, digest_size=6).digest())
