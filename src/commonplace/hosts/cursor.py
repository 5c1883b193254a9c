"""Cursor: mcp.json and hooks.json in ~/.cursor or in a project, rules in .cursor/rules/*.mdc, sessions in a database.

To its hooks a session is a conversation, workspace roots are the folder, and each act has an event of its own. Its
sessions are in `state.vscdb`, a table of keys and JSON values, undocumented and changing, which is read as well as it
can be: written against the layouts of 2024 (`ItemTable`), 2025 and 2026 (`cursorDiskKV`). All SQL about it stands here.
The file is Cursor's: it is never written, and no lock is taken that Cursor could wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from commonplace.fast.output_shapes import additional_context
from commonplace.hosts.hook_event import (
    Event,
    EventTable,
    HookRecord,
    PayloadFields,
    command_details,
    event_from_table,
    tool_details,
)
from commonplace.hosts.host import Hooks, Host, Locations, McpSettings, RuleFiles, Transcripts, http_entry
from commonplace.hosts.rule_file_parts import Fields, comma_globs, globs_in, words, write
from commonplace.hosts.rule_files import RuleGroup, file_per_group
from commonplace.hosts.tool_text import call_block, clean_text, result_block, text_of
from commonplace.hosts.transcript import (
    Block,
    Counts,
    Message,
    MessageSession,
    Transcript,
    foreign_errors,
    open_for_reading,
)
from commonplace.text.untrusted_json import as_object, object_in, objects_in, parse_if_json, text_in, time_in

if TYPE_CHECKING:
    import apsw

_TIMEOUT_S = 10


def _folder(at: Locations) -> Path:
    return at.top / ".cursor"


def _tool(fields: PayloadFields) -> dict[str, Any]:
    output = parse_if_json(fields.any("tool_output", "tool_response", "result_json"))
    error = fields.text("error_message", "error")
    return tool_details(fields, error or output, failed=bool(error))


def _command(fields: PayloadFields) -> dict[str, Any]:
    command, exit_code = fields.text("command"), fields.any("exit_code")
    return command_details("Shell", command, fields.text("cwd"), fields.any("output"), exit_code)


def _edit(fields: PayloadFields) -> dict[str, Any]:
    path, edits = fields.text("file_path"), fields.any("edits")
    changed = [edit for edit in edits if isinstance(edit, Mapping)] if isinstance(edits, list) else []
    new = bool(changed) and not any(PayloadFields(edit).text("old_string") for edit in changed)
    if new:
        written = "\n".join(PayloadFields(edit).text("new_string") for edit in changed)
        return {"tool": "Write" if path else "", "input": {"file_path": path, "content": written}}
    return {"tool": "Edit" if path else "", "input": {"file_path": path, "edits": changed}}


_EVENTS: EventTable = {
    "sessionstart": ("session-start", lambda fields: {"reason": fields.text("source", "trigger")}),
    "beforesubmitprompt": ("prompt", lambda fields: {"text": fields.text("prompt")}),
    "posttooluse": ("tool", _tool),
    "posttoolusefailure": ("tool", lambda fields: {**_tool(fields), "failed": True}),
    "aftermcpexecution": ("tool", _tool),
    "aftershellexecution": ("tool", _command),
    "afterfileedit": ("tool", _edit),
    "precompact": ("compact", lambda fields: {"reason": fields.text("trigger")}),
    "afteragentresponse": ("stop", lambda fields: {"text": fields.text("text")}),
    "stop": ("stop", lambda fields: {"reason": fields.text("status")}),
    "subagentstop": (
        "subagent-stop",
        lambda fields: {
            "text": fields.text("summary", "result"),
            "agent": fields.text("agent_id", "subagent_id", "subagent_type") or "subagent",
        },
    ),
    "sessionend": ("session-end", lambda fields: {"reason": fields.text("reason")}),
}


def _read_event(name: str, payload: Mapping[str, Any], record: HookRecord) -> Event | None:
    fields = PayloadFields(payload)
    # Hooks of the user run in Cursor's own folder, which is no project.
    here = "" if ".cursor" in record.cwd.replace("\\", "/").split("/") else record.cwd
    folder = fields.first("workspace_roots") or fields.text("cwd") or here
    session = fields.text("conversation_id", "session_id")
    return event_from_table(_EVENTS, name, payload, record, session=session, cwd=folder)


def _front_matter(group: RuleGroup) -> str:
    about = "Rules of this project" if group.is_general else f"Rules about {group.name}"
    # Cursor wants its globs bare, with commas between them.
    return write(
        [
            ("description", words(about)),
            ("globs", comma_globs(group.paths)),
            ("alwaysApply", "false" if group.paths else "true"),
        ]
    )


def _on_demand(fields: Fields) -> bool:
    """Without globs a rule that does not always apply waits for an agent or a person to ask for it."""
    return str(fields.get("alwaysApply", "true")).lower() == "false" and not globs_in(fields, ("globs",))


_DATABASE = "state.vscdb"
_MAX_VALUE = 16 << 20
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
# The range of keys that begin with `composerData:`; a LIKE would read every row of what may be gigabytes.
_COMPOSERS = "SELECT key FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key"
_VALUE = "SELECT value FROM cursorDiskKV WHERE key = ? AND length(value) <= ?"
_CHATS = (
    "SELECT value FROM ItemTable WHERE key IN"
    " ('workbench.panel.aichat.view.aichat.chatdata', 'composer.composerData') AND length(value) <= ?"
)
_FAILED = {"error", "failed", "cancelled", "rejected"}


def _session_folders(at: Locations) -> list[Path]:
    user = at.app_data / "Cursor" / "User"
    return [user / "globalStorage" / _DATABASE, user / "workspaceStorage"]


def _messages(bubbles: Iterable[dict[str, Any]], counts: Counts) -> Iterator[Message]:
    with foreign_errors("Cursor"):
        for bubble in bubbles:
            blocks = list(_blocks(bubble, counts))
            by_user = bool(blocks) and blocks[0].who == "user"
            model = text_in(object_in(bubble, "modelInfo"), "modelName")
            yield Message(text_in(bubble, "bubbleId", "id"), _when(bubble), blocks, by_user, model)


def _blocks(bubble: dict[str, Any], counts: Counts) -> Iterator[Block]:
    kind = bubble.get("type", bubble.get("role"))
    if kind in (1, "user"):
        if text := clean_text(text_in(bubble, "text", "rawText", "content")):
            yield Block("text", text, "user")
        return
    if kind not in (2, "ai", "assistant"):
        counts.unknown[f"bubble {kind}"] += 1
        return
    if thought := clean_text(text_of(bubble.get("thinking"))):
        yield Block("thinking", thought)
    if text := clean_text(text_in(bubble, "text", "rawText", "content")):
        yield Block("text", text)
    if used := object_in(bubble, "toolFormerData"):
        yield from _tool_blocks(used)


def _sessions(path: Path) -> Iterator[MessageSession]:
    """Every conversation in the file that has something in it; each is to be read before the next."""
    with foreign_errors("Cursor"), closing(open_for_reading(path)) as database:
        tables = {name for (name,) in database.execute(_TABLES)}
        if "cursorDiskKV" in tables:
            for (key,) in database.execute(_COMPOSERS).fetchall():
                yield from _composer(database, path, str(key))
        if "ItemTable" in tables:
            for (value,) in database.execute(_CHATS, (_MAX_VALUE,)).fetchall():
                yield from _older(path, as_object(value))


def _composer(database: apsw.Connection, path: Path, key: str) -> Iterator[MessageSession]:
    data, session, counts = _value(database, key), key.partition(":")[2], Counts()
    headers = objects_in(data, "fullConversationHeadersOnly")
    if headers:
        whole = _bubbles(database, session, headers, counts)
        yield MessageSession(_transcript(path, session, data), _messages(whole, counts), counts)
    elif found := objects_in(data, "conversation"):
        yield MessageSession(_transcript(path, session, data), _messages(found, counts), counts)


def _bubbles(
    database: apsw.Connection, session: str, headers: list[dict[str, Any]], counts: Counts
) -> Iterator[dict[str, Any]]:
    for header in headers:
        bubble = _value(database, f"bubbleId:{session}:{text_in(header, 'bubbleId')}")
        if bubble:
            yield {**header, **bubble}
        else:
            counts.malformed += 1


def _older(path: Path, data: dict[str, Any]) -> Iterator[MessageSession]:
    for chat in (*objects_in(data, "tabs"), *objects_in(data, "allComposers")):
        bubbles = objects_in(chat, "bubbles") or objects_in(chat, "conversation")
        session = text_in(chat, "tabId", "composerId")
        if bubbles and session:
            counts = Counts()
            yield MessageSession(_transcript(path, session, chat), _messages(bubbles, counts), counts)


def _transcript(path: Path, session: str, data: dict[str, Any]) -> Transcript:
    place = object_in(object_in(data, "workspaceIdentifier"), "uri")
    repositories = objects_in(data, "trackedGitRepos")
    folder = text_in(place, "fsPath", "path") or (text_in(repositories[0], "repoPath") if repositories else "")
    spawned_by = text_in(object_in(data, "subagentInfo"), "parentComposerId")
    blank = Transcript("cursor", str(path), session, folder or _workspace(path))
    return replace(
        blank,
        title=text_in(data, "name", "chatTitle"),
        model=text_in(object_in(data, "modelConfig"), "modelName"),
        started_ms=_when(data),
        parent_session=spawned_by,
        agent_id=session if spawned_by else "",
    )


def _workspace(path: Path) -> str:
    """The folder of a workspace's own database, noted in the file next to it."""
    try:
        with path.with_name("workspace.json").open("rb") as file:
            place = urlsplit(text_in(as_object(file.read(1 << 16)), "folder"))
    except (OSError, ValueError):
        return ""
    folder = unquote(place.path) if place.scheme == "file" else ""
    return folder[1:] if folder[2:3] == ":" else folder


