"""Claude Code: where its servers, hooks, rules and sessions are.

Servers are in ~/.claude.json or a project's .mcp.json, hooks in its settings. CLAUDE.md has the rules that are general,
.claude/rules the others, with `paths` on top. A session is `projects/<folder>/<session>.jsonl`, one record per line, a
tree by parentUuid, with its sub-agents next to it. The reader is written against versions 1.0 to 2.1 and takes nothing
but `type` for granted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from commonplace.fast.output_shapes import hook_specific_output
from commonplace.hosts.hook_event import (
    Event,
    EventTable,
    HookRecord,
    PayloadFields,
    event_from_table,
    tool_details,
)
from commonplace.hosts.host import (
    Entry,
    Hooks,
    Host,
    Locations,
    McpSettings,
    RuleFiles,
    Transcripts,
    http_entry,
    stdio_entry,
)
from commonplace.hosts.rule_file_parts import listed_paths
from commonplace.hosts.rule_files import file_per_group
from commonplace.hosts.tool_text import call_block, clean_text, result_block, text_of
from commonplace.hosts.transcript import COMMAND, Block, Draft, Role, Transcript, Turn, TurnBuilder, starts_turn
from commonplace.text.delimited import first_between, texts_between
from commonplace.text.untrusted_json import as_object, object_in, text_in, time_in

_TIMEOUT_S = 10


def _settings(at: Locations) -> Path:
    return at.folder_in("CLAUDE_CONFIG_DIR") or at.home / ".claude"


def _servers(at: Locations) -> Path:
    if at.project:
        return at.project / ".mcp.json"
    return (at.folder_in("CLAUDE_CONFIG_DIR") or at.home) / ".claude.json"


def _hook_file(at: Locations) -> Path:
    # A path on this machine is not for the team: of a project's settings, the local ones are not committed.
    return at.project / ".claude" / "settings.local.json" if at.project else _settings(at) / "settings.json"


# The tools before which memories may be shown. Before the others no hook runs at all.
_CHANGING_TOOLS = "Edit|MultiEdit|Write|NotebookEdit|Bash|PowerShell"


def _hook_entry(event: str, command: str) -> Entry:
    run: Entry = {"type": "command", "command": command, "timeout": _TIMEOUT_S}
    # It may run hooks in Git's bash or in PowerShell; a quoted path needs to know which.
    matcher: Entry = {"matcher": _CHANGING_TOOLS} if event == "PreToolUse" else {}
    return matcher | {"hooks": [run | ({"shell": "powershell"} if command.startswith("& ") else {})]}


def _tool(fields: PayloadFields) -> dict[str, Any]:
    return tool_details(fields, fields.any("tool_response", "tool_output", "tool_result"))


def _failed_tool(fields: PayloadFields) -> dict[str, Any]:
    return tool_details(fields, fields.any("error", "tool_response"), failed=True)


def _compaction(fields: PayloadFields) -> dict[str, Any]:
    return {"text": fields.text("compact_summary", "summary"), "reason": fields.text("trigger")}


def _answer(fields: PayloadFields) -> dict[str, Any]:
    return {"text": fields.text("last_assistant_message")}


def _reason(fields: PayloadFields) -> dict[str, Any]:
    return {"reason": fields.text("source", "reason")}


_EVENTS: EventTable = {
    "sessionstart": ("session-start", _reason),
    "userpromptsubmit": ("prompt", lambda fields: {"text": fields.text("prompt", "user_prompt")}),
    "posttooluse": ("tool", _tool),
    "posttoolusefailure": ("tool", _failed_tool),
    "precompact": ("compact", _compaction),
    "postcompact": ("compact", _compaction),
    "stop": ("stop", _answer),
    "subagentstop": ("subagent-stop", _answer),
    "sessionend": ("session-end", _reason),
}
_SESSION_FILE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.jsonl\Z)")


def read_event(name: str, payload: Mapping[str, Any], record: HookRecord) -> Event | None:
    """The event of a hook; Codex tells its hooks the same under the same names."""
    event = event_from_table(_EVENTS, name, payload, record)
    if event is None:
        return None
    if event.kind == "tool" and record.host == HOST.name:
        event = replace(event, succeeded=not event.failed and _is_finished(PayloadFields(event.output)))
    if not event.session and (found := _SESSION_FILE.search(event.transcript)):
        event = replace(event, session=found[0])
    return event


def _is_finished(output: PayloadFields) -> bool:
    """Failures have an event of their own, but what was interrupted or runs on has not."""
    return not (output.any("interrupted") or output.any("background_task_id"))


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TITLES = {"ai-title": ("aiTitle", "title"), "custom-title": ("customTitle", "title"), "summary": ("summary",)}
# Records of the product's own bookkeeping: known, and nothing to remember.
_IGNORED = {
    *("file-history-snapshot", "file-history-delta", "queue-operation", "attachment", "last-prompt", "mode"),
    *("permission-mode", "agent-name", "agent-setting", "agent-color", "pr-link", "tag", "bridge-session"),
    *("relocated", "worktree-state", "content-replacement", "attribution-snapshot", "task-summary"),
    *("api-request", "api-request-blob", "api-request-shape", "atis-latch", "tools-used", "cost-state"),
}
_MAX_META = 1 << 16


_CONTINUED = "This session is being continued from a previous conversation"
_BEFORE = re.compile(r"[/\\]([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl")
_INTERRUPTED = "[Request interrupted by user"
_COMMAND = ("<command-name>", "</command-name>")
_ARGUMENTS = ("<command-args>", "</command-args>")
_SHELL = ("<bash-input>", "</bash-input>")
_SHELL_ANSWERS = (("<bash-stdout>", "</bash-stdout>"), ("<bash-stderr>", "</bash-stderr>"))
_ECHOES = ("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>")
_NOTICES = ("<task-notification>", "<teammate-message", "<agent-notification>")


def _session_folders(at: Locations) -> list[Path]:
    named = [Path(folder.strip()) for folder in at.env.get("CLAUDE_CONFIG_DIR", "").split(",") if folder.strip()]
    return [folder / "projects" for folder in named or [at.home / ".claude", at.home / ".config" / "claude"]]


def _is_record(record: Mapping[str, Any]) -> bool:
    if not text_in(record, "type") or {"projectHash", "startTime"} & record.keys():
        # Gemini CLI's records name their session in the same way.
        return False
    return "sessionId" in record or {"uuid", "parentUuid"} <= record.keys()


def _transcript_of(path: Path) -> Transcript:
    """What the path says: the session, or the sub-agent and the session that it worked for."""
    stem = path.name.split(".")[0]
    blank, of_agent = Transcript("claude-code", str(path)), path.parent.name == "subagents"
    if not of_agent and not stem.startswith("agent-"):
        return replace(blank, session=stem if _UUID.fullmatch(stem) else "")
    meta = _meta(path.with_name(f"{stem}.meta.json"))
    return replace(
        blank,
        agent_id=stem.removeprefix("agent-"),
        agent_type=text_in(meta, "agentType"),
        title=text_in(meta, "description"),
        parent_call=text_in(meta, "toolUseId"),
        parent_session=path.parent.parent.name if of_agent else "",
    )


class _Reader(TurnBuilder):
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
            self.counts.unknown[kind] += 1
        uuid = text_in(record, "uuid")
        if uuid:
            home = self.turn_of(text_in(record, "parentUuid", "logicalParentUuid"))
            if home := home or (self.main.identity if self.main else None):
                self.links[uuid] = home

    def _message(self, record: dict[str, Any], kind: str, offset: int) -> Iterator[Turn]:
        uuid, at_ms = text_in(record, "uuid"), time_in(record, "timestamp")
        blocks = list(self._user(record) if kind == "user" else self._assistant(record))
        hangs_from = text_in(record, "parentUuid", "logicalParentUuid")
        home = self.turn_of(hangs_from)
        starts = kind == "user" and _asks_something(blocks)
        role: Role = "assistant"
        if starts:
            role = "system" if blocks[0].kind == "summary" else "user"
            self._continues(blocks)
        name = uuid or self.name_of(self.last, at_ms, [block.text for block in blocks])
        fresh = Draft(name, role, at_ms, home, agent_id=self.transcript.agent_id)
        if record.get("isSidechain") is True and not self.transcript.agent_id:
            draft = self._sidechain(fresh, record, starts, offset, bool(blocks))
        else:
            if blocks and (starts or self._is_cut(kind, home)):
                yield from self.begin(fresh, offset, hangs_from)
            draft = self.main
        if draft is None:
            return
        if uuid:
            self.links[uuid] = draft.identity if blocks else home or draft.identity
        self._write(draft, record, blocks, at_ms)

    def _is_cut(self, kind: str, home: str | None) -> bool:
        """Whether a turn begins here though nothing was asked: none is open, another one goes on, or it is long."""
        if self.main is None:
            return True
        strayed = home is not None and not self.is_open(home)
        return kind == "assistant" and (strayed or self.is_long())

    def _sidechain(
        self, fresh: Draft, record: dict[str, Any], starts: bool, offset: int, content: bool
    ) -> Draft | None:
        """The sidechain that a record goes on with, or a new one: a sub-agent's work within the session's own file."""
        before = self.sides.get(fresh.parent or "")
        if not content or (before and not starts):
            return before
        fresh.agent_id = text_in(record, "agentId") or (before.agent_id if before else fresh.identity)
        fresh.sidechain = True
        fresh.parent = fresh.parent or (self.main.identity if self.main else None)
        self.begin_sidechain(fresh, offset)
        return fresh

    def _write(self, draft: Draft, record: dict[str, Any], blocks: list[Block], at_ms: int | None) -> None:
        for block in blocks:
            self.add(draft, block, at_ms)
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
                yield result_block(self.calls.get(call_id, ""), call_id, answer, failed)
        yield from _user_blocks(content, record.get("isMeta") is True, record.get("isCompactSummary") is True)

    def _assistant(self, record: dict[str, Any]) -> Iterator[Block]:
        content = object_in(record, "message").get("content")
        for entry in content if isinstance(content, list) else [content]:
            part = entry if isinstance(entry, dict) else {"type": "text", "text": entry}
            kind = text_in(part, "type")
            if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
                yield call_block(text_in(part, "name"), text_in(part, "id"), part.get("input"))
            elif kind.endswith("tool_result"):
                call_id = text_in(part, "tool_use_id")
                yield result_block(
                    self.calls.get(call_id, ""), call_id, part.get("content"), part.get("is_error") is True
                )
            elif kind == "thinking":
                if thought := clean_text(text_in(part, "thinking", "text")):
                    yield Block("thinking", thought)
            elif kind != "redacted_thinking":
                if kind != "text":
                    self.counts.unknown[f"block {kind}"] += 1
                if text := clean_text(text_of(part)):
                    yield Block("text", text, error=text[:1000] if record.get("isApiErrorMessage") is True else "")

    def _progress(self, record: dict[str, Any]) -> None:
        """The progress of a sub-agent, which names the call that started it."""
        agent = text_in(object_in(record, "data"), "agentId")
        call_id = text_in(record, "parentToolUseID", "parentToolUseId")
        if agent and call_id in self.calls and self.main:
            self.main.spawned[call_id] = agent

    def _title(self, record: dict[str, Any], kind: str) -> None:
        title = text_in(record, *_TITLES[kind])
        leaf = text_in(record, "leafUuid")
        # Old versions wrote the summaries of other sessions at the head of a file.
        foreign = kind == "summary" and (bool(self.transcript.title) or (leaf and not self.turn_of(leaf)))
        if title and not foreign:
            self.transcript = replace(self.transcript, title=title)

    def _continues(self, blocks: list[Block]) -> None:
        known = self.transcript
        before = _session_before(blocks)
        if before and before != known.session and not known.continued_from and not self.trail:
            self.transcript = replace(known, continued_from=before)

    def _learn(self, record: dict[str, Any]) -> None:
        known = self.transcript
        named, branch = text_in(record, "sessionId"), text_in(record, "gitBranch")
        learnt = self._with_session(named)
        if named not in ("", learnt.session) and not known.agent_id and not known.started_ms:
            learnt = replace(learnt, continued_from=known.continued_from or named)
        if branch != "HEAD":
            learnt = replace(learnt, branch=known.branch or branch)
        if known.started_ms is None:
            learnt = replace(learnt, started_ms=time_in(record, "timestamp"))
        learnt = replace(
            learnt,
            folder=known.folder or text_in(record, "cwd"),
            version=known.version or text_in(record, "version"),
        )
        if learnt != known:
            self.transcript = learnt

    def _with_session(self, named: str) -> Transcript:
        """What is known with the session that a record names; a sub-agent's is a part of it."""
        known = self.transcript
        if not known.agent_id:
            return replace(known, session=known.session or named)
        parent = known.parent_session or named
        session = known.session or (f"{parent}/agent-{known.agent_id}" if parent else "")
        return replace(known, session=session, parent_session=parent)


