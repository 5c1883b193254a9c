"""Reading the pages of a SQLite file without SQLite, for files that SQLite refuses.

SQLite gives up on a tree of pages at the first one that makes no sense. Here each page, and each row on it, is read by
itself: what can be decoded is returned, and the rest is skipped. The format is https://sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from commonplace.store.damaged_values import DamagedText

Value = int | float | str | bytes | None
INDEX_INNER, TABLE_INNER, INDEX_LEAF, TABLE_LEAF = 2, 5, 10, 13
SCHEMA_ROOT = 1
_INNER, _TABLES = (INDEX_INNER, TABLE_INNER), (TABLE_INNER, TABLE_LEAF)
_HEADER = b"SQLite format 3\0"
_DEFAULT_SIZE = 4096
_KINDS = tuple(bytes([kind]) for kind in (INDEX_INNER, TABLE_INNER, INDEX_LEAF, TABLE_LEAF))
# Pages looked at to tell their size, and by how much another than ours has to fit better.
_LOOKED_AT, _BETTER = 100, 0.1
_FRAME = 24
_LOG_HEADER = 32
# No row of ours has more columns, and no value more bytes.
_MOST_COLUMNS, _MOST_BYTES = 100, 2**30
_WIDTHS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Unreadable(Exception):
    """Bytes that are no page, or no row."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it stands on a page; those of a table WITHOUT ROWID have no number."""

    number: int | None
    values: tuple[Value, ...]


