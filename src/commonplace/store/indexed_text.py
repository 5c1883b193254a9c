"""What is indexed of an item, under which name, and which text stands for it when it is embedded.

Both engines index the same columns, so that a query means the same on either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from commonplace.model import Kind

# In the order of the full-text table; `scope` follows them there and cannot be named in a query.
COLUMNS = ("title", "subtitle", "text", "narrative", "facts", "concepts", "files", "tags", "type", "speaker")

# How much a word in each column counts for BM25; the last is `scope`, which only filters.
WEIGHTS = (4.0, 1.5, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 0.5, 0.5, 0.0)

# Names that a query may use, and the column each one means.
QUERY_COLUMNS: Mapping[str, str] = {name: name for name in COLUMNS} | {
    "body": "text",
    "content": "text",
    "files_read": "files",
    "files_modified": "files",
    "file": "files",
    "path": "files",
    "tag": "tags",
    "request": "title",
    "task": "title",
    "investigated": "text",
    "learned": "text",
    "completed": "text",
    "next_steps": "text",
    "notes": "text",
    "role": "speaker",
}

# Said of each row of an item that was split: queries that filter look at the whole of it instead. The double mark keeps
# it apart from any word of a text.
PART = "==part"

# A word in more rows than this share, within these bounds, is common: it does not find passages by itself when rarer
# words are there. How many rows more than the upper bound hold it is judged by so many of the newest.
COMMON_SHARE, COMMON_LEAST, COMMON_MOST = 0.2, 2_000, 10_000
SAMPLE_ROWS = 5_000
# Of how many passages it is looked up whether a common word stands in them.
LOOKED_UP = 32
# A query with operators is answered from so many of the newest rows.
NEWEST_ROWS = 2_000

# A message of so few characters is understood by what was said before it: by the last so many characters of that.
SHORT_MESSAGE, CONTEXT_CHARACTERS = 200, 300

_SUMMARY_TEXT = ("investigated", "learned", "completed", "next_steps", "notes")
_CHECKPOINT_TEXT = ("progress", "next_steps", "open_questions")


def columns_of(
    kind: Kind, type_: str, title: str, body: str, details: Mapping[str, str], tags: tuple[str, ...]
) -> dict[str, str]:
    """The text of each index column for one item."""
    get = details.get
    columns = {"title": title, "text": body, "type": type_, "tags": " ".join(tags)}
    if kind == "summary":
        columns["text"] = _joined(body, *(get(name, "") for name in _SUMMARY_TEXT))
    elif kind == "checkpoint":
        columns["text"] = _joined(body, *(get(name, "") for name in _CHECKPOINT_TEXT))
        columns["files"] = get("relevant_files", "")
    elif kind == "message":
        columns["title"] = ""
        columns["speaker"] = _joined(get("role", ""), get("speaker", ""))
        columns["files"] = get("files", "")
    else:
        for name in ("subtitle", "narrative", "facts"):
            columns[name] = get(name, "")
        # Where nothing else is said, what an item is tagged with is what it is about.
        columns["concepts"] = get("concepts", "") or columns["tags"]
        columns["files"] = _joined(get("files_read", ""), get("files_modified", ""), get("paths", ""))
    return columns


def embedding_text(
    kind: Kind, type_: str, title: str, body: str, details: Mapping[str, str], tags: tuple[str, ...]
) -> str:
    """The text that stands for the item when its meaning is compared: its words, each said once."""
    if not (details or tags) and kind != "message":
        # Nothing but a title and a text, as most statements are.
        begun, whole = _without_ellipsis(title), _without_ellipsis(body)
        return whole if begun in whole else f"{begun}\n{whole}" if whole and whole not in begun else begun
    columns = columns_of(kind, type_, title, body, details, tags)
    parts: list[str] = []
    for name in ("title", "subtitle", "narrative", "text", "facts", "concepts"):
        part = _without_ellipsis(columns.get(name, ""))
        if part and not any(part in other for other in parts):
            parts = [other for other in parts if other not in part]
            parts.append(part)
    return "\n".join(parts)


def _without_ellipsis(text: str) -> str:
    """A title cut short by "…" is still the beginning of its text."""
    return text.strip().removesuffix("…").rstrip()


def with_speaker(speaker: str, text: str) -> str:
    """What somebody said, with who said it."""
    return f"{speaker}: {text}" if speaker and text else text


def common_from(rows: int) -> int:
    """In so many of the rows inside a filter a word is common."""
    return int(min(max(rows * COMMON_SHARE, COMMON_LEAST), COMMON_MOST))


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


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
