"""Claude Code: `projects/<folder>/<session>.jsonl`, one record per line, a tree by parentUuid; sub-agents beside it.

Written against versions 1.0 to 2.1. Nothing but `type` is taken for granted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from commonplace.capture.transcripts.claude_words import session_before, user_blocks
from commonplace.hosts.tool_text import call_block, clean_text, result_block, text_of
from commonplace.hosts.transcript import AppendedReader, Block, Draft, Role, Transcript, Turn, starts_turn
from commonplace.text.json_fields import object_in, text_in, time_in

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TITLES = {"ai-title": ("aiTitle", "title"), "custom-title": ("customTitle", "title"), "summary": ("summary",)}
# Records of the product's own bookkeeping: known, and nothing to remember.
_IGNORED = {
    *("file-history-snapshot", "file-history-delta", "queue-operation", "attachment", "last-prompt", "mode"),
    *("permission-mode", "agent-name", "agent-setting", "agent-color", "pr-link", "tag", "bridge-session"),
    *("relocated", "worktree-state", "content-replacement", "attribution-snapshot", "task-summary"),
}
_MAX_META = 1 << 16


def transcript_of(path: Path) -> Transcript:
    """What the file's place tells: its session, or the sub-agent and the session that it worked for."""
    stem = path.name.split(".")[0]
    blank, beside = Transcript("claude-code", str(path)), path.parent.name == "subagents"
    if not beside and not stem.startswith("agent-"):
        return replace(blank, session=stem if _UUID.fullmatch(stem) else "")
    meta = _meta(path.with_name(f"{stem}.meta.json"))
    return replace(
        blank,
        agent_id=stem.removeprefix("agent-"),
        agent_type=text_in(meta, "agentType"),
        title=text_in(meta, "description"),
        parent_call=text_in(meta, "toolUseId"),
        parent_session=path.parent.parent.name if beside else "",
    )


