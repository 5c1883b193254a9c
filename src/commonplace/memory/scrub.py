"""Scrub: find and remove secrets that were stored unnoticed, or a text that a person names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from commonplace.errors import InvalidInput, NothingToRemember
from commonplace.memory.captured_events import is_edited_by_person, mark_as_written
from commonplace.memory.draft import MAX_TAG, MAX_TEXT, MAX_TITLE, as_new_item, redraft
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Draft, Item
from commonplace.store.maintenance import RowKey, TextRow
from commonplace.text.redact import have_no_secrets, redact_counted

ITEMS = "items"
NAMED_TEXT = "named"
# Shorter texts stand in too many words.
SHORTEST, LONGEST = 4, 10_000
_BATCH = 200
_GONE = "[REDACTED:named]"
# What a text that was cut ends with.
_CUT = "…"
# Details that become names of files: no mark can be one.
_SPELLED = ("category", "paths")
_ALL_PRIVATE = "All of this was private."


@dataclass(slots=True)
class ScrubResult:
    """What was checked and found: how many secrets of each kind, and where."""

    looked_at: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    holders: dict[str, list[str]] = field(default_factory=dict)

    @property
    def places(self) -> int:
        return sum(map(len, self.holders.values()))

    def note(self, part: str, name: str, kinds: Mapping[str, int]) -> None:
        self.holders.setdefault(part, []).append(name)
        self.kinds.update(kinds)


def scrub_secrets(
    memory: LocalMemory,
    named: str | None = None,
    *,
    dry_run: bool = False,
    advance: Callable[[int], object] = lambda _rows: None,
) -> ScrubResult:
    """Clean every table, a few rows at a time; after an interruption it can be run again.

    With `named`, that text goes too. What is cleaned is still in the file until it is wiped.
    """
    cleaner = Cleaner(_checked(named))
    done = ScrubResult()
    for part in memory.maintenance.text_parts():
        for batch in _batches(memory, part):
            guilty = cleaner.guilty(batch)
            done.looked_at += len(batch)
            if guilty:
                for holder in guilty:
                    done.note(part, holder.name, cleaner.kinds_in(*holder.texts))
                if not dry_run:
                    _clean(memory, part, [holder.key for holder in guilty], cleaner)
            advance(len(batch))
    if done.places and not dry_run:
        memory.embeddings.wake()
    return done


def wipe_deleted(memory: LocalMemory) -> bool:
    """Take what was cleaned out of the file itself; False if another process keeps that from being finished."""
    return memory.maintenance.erase_deleted()


def copies_of_store(memory: LocalMemory) -> list[Path]:
    """Copies of the store that were made before it changed: what was in it then is still in them."""
    return sorted((memory.settings.database.parent / "backups").glob("*.db*"))


def files_holding(memory: LocalMemory, named: str) -> list[Path]:
    """Files of the data folder that the named text can be read in."""
    forms = {named.encode(), named.casefold().encode()}
    files = (path for path in memory.settings.database.parent.rglob("*") if path.is_file())
    return sorted(path for path in files if any(_holds(path, form) for form in forms))


class Cleaner:
    """Removes secrets and the named text from a text."""

    def __init__(self, named: str | None) -> None:
        self._named = named
        # However it is capitalised: names of projects are kept in small letters too.
        forms = sorted({named, named.casefold()}) if named else ()
        self._pattern = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE) if forms else None

    def __call__(self, text: str) -> str:
        return redact_counted(self._without_named(text))[0]

    def guilty(self, holders: Sequence[TextRow]) -> list[TextRow]:
        """Those that hold something to clean."""
        texts = [text for holder in holders for text in holder.texts]
        if have_no_secrets(texts) and not any(map(self._is_named_in, texts)):
            return []
        return [holder for holder in holders if any(self(text) != text for text in holder.texts)]

    def kinds_in(self, *texts: str) -> Mapping[str, int]:
        """How many of each kind there are to clean."""
        kinds: Counter[str] = Counter()
        for text in texts:
            without = self._without_named(text)
            kinds.update(redact_counted(without)[1])
            kinds[NAMED_TEXT] += without != text
        return +kinds

    def _is_named_in(self, text: str) -> bool:
        return self._named is not None and self._without_named(text) != text

    def _without_named(self, text: str) -> str:
        if self._named is None or self._pattern is None:
            return text
        text = self._pattern.sub(_GONE, text)
        if text.endswith(_CUT):
            # A title is cut where it is full, and may hold the beginning of it.
            for size in range(len(self._named) - 1, SHORTEST - 1, -1):
                if text.endswith(self._named[:size] + _CUT):
                    return text[: -size - 1] + _GONE
        return text


def _checked(named: str | None) -> str | None:
    if named is not None and not SHORTEST <= len(named) <= LONGEST:
        raise InvalidInput(
            f"A text to remove has {SHORTEST} to {LONGEST} characters.", "Name all of it, and nothing else."
        )
    return named


def _batches(memory: LocalMemory, part: str) -> Iterator[list[TextRow]]:
    after: RowKey | None = None
    while batch := memory.maintenance.text_rows(part, after, _BATCH):
        after = batch[-1].key
        yield batch


def _clean(memory: LocalMemory, part: str, marks: Sequence[RowKey], cleaner: Cleaner) -> None:
    if part == ITEMS:
        memory.maintenance.clean_items(marks, lambda item: _redrafted(item, cleaner, memory.clock()))
    else:
        memory.maintenance.clean_text_rows(part, marks, cleaner)


def _redrafted(item: Item, clean: Cleaner, now_ms: int) -> Draft:
    body = clean(item.body)
    note = replace(
        as_new_item(item),
        content=body[:MAX_TEXT],
        # What a type cannot be spelled with is in every mark.
        type=item.type if clean(item.type) == item.type else "",
        title=_title(item, body, clean),
        details={
            name: clean(text) for name, text in item.details.items() if name not in _SPELLED or clean(text) == text
        },
        meta=_meta(item.meta, clean),
        tags=[clean(tag)[:MAX_TAG] for tag in item.tags],
    )
    try:
        draft = redraft(item, note, now_ms)
    except NothingToRemember:
        draft = redraft(item, replace(note, content=_ALL_PRIVATE), now_ms)
    # Cleaning is not editing: what hooks keep up to date they still do.
    return draft if is_edited_by_person(item) else mark_as_written(draft)


def _title(item: Item, body: str, clean: Cleaner) -> str:
    """A title that was taken from the text is taken from what is left of it."""
    taken = body != item.body and item.body.startswith(item.title.rstrip(_CUT))
    return "" if taken else clean(item.title)[:MAX_TITLE]


def _meta(value: Mapping[str, object], clean: Cleaner) -> Mapping[str, object]:
    def cleaned(part: object) -> object:
        if isinstance(part, str):
            return clean(part)
        if isinstance(part, Mapping):
            return {clean(str(name)): cleaned(entry) for name, entry in part.items()}
        return [cleaned(entry) for entry in part] if isinstance(part, (list, tuple)) else part

    return {clean(name): cleaned(entry) for name, entry in value.items()}


def _holds(path: Path, wanted: bytes) -> bool:
    """Whether a file holds these bytes, read piece by piece."""
    tail = b""
    try:
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                if wanted in tail + piece:
                    return True
                tail = piece[-len(wanted) :]
    except OSError:
        return False
    return False