def _tool_blocks(used: dict[str, Any]) -> Iterator[Block]:
    name, call_id = text_in(used, "name") or text_of(used.get("tool")), text_in(used, "toolCallId")
    given = as_object(used.get("params")) or as_object(used.get("rawArgs"))
    yield call_block(name, call_id, given)
    answer = as_object(used.get("result")) or used.get("result")
    if answer or used.get("error"):
        exit_code = answer.get("exitCode") if isinstance(answer, dict) else None
        failed = text_in(used, "status") in _FAILED or bool(used.get("error"))
        yield result_block(name, call_id, answer or used.get("error"), failed, exit_code)


def _when(data: dict[str, Any]) -> int | None:
    at = data.get("createdAt", data.get("timestamp"))
    return at if isinstance(at, int) and not isinstance(at, bool) else time_in(data, "createdAt")


def _value(database: apsw.Connection, key: str) -> dict[str, Any]:
    for (value,) in database.execute(_VALUE, (key, _MAX_VALUE)):
        return as_object(value)
    return {}


HOST = Host(
    name="cursor",
    title="Cursor",
    mcp=McpSettings(
        file=lambda at: _folder(at) / "mcp.json",
        signs=lambda at: (at.home / ".cursor",),
        programs=("cursor", "cursor-agent"),
        http=http_entry("url"),
    ),
    hooks=Hooks(
        file=lambda at: _folder(at) / "hooks.json",
        events=(
            *("sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "afterAgentResponse"),
            *("preCompact", "stop", "subagentStop", "sessionEnd"),
        ),
        entry=lambda _event, command: {"command": command, "timeout": _TIMEOUT_S},
        read=_read_event,
        always={"version": 1},
        starts=("sessionStart",),
        ends=("afterAgentResponse", "preCompact", "stop", "sessionEnd"),
        # A prompt can only be let through or stopped there.
        hints={"postToolUse": "after-tool"},
        output=additional_context,
        replies={"beforeSubmitPrompt": '{"continue": true}\n'},
    ),
    rule_files=RuleFiles(
        name="cursor",
        title="Cursor",
        signs=(".cursor", ".cursorrules"),
        files=file_per_group(lambda group: f".cursor/rules/{group.name}.mdc", _front_matter),
        patterns=(".cursor/rules/**/*.mdc",),
        skills=".cursor/skills",
        older=(".cursorrules",),
        glob_keys=("globs",),
        on_demand=_on_demand,
    ),
    transcripts=Transcripts(folders=_session_folders, database=_DATABASE, sessions=_sessions),
)
