"""Gemini CLI: servers and hooks in one settings.json, in ~/.gemini or in a project, and rules in GEMINI.md.

To its hooks a turn is an agent's, and an answer comes together with its prompt. A session
is `tmp/<project>/chats/session-<time>-<id>.jsonl`, or one JSON object in older versions. The reader is written against
versions 0.2 to 0.61. The lines are a log of changes: a message comes again whenever it grew, and may be taken back.
So a file is always read from its start, and what is held in memory is its messages in their last form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from commonplace.hosts.hook_event import EventTable, PayloadFields, event_from_table, tool_details
from commonplace.hosts.host import NAME, Entry, Hooks, Host, Locations, McpSettings, RuleFiles, Transcripts, http_entry
from commonplace.hosts.rule_files import single_file
from commonplace.hosts.tool_text import call_block, clean_text, result_block, text_of
from commonplace.hosts.transcript import (
    COMMAND,
    Block,
    Counts,
    Draft,
    LookBack,
    Position,
    Transcript,
    Turn,
    named,
    starts_turn,
)
from commonplace.text.delimited import texts_outside
from commonplace.text.untrusted_json import object_in, objects_in, text_in, time_in

_TIMEOUT_MS = 10_000


def _settings(at: Locations) -> Path:
    return at.top / ".gemini" / "settings.json"


def _hook_entry(_event: str, command: str) -> Entry:
    return {"hooks": [{"name": NAME, "type": "command", "command": command, "timeout": _TIMEOUT_MS}]}


_FORM = (
    *("Command", "Directory", "Output", "Stdout", "Stderr", "Error", "Exit Code", "Signal", "Background PIDs"),
    "Process Group PGID",
)
_NOTHING = ("", "(none)", "(empty)")
_TROUBLE = ("Exit Code", "Error", "Signal", "Background PIDs")
# What hooks told the model stands in the prompt or behind an answer; what came from outside is wrapped.
_HOOK_CONTEXT = ("<hook_context>", "</hook_context>")
_UNTRUSTED = re.compile(r"\A<untrusted_context[^>]*>\n?(.*?)\n?</untrusted_context>\Z", re.DOTALL)


def _without_hooks(text: str) -> str:
    """A text without what hooks, ours among them, added to it."""
    if _HOOK_CONTEXT[0] not in text:
        return text
    return "\n".join(map(str.strip, texts_outside(text, *_HOOK_CONTEXT))).strip()


def _unwrapped(seen: Any) -> Any:
    """The answer of a tool as the tool gave it."""
    if isinstance(seen, str):
        text = _without_hooks(seen)
        found = _UNTRUSTED.match(text.strip())
        return found[1] if found else text
    if isinstance(seen, list):
        return [part for part in map(_unwrapped, seen) if part not in ("", {"text": ""})]
    if isinstance(seen, Mapping):
        return {name: _unwrapped(value) for name, value in seen.items()}
    return seen


def _tool(fields: PayloadFields) -> dict[str, Any]:
    output = fields.any("tool_response")
    return tool_details(fields, output) | {"output": _seen_output(output)}


def _seen_output(output: Any) -> Any:
    """What the model got to see; the rest is for the screen."""
    fields = PayloadFields(output)
    seen = _unwrapped(fields.any("error", "llm_content", "return_display") if isinstance(output, Mapping) else output)
    return _printed(seen) if isinstance(seen, str) else seen


def _printed(seen: str) -> Any:
    """What a command printed and exited with, out of the form in which the model gets it."""
    if not seen.startswith(("Command: ", "Output: ")):
        return seen
    known = _form_of(seen)
    # In its newer form, which begins with the output, a command that went well has no exit code.
    went_well = seen.startswith("Output: ") and not any(known[name] for name in _TROUBLE)
    code = {"exit_code": known["Exit Code"].strip() or "0"} if known["Exit Code"] or went_well else {}
    wrong = [known[name] for name in ("Stderr", "Error") if known[name]]
    return {"stdout": known["Output"] or known["Stdout"], "stderr": "\n".join(wrong), **code}


def _form_of(seen: str) -> dict[str, str]:
    """The parts of the form, by their names; empty for those that say nothing."""
    form: dict[str, str] = {}
    last = ""
    for line in seen.splitlines():
        # What it printed may have lines like those of the form: a part comes after the one before it only.
        name = next(
            (name for name in _FORM[_FORM.index(last) + 1 if last else 0 :] if line.startswith(f"{name}: ")), ""
        )
        last = name or last
        form[last] = line.removeprefix(f"{name}: ") if name else f"{form[last]}\n{line}"
    return {name: "" if form.get(name, "").strip() in _NOTHING else form[name] for name in _FORM}


_EVENTS: EventTable = {
    "sessionstart": ("session-start", lambda fields: {"reason": fields.text("source", "trigger")}),
    "beforeagent": ("prompt", lambda fields: {"text": _without_hooks(fields.text("prompt"))}),
    "aftertool": ("tool", _tool),
    "afteragent": ("stop", lambda fields: {"text": fields.text("prompt_response")}),
    "sessionend": ("session-end", lambda fields: {"reason": fields.text("reason", "trigger")}),
}


_SILENT = {"info", "warning", "error"}
_FAILED = {"error", "failed"}
_MARKER = "$rewindTo"
# Files and folders that the product adds to a question.
_ADDED = "--- Content from referenced files ---"
_SUMMARY = "<state_snapshot>"
_INJECTED = ("This is the Gemini CLI. We are setting up the context", "<session_context>")
_ROOT_MARK = ".project_root"
_MAX_PATH = 4096


def _is_record(record: Mapping[str, Any]) -> bool:
    return "sessionId" in record and ("projectHash" in record or "startTime" in record)


@dataclass(slots=True)
class _Message:
    """A message in its last form, and what it follows; one that was taken back stays, but off the path."""

    kind: str
    at_ms: int | None
    model: str
    follows: str
    blocks: list[Block] = field(default_factory=list)
    spawned: dict[str, str] = field(default_factory=dict)


def _transcript_of(path: Path) -> Transcript:
    """What the path says: the project's folder, if the product wrote it down, and the session of a sub-agent."""
    chats = next((folder for folder in path.parents if folder.name == "chats"), None)
    blank = Transcript("gemini", str(path))
    if chats is None:
        return blank
    parent = path.parent.name if path.parent != chats else ""
    return replace(blank, folder=_noted(chats.parent / _ROOT_MARK), parent_session=parent)