class Pages:
    """The pages of a file as they were last committed: those in its log come before those in the file itself."""

    def __init__(self, file: BinaryIO, log: BinaryIO | None = None) -> None:
        self._file = file
        header = file.read(100)
        self.size = _page_size(file, header)
        file.seek(0, 2)
        self._logged = _committed(log, self.size) if log is not None else {}
        # The last page may have been cut off in the middle.
        self.count = max(-(-file.tell() // self.size), *self._logged, 0)
        self.usable = self.size
        reserved = header[20] if header.startswith(_HEADER) and header[20] < self.size // 2 else 0
        if reserved and not any(self._reaches(number, self.size - reserved) for number in range(2, _LOOKED_AT)):
            self.usable -= reserved

    def page(self, number: int) -> bytes:
        if not 1 <= number <= self.count:
            raise Unreadable(f"page {number}")
        page = self._logged.get(number)
        if page is None:
            self._file.seek((number - 1) * self.size)
            page = self._file.read(self.size)
        return page.ljust(self.size, b"\0")

    def kind(self, number: int) -> int:
        return self.page(number)[_start(number)]

    def children(self, number: int) -> list[int]:
        """The pages below one, as far as it names any that there can be."""
        page, start = self.page(number), _start(number)
        if page[start] not in _INNER:
            return []
        below = [int.from_bytes(page[at : at + 4]) for at in self._cells(page, start)]
        below.append(int.from_bytes(page[start + 8 : start + 12]))
        return [child for child in below if 1 < child <= self.count]

    def rows(self, number: int) -> Iterator[Row]:
        """The rows on one page that can be decoded."""
        page, start = self.page(number), _start(number)
        kind = page[start]
        if kind not in (TABLE_LEAF, INDEX_LEAF, INDEX_INNER):
            return
        for at in self._cells(page, start):
            try:
                yield self._row(page, at + 4 if kind == INDEX_INNER else at, of_table=kind == TABLE_LEAF)
            except (Unreadable, IndexError, struct.error):
                continue

    def tree(self, root: int, visited: set[int]) -> Iterator[int]:
        """A page and all below it, each once."""
        waiting = [root]
        while waiting:
            number = waiting.pop()
            if number in visited or not 1 <= number <= self.count:
                continue
            visited.add(number)
            yield number
            waiting += reversed(self.children(number))

    def _reaches(self, number: int, end: int) -> bool:
        """Whether a row of a page begins after the end that the header gives to all of them, which is damaged then."""
        if number > self.count or self.kind(number) not in (TABLE_LEAF, INDEX_LEAF):
            return False
        return any(at >= end for at in self._cells(self.page(number), 0))

    def _cells(self, page: bytes, start: int) -> list[int]:
        """Where the cells of a page begin. A count that cannot be is taken for as many as fit."""
        kind = page[start]
        first = start + (12 if kind in _INNER else 8)
        count = min(int.from_bytes(page[start + 3 : start + 5]), (self.usable - first) // 2)
        offsets = (int.from_bytes(page[first + 2 * n : first + 2 * n + 2]) for n in range(count))
        return list(dict.fromkeys(at for at in offsets if first <= at < self.usable - 1))

    def _row(self, page: bytes, at: int, *, of_table: bool) -> Row:
        size, at = _varint(page, at)
        number = None
        if of_table:
            number, at = _varint(page, at)
        if not 0 < size < _MOST_BYTES:
            raise Unreadable("payload")
        return Row(number, _values(self._payload(page, at, size, of_table=of_table)))

    def _payload(self, page: bytes, at: int, size: int, *, of_table: bool) -> bytes:
        """The bytes of a row; what does not fit on its page goes on along a chain of others."""
        usable = self.usable
        most = usable - 35 if of_table else (usable - 12) * 64 // 255 - 23
        if size <= most:
            if at + size > usable:
                raise Unreadable("payload")
            return page[at : at + size]
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = local if local <= most else least
        if at + local + 4 > usable:
            raise Unreadable("payload")
        parts, left = [page[at : at + local]], size - local
        following, seen = int.from_bytes(page[at + local : at + local + 4]), set[int]()
        while left > 0:
            if following in seen:
                raise Unreadable("chain")
            seen.add(following)
            more = self.page(following)
            parts.append(more[4 : 4 + min(left, usable - 4)])
            left -= usable - 4
            following = int.from_bytes(more[:4])
        return b"".join(parts)


def open_pages(path: Path) -> tuple[Pages, list[BinaryIO]]:
    """The pages of a file that is not encrypted, with its log, and what is to be closed afterwards."""
    files: list[BinaryIO] = [path.open("rb")]
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        files.append(log.open("rb"))
    return Pages(*files), files


def schema(pages: Pages, visited: set[int]) -> dict[tuple[str, str], int]:
    """The root page of each table and index that the schema still names, by its type and name."""
    roots: dict[tuple[str, str], int] = {}
    for number in pages.tree(SCHEMA_ROOT, visited):
        for row in pages.rows(number):
            match row.values:
                case (str() as kind, str() as name, _, int() as root, *_) if 1 < root <= pages.count:
                    roots[kind, name] = root
    return roots


def _start(number: int) -> int:
    """Where the header of a page is: on the first one after that of the file."""
    return 100 if number == 1 else 0


def _page_size(file: BinaryIO, header: bytes) -> int:
    """What the header says, unless another size fits the pages better: it may be damaged too."""
    stated = int.from_bytes(header[16:18])
    stated = 65536 if stated == 1 else stated
    sensible = header.startswith(_HEADER) and stated >= 512 and stated & (stated - 1) == 0
    if not sensible or stated == _DEFAULT_SIZE:
        return _DEFAULT_SIZE
    return stated if _share(file, stated) > _share(file, _DEFAULT_SIZE) + _BETTER else _DEFAULT_SIZE


def _share(file: BinaryIO, size: int) -> float:
    """How many of the first pages of that size begin as one does."""
    begins = 0
    for number in range(1, _LOOKED_AT + 1):
        file.seek(number * size)
        begins += file.read(1) in _KINDS
    return begins / _LOOKED_AT


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    value = value << 8 | data[at + 8]
    return value - 2**64 if value >= 2**63 else value, at + 9


def _values(payload: bytes) -> tuple[Value, ...]:
    """A record: a header with the type of each value, and the values. Both have to fill it exactly."""
    end, at = _varint(payload, 0)
    if not at <= end <= len(payload):
        raise Unreadable("header")
    types: list[int] = []
    while at < end:
        type_, at = _varint(payload, at)
        types.append(type_)
    widths = [_width(type_) for type_ in types]
    if at != end or len(types) > _MOST_COLUMNS or end + sum(widths) != len(payload):
        raise Unreadable("header")
    values: list[Value] = []
    for type_, width in zip(types, widths, strict=True):
        values.append(_value(type_, payload[end : end + width]))
        end += width
    return tuple(values)


def _width(type_: int) -> int:
    if type_ >= 12:
        return (type_ - 12) // 2
    if type_ in (10, 11) or type_ < 0:
        raise Unreadable("type")
    return 8 if type_ == 7 else _WIDTHS.get(type_, 0)


def _value(type_: int, data: bytes) -> Value:
    if type_ == 0:
        return None
    if type_ in (8, 9):
        return type_ - 8
    if type_ == 7:
        return float(struct.unpack(">d", data)[0])
    if type_ < 7:
        return int.from_bytes(data, signed=True)
    if type_ % 2 == 0:
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return DamagedText(data)


def _committed(log: BinaryIO, size: int) -> dict[int, bytes]:
    """The pages in a write-ahead log that belong to finished transactions, as far as its checksums hold."""
    header = log.read(_LOG_HEADER)
    magic = int.from_bytes(header[:4])
    if len(header) < _LOG_HEADER or magic not in (0x377F0682, 0x377F0683) or int.from_bytes(header[8:12]) != size:
        return {}
    order = ">" if magic == 0x377F0683 else "<"
    sums = _summed(order, header[:24], (0, 0))
    found: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    while len(frame := log.read(_FRAME + size)) == _FRAME + size:
        sums = _summed(order, frame[_FRAME:], _summed(order, frame[:8], sums))
        number, commit = struct.unpack(">II", frame[:8])
        if frame[8:16] != header[16:24] or struct.unpack(">II", frame[16:24]) != sums:
            break
        waiting[number] = frame[_FRAME:]
        if commit:
            found |= waiting
            waiting.clear()
    return found


def _summed(order: str, data: bytes, before: tuple[int, int]) -> tuple[int, int]:
    one, two = before
    words: Sequence[int] = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = one + first + two & 0xFFFFFFFF
        two = two + second + one & 0xFFFFFFFF
    return one, two
