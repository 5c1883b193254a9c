"""The products that can be moved in from: how each is known, how it is read, and where it usually keeps its memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from commonplace.capture.foreign import MAX_HELD, Found, Skipped, Stream
from commonplace.capture.move_in import causantic, claude_mem, kiro_memory, memories_sh, sekha
from commonplace.capture.move_in.database import Database, Unreadable, opened


@dataclass(frozen=True, slots=True)
class Product:
    """A product with a database: tables that only it has together, and its places, as globs under the home.

    A folder that one of its `settings` names comes before its places.
    """

    what: str
    read: Callable[[Database], Iterator[Found]]
    known_by: Mapping[str, tuple[str, ...]]
    settings: tuple[str, ...]
    places: tuple[str, ...]


PRODUCTS: Mapping[str, Product] = {
    "kiro-memory": Product(
        "Kiro Memory (Total Recall)",
        kiro_memory.read,
        {"observations": ("memory_session_id", "narrative"), "summaries": ("investigated",), "prompts": ()},
        ("KIRO_MEMORY_DATA_DIR", "CONTEXTKIT_DATA_DIR", "TOTALRECALL_DATA_DIR"),
        tuple(
            f"{folder}/{name}.db"
            for folder in (".totalrecall", ".kiro-memory", ".contextkit")
            for name in ("totalrecall", "kiro-memory", "contextkit")
        ),
    ),
    "memories.sh": Product(
        "memories.sh",
        memories_sh.read,
        {"memories": ("content", "tags", "deleted_at")},
        ("MEMORIES_DATA_DIR",),
        (".config/memories/local.db",),
    ),
    "causantic": Product(
        "Causantic (ECM)",
        causantic.read,
        {"chunks": ("session_id", "turn_indices", "content"), "edges": ("source_chunk_id",)},
        (),
        (".causantic/memory.db", ".ecm/memory.db"),
    ),
    "sekha": Product(
        "Sekha",
        sekha.read,
        {"conversations": ("label", "folder", "importance_score"), "messages": ("conversation_id", "role")},
        (),
        (".sekha/data/sekha.db", ".sekha/sekha.db"),
    ),
    "claude-mem": Product(
        "claude-mem",
        claude_mem.read,
        {"sdk_sessions": (), "observations": ()},
        ("CLAUDE_MEM_DATA_DIR",),
        (".claude-mem/claude-mem.db",),
    ),
}

_SERVER_MEMORY = "node_modules/@modelcontextprotocol/server-memory/dist/memory.json*"
NAMES = (*PRODUCTS, "server-memory")


def read_database(
    source: Path | Stream, name: str, expected: str | None = None, max_held: int = MAX_HELD
) -> Iterator[Found]:
    """Everything in a database, whichever product's it is. What cannot be read is told."""
    try:
        with opened(source, max_held) as database:
            product = product_of(database)
            if product is None or product != (expected or product):
                tables = ", ".join(database.tables) or "none"
                of = f"of {PRODUCTS[expected].what}" if expected and expected in PRODUCTS else "that is known here"
                yield Skipped(name, f"it is no database {of} (its tables: {tables[:200]})", "file")
            else:
                yield from PRODUCTS[product].read(database)
    except Unreadable as error:
        yield Skipped(name, str(error), "file")


def product_of(database: Database) -> str | None:
    """Whose database it is, by its tables and their columns; not by its name."""
    for name, product in PRODUCTS.items():
        if all(database.has(table, *columns) for table, columns in product.known_by.items()):
            return name
    return None


def places(name: str, home: Path) -> list[Path]:
    """Where a product's memory lies on this machine."""
    if name == "server-memory":
        return _server_memory(home)
    product = PRODUCTS[name]
    folders = [Path(os.environ[setting]).expanduser() for setting in product.settings if os.environ.get(setting)]
    chosen = [folder / Path(place).name for folder in folders for place in product.places]
    candidates = [*chosen, *(home / place for place in product.places)]
    return [path for path in dict.fromkeys(candidates) if path.is_file()]


def _server_memory(home: Path) -> list[Path]:
    """The file it is told to use, else the one inside its package, wherever npx put that."""
    told = os.environ.get("MEMORY_FILE_PATH")
    caches = (home / ".npm" / "_npx", Path(os.environ.get("LOCALAPPDATA") or home) / "npm-cache" / "_npx")
    packaged = [path for cache in caches for path in sorted(cache.glob(f"*/{_SERVER_MEMORY}"))]
    return [path for path in dict.fromkeys([Path(told), *packaged] if told else packaged) if path.is_file()]
