"""The formats and products that can be imported, in two tables, and how a file or database is recognised.

Another package adds a format by an entry point of the group `commonplace.importers` that names a `Format`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from json import JSONDecodeError, JSONDecoder
from pathlib import Path

from commonplace import plugins
from commonplace.capture.import_report import MAX_HELD, Entry, Skipped, Stream
from commonplace.capture.importers import (
    causantic,
    chatgpt_and_claude,
    claude_mem,
    commonplace_export,
    kiro_memory,
    mem0,
    memories_sh,
    sekha,
    server_memory,
    text_files,
)
from commonplace.capture.importers.foreign_database import (
    DATABASE_SUFFIXES,
    ForeignDatabase,
    UnreadableDatabase,
    open_copy,
)
from commonplace.errors import CommonplaceError

HEAD = 1 << 18
"""Bytes at the beginning of a file from which its format is recognised."""
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
# Documents that are not readable text, though they may be ASCII.
_DOCUMENTS: Mapping[bytes, str] = {
    b"%PDF-": "a PDF (`pdftotext` does that)",
    b"{\\rtf": "a document in RTF",
    b"%!PS": "a document in PostScript",
}
_PAGE = re.compile(
    r"(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)

# mem0's platform has an array of that name, too; its memories have their text under another name.
_MEMORIES_SH = r'"memories"\s*:\s*\[(?!\s*\{[^{}]*"memory"\s*:\s*")'


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its reader, what it is, and for JSON a pattern by which it is recognised.

    `read` gets a stream and the name of the file. It trusts nothing, yields a `Skipped` for whatever it cannot import,
    and holds little in memory.
    """

    read: Callable[[Stream, str], Iterator[Entry]]
    what: str
    pattern: str = ""


FORMATS: Mapping[str, Format] = {
    "chatgpt": Format(
        chatgpt_and_claude.read_chatgpt, "conversations.json of ChatGPT's data export", r'"mapping"\s*:\s*\{'
    ),
    "claude": Format(
        chatgpt_and_claude.read_claude, "conversations.json of Claude's data export", r'"chat_messages"\s*:\s*\['
    ),
    "json": Format(commonplace_export.read_json, "conversations as Commonplace exports them", r'"messages"\s*:\s*\['),
    "archive": Format(
        commonplace_export.read_archive_part,
        "everything as Commonplace exports it: a zip or a folder",
        r'"format"\s*:\s*"commonplace-archive"|"what"\s*:\s*"(?:item|session|project)"',
    ),
    "kiro-memory": Format(
        kiro_memory.read_export,
        "JSON or JSON lines of `kiro-memory export`",
        r'"_(?:meta|type)"\s*:|^\[\s*\{\s*"id"\s*:\s*\d+,\s*"memory_session_id"\s*:',
    ),
    "memories.sh": Format(memories_sh.read_export, "JSON of `memories export`", _MEMORIES_SH),
    "causantic": Format(causantic.read_export, "an archive of `causantic export`", r'"causantic-archive"'),
    "claude-mem": Format(claude_mem.read_export, "JSON of claude-mem's export", r'"totalObservations"\s*:'),
    "mem0": Format(mem0.read_export, "JSON of mem0's `get_all`, or of its platform", r'"memory"\s*:\s*"'),
    "server-memory": Format(
        server_memory.read, "memory.jsonl of the reference memory server", r'"(?:entity|relation)Type"\s*:'
    ),
    "markdown": Format(text_files.read_markdown, "a conversation as Markdown, or any Markdown text"),
    "html": Format(text_files.read_html, "the text of a web page"),
    "text": Format(text_files.read_plain_text, "a conversation as plain text, or any text"),
}


@dataclass(frozen=True, slots=True)
class Product:
    """A product with a database: the tables and columns by which it is recognised, and its usual places.

    The places are below the home folder; a folder named by one of the `variables` comes first.
    """

    what: str
    read: Callable[[ForeignDatabase], Iterator[Entry]]
    known_by: Mapping[str, tuple[str, ...]]
    variables: tuple[str, ...]
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
    "mem0": Product(
        "mem0",
        mem0.read,
        {"history": ("memory_id", "new_memory", "event")},
        ("MEM0_DIR",),
        (".mem0/history.db",),
    ),
}
PRODUCT_NAMES = (*PRODUCTS, "server-memory")
_SERVER_MEMORY = "node_modules/@modelcontextprotocol/server-memory/dist/memory.json*"


def find_format(name: str) -> Format | None:
    """The format of a name, built in or of a plugin; None if there is none. InvalidInput for a broken plugin."""
    if name in FORMATS:
        return FORMATS[name]
    found: Format | None = plugins.find(plugins.IMPORTERS, name, check_format)
    return found and replace(found, read=lambda stream, file: _read_by_plugin(name, found, stream, file))


def plugin_formats() -> dict[str, Format]:
    """The formats that other packages add, as far as they can be used."""
    found = plugins.find_all(plugins.IMPORTERS, check_format)
    return {name: format_ for name, format_ in found.items() if isinstance(format_, Format)}


def format_names() -> tuple[str, ...]:
    """What may be named as a format. Plugins are not loaded for it: a broken one says so when it is used."""
    return (*FORMATS, *plugins.names(plugins.IMPORTERS))


