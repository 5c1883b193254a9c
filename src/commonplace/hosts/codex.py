"""Codex CLI: where its servers, hooks and sessions are. Its rules are in AGENTS.md (agents_md.py).

Servers are in config.toml and hooks in hooks.json, in ~/.codex (or CODEX_HOME) or in a project that it trusts. A
session is `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, also packed, with lines of {timestamp, type, payload}. The
reader is written against versions 0.2 (bare items, no payload) to 0.166. The same words often stand in a file twice,
as an item of the model's conversation and as an event of the screen; each is taken once. Newer models write scripts
that call the tools: then the tools' own items are taken, and the scripts left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.hosts.claude_code import read_event
from commonplace.hosts.hook_event import Event, HookRecord, PayloadFields, find_exit_code
from commonplace.hosts.host import Entry, Hooks, Host, Locations, McpSettings, Transcripts, locations_here
from commonplace.hosts.tool_text import call_block, clean_text, result_block, text_of
from commonplace.hosts.transcript import Block, Draft, Kind, LookBack, Position, Role, Turn, TurnBuilder, starts_turn
from commonplace.text.delimited import first_between
from commonplace.text.untrusted_json import object_in, objects_in, text_in, time_in

_TIMEOUT_S = 10
# It gives the end of a session no more than this.
_END_TIMEOUT_S = 3


def _home(at: Locations) -> Path:
    return at.folder_in("CODEX_HOME") or at.home / ".codex"


def _folder(at: Locations) -> Path:
    return at.project / ".codex" if at.project else _home(at)


def _hook_entry(event: str, command: str) -> Entry:
    timeout = _END_TIMEOUT_S if event == "SessionEnd" else _TIMEOUT_S
    return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}


# How far from its end a session is searched for a tool that has just been used, and what part of it a record may be.
_MAX_TAIL = 1 << 20


def _read_event(name: str, payload: Mapping[str, Any], record: HookRecord) -> Event | None:
    """The event of a hook. Of a command it tells only what was printed; how it ended stands in the session."""
    event = read_event(name, payload, record)
    call_id = PayloadFields(payload).text("tool_use_id")
    if event is None or event.kind != "tool" or event.failed or not call_id or not isinstance(event.output, str):
        return event
    item = _completed_item(event.transcript, call_id)
    code = item.get("exit_code")
    if isinstance(code, int) and find_exit_code(event.output) is None:
        return replace(event, output={"output": event.output, "exit_code": code}, failed=bool(code))
    return replace(event, failed=text_in(item, "status") == "failed")


def _completed_item(session: str, call_id: str) -> dict[str, Any]:
    """What the session says of a tool that was used; empty if it is not one of this machine's, or says nothing."""
    try:
        file = Path(session)
        if not any(file.is_relative_to(folder) for folder in _session_folders(locations_here())):
            return {}
        with file.open("rb") as lines:
            lines.seek(max(0, file.stat().st_size - _MAX_TAIL))
            found = [line for line in lines.read(_MAX_TAIL).splitlines() if call_id.encode() in line]
        records = (json.loads(line) for line in found if b'"item_completed"' in line)
        items = (object_in(object_in(record, "payload"), "item") for record in records)
        return next((item for item in items if text_in(item, "id") == call_id), {})
    except (OSError, ValueError, RecursionError):
        return {}


_TYPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_CALLS = {
    *("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"),
    *("image_generation_call", "mcp_tool_call"),
}
_ANSWERS = {"function_call_output", "custom_tool_call_output", "tool_search_output", "mcp_tool_call_output"}
_SILENT_ITEMS = {
    *("compaction", "context_compaction", "compaction_trigger", "ghost_snapshot", "additional_tools", "other"),
}
_EVENTS: dict[str, tuple[Kind, str]] = {
    "agent_message": ("text", "message"),
    "agent_reasoning": ("thinking", "text"),
    "agent_reasoning_raw_content": ("thinking", "text"),
}
# Also in an item, or of no use later.
_SILENT_EVENTS = {
    *("token_count", "task_started", "task_complete", "turn_started", "turn_complete", "turn_aborted", "turn_diff"),
    *("exec_command_begin", "exec_command_end", "exec_command_output_delta", "mcp_tool_call_begin"),
    *("mcp_tool_call_end", "patch_apply_begin", "patch_apply_end", "web_search_begin", "web_search_end"),
    *("view_image_tool_call", "image_generation_end", "context_compacted", "entered_review_mode", "plan_update"),
    *("exited_review_mode", "thread_goal_updated", "item_started", "agent_reasoning_section_break", "warning"),
    *("background_event", "session_configured", "collab_waiting_end", "collab_close_end", "stream_error"),
    *("collab_agent_interaction_end", "collab_resume_end", "thread_settings_applied", "shutdown_complete"),
}
_SILENT = {"world_state", "inter_agent_communication_metadata", "state", "token_usage_record"}
_TOOL_ITEMS = {"CommandExecution", "FileChange", "McpToolCall"}
# The tool that runs a script, and the one that waits for it; the tools that a script calls are items of their own.
_SCRIPTS = {"exec", "wait"}
_INJECTED = (
    *("<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<skill>"),
    *("<permissions instructions>", "<turn_aborted>", "<collaboration_mode>", "<apps_instructions>", "<skills_"),
    *("<model_switch>", "<personality_spec>", "<plugins_instructions>", "<user_action>", "<memory_"),
)
_NOTICES = ("<subagent_notification>", "<inter_agent")
_SHELL = "<user_shell_command>"
_PICTURE = re.compile(r"</?image[^>]*>")
# An editor puts what is open in it before the question.
_EDITOR = re.compile(r"\A# Context from my IDE setup:.*?^## My request for Codex:\s*", re.DOTALL | re.MULTILINE)


def _session_folders(at: Locations) -> list[Path]:
    home = Path(at.env.get("CODEX_HOME") or at.home / ".codex")
    return [home / "sessions", home / "archived_sessions"]


def _is_record(record: Mapping[str, Any]) -> bool:
    if text_in(record, "type") in _TYPES and isinstance(record.get("payload"), dict):
        return True
    return {"id", "timestamp", "instructions"} <= record.keys()


def _is_bare(kind: str, record: Mapping[str, Any]) -> bool:
    """Whether a record has no payload, as in the oldest versions: an item, or what a session begins with."""
    return kind in ("message", "reasoning", *_CALLS, *_ANSWERS, *_SILENT_ITEMS) or (not kind and "id" in record)


class _Moment(NamedTuple):
    """Which record is being taken: its time as written and as understood, and where it stands."""

    stamp: str
    at_ms: int | None
    offset: int


