"""Single bits of the file flipped: check and repair never crash, and no row that SQLite can still read is lost."""

from __future__ import annotations

import contextlib
import shutil
import traceback
from pathlib import Path
from random import Random

import apsw

from commonplace.config import Settings
from commonplace.errors import CommonplaceError
from commonplace.memory.check_and_repair import RepairResult, check_and_record, repair_store
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.remember import NewItem, remember, remember_all
from torture.outcome import Outcome
from torture.workspace import Workspace
from torture.writers import text_of

# What people and agents said, and by which columns a row is known to be the same. A repair may give an odd kind or
# status another value, and a line of its history more, so that those are not compared.
TABLES = {
    "items": ("uid", "type", "title", "body", "details", "meta", "created_ms"),
    "sessions": ("uid", "key", "label", "folder", "meta", "started_ms"),
    "projects": ("name", "created_ms"),
    "history": ("item_id", "op", "before"),
}
Rows = dict[tuple[str, int], tuple[object, ...]]


def bit_flips(workspace: Workspace) -> None:
    """So many files with one bit flipped in each, checked, repaired and compared."""
    fill(workspace)
    whole = workspace.folder / "whole.db"
    shutil.copy(workspace.settings.database, whole)
    known = readable(whole, None)
    for number in range(workspace.effort):
        shutil.rmtree(workspace.data)
        workspace.data.mkdir()
        where = flip(whole, workspace.settings.database, workspace.random)
        try_one(workspace.settings, known, f"flip {number} at {where}", workspace.outcome)


def fill(workspace: Workspace) -> None:
    """Memories of several projects, a long one, a conversation and some changes."""
    with workspace.memory() as memory:
        texts = (text_of(workspace.random, "kept", number) for number in range(120))
        notes = [NewItem(text, project=f"p{n % 3}", tags=["fruit"] if n % 4 else []) for n, text in enumerate(texts)]
        made = remember_all(memory, notes)
        remember(
            memory, NewItem("\n\n".join(f"Part {n}: " + "pears and plums. " * 30 for n in range(20)), project="p1")
        )
        content = [
            NewMessage("user" if n % 2 else "assistant", f"Turn {n} about src/app{n}.py. " * 5) for n in range(30)
        ]
        store_conversation(memory, NewConversation("Fruit", content))
        for stored in made[:10]:
            edit_item(
                memory,
                stored.id,
                Changes(content=f"Changed {stored.id}: {text_of(workspace.random, 'new', stored.id)}"),
            )
        memory.embeddings.catch_up()


def flip(whole: Path, target: Path, random: Random) -> str:
    """A copy with one bit flipped; where."""
    data = bytearray(whole.read_bytes())
    at, bit = random.randrange(len(data)), random.randrange(8)
    data[at] ^= 1 << bit
    target.write_bytes(data)
    return f"byte {at} (page {at // 4096 + 1}), bit {bit}"


def readable(path: Path, known: Rows | None) -> Rows:
    """The rows that SQLite reads by their numbers: all of a whole file, or those that are known of a damaged one."""
    found: Rows = {}
    with contextlib.suppress(apsw.Error), contextlib.closing(apsw.Connection(str(path))) as file:
        for table, columns in TABLES.items():
            listed = ", ".join(f"typeof({name}), CAST({name} AS BLOB)" for name in columns)
            numbers = (
                [row[0] for row in file.execute(f"SELECT id FROM {table}")]
                if known is None
                else [number for name, number in known if name == table]
            )
            for number in numbers:
                with contextlib.suppress(apsw.Error):
                    question = f"SELECT {listed} FROM {table} NOT INDEXED WHERE id = ?"
                    for row in file.execute(question, (number,)).fetchall():
                        found[table, number] = row
    return found


def try_one(settings: Settings, known: Rows, where: str, outcome: Outcome) -> None:
    """Check and repair a damaged file, and compare what SQLite could read of it with what is there afterwards."""
    before = readable(settings.database, known)
    try:
        outcome.count("found" if check_and_record(settings) else "not noticed")
    except CommonplaceError as error:
        outcome.count(f"check said {error.code}")
    except Exception:  # noqa: BLE001 - whatever it is, check must not crash
        outcome.count("crashes of check")
        outcome.unsound.append(f"{where}: check crashed: {traceback.format_exc()}")
    done = None
    try:
        done = repair_store(settings)
    except CommonplaceError as error:
        outcome.count(f"repair said {error.code}")
    except Exception:  # noqa: BLE001 - whatever it is, repair must not crash
        outcome.count("crashes of repair")
        outcome.unsound.append(f"{where}: repair crashed: {traceback.format_exc()}")
    after = readable(settings.database, None if done is not None else known)
    outcome.count("rows readable before", len(before))
    compare(before, after, done, where, outcome)
    _say_missing(known, before, after, done, where, outcome)
    if done is not None:
        outcome.count("repaired" if done.done or done.saved else "left alone")
        left = [fault for fault in done.left if fault.derived or fault.part == "file"]
        outcome.unsound += [f"{where}: after the repair: {fault}" for fault in left]


def compare(before: Rows, after: Rows, done: RepairResult | None, where: str, outcome: Outcome) -> None:
    """Every row that could be read is there as it was, or under the number that the repair names."""
    elsewhere = set(after.values())
    for row, content in before.items():
        if after.get(row) == content or content in elsewhere:
            outcome.count("rows surviving")
        elif row in after and done is not None and done.saved is not None and _is_changed(row, done):
            outcome.count("rows surviving")
            outcome.count("rows changed to be kept")
        else:
            outcome.lost.append(f"{where}: {row}: {content} became {after.get(row)}")


def _is_changed(row: tuple[str, int], done: RepairResult) -> bool:
    """Whether the repair says that it had to change a row."""
    assert done.saved is not None
    names = (f"{row[0].removesuffix('s')} {row[1]}:", f"{row[0]} {row[1]}:")
    return any(line.startswith(names) for line in done.saved.changed)


def _say_missing(
    known: Rows, before: Rows, after: Rows, done: RepairResult | None, where: str, outcome: Outcome
) -> None:
    """What SQLite could not read before the repair: read in another way after all, or named as lost."""
    for table, number in known.keys() - before.keys():
        if (table, number) in after:
            outcome.count("rows saved that could not be read by their numbers")
        elif done is not None and done.saved is not None:
            outcome.count("rows lost and named")
            names = (f"{table.removesuffix('s')} {number}", f"{table}: rows ")
            if not any(line.startswith(names) for line in done.saved.lost):
                outcome.refused.append(f"{where}: {table} {number} is missing, and not named: {done.saved.lost}")