class _Reader:
    """Takes record after record; the turns come when all are known."""

    def __init__(self, position: Position, _look_back: LookBack) -> None:
        self.counts = Counts()
        self._messages: dict[str, _Message] = {}
        self._path: dict[str, None] = {}
        self._answered: set[str] = set()
        self.transcript = position.transcript

    @property
    def position(self) -> Position:
        return Position(self.transcript)

    def take(self, record: dict[str, Any], offset: int) -> Iterator[Turn]:
        if _MARKER in record:
            self._rewind(text_in(record, _MARKER))
        elif "$set" in record:
            self._learn(object_in(record, "$set"))
        elif "id" in record:
            self._put(record)
        elif "sessionId" in record:
            self._learn(record)
        else:
            self.counts.unknown[text_in(record, "type") or "?"] += 1
        yield from ()

    def rest(self) -> Iterator[Turn]:
        """All turns, each followed from the one before it on its branch."""
        homes: dict[str, str] = {}
        unworthy: dict[str | None, str | None] = {}
        draft: Draft | None = None
        for name, message in self._messages.items():
            home = homes.get(message.follows)
            if draft is None or draft.identity != home or starts_turn(message.blocks):
                if draft and draft.worth:
                    yield draft.done()
                elif draft:
                    unworthy[draft.identity] = draft.parent
                draft = self._draft(name, message, unworthy.get(home, home))
            for block in message.blocks:
                draft.add(block)
            draft.touch(message.at_ms)
            draft.spawned |= message.spawned
            draft.model = message.model or draft.model
            homes[name] = draft.identity
        if draft and draft.worth:
            yield draft.done()

    def _draft(self, name: str, message: _Message, parent: str | None) -> Draft:
        role = message.blocks[0].who if message.blocks else "assistant"
        identity = named(self.transcript.session, name)
        return Draft(identity, role, message.at_ms, parent, agent_id=self.transcript.agent_id)

    def _put(self, record: dict[str, Any]) -> None:
        name, kind = text_in(record, "id"), text_in(record, "type")
        if kind not in ("user", "gemini", *_SILENT):
            self.counts.unknown[kind or "?"] += 1
        if kind not in ("user", "gemini") or not name:
            return
        before = self._messages.get(name)
        follows = before.follows if before else next(reversed(self._path), "")
        message = _Message(kind, time_in(record, "timestamp"), text_in(record, "model"), follows)
        blocks = _question(record) if kind == "user" else _answer(record, message.spawned)
        # The answer of a tool stands with its call, and once more as what is sent to the model.
        sent = (block for block in blocks if kind == "gemini" or block.call_id not in self._answered)
        message.blocks.extend(sent)
        self._answered.update(block.call_id for block in message.blocks if block.kind == "tool_result")
        self._messages[name] = message
        self._path.setdefault(name)

    def _rewind(self, name: str) -> None:
        """Go back to before a message; to the very beginning where it is not known, as the product does."""
        path = list(self._path)
        self._path = dict.fromkeys(path[: path.index(name)] if name in self._path else ())

    def _learn(self, record: dict[str, Any]) -> None:
        known = self.transcript
        folders = record.get("directories")
        folder = text_of(folders[0]) if isinstance(folders, list) and folders else ""
        session = known.session or text_in(record, "sessionId")
        started = time_in(record, "startTime") if known.started_ms is None else known.started_ms
        self.transcript = replace(
            known,
            session=session,
            folder=known.folder or folder,
            title=text_in(record, "summary") or known.title,
            started_ms=started,
            agent_id=session if text_in(record, "kind") == "subagent" else known.agent_id,
        )
        # A list of messages here is the model's context after a compression: what it lacks was still said.
        for message in objects_in(record, "messages"):
            self._put(message)