class _Reader(TurnBuilder):
    """Takes record after record, gives back the turns that are finished."""

    def __init__(self, position: Position, look_back: LookBack) -> None:
        super().__init__(position, look_back)
        self._items: Counter[tuple[str, str]] = Counter()
        self._events: Counter[tuple[str, str]] = Counter()
        # The calls of scripts that have not called a tool yet: what they are is not known before they answer.
        self._scripts: dict[str, Block] = {}
        self._script_tools = False

    def take(self, record: dict[str, Any], offset: int) -> Iterator[Turn]:
        kind, payload = text_in(record, "type", "record_type"), object_in(record, "payload")
        now = _Moment(text_in(record, "timestamp"), time_in(record, "timestamp"), offset)
        if not payload and _is_bare(kind, record):
            kind, payload = ("response_item", record) if kind else ("session_meta", record)
        if kind == "session_meta":
            self._learn(payload)
        elif kind == "turn_context":
            self._context(payload)
        elif kind == "response_item":
            yield from self._item(payload, now)
        elif kind == "event_msg":
            yield from self._event(payload, now)
        elif kind == "compacted":
            if text := clean_text(text_in(payload, "message")):
                yield from self._add_prompt([Block("summary", text, "system")], now, self._items)
        elif kind == "inter_agent_communication":
            yield from self._add_work([result_block("agent", "", payload)], now)
        elif kind not in _SILENT:
            self.counts.unknown[kind] += 1

    def _item(self, item: dict[str, Any], now: _Moment) -> Iterator[Turn]:
        kind, call_id = text_in(item, "type"), text_in(item, "call_id", "id")
        if kind in ("message", "agent_message", "reasoning"):
            yield from self._said(kind, item, now)
        elif kind == "custom_tool_call" and text_in(item, "name") in _SCRIPTS:
            self._scripts[call_id], self._script_tools = _tool_call(kind, item, call_id), False
        elif kind in _CALLS:
            yield from self._add_work([_tool_call(kind, item, call_id)], now)
        elif kind in _ANSWERS:
            yield from self._answered(call_id, item, now)
        elif kind not in _SILENT_ITEMS:
            self.counts.unknown[f"item {kind}"] += 1

    def _said(self, kind: str, item: dict[str, Any], now: _Moment) -> Iterator[Turn]:
        """What a person or the agent said, and what it thought."""
        content, role = item.get("content"), text_in(item, "role")
        if kind == "reasoning":
            thoughts = [*objects_in(item, "summary"), *objects_in(item, "content")]
            texts = [clean_text(text_of(part)) for part in thoughts]
            blocks = [Block("thinking", text) for text in texts if text]
            yield from self._add_words(blocks, now, self._items)
        elif kind == "agent_message" or role == "assistant":
            texts = [clean_text(text_of(part)) for part in (content if isinstance(content, list) else [content])]
            yield from self._add_words([Block("text", text) for text in texts if text], now, self._items)
        elif role == "user":
            yield from self._add_prompt(list(_user_blocks(content)), now, self._items)

    def _answered(self, call_id: str, item: dict[str, Any], now: _Moment) -> Iterator[Turn]:
        """What a tool answered; of a script only where it called no tool, whose answers are items of their own."""
        script = self._scripts.pop(call_id, None)
        if script is None:
            block = _tool_result(self.calls.get(call_id, ""), call_id, item.get("output", item.get("tools")))
            yield from self._add_work([block], now)
            self._spawned(call_id, block.tool, item)
        elif not self._script_tools:
            yield from self._add_work([script, _tool_result(script.tool, call_id, item.get("output"))], now)

    def _event(self, event: dict[str, Any], now: _Moment) -> Iterator[Turn]:
        kind = text_in(event, "type")
        if kind == "user_message":
            yield from self._add_prompt(list(_user_blocks(event.get("message"))), now, self._events)
        elif kind in _EVENTS:
            block_kind, name = _EVENTS[kind]
            if text := clean_text(text_in(event, name)):
                yield from self._add_words([Block(block_kind, text)], now, self._events)
        elif kind == "item_completed":
            yield from self._completed(object_in(event, "item"), now)
        elif kind == "thread_rolled_back":
            yield from self.close()
            count = event.get("num_turns")
            self.trail = self.trail[: -count if isinstance(count, int) and count > 0 else None]
        elif kind == "thread_name_updated":
            self.transcript = replace(self.transcript, title=text_in(event, "thread_name") or self.transcript.title)
        elif kind in ("collab_agent_spawn_end", "sub_agent_activity"):
            agent, call_id = text_in(event, "new_thread_id", "agent_thread_id"), text_in(event, "call_id", "event_id")
            self._has_spawned(call_id, agent)
        elif kind not in _SILENT_EVENTS:
            self.counts.unknown[f"event {kind}"] += 1

    def _completed(self, item: dict[str, Any], now: _Moment) -> Iterator[Turn]:
        """A tool that a script called, or a plan."""
        if self._scripts and text_in(item, "type") in _TOOL_ITEMS:
            self._script_tools = True
            yield from self._add_work(_item_blocks(item), now)
        elif plan := clean_text(text_in(item, "text")):
            yield from self._add_words([Block("text", plan)], now, self._events)

    def _add_prompt(self, blocks: list[Block], now: _Moment, seen: Counter[tuple[str, str]]) -> Iterator[Turn]:
        """Words that begin a turn, unless they are the ones that began it already."""
        fresh = [block for block in blocks if not self._is_repeated(block, seen)]
        if starts_turn(fresh):
            role: Role = "system" if fresh[0].kind == "summary" else "user"
            yield from self._begin(role, fresh, now)
            seen.update((block.kind, block.text) for block in fresh)
            self._write(fresh, now)
        else:
            yield from self._add_work(fresh, now)

    def _add_words(self, blocks: list[Block], now: _Moment, seen: Counter[tuple[str, str]]) -> Iterator[Turn]:
        """Words of the agent, each once."""
        fresh = [block for block in blocks if not self._is_repeated(block, seen)]
        yield from self._add_work(fresh, now)
        seen.update((block.kind, block.text) for block in fresh)

    def _add_work(self, blocks: list[Block], now: _Moment) -> Iterator[Turn]:
        if not blocks:
            return
        if self.main is None or (blocks[0].kind == "tool_call" and self.is_long()):
            yield from self._begin("assistant", blocks, now)
        self._write(blocks, now)

    def _begin(self, role: Role, blocks: list[Block], now: _Moment) -> Iterator[Turn]:
        name = self.name_of(now.stamp or self.last, [(block.text, block.call_id) for block in blocks])
        if name == self.last:
            name = self.name_of(name)
        draft = Draft(name, role, now.at_ms, self.last, agent_id=self.transcript.agent_id, model=self.transcript.model)
        yield from self.begin(draft, now.offset)
        self._items.clear()
        self._events.clear()

    def _write(self, blocks: list[Block], now: _Moment) -> None:
        for block in blocks:
            if self.main:
                self.add(self.main, block, now.at_ms)

    def _is_repeated(self, block: Block, seen: Counter[tuple[str, str]]) -> bool:
        """Whether the other half of the file has this block already; if so, it counts as seen in this half too."""
        other = self._events if seen is self._items else self._items
        key = (block.kind, block.text)
        if other[key] <= seen[key]:
            return False
        seen[key] += 1
        return True

    def _spawned(self, call_id: str, tool: str, item: dict[str, Any]) -> None:
        output = _decoded(item.get("output"))
        agent = text_in(output, "agent_id", "thread_id", "new_thread_id") if isinstance(output, dict) else ""
        if "spawn" in tool:
            self._has_spawned(call_id, agent)

    def _has_spawned(self, call_id: str, agent: str) -> None:
        if agent and self.main:
            self.main.spawned[call_id] = agent

    def _context(self, payload: dict[str, Any]) -> None:
        known = self.transcript
        model = text_in(payload, "model") or known.model
        self.transcript = replace(known, folder=known.folder or text_in(payload, "cwd"), model=model)
        main = self.main
        if main and all(block.who == "user" for block in main.blocks):
            main.model = model

    def _learn(self, meta: dict[str, Any]) -> None:
        """The first session's own; those of the sessions it was forked from follow."""
        known = self.transcript
        if known.session:
            return
        git, source = object_in(meta, "git"), object_in(object_in(meta, "source"), "subagent")
        spawn = object_in(source, "thread_spawn")
        session = text_in(meta, "id", "session_id")
        parent = text_in(spawn, "parent_thread_id") or text_in(meta, "parent_thread_id")
        self.transcript = replace(
            known,
            session=session,
            folder=text_in(meta, "cwd"),
            branch=text_in(git, "branch"),
            remote=text_in(git, "repository_url"),
            version=text_in(meta, "cli_version"),
            started_ms=time_in(meta, "timestamp"),
            agent_id=session if parent or source else "",
            agent_type=text_in(spawn, "agent_role", "agent_nickname"),
            parent_session=parent,
            continued_from="" if parent else text_in(meta, "forked_from_id"),
        )