def check_format(name: str, found: object) -> str:
    """What is wrong with the object that an entry point leads to; empty if nothing is."""
    if name in FORMATS or name in PRODUCT_NAMES:
        return "it has the name of a built-in format"
    return "" if isinstance(found, Format) else "it is not a Format"


def _read_by_plugin(name: str, format_: Format, stream: Stream, file: str) -> Iterator[Entry]:
    """What a plugin reads. If it fails, the rest of the file is skipped, and the import goes on."""
    try:
        yield from format_.read(stream, file)
    except CommonplaceError:
        raise
    except Exception as error:  # noqa: BLE001 - somebody else's code may raise anything
        yield Skipped(file, f"The plugin {name} cannot read it: {type(error).__name__}: {error}".rstrip(": "), "file")


def detect_format(head: bytes, name: str) -> str | None:
    """The name of the format in which a file begins; None if it is unknown."""
    if b"\0" in head or head.lstrip().startswith(tuple(_DOCUMENTS)):
        return None
    text, ending = head.decode("utf-8-sig", "replace").lstrip(), name.lower()
    if text.startswith(("[", "{")):
        found = _match(FORMATS, text) or _match(plugin_formats(), text)
        if found:
            return found
    if ending.endswith((".json", ".jsonl", *DATABASE_SUFFIXES)):
        return None
    if ending.endswith((".html", ".htm")) or _PAGE.match(text):
        return "html"
    if ending.endswith((".md", ".markdown")) or (not ending.endswith(".txt") and _looks_like_markdown(text)):
        return "markdown"
    return "text"


def _match(formats: Mapping[str, Format], text: str) -> str | None:
    """The format whose pattern comes first in a text."""
    found = ((name, re.search(format_.pattern, text)) for name, format_ in formats.items() if format_.pattern)
    first = min(((match.start(), name) for name, match in found if match), default=None)
    return first[1] if first else None


def _looks_like_markdown(text: str) -> bool:
    """Whether a text begins with a title, or has speakers in headings or in bold."""
    return text.startswith("# ") or any(text_files.markdown_speaker(line) for line in text.splitlines())


def why_unknown(head: bytes, name: str, expected: str | None = None) -> str:
    """Why a file has no format that can be imported."""
    if not head.strip():
        return "it is empty"
    if expected or name.lower().endswith(DATABASE_SUFFIXES):
        return "it is not a SQLite database, or it is encrypted and its product must decrypt it first"
    for beginning, what in _DOCUMENTS.items():
        if head.lstrip().startswith(beginning):
            return f"it is {what}: save it as text first"
    if head[:4] in ZIP:
        return "a zip inside another or in a pipe"
    if b"\0" in head:
        return "it is not text"
    return _why_no_json(head) or "its JSON is in none of the formats that can be imported"


def _why_no_json(head: bytes) -> str:
    """Where a text stops being JSON; empty if it may go on being it after what was read."""
    text = head.decode("utf-8-sig", "replace")
    try:
        JSONDecoder().raw_decode(text.lstrip())
    except RecursionError:
        return "it is nested too deeply"
    except JSONDecodeError as error:
        line = text[: len(text) - len(text.lstrip()) + error.pos].count("\n") + 1
        return "" if len(head) == HEAD else f"it is not valid JSON (line {line}: {error.msg.lower()})"
    return ""


def read_database(
    source: Path | Stream, name: str, expected: str | None = None, max_held: int = MAX_HELD
) -> Iterator[Entry]:
    """Everything in a database of any known product, and what cannot be read."""
    try:
        with open_copy(source, max_held) as database:
            product = detect_product(database)
            if product is None or product != (expected or product):
                tables = ", ".join(database.tables) or "none"
                whose = f"of {PRODUCTS[expected].what}" if expected and expected in PRODUCTS else "of a known product"
                yield Skipped(name, f"it is not a database {whose} (its tables: {tables[:200]})", "file")
            else:
                yield from PRODUCTS[product].read(database)
    except UnreadableDatabase as error:
        yield Skipped(name, str(error), "file")


def detect_product(database: ForeignDatabase) -> str | None:
    """The product of a database, by its tables and their columns, not by its name."""
    for name, product in PRODUCTS.items():
        if all(database.has(table, *columns) for table, columns in product.known_by.items()):
            return name
    return None


def default_locations(name: str, home: Path) -> list[Path]:
    """Where a product's memory is on this machine."""
    if name == "server-memory":
        return _server_memory(home)
    product = PRODUCTS[name]
    folders = [Path(os.environ[variable]).expanduser() for variable in product.variables if os.environ.get(variable)]
    chosen = [folder / Path(place).name for folder in folders for place in product.places]
    candidates = [*chosen, *(home / place for place in product.places)]
    return [path for path in dict.fromkeys(candidates) if path.is_file()]


def _server_memory(home: Path) -> list[Path]:
    """The file that the environment names, and the one inside its package, wherever npx put that."""
    named = os.environ.get("MEMORY_FILE_PATH")
    caches = (home / ".npm" / "_npx", Path(os.environ.get("LOCALAPPDATA") or home) / "npm-cache" / "_npx")
    packaged = [path for cache in caches for path in sorted(cache.glob(f"*/{_SERVER_MEMORY}"))]
    return [path for path in dict.fromkeys([Path(named), *packaged] if named else packaged) if path.is_file()]
