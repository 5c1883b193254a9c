"""OpenCode: opencode.json or .jsonc, with the whole command line in one list; hooks are a plugin in JavaScript.

The plugin (opencode_plugin.js) runs our hook command: a session is started by its first prompt, which also takes in
what is remembered, as a part that OpenCode marks as not the person's; what concerns a tool is added to its output.

Its sessions are in one SQLite file, `opencode.db`: a message is a row, and so is each part of it, with JSON in `data`.
The reader is written against version 1.18.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.hosts.hook_event import EventTable, event_from_table, tool_details
from commonplace.hosts.host import Entry, Hooks, Host, Locations, McpSettings, Server, Transcripts, http_entry
from commonplace.hosts.tool_text import call_block, clean_text, result_block
from commonplace.hosts.transcript import (
    Block,
    Counts,
    Message,
    MessageSession,
    Transcript,
    foreign_errors,
    open_for_reading,
)
from commonplace.text.delimited import texts_outside
from commonplace.text.untrusted_json import as_object, object_in, text_in

if TYPE_CHECKING:
    import apsw


def _folder(at: Locations) -> Path:
    return at.config / "opencode"


def _file(at: Locations) -> Path:
    folder = at.project or _folder(at)
    commented = folder / "opencode.jsonc"
    return commented if commented.is_file() else folder / "opencode.json"


def _local(server: Server) -> Entry:
    entry: Entry = {"type": "local", "command": [server.command, *server.args], "enabled": True}
    return entry | ({"environment": dict(server.env)} if server.env else {})


def _plugin(at: Locations) -> Path:
    folder = at.project / ".opencode" if at.project else _folder(at)
    return folder / "plugins" / "commonplace.js"


_EVENTS: EventTable = {
    "session.created": ("session-start", lambda fields: {"reason": fields.text("source")}),
    "chat.message": ("prompt", lambda fields: {"text": _unquoted(fields.text("prompt"))}),
    "tool.execute.after": ("tool", lambda fields: tool_details(fields, fields.any("tool_response"))),
    "session.idle": ("stop", lambda fields: {"text": fields.text("last_assistant_message")}),
}


def _unquoted(text: str) -> str:
    quoted = _QUOTED.fullmatch(text)
    return quoted[1] if quoted else text


_DATABASE = "opencode.db"
_MAX_DATA = 16 << 20
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_SESSIONS = "SELECT id, parent_id, directory, title, version, time_created FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT data FROM part WHERE message_id = ? AND length(data) <= ? ORDER BY id"
# Parts of the product's own bookkeeping: known, and nothing to remember.
_SILENT = {"step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction", "file", "subtask"}
# `opencode run` puts a prompt of several words into quotes.
_QUOTED = re.compile(r'"([^"]*)"')
# What the plugin added to the output of a tool.
_SHOWN = ("<commonplace-memory>", "</commonplace-memory>")
# What a session is called before a model has found a title.
_NO_TITLE = re.compile(r"(?:New|Child) session - \d")


def _session_folders(at: Locations) -> list[Path]:
    # It keeps to these folders on every system.
    return [(at.folder_in("XDG_DATA_HOME") or at.home / ".local" / "share") / "opencode" / _DATABASE]


def _messages(database: apsw.Connection, session: str, counts: Counts) -> Iterator[Message]:
    """The messages of a session, read from the open database."""
    with foreign_errors("OpenCode"):
        rows = database.execute(_MESSAGES, (session,)).fetchall()
    for id_, created, data in rows:
        message = as_object(data)
        by_user = text_in(message, "role") == "user"
        blocks = list(_blocks(database, str(id_), by_user, counts))
        at_ms = created if isinstance(created, int) else None
        yield Message(str(id_), at_ms, blocks, by_user, text_in(message, "modelID"))


def _blocks(database: apsw.Connection, message_id: str, by_user: bool, counts: Counts) -> Iterator[Block]:
    with foreign_errors("OpenCode"):
        parts = database.execute(_PARTS, (message_id, _MAX_DATA)).fetchall()
    for (data,) in parts:
        part = as_object(data)
        kind = text_in(part, "type")
        if kind == "tool":
            yield from _tool_blocks(part)
        elif kind in ("text", "reasoning"):
            # What the product adds to a prompt by itself, such as the content of a file, is marked.
            text = "" if part.get("synthetic") or part.get("ignored") else clean_text(text_in(part, "text"))
            if text := _unquoted(text) if by_user else text:
                yield Block("thinking" if kind == "reasoning" else "text", text, "user" if by_user else "assistant")
        elif kind not in _SILENT:
            counts.unknown[f"part {kind}"] += 1


def _tool_blocks(part: dict[str, Any]) -> Iterator[Block]:
    tool, call_id, state = text_in(part, "tool"), text_in(part, "callID"), object_in(part, "state")
    yield call_block(tool, call_id, state.get("input"))
    status = text_in(state, "status")
    if status in ("completed", "error"):
        answer = state.get("output") if status == "completed" else state.get("error")
        answer = "".join(map(str.rstrip, texts_outside(answer, *_SHOWN))) if isinstance(answer, str) else answer
        yield result_block(tool, call_id, answer, status == "error", object_in(state, "metadata").get("exit"))


def _sessions(path: Path) -> Iterator[MessageSession]:
    """Every session in the file; each is to be read before the next."""
    with foreign_errors("OpenCode"), closing(open_for_reading(path)) as database:
        tables = {name for (name,) in database.execute(_TABLES)}
        rows = database.execute(_SESSIONS).fetchall() if {"session", "message", "part"} <= tables else []
        for session, parent, directory, title, version, created in rows:
            transcript = Transcript(
                "opencode",
                str(path),
                str(session),
                str(directory or ""),
                title="" if _NO_TITLE.match(str(title)) else str(title),
                version=str(version or ""),
                started_ms=created if isinstance(created, int) else None,
                parent_session=str(parent or ""),
                agent_id=str(session) if parent else "",
            )
            counts = Counts()
            yield MessageSession(transcript, _messages(database, str(session), counts), counts)


HOST = Host(
    name="opencode",
    title="OpenCode",
    mcp=McpSettings(
        file=_file,
        signs=lambda at: (_folder(at),),
        programs=("opencode",),
        servers="mcp",
        stdio=_local,
        http=http_entry("url", type="remote", enabled=True),
    ),
    hooks=Hooks(
        file=_plugin,
        events=("session.created", "chat.message", "tool.execute.after", "session.idle"),
        entry=lambda _event, _command: {},
        read=partial(event_from_table, _EVENTS),
        script=Path(__file__).with_name("opencode_plugin.js"),
        starts=("session.created",),
        ends=("session.idle",),
        hints={"chat.message": "prompt", "tool.execute.after": "after-tool"},
    ),
    transcripts=Transcripts(folders=_session_folders, database=_DATABASE, sessions=_sessions),
)