def _meta(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return as_object(file.read(_MAX_META))
    except OSError:
        return {}


def _user_blocks(content: Any, is_meta: bool, is_summary: bool) -> Iterator[Block]:
    """The blocks of a user message, but for tool results."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            continue
        text = clean_text(text_of(part))
        if not text or is_meta or text.startswith((_INTERRUPTED, *_ECHOES)):
            continue
        if is_summary or text.startswith(_CONTINUED):
            yield Block("summary", text, "system")
        elif text.startswith(_NOTICES):
            yield result_block("", "", text)
        else:
            yield from _typed(text)


def _asks_something(blocks: list[Block]) -> bool:
    answers = any(block.kind == "tool_result" and block.call_id for block in blocks)
    return not answers and starts_turn(blocks)


def _session_before(blocks: list[Block]) -> str:
    """The session that a summary says it continues, where it names its file."""
    for block in blocks:
        if block.kind == "summary" and (found := _BEFORE.search(block.text)):
            return found[1]
    return ""


def _typed(text: str) -> Iterator[Block]:
    command, shell = first_between(text, *_COMMAND), first_between(text, *_SHELL)
    answers = [answer for marks in _SHELL_ANSWERS for answer in texts_between(text, *marks)]
    if command is not None:
        arguments = first_between(text, *_ARGUMENTS) or ""
        yield Block("text", f"/{command.strip().removeprefix('/')} {arguments.strip()}".rstrip(), "user", COMMAND)
    elif shell is not None:
        yield call_block("Bash", "", {"command": shell}, "user")
    elif answers:
        yield result_block("Bash", "", answers)
    else:
        yield Block("text", text, "user")


HOST = Host(
    name="claude-code",
    title="Claude Code",
    mcp=McpSettings(
        file=_servers,
        signs=lambda at: (_settings(at), _servers(Locations(at.home, at.system, at.env))),
        programs=("claude",),
        stdio=lambda server: {"type": "stdio"} | stdio_entry(server),
        http=http_entry("url", type="http"),
    ),
    hooks=Hooks(
        file=_hook_file,
        events=(
            *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
            *("PreCompact", "Stop", "SubagentStart", "SubagentStop", "SessionEnd"),
        ),
        entry=_hook_entry,
        server_tools="mcp__commonplace__.*",
        read=read_event,
        windows="bash or powershell",
        starts=("SessionStart", "SubagentStart"),
        ends=("PreCompact", "Stop", "SessionEnd"),
        hints={
            "UserPromptSubmit": "prompt",
            "PreToolUse": "before-tool",
            "PostToolUse": "after-tool",
            "PostToolUseFailure": "after-tool",
        },
        output=hook_specific_output,
    ),
    rule_files=RuleFiles(
        name="claude",
        title="Claude Code",
        signs=("CLAUDE.md", ".claude"),
        files=file_per_group(
            lambda group: "CLAUDE.md" if group.is_general else f".claude/rules/{group.name}.md",
            # CLAUDE.md has no front matter: it is always read.
            lambda group: "" if group.is_general else listed_paths(group.paths),
        ),
        patterns=("CLAUDE.md", ".claude/rules/**/*.md"),
        skills=".claude/skills",
        older=(".claude/CLAUDE.md", "CLAUDE.local.md"),
        glob_keys=("paths",),
    ),
    transcripts=Transcripts(
        folders=_session_folders,
        matches=_is_record,
        traits=(b'"parentUuid"', b'"isSidechain"'),
        start=_transcript_of,
        reader=_Reader,
        version=2,
    ),
)