def _question(record: dict[str, Any]) -> Iterator[Block]:
    content = record.get("displayContent") or record.get("content")
    if isinstance(content, list):
        content = [part for part in content if not (isinstance(part, dict) and "functionResponse" in part)]
    whole = clean_text(_without_hooks(text_of(content)))
    text, _, _ = whole.partition(_ADDED)
    text = text.strip()
    if text.startswith(_SUMMARY):
        yield Block("summary", text, "system")
    elif text and not text.startswith(_INJECTED):
        yield Block("text", text, "user", COMMAND if re.fullmatch("[/?].*", text) else "")
    for part in objects_in(record, "content"):
        answer = object_in(part, "functionResponse")
        if answer:
            yield result_block(text_in(answer, "name"), text_in(answer, "id"), _unwrapped(answer.get("response")))


def _answer(record: dict[str, Any], spawned: dict[str, str]) -> Iterator[Block]:
    for thought in objects_in(record, "thoughts"):
        words = [text_in(thought, "subject"), text_in(thought, "description")]
        if text := clean_text("\n".join(filter(None, words))):
            yield Block("thinking", text)
    if text := clean_text(text_of(record.get("content"))):
        yield Block("text", text)
    for used in objects_in(record, "toolCalls"):
        name, call_id = text_in(used, "name"), text_in(used, "id")
        yield call_block(name, call_id, used.get("args"))
        answer = _unwrapped(used.get("result") or used.get("resultDisplay"))
        if answer:
            yield result_block(name, call_id, answer, text_in(used, "status") in _FAILED)
        if agent := text_in(used, "agentId"):
            spawned[call_id] = agent


def _noted(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_PATH).strip()
    except OSError:
        return ""


HOST = Host(
    name="gemini",
    title="Gemini CLI",
    mcp=McpSettings(
        file=_settings,
        signs=lambda at: (at.home / ".gemini",),
        programs=("gemini",),
        http=http_entry("httpUrl"),
    ),
    hooks=Hooks(
        file=_settings,
        # PreCompress comes before every request to the model, whether anything is compressed or not.
        events=("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"),
        entry=_hook_entry,
        read=partial(event_from_table, _EVENTS),
        windows="powershell",
        starts=("SessionStart",),
        ends=("AfterAgent", "SessionEnd"),
        hints={"BeforeAgent": "prompt", "AfterTool": "after-tool"},
    ),
    rule_files=RuleFiles(
        name="gemini",
        title="Gemini CLI",
        signs=("GEMINI.md", ".gemini"),
        files=single_file("GEMINI.md"),
        patterns=("GEMINI.md",),
        skills=".gemini/skills",
    ),
    transcripts=Transcripts(
        folders=lambda at: [Path(at.env.get("GEMINI_CLI_HOME") or at.home) / ".gemini" / "tmp"],
        matches=_is_record,
        traits=(b'"sessionId"', b'"projectHash"'),
        document=True,
        start=_transcript_of,
        reader=_Reader,
        version=2,
    ),
)