class ClaudeCode(AppendedReader):
    """Takes record after record, gives back the turns that are finished."""

    def take(self, record: dict[str, Any], offset: int) -> Iterator[Turn]:
        kind = text_in(record, "type")
        self._learn(record)
        queued = object_in(record, "attachment")
        if text_in(queued, "type") == "queued_command":
            # What a person typed while the agent was working.
            kind, record = "user", {**record, "message": {"content": queued.get("prompt")}}
        if kind in ("user", "assistant"):
            yield from self._message(record, kind, offset)
            return
        if kind == "progress":
            self._progress(record)
        elif kind in _TITLES:
            self._title(record, kind)
        elif kind != "system" and kind not in _IGNORED:
            self.builder.counts.unknown[kind] += 1
        uuid, builder = text_in(record, "uuid"), self.builder
        if uuid:
            home = builder.turn_of(text_in(record, "parentUuid", "logicalParentUuid"))
            if home := home or (builder.main.identity if builder.main else None):
                builder.links[uuid] = home

    def _message(self, record: dict[str, Any], kind: str, offset: int) -> Iterator[Turn]:
        builder, uuid, at_ms = self.builder, text_in(record, "uuid"), time_in(record, "timestamp")
        blocks = list(self._user(record) if kind == "user" else self._assistant(record))
        answers = any(block.kind == "tool_result" and block.call_id for block in blocks)
        starts = kind == "user" and not answers and starts_turn(blocks)
        hangs_from = text_in(record, "parentUuid", "logicalParentUuid")
        home = builder.turn_of(hangs_from)
        role: Role = "assistant"
        if starts:
            role = "system" if blocks[0].kind == "summary" else "user"
            self._continues(blocks)
        name = uuid or builder.name_of(builder.last, at_ms, [block.text for block in blocks])
        fresh = Draft(name, role, at_ms, home, agent_id=builder.transcript.agent_id)
        if record.get("isSidechain") is True and not builder.transcript.agent_id:
            draft = self._sidechain(fresh, record, starts, offset, bool(blocks))
        else:
            strayed = kind == "assistant" and home is not None and not builder.is_open(home)
            if blocks and (starts or builder.main is None or strayed or (kind == "assistant" and builder.long())):
                yield from builder.begin(fresh, offset, hangs_from)
            draft = builder.main
        if draft is None:
            return
        if uuid:
            builder.links[uuid] = draft.identity if blocks else home or draft.identity
        self._write(draft, record, blocks, at_ms)

    def _sidechain(
        self, fresh: Draft, record: dict[str, Any], starts: bool, offset: int, content: bool
    ) -> Draft | None:
        """The sidechain that a record goes on with, or a new one: a sub-agent's work within the session's own file."""
        builder = self.builder
        before = builder.sides.get(fresh.parent or "")
        if not content or (before and not starts):
            return before
        fresh.agent_id = text_in(record, "agentId") or (before.agent_id if before else fresh.identity)
        fresh.sidechain = True
        fresh.parent = fresh.parent or (builder.main.identity if builder.main else None)
        builder.beside(fresh, offset)
        return fresh

    def _write(self, draft: Draft, record: dict[str, Any], blocks: list[Block], at_ms: int | None) -> None:
        for block in blocks:
            self.builder.add(draft, block, at_ms)
            agent = text_in(object_in(record, "toolUseResult"), "agentId")
            if agent and block.kind == "tool_result":
                draft.spawned[block.call_id] = agent
        model = text_in(object_in(record, "message"), "model")
        if model and model != "<synthetic>":
            draft.model = model

    def _user(self, record: dict[str, Any]) -> Iterator[Block]:
        content = object_in(record, "message").get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") == "tool_result":
                call_id = text_in(part, "tool_use_id")
                answer = part.get("content") or record.get("toolUseResult")
                failed = part.get("is_error") is True
                yield result_block(self.builder.calls.get(call_id, ""), call_id, answer, failed)
        yield from user_blocks(content, record.get("isMeta") is True, record.get("isCompactSummary") is True)

    def _assistant(self, record: dict[str, Any]) -> Iterator[Block]:
        content = object_in(record, "message").get("content")
        for said_or_done in content if isinstance(content, list) else [content]:
            part = said_or_done if isinstance(said_or_done, dict) else {"type": "text", "text": said_or_done}
            kind = text_in(part, "type")
            if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
                yield call_block(text_in(part, "name"), text_in(part, "id"), part.get("input"))
            elif kind.endswith("tool_result"):
                call_id = text_in(part, "tool_use_id")
                yield result_block(
                    self.builder.calls.get(call_id, ""), call_id, part.get("content"), part.get("is_error") is True
                )
            elif kind == "thinking":
                if thought := clean_text(text_in(part, "thinking", "text")):
                    yield Block("thinking", thought)
            elif kind != "redacted_thinking":
                if kind != "text":
                    self.builder.counts.unknown[f"block {kind}"] += 1
                if text := clean_text(text_of(part)):
                    yield Block("text", text, error=text[:1000] if record.get("isApiErrorMessage") is True else "")

    def _progress(self, record: dict[str, Any]) -> None:
        """A sign of life from a sub-agent, which tells the call that started it."""
        agent = text_in(object_in(record, "data"), "agentId")
        call_id = text_in(record, "parentToolUseID", "parentToolUseId")
        if agent and call_id in self.builder.calls and self.builder.main:
            self.builder.main.spawned[call_id] = agent

    def _title(self, record: dict[str, Any], kind: str) -> None:
        title = text_in(record, *_TITLES[kind])
        leaf = text_in(record, "leafUuid")
        # Old versions kept the summaries of other sessions at the head of a file.
        foreign = kind == "summary" and (
            bool(self.builder.transcript.title) or (leaf and not self.builder.turn_of(leaf))
        )
        if title and not foreign:
            self.builder.transcript = replace(self.builder.transcript, title=title)

    def _continues(self, blocks: list[Block]) -> None:
        known = self.builder.transcript
        before = session_before(blocks)
        if before and before != known.session and not known.continued_from and not self.builder.trail:
            self.builder.transcript = replace(known, continued_from=before)

    def _learn(self, record: dict[str, Any]) -> None:
        known = self.builder.transcript
        told = text_in(record, "sessionId")
        branch = text_in(record, "gitBranch")
        agent = known.agent_id
        parent = known.parent_session or (told if agent else "")
        session = known.session or (f"{parent}/agent-{agent}" if agent and parent else "" if agent else told)
        copied = told if told and not agent and told != session and not known.started_ms else ""
        learnt = replace(
            known,
            session=session,
            parent_session=parent,
            folder=known.folder or text_in(record, "cwd"),
            branch=known.branch or (branch if branch != "HEAD" else ""),
            version=known.version or text_in(record, "version"),
            started_ms=time_in(record, "timestamp") if known.started_ms is None else known.started_ms,
            continued_from=known.continued_from or copied,
        )
        if learnt != known:
            self.builder.transcript = learnt


def _meta(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_MAX_META))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