def _user_blocks(content: Any) -> Iterator[Block]:
    """What a person said or ran; nothing of what was injected. A picture counts where nothing was said."""
    words, pictures = "", ""
    for part in content if isinstance(content, list) else [content]:
        text = text_of(part)
        bare = text.strip()
        if isinstance(part, dict) and text_in(part, "type") == "input_image":
            pictures = text
        elif bare.startswith(_SHELL) and (command := first_between(bare, "<command>", "</command>")) is not None:
            yield call_block("shell", "", {"command": command.strip()}, "user")
            yield result_block("shell", "", first_between(bare.partition("</command>")[2], "<result>", "</result>"))
        elif bare.startswith(_NOTICES):
            yield result_block("", "", bare)
        elif not bare.startswith(_INJECTED) and not _PICTURE.fullmatch(bare):
            words += text
    if spoken := clean_text(_EDITOR.sub("", words)) or pictures:
        yield Block("text", spoken, "user")


def _item_blocks(item: dict[str, Any]) -> list[Block]:
    """The call and the answer of a tool that a script used."""
    kind, call_id = text_in(item, "type"), text_in(item, "id")
    failed = text_in(item, "status") == "failed"
    if kind == "CommandExecution":
        call = call_block("shell", call_id, {"command": item.get("command")})
        answer = result_block("shell", call_id, item.get("aggregated_output"), failed, item.get("exit_code"))
    elif kind == "FileChange":
        changes = object_in(item, "changes")
        written = [text_in(object_in(changes, path), "content", "unified_diff") for path in changes]
        call = call_block("apply_patch", call_id, {"files": list(changes), "patch": "\n".join(written)})
        answer = result_block("apply_patch", call_id, item, failed)
    else:
        tool = f"{text_in(item, 'server')}__{text_in(item, 'tool')}"
        call = call_block(tool, call_id, item.get("arguments"))
        answer = result_block(tool, call_id, object_in(item, "result") or object_in(item, "error"), failed)
    return [call, answer]


