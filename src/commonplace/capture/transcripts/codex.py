"""Codex CLI: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, also packed; lines of {timestamp, type, payload}.

Written against versions 0.2 (bare items, no payload) to 0.120. The same words often stand in it twice, as an item of
the model's conversation and as an event of the screen; each is taken once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.capture.transcripts.codex_words import decoded, tool_call, tool_result, user_blocks
from commonplace.hosts.tool_text import clean_text, result_block, text_of
from commonplace.hosts.transcript import (
    AppendedReader,
    Block,
    Draft,
    LookBack,
    Position,
    Role,
    Transcript,
    Turn,
    starts_turn,
)
from commonplace.text.json_fields import object_in, objects_in, text_in, time_in

_CALLS = {
    *("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"),
    *("image_generation_call", "mcp_tool_call"),
}
_ANSWERS = {"function_call_output", "custom_tool_call_output", "tool_search_output", "mcp_tool_call_output"}
_SILENT_ITEMS = {
    *("compaction", "context_compaction", "compaction_trigger", "ghost_snapshot", "additional_tools", "other"),
}
_EVENTS = {
    "agent_message": ("text", "message"),
    "agent_reasoning": ("thinking", "text"),
    "agent_reasoning_raw_content": ("thinking", "text"),
}
# What these tell stands in an item too, or is of no use later.
_SILENT_EVENTS = {
    *("token_count", "task_started", "task_complete", "turn_started", "turn_complete", "turn_aborted", "turn_diff"),
    *("exec_command_begin", "exec_command_end", "exec_command_output_delta", "mcp_tool_call_begin"),
    *("mcp_tool_call_end", "patch_apply_begin", "patch_apply_end", "web_search_begin", "web_search_end"),
    *("view_image_tool_call", "image_generation_end", "context_compacted", "entered_review_mode", "plan_update"),
    *("exited_review_mode", "thread_goal_updated", "item_started", "agent_reasoning_section_break", "warning"),
    *("background_event", "session_configured", "collab_waiting_end", "collab_close_end", "stream_error"),
    *("collab_agent_interaction_end", "collab_resume_end", "thread_settings_applied", "shutdown_complete"),
}
_SILENT = {"world_state", "inter_agent_communication_metadata", "state"}


class _Now(NamedTuple):
    """Which record is being taken: its time as written and as understood, and where it stands."""

    stamp: str
    at_ms: int | None
    offset: int


def transcript_of(path: Path) -> Transcript:
    return Transcript("codex", str(path))


class Codex(AppendedReader):
    """Takes record after record, gives back the turns that are finished."""

    def __init__(self, position: Position, look_back: LookBack) -> None:
        super().__init__(position, look_back)
        self._items: Counter[tuple[str, str]] = Counter()
        self._events: Counter[tuple[str, str]] = Counter()

    def take(self, record: dict[str, Any], offset: int) -> Iterator[Turn]:
        kind, payload = text_in(record, "type", "record_type"), object_in(record, "payload")
        now = _Now(text_in(record, "timestamp"), time_in(record, "timestamp"), offset)
        if kind == "session_meta" or (not kind and "id" in record):
            self._learn(payload or record)
        elif kind == "turn_context":
            self._context(payload)
        elif kind == "response_item":
            yield from self._item(payload, now)
        elif kind == "event_msg":
            yield from self._event(payload, now)
        elif kind == "compacted":
            if text := clean_text(text_in(payload, "message")):
                yield from self._say([Block("summary", text, "system")], now, self._items)
        elif kind == "inter_agent_communication":
            yield from self._work([result_block("agent", "", payload)], now)
        elif not payload and (kind in _CALLS | _ANSWERS | _SILENT_ITEMS or kind in ("message", "reasoning")):
            yield from self._item(record, now)
        elif kind not in _SILENT:
            self.builder.counts.unknown[kind] += 1

    def _item(self, item: dict[str, Any], now: _Now) -> Iterator[Turn]:
        kind = text_in(item, "type")
        call_id = text_in(item, "call_id", "id")
        if kind == "message" and text_in(item, "role") == "user":
            yield from self._say(list(user_blocks(item.get("content"))), now, self._items)
        elif (kind == "message" and text_in(item, "role") == "assistant") or kind == "agent_message":
            content = item.get("content")
            texts = [clean_text(text_of(part)) for part in (content if isinstance(content, list) else [content])]
            yield from self._think([Block("text", text) for text in texts if text], now, self._items)
        elif kind == "reasoning":
            thoughts = [text_of(part) for name in ("summary", "content") for part in objects_in(item, name)]
            blocks = [Block("thinking", clean_text(text)) for text in thoughts if clean_text(text)]
            yield from self._think(blocks, now, self._items)
        elif kind in _CALLS:
            yield from self._work([tool_call(kind, item, call_id)], now)
        elif kind in _ANSWERS:
            block = tool_result(self.builder.calls.get(call_id, ""), call_id, item.get("output", item.get("tools")))
            yield from self._work([block], now)
            self._spawned(call_id, block.tool, item)
        elif kind != "message" and kind not in _SILENT_ITEMS:
            self.builder.counts.unknown[f"item {kind}"] += 1

    def _event(self, event: dict[str, Any], now: _Now) -> Iterator[Turn]:
        kind, builder = text_in(event, "type"), self.builder
        if kind == "user_message":
            yield from self._say(list(user_blocks(event.get("message"))), now, self._events)
        elif kind in _EVENTS:
            name = _EVENTS[kind]
            if text := clean_text(text_in(event, name[1])):
                block = Block("text" if name[0] == "text" else "thinking", text)
                yield from self._think([block], now, self._events)
        elif kind == "item_completed":
            if plan := clean_text(text_in(object_in(event, "item"), "text")):
                yield from self._think([Block("text", plan)], now, self._events)
        elif kind == "thread_rolled_back":
            yield from builder.close()
            count = event.get("num_turns")
            builder.trail = builder.trail[: -count if isinstance(count, int) and count > 0 else None]
        elif kind == "thread_name_updated":
            builder.transcript = replace(
                builder.transcript, title=text_in(event, "thread_name") or builder.transcript.title
            )
        elif kind in ("collab_agent_spawn_end", "sub_agent_activity"):
            agent = text_in(event, "new_thread_id", "agent_thread_id")
            if agent and builder.main:
                builder.main.spawned[text_in(event, "call_id", "event_id")] = agent
        elif kind not in _SILENT_EVENTS:
            builder.counts.unknown[f"event {kind}"] += 1

    def _say(self, blocks: list[Block], now: _Now, heard: Counter[tuple[str, str]]) -> Iterator[Turn]:
        """Words that begin a turn, unless they are the ones that began it already."""
        fresh = [block for block in blocks if not self._twin(block, heard)]
        if starts_turn(fresh):
            role: Role = "system" if fresh[0].kind == "summary" else "user"
            yield from self._begin(role, fresh, now)
            heard.update((block.kind, block.text) for block in fresh)
            self._write(fresh, now)
        else:
            yield from self._work(fresh, now)

    def _think(self, blocks: list[Block], now: _Now, heard: Counter[tuple[str, str]]) -> Iterator[Turn]:
        """Words of the agent, each once."""
        fresh = [block for block in blocks if not self._twin(block, heard)]
        yield from self._work(fresh, now)
        heard.update((block.kind, block.text) for block in fresh)

    def _work(self, blocks: list[Block], now: _Now) -> Iterator[Turn]:
        if not blocks:
            return
        if self.builder.main is None or (blocks[0].kind == "tool_call" and self.builder.long()):
            yield from self._begin("assistant", blocks, now)
        self._write(blocks, now)

    def _begin(self, role: Role, blocks: list[Block], now: _Now) -> Iterator[Turn]:
        builder = self.builder
        name = builder.name_of(now.stamp or builder.last, [(block.text, block.call_id) for block in blocks])
        if name == builder.last:
            name = builder.name_of(name)
        draft = Draft(
            name, role, now.at_ms, builder.last, agent_id=builder.transcript.agent_id, model=builder.transcript.model
        )
        yield from builder.begin(draft, now.offset)
        self._items.clear()
        self._events.clear()

    def _write(self, blocks: list[Block], now: _Now) -> None:
        for block in blocks:
            if self.builder.main:
                self.builder.add(self.builder.main, block, now.at_ms)

    def _twin(self, block: Block, heard: Counter[tuple[str, str]]) -> bool:
        """Whether the other half of the file said this; if so, it is heard here too."""
        other = self._events if heard is self._items else self._items
        key = (block.kind, block.text)
        if other[key] <= heard[key]:
            return False
        heard[key] += 1
        return True

    def _spawned(self, call_id: str, tool: str, item: dict[str, Any]) -> None:
        told = decoded(item.get("output"))
        agent = text_in(told, "agent_id", "thread_id", "new_thread_id") if isinstance(told, dict) else ""
        if agent and "spawn" in tool and self.builder.main:
            self.builder.main.spawned[call_id] = agent

    def _context(self, payload: dict[str, Any]) -> None:
        known = self.builder.transcript
        model = text_in(payload, "model") or known.model
        self.builder.transcript = replace(known, folder=known.folder or text_in(payload, "cwd"), model=model)
        main = self.builder.main
        if main and all(block.who == "user" for block in main.blocks):
            main.model = model

    def _learn(self, meta: dict[str, Any]) -> None:
        """The first session's own; those of the sessions it was forked from follow."""
        known = self.builder.transcript
        if known.session:
            return
        git, source = object_in(meta, "git"), object_in(object_in(meta, "source"), "subagent")
        spawn = object_in(source, "thread_spawn")
        session = text_in(meta, "id", "session_id")
        parent = text_in(spawn, "parent_thread_id") or text_in(meta, "parent_thread_id")
        self.builder.transcript = replace(
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
