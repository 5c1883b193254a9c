"""The steps that are broken, by name: what lies there before, what is done, and what has to be true in the end."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from commonplace.capture.hooks.spool import leave, record, spool_of
from commonplace.capture.hooks.waiting import our_spool, waiting
from commonplace.memory import streams
from commonplace.memory.backup import backups
from commonplace.memory.remember import Note, remember
from commonplace.model import Scope
from commonplace.store.sqlite import copies
from commonplace.store.sqlite.files import is_plain
from commonplace.store.sqlite.migrate import APPLICATION_ID, FUNCTIONS, migrations
from torture.arena import Arena
from torture.deeds import text_of
from torture.doomed import KILL
from torture.judge import judge
from torture.steps import Step

ITEMS, CHUNKS, EVENTS, TALKS = 30, 20, 40, 8
THEN = 1_742_049_000.0


def fill(arena: Arena, name: str = "kept", items: int = ITEMS) -> None:
    """Some memories, with their vectors."""
    with arena.book() as book:
        for number in range(items):
            text = text_of(arena.random, name, number)
            arena.ledger.is_(remember(book, Note(text, project=f"p{number % 3}", session=name)).uid, text)
        book.meaning.catch_up()


def older(arena: Arena) -> None:
    """The same in a file of an older schema: tables are copied as far as they were there then."""
    fill(arena)
    path = arena.settings.database
    new = path.with_name("new.db")
    path.rename(new)
    version = arena.random.randrange(1, len(migrations()))
    connection = apsw.Connection(str(path))
    for called, function in FUNCTIONS.items():
        connection.create_scalar_function(called, function)
    for number, _name, script in migrations()[:version]:
        connection.execute(script).fetchall()
        connection.pragma("user_version", number)
    connection.pragma("application_id", APPLICATION_ID)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.execute("ATTACH ? AS new", (str(new),))
    for name in sorted(_tables(connection, "main") & _tables(connection, "new")):
        if name != "passages_fts" and not name.startswith("sqlite_"):
            columns = ", ".join(sorted(_columns(connection, "main", name) & _columns(connection, "new", name)))
            connection.execute(f"DELETE FROM main.{name}")
            connection.execute(f"INSERT INTO main.{name} ({columns}) SELECT {columns} FROM new.{name}")
    connection.execute("DETACH new")
    connection.close()
    new.unlink()
    (path.parent / "backups").mkdir(exist_ok=True)


def _tables(connection: apsw.Connection, schema: str) -> set[str]:
    return {str(row[0]) for row in connection.execute(f"SELECT name FROM {schema}.sqlite_schema WHERE type = 'table'")}


def _columns(connection: apsw.Connection, schema: str, table: str) -> set[str]:
    return {str(row[1]) for row in connection.execute(f"PRAGMA {schema}.table_info({table})")}


def migrated(arena: Arena) -> Sequence[str]:
    with arena.book() as book:
        schema = book.store.check_schema()
    return [] if schema == migrations()[-1][0] else [f"it has schema {schema}"]


def whole_backups(arena: Arena) -> Sequence[str]:
    """Everything in the folder that has the name of a backup can be put back, and holds what was acknowledged."""
    made = backups(arena.settings)
    wrong = [f"{one.path.name} is not whole" for one in made if not copies.look(one.path, "").whole]
    few = [one for one in made if copies.look(one.path, "").counts["items"] < ITEMS]
    return [*wrong, *(f"{one.path.name} holds too little" for one in few), *(["there is none"] if not made else [])]


def with_backup(arena: Arena) -> None:
    """A backup, and what was written after it; only what is in both is sure."""
    fill(arena)
    assert arena.run("commonplace", "backup").returncode == 0
    with arena.book() as book:
        remember(book, Note("wlater than the backup"))


def unembedded(arena: Arena) -> None:
    with arena.book() as book:
        for number in range(ITEMS):
            text = text_of(arena.random, "waits", number)
            arena.ledger.is_(remember(book, Note(text)).uid, text)


def embedded(arena: Arena) -> Sequence[str]:
    """What a process had leased that was killed is done when its lease is over."""
    with arena.book(ahead_ms=120_000) as book:
        book.meaning.catch_up()
        left = book.store.pending()
        return [f"{left} passages wait for ever"] if left else []


def streaming(arena: Arena) -> None:
    """A stream that nobody finalized yet."""
    fill(arena, items=5)
    with arena.book() as book:
        stream = streams.start(book)
        for number in range(CHUNKS):
            streams.append(book, stream.id, f"wchunk{number} of a stream. ")
    (arena.folder / "stream").write_text(stream.id, encoding="utf-8")


def one_of_the_stream(arena: Arena) -> Sequence[str]:
    """One memory that has every chunk in its order."""
    with arena.book() as book:
        made = [item.body for item in book.store.newest(Scope(), 100) if item.body.startswith("wchunk")]
    whole = "".join(f"wchunk{number} of a stream. " for number in range(CHUNKS)).strip()
    return [] if [body.strip() for body in made] == [whole] else [f"of the stream there is {made}"]


def spooled(arena: Arena) -> None:
    """Events that hooks left."""
    fill(arena, items=5)
    for number in range(EVENTS):
        done = {"file_path": f"/src/my-api/part{number}.py", "content": f"part = {number}\n"}
        payload = {"session_id": "s1", "cwd": "/src/my-api", "tool_name": "Write", "tool_input": done}
        given = json.dumps(payload).encode()
        fields = ("claude-code", "PostToolUse", "1742049000000", "/src/my-api", "", str(len(given)), "whole")
        leave(
            spool_of(str(arena.data)),
            record(fields, given),
            name=f"{1_742_049_000_000_000_000 + number:020d}-a-{number:08x}",
        )


def drained(arena: Arena) -> Sequence[str]:
    with arena.book() as book:
        seen = len(book.store.newest(Scope(kinds=("observation",)), 1000))
    left = len(waiting(our_spool(arena.settings)))
    return [] if (seen, left) == (EVENTS, 0) else [f"of {EVENTS} events {seen} are remembered, {left} wait"]


def exported(arena: Arena) -> None:
    """Conversations as ChatGPT sends them."""
    fill(arena, items=5)
    talks = [_talk(number) for number in range(TALKS)]
    (arena.folder / "conversations.json").write_text(json.dumps(talks), encoding="utf-8")
    (arena.folder / "export").write_text(str(arena.folder / "conversations.json"), encoding="utf-8")


def _talk(number: int) -> dict[str, object]:
    mapping: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None, "children": ["m0"]}}
    for turn in range(4):
        message = {
            "id": f"m{turn}",
            "author": {"role": ("user", "assistant")[turn % 2], "name": None, "metadata": {}},
            "create_time": THEN + turn,
            "content": {"content_type": "text", "parts": [f"Turn {turn} of talk {number} about walnuts."]},
            "status": "finished_successfully",
            "metadata": {},
            "recipient": "all",
        }
        parent, children = (f"m{turn - 1}" if turn else "root"), ([f"m{turn + 1}"] if turn < 3 else [])
        mapping[f"m{turn}"] = {"id": f"m{turn}", "message": message, "parent": parent, "children": children}
    times = {"create_time": THEN, "update_time": THEN + 60}
    return {
        "title": f"Talk {number}",
        **times,
        "mapping": mapping,
        "current_node": "m3",
        "conversation_id": f"c{number}",
    }


def imported(arena: Arena) -> Sequence[str]:
    with arena.book() as book:
        said = len(book.store.newest(Scope(kinds=("message",)), 1000))
    return [] if said == 4 * TALKS else [f"of {4 * TALKS} messages {said} are there"]


def wordless(arena: Arena) -> None:
    """A store that has lost its index."""
    fill(arena)
    connection = apsw.Connection(str(arena.settings.database))
    connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('delete-all')")
    connection.close()


def only_kept(arena: Arena, when: str) -> None:
    """Until it is repaired, nothing more than that is promised."""
    with arena.book() as book:
        arena.outcome.lost += [f"{when}: {one}" for one in arena.ledger.lost(book.store)]


def tattled(arena: Arena) -> None:
    """Something that is to be taken out of everything."""
    fill(arena)
    with arena.book() as book:
        remember(book, Note("wtattle the code word is quicksilver-marmalade"))


def silent(arena: Arena) -> Sequence[str]:
    files = [path for path in arena.data.rglob("*") if path.is_file() and "backups" not in path.parts]
    return [f"{path.name} still tells" for path in files if b"quicksilver-marmalade" in path.read_bytes()]


def plain(arena: Arena) -> None:
    """A store that is about to be encrypted, with a key in a file."""
    fill(arena)
    arena.more |= {"encryption": "file", "encryption_key_file": str(arena.data / "key")}


def either(arena: Arena, when: str) -> None:
    """It is encrypted or it is not, and whole in both cases."""
    told, arena.more = arena.more, {} if is_plain(arena.settings.database) else arena.more
    judge(arena, when)
    arena.more = told


def encrypted(arena: Arena) -> Sequence[str]:
    return ["it is not encrypted"] if is_plain(arena.settings.database) else []


_COMMAND = "commonplace"
STEPS: dict[str, tuple[str, Step]] = {
    "migration": ("an older schema is migrated", Step((_COMMAND, "stats"), older, migrated)),
    "checkpoint": ("items are written, and the log is folded in", Step(("torture.deeds", "write", "c", "25"), fill)),
    "backup": ("a backup is made", Step((_COMMAND, "backup"), fill, whole_backups)),
    "restore": ("a backup is put back", Step((_COMMAND, "backups", "restore", "latest"), with_backup, whole_backups)),
    "job": ("vectors are made", Step(("torture.deeds", "embed"), unembedded, embedded)),
    "finalise": (
        "a stream becomes a memory",
        Step(("torture.deeds", "finalize", "{stream}"), streaming, one_of_the_stream, again=(0, 3, 4)),
    ),
    "drain": ("the spool is drained", Step((_COMMAND, "drain"), spooled, drained)),
    "import": ("an export is imported", Step((_COMMAND, "import", "{export}"), exported, imported)),
    "repair": ("a lost index is made anew", Step((_COMMAND, "repair"), wordless, judged=only_kept)),
    "encryption": (
        "a store is encrypted",
        Step((_COMMAND, "encrypt"), plain, encrypted, either, again=(0, 4), hows=(KILL,)),
    ),
    "scrub": (
        "a text is taken out of everything, and the file is written anew",
        Step((_COMMAND, "scrub", "--text", "--backups"), tattled, silent, judge, stdin=b"quicksilver-marmalade\n"),
    ),
}