def _tool_call(kind: str, item: dict[str, Any], call_id: str) -> Block:
    """A call, whichever way its tool takes its arguments."""
    server, name = text_in(item, "namespace"), text_in(item, "name") or kind.removesuffix("_call")
    tool = f"{server}__{name}" if server.startswith("mcp__") else name
    if kind in ("local_shell_call", "web_search_call"):
        return call_block(tool, call_id, item.get("action"))
    if kind == "image_generation_call":
        return call_block(tool, call_id, item.get("revised_prompt"))
    return call_block(tool, call_id, _decoded(item.get("arguments", item.get("input"))))


def _tool_result(tool: str, call_id: str, output: Any) -> Block:
    """An answer: plain text, blocks, or an object in a string with the exit code next to the output."""
    answer = _decoded(output)
    if not isinstance(answer, dict):
        return result_block(tool, call_id, output)
    about = answer.get("metadata")
    exit_code = about.get("exit_code") if isinstance(about, dict) else answer.get("exit_code")
    return result_block(tool, call_id, answer, answer.get("success") is False, exit_code)


def _decoded(value: Any) -> Any:
    """An object written as a string; anything else as it is."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found if isinstance(found, dict) else value
    return value


HOST = Host(
    name="codex",
    title="Codex CLI",
    mcp=McpSettings(
        file=lambda at: _folder(at) / "config.toml",
        signs=lambda at: (_home(at),),
        programs=("codex",),
        servers="mcp_servers",
        http=lambda server: {"url": server.url, "http_headers": server.headers},
        format="toml",
    ),
    hooks=Hooks(
        file=lambda at: _folder(at) / "hooks.json",
        events=(
            *("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact"),
            *("Stop", "SubagentStart", "SubagentStop", "SessionEnd"),
        ),
        entry=_hook_entry,
        read=_read_event,
        windows="powershell",
        advice="Codex runs new hooks only after you trust them: type /hooks in it.",
        starts=("SessionStart", "SubagentStart"),
        ends=("PreCompact", "Stop", "SessionEnd"),
        # It refuses context before a tool is used.
        hints={"UserPromptSubmit": "prompt", "PostToolUse": "after-tool"},
    ),
    transcripts=Transcripts(
        folders=_session_folders,
        matches=_is_record,
        traits=(b'"type"', b'"session_meta"'),
        reader=_Reader,
        version=2,
    ),
)
