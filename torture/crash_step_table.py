"""The steps that are broken, by name: what lies there before, what is done, and what has to be true in the end."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from commonplace.capture.hooks.spool_reader import spool_path, waiting_events
from commonplace.fast.spool import encode_record, spool_folder, write_event
from commonplace.memory import streamed_memories
from commonplace.memory.backup import list_backups
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope
from commonplace.store.sqlite import restore
from commonplace.store.sqlite.encryption_and_copies import is_plain
from commonplace.store.sqlite.migrate import APPLICATION_ID, FUNCTIONS, migrations
from torture.checks import check_all
from torture.crash_runner import KILL
from torture.crash_steps import Step
from torture.workspace import Workspace
from torture.writers import text_of

ITEMS, CHUNKS, EVENTS, TALKS = 30, 20, 40, 8
THEN = 1_742_049_000.0


def fill(workspace: Workspace, name: str = "kept", items: int = ITEMS) -> None:
    """Some memories, with their vectors."""
    with workspace.memory() as memory:
        for number in range(items):
            text = text_of(workspace.random, name, number)
            workspace.ledger.is_(remember(memory, NewItem(text, project=f"p{number % 3}", session=name)).uid, text)
        memory.embeddings.catch_up()


def older(workspace: Workspace) -> None:
    """The same in a file of an older schema: tables are copied as far as they were there then."""
    fill(workspace)
    path = workspace.settings.database
    new = path.with_name("new.db")
    path.rename(new)
    version = workspace.random.randrange(1, len(migrations()))
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


def migrated(workspace: Workspace) -> Sequence[str]:
    with workspace.memory() as memory:
        schema = memory.store.check_schema()
    return [] if schema == migrations()[-1][0] else [f"it has schema {schema}"]


def whole_backups(workspace: Workspace) -> Sequence[str]:
    """Everything in the folder that has the name of a backup can be put back, and holds what was acknowledged."""
    made = list_backups(workspace.settings)
    wrong = [f"{one.path.name} is not whole" for one in made if not restore.inspect_copy(one.path, "").whole]
    few = [one for one in made if restore.inspect_copy(one.path, "").counts["items"] < ITEMS]
    return [*wrong, *(f"{one.path.name} holds too little" for one in few), *(["there is none"] if not made else [])]


def with_backup(workspace: Workspace) -> None:
    """A backup, and what was written after it; only what is in both is sure."""
    fill(workspace)
    assert workspace.run("commonplace", "backup").returncode == 0
    with workspace.memory() as memory:
        remember(memory, NewItem("wlater than the backup"))


def unembedded(workspace: Workspace) -> None:
    with workspace.memory() as memory:
        for number in range(ITEMS):
            text = text_of(workspace.random, "waits", number)
            workspace.ledger.is_(remember(memory, NewItem(text)).uid, text)


def embedded(workspace: Workspace) -> Sequence[str]:
    """What a process had leased that was killed is done when its lease is over."""
    with workspace.memory(ahead_ms=120_000) as memory:
        memory.embeddings.catch_up()
        left = memory.store.pending()
        return [f"{left} passages wait for ever"] if left else []


def streaming(workspace: Workspace) -> None:
    """A stream that nobody finalized yet."""
    fill(workspace, items=5)
    with workspace.memory() as memory:
        stream = streamed_memories.start_stream(memory)
        for number in range(CHUNKS):
            streamed_memories.append_to_stream(memory, stream.id, f"wchunk{number} of a stream. ")
    (workspace.folder / "stream").write_text(stream.id, encoding="utf-8")


def one_of_the_stream(workspace: Workspace) -> Sequence[str]:
    """One memory that has every chunk in its order."""
    with workspace.memory() as memory:
        made = [item.body for item in memory.store.newest(Scope(), 100) if item.body.startswith("wchunk")]
    whole = "".join(f"wchunk{number} of a stream. " for number in range(CHUNKS)).strip()
    return [] if [body.strip() for body in made] == [whole] else [f"of the stream there is {made}"]


def spooled(workspace: Workspace) -> None:
    """Events that hooks left."""
    fill(workspace, items=5)
    for number in range(EVENTS):
        done = {"file_path": f"/src/my-api/part{number}.py", "content": f"part = {number}\n"}
        payload = {"session_id": "s1", "cwd": "/src/my-api", "tool_name": "Write", "tool_input": done}
        given = json.dumps(payload).encode()
        fields = ("claude-code", "PostToolUse", "1742049000000", "/src/my-api", "", str(len(given)), "whole")
        write_event(
            spool_folder(str(workspace.data)),
            encode_record(fields, given),
            name=f"{1_742_049_000_000_000_000 + number:020d}-a-{number:08x}",
        )


def drained(workspace: Workspace) -> Sequence[str]:
    with workspace.memory() as memory:
        seen = len(memory.store.newest(Scope(kinds=("observation",)), 1000))
    left = len(waiting_events(spool_path(workspace.settings)))
    return [] if (seen, left) == (EVENTS, 0) else [f"of {EVENTS} events {seen} are remembered, {left} wait"]


def exported(workspace: Workspace) -> None:
    """Conversations as ChatGPT sends them."""
    fill(workspace, items=5)
    talks = [_talk(number) for number in range(TALKS)]
    (workspace.folder / "conversations.json").write_text(json.dumps(talks), encoding="utf-8")
    (workspace.folder / "export").write_text(str(workspace.folder / "conversations.json"), encoding="utf-8")


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


def imported(workspace: Workspace) -> Sequence[str]:
    with workspace.memory() as memory:
        content = len(memory.store.newest(Scope(kinds=("message",)), 1000))
    return [] if content == 4 * TALKS else [f"of {4 * TALKS} messages {content} are there"]


def wordless(workspace: Workspace) -> None:
    """A store that has lost its index."""
    fill(workspace)
    connection = apsw.Connection(str(workspace.settings.database))
    connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('delete-all')")
    connection.close()


def only_known_items(workspace: Workspace, when: str) -> None:
    """Until it is repaired, nothing more than that is promised."""
    with workspace.memory() as memory:
        workspace.outcome.lost += [f"{when}: {one}" for one in workspace.ledger.lost(memory.store)]


def tattled(workspace: Workspace) -> None:
    """Something that is to be taken out of everything."""
    fill(workspace)
    with workspace.memory() as memory:
        remember(memory, NewItem("wtattle the code word is quicksilver-marmalade"))


def silent(workspace: Workspace) -> Sequence[str]:
    files = [path for path in workspace.data.rglob("*") if path.is_file() and "backups" not in path.parts]
    return [f"{path.name} still tells" for path in files if b"quicksilver-marmalade" in path.read_bytes()]


def plain(workspace: Workspace) -> None:
    """A store that is about to be encrypted, with a key in a file."""
    fill(workspace)
    workspace.more |= {"encryption": "file", "encryption_key_file": str(workspace.data / "key")}


def either(workspace: Workspace, when: str) -> None:
    """It is encrypted or it is not, and whole in both cases."""
    printed, workspace.more = workspace.more, {} if is_plain(workspace.settings.database) else workspace.more
    check_all(workspace, when)
    workspace.more = printed


def encrypted(workspace: Workspace) -> Sequence[str]:
    return ["it is not encrypted"] if is_plain(workspace.settings.database) else []


_COMMAND = "commonplace"
STEPS: dict[str, tuple[str, Step]] = {
    "migration": ("an older schema is migrated", Step((_COMMAND, "stats"), older, migrated)),
    "checkpoint": (
        "items are written and the log is checkpointed",
        Step(("torture.writers", "write", "c", "25"), fill),
    ),
    "backup": ("a backup is made", Step((_COMMAND, "backup"), fill, whole_backups)),
    "restore": ("a backup is restored", Step((_COMMAND, "backups", "restore", "latest"), with_backup, whole_backups)),
    "job": ("vectors are made", Step(("torture.writers", "embed"), unembedded, embedded)),
    "finalise": (
        "a stream becomes a memory",
        Step(("torture.writers", "finalize", "{stream}"), streaming, one_of_the_stream, again=(0, 3, 4)),
    ),
    "drain": ("the spool is drained", Step((_COMMAND, "drain"), spooled, drained)),
    "import": ("an export is imported", Step((_COMMAND, "import", "{export}"), exported, imported)),
    "repair": ("a lost index is rebuilt", Step((_COMMAND, "repair"), wordless, judged=only_known_items)),
    "encryption": (
        "a store is encrypted",
        Step((_COMMAND, "encrypt"), plain, encrypted, either, again=(0, 4), hows=(KILL,)),
    ),
    "scrub": (
        "a text is removed from everything",
        Step((_COMMAND, "scrub", "--text", "--backups"), tattled, silent, check_all, stdin=b"quicksilver-marmalade\n"),
    ),
}
