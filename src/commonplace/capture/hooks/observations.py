"""Observations: one event of a hook as one thing that happened, in the fields of Kiro Memory's reference.

The event was redacted before it comes here (remember_events.py), so nothing here redacts except where texts are joined.
The state of a session has its recent ones, and what its summary is made of.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from commonplace.capture.hooks import tool_calls
from commonplace.capture.hooks.prompts_and_answers import condense_answer, printed_steps, prompt_title
from commonplace.capture.hooks.tool_calls import OTHER_TOOL, Edits, find_concepts
from commonplace.capture.hooks.working_folder import WorkingFolder
from commonplace.hosts.hook_event import Event
from commonplace.hosts.tool_text import clean_text, cut_middle
from commonplace.memory.captured_events import SessionProgress
from commonplace.model import Item
from commonplace.text.redact import redact
from commonplace.text.sentences import shorten, title_of
from commonplace.text.shell_commands import main_command

PROMPT, ANSWER, COMPACTION, DELEGATION = "prompt", "answer", "compaction", "delegation"
LONGEST_TITLE, LONGEST_LINE, LONGEST_GIST, LONGEST_CONDENSED, LONGEST_FACT = 100, 150, 300, 600, 1000
LONGEST_PROMPT, LONGEST_ANSWER = 20_000, 8_000
LONGEST_INPUT, LONGEST_SHORT_INPUT, LONGEST_OUTPUT = 2_000, 800, 500
# Of events that are only text: the type, the longest body, the title if there is none, and the subtitle.
_TEXT_EVENTS = {
    "prompt": (PROMPT, LONGEST_PROMPT, "Prompt", "prompt"),
    "stop": (ANSWER, LONGEST_ANSWER, "Answer", "answer"),
    "subagent-stop": (DELEGATION, LONGEST_PROMPT, "Answer of a sub-agent", "a sub-agent"),
    "compact": (COMPACTION, LONGEST_PROMPT, "Compaction", "summary of the session so far"),
}
_SUBTITLE_VERBS = {"Created": "new", "Deleted": "delete", "Moved": "move"}
_PROGRAM = re.compile(r"(?:[A-Z_][A-Z0-9_]*=\S*\s+)*(?:sudo\s+|time\s+|npx\s+|uv run\s+)?([\w./\\+-]+)")
_DOMAIN = re.compile(r"https?://(?:www\.)?([^/\s:?#]+)")
# Lines that only say that something failed, and lines that say what it was.
_VERDICT_LINE = re.compile(r"exit(?:ed with)? (?:code|status)|={4}|-{4}|_{4}", re.IGNORECASE)
_ERROR_LINE = re.compile(r"(?:Error|Exception)\b|\b(?:error|fatal|panic)(?:\[\w+\])?:|\berror \w+\d:")
_WORD = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class Observation:
    """What happened, in the fields of an observation. `error` says what went wrong if it failed.

    `verbs` says what was done to each file, if that differs. `succeeded` says of a command that it is known not to have
    failed. `digest` is the same for the same input and output; `tokens` is what reading both would cost. `printed` has
    the keys of steps in the output.
    """

    type: str
    title: str
    subtitle: str = ""
    narrative: str = ""
    facts: str = ""
    concepts: str = ""
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    verbs: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    error: str = ""
    succeeded: bool = False
    digest: str = ""
    tokens: int = 0
    printed: tuple[str, ...] = ()

    @property
    def details(self) -> Mapping[str, str]:
        return {
            "subtitle": self.subtitle,
            "narrative": self.narrative,
            "facts": self.facts,
            "concepts": self.concepts,
            "files_read": ", ".join(self.files_read),
            "files_modified": ", ".join(self.files_modified),
        }


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call with its files, its output, and what went wrong if it failed."""

    event: Event
    folder: WorkingFolder
    files: tuple[str, ...]
    output: str
    error: str

    def argument(self, *names: str) -> str:
        """The first of these arguments that holds some text."""
        return tool_calls.first_text(self.event.input, *names)


def observe(event: Event, folder: WorkingFolder) -> Observation:
    """The observation of a tool call, a prompt, an answer, a sub-agent's end or a compaction."""
    if event.kind in _TEXT_EVENTS:
        return _text(event)
    type_ = "file-write" if tool_calls.is_patch(event) else tool_calls.tool_type(event.tool)
    output, error = tool_calls.output_and_error(event, shell=type_ == "command")
    call = _Call(event, folder, folder.relative(tool_calls.named_files(event)), output, error)
    made = _BUILDERS.get(type_, _other_tool)(call)
    return replace(
        made,
        title=shorten(f"Failed: {made.title}" if error else made.title, LONGEST_TITLES.get(type_, LONGEST_TITLE)),
        facts=cut_middle(made.facts, LONGEST_FACT),
        error=error,
        tokens=_estimate_tokens(tool_calls.input_text(event.input), output),
        printed=() if type_ == "file-write" else printed_steps(output),
    )


def _text(event: Event) -> Observation:
    type_, longest, untitled, subtitle = _TEXT_EVENTS[event.kind]
    text = cut_middle(clean_text(event.text), longest)
    # A short text stands for itself.
    gist = shorten(text, LONGEST_GIST) if len(text) > LONGEST_GIST else ""
    if gist and type_ == ANSWER:
        gist = condense_answer(text, LONGEST_CONDENSED) or gist
    if type_ == DELEGATION:
        subtitle = shorten(event.agent, LONGEST_LINE) or subtitle
    return Observation(
        type_,
        _title_of_text(type_, text, gist) or untitled,
        subtitle=subtitle,
        narrative=gist,
        concepts=find_concepts(text=text),
        body=text,
        digest=_digest(DELEGATION if type_ == COMPACTION else type_, text),
        tokens=_estimate_tokens(event.text),
        printed=printed_steps(text) if type_ == DELEGATION else (),
    )


def _title_of_text(type_: str, text: str, gist: str) -> str:
    if type_ == PROMPT:
        return prompt_title(text)
    if type_ == ANSWER and gist:
        return title_of(gist) or title_of(text)
    return title_of(text)


def _file_write(call: _Call) -> Observation:
    edits, files, error = tool_calls.edits_of(call.event), call.files, call.error
    first = files[0] if files else ""
    verbs = {file: verb for path, verb in edits.verbs.items() for file in call.folder.relative([path])}
    title = _describe_verbs(verbs) or f"{edits.verb} {_file_names(files)}"
    where = f" at {first}" if len(files) == 1 and "/" in first else f": {', '.join(files[:10])}" if files[1:] else ""
    reason = call.argument("description", "instruction", "instructions", "explanation")
    return Observation(
        "file-write",
        title,
        subtitle=shorten(f"{_SUBTITLE_VERBS.get(edits.verb, 'edit')} {first}".strip(), LONGEST_LINE),
        narrative=_join(f"{title}{where}", _describe_edit(edits), shorten(reason, LONGEST_LINE), error=error),
        facts=", ".join(files),
        concepts=find_concepts(files, text=edits.text),
        files_modified=() if error else files,
        verbs={} if error else verbs,
        body=_body("\n".join([", ".join(files), cut_middle(edits.text, LONGEST_SHORT_INPUT)]).strip(), error),
        digest=_digest("file-write", *files, edits.text, edits.verb, error),
    )


def _file_read(call: _Call) -> Observation:
    """Files that were read, or searched."""
    query = shorten(call.argument("pattern", "query", "regex", "search_term"), 80)
    where = ", ".join(file for file in call.files[:3] if file != ".")
    lines = tool_calls.output_lines(call.event)
    length = _count_lines(lines) if lines else ""
    if query:
        title, subtitle = f"Searched for {query}", f"search in {where or '.'}"
        narrative = f"{title} in {where}" if where else title
        length = length and f"{length} of results"
    else:
        title, subtitle = _file_names(call.files), where
        narrative = f"Read {where or title}"
    return Observation(
        "file-read",
        title,
        subtitle=shorten(subtitle, LONGEST_LINE),
        narrative=_join(narrative, length, error=call.error),
        facts=", ".join(call.files),
        concepts=find_concepts(call.files, text=query),
        files_read=() if query else call.files,
        body=_body_of_read(call, query),
        digest=_digest("file-read", *call.files, query, call.output),
    )


def _body_of_read(call: _Call, query: str) -> str:
    """What a search found, or why it failed; a file that was read is where it was."""
    if not query and not call.error:
        return ""
    return _body(query, call.error or cut_middle(call.output, LONGEST_OUTPUT))


def _command(call: _Call) -> Observation:
    line, output, error = tool_calls.command_line(call.event), call.output, call.error
    short = shorten(main_command(line), 60)
    description = call.argument("description")
    title = shorten(description, 60) or short or call.event.tool or "command"
    program = _PROGRAM.match(short)
    key_line = _error_line(error) if error else _key_output_line(output)
    outcome = "failed" if error else tool_calls.command_outcome(call.event, line, output)
    narrative = f"Ran {short or title}" + (f" to {title[:1].lower()}{title[1:]}" if description else "")
    return Observation(
        "command",
        title,
        subtitle=program[1].replace("\\", "/").rpartition("/")[2] if program else "",
        narrative=narrative + (f" — {key_line}" if key_line else "") + (f" ({outcome})" if outcome else ""),
        facts=line,
        concepts=find_concepts(command=line, text=error),
        body=_body(cut_middle(line, LONGEST_INPUT), cut_middle(output or error, LONGEST_SHORT_INPUT)),
        succeeded=outcome == "success",
        digest=_digest("command", line, output),
    )


def _research(call: _Call) -> Observation:
    query, url = tool_calls.search_query(call.event), call.argument("url", "urls", "Url")
    domain = _DOMAIN.search(url or query)
    is_page = bool(url) or bool(domain and query.strip().startswith("http"))
    title = f"Fetched {domain[1]}" if is_page and domain else shorten(query, LONGEST_TITLE) or call.event.tool
    narrative = f"Fetched {shorten(url or query, LONGEST_LINE)}" if is_page else f"Searched the web for {title}"
    return Observation(
        "research",
        title,
        subtitle=domain[1] if domain else "web search",
        narrative=_join(narrative, error=call.error),
        facts=url,
        concepts=find_concepts(text=query),
        body=_body(cut_middle(query, LONGEST_SHORT_INPUT), call.error or cut_middle(call.output, LONGEST_INPUT)),
        digest=_digest("research", url, query, call.output),
    )


def _delegation(call: _Call) -> Observation:
    task = tool_calls.delegated_task(call.event)
    agent = shorten(tool_calls.delegated_agent(call.event), LONGEST_TITLE)
    title = shorten(task, LONGEST_LINE) or "Delegated task"
    prompt = call.argument("prompt", "task", "message", "instructions") or task
    return Observation(
        DELEGATION,
        title,
        subtitle=agent,
        narrative=_join(f"Delegated to {agent or 'a sub-agent'}: {title}", error=call.error),
        facts=agent,
        concepts=find_concepts(text=prompt),
        body=_body(cut_middle(prompt, LONGEST_INPUT), call.error or cut_middle(call.output, LONGEST_INPUT)),
        digest=_digest(DELEGATION, call.output),
    )


def _other_tool(call: _Call) -> Observation:
    server, name = tool_calls.server_and_tool(call.event.tool)
    given = tool_calls.input_text(call.event.input)
    about = shorten(redact(tool_calls.search_query(call.event) or given), 80)
    used = f"Used {name or 'a tool'}" + (f" of {server}" if server else "")
    return Observation(
        OTHER_TOOL,
        f"{name or 'tool'}: {about}" if about else name or "tool",
        subtitle=shorten(server or name, LONGEST_LINE),
        narrative=_join(used, _key_output_line(call.output), error=call.error),
        facts=", ".join(call.files),
        concepts=find_concepts(call.files, text=given),
        files_read=call.files,
        body=_body(cut_middle(given, LONGEST_OUTPUT), call.error or cut_middle(call.output, LONGEST_OUTPUT)),
        digest=_digest(call.event.tool, given, call.output),
    )


_BUILDERS: Mapping[str, Callable[[_Call], Observation]] = {
    "file-write": _file_write,
    "file-read": _file_read,
    "command": _command,
    "research": _research,
    DELEGATION: _delegation,
}
LONGEST_TITLES = {DELEGATION: LONGEST_LINE}


def _file_names(files: tuple[str, ...]) -> str:
    if not files:
        return "a file"
    first = files[0].rstrip("/").replace("\\", "/").rpartition("/")[2] or files[0]
    return f"{first} and {len(files) - 1} more" if files[1:] else first


def _describe_verbs(verbs: Mapping[str, str]) -> str:
    """What was done to several files, if it differs: `Modified a.ts, created b.ts`."""
    by_verb = {verb: tuple(file for file, done in verbs.items() if done == verb) for verb in verbs.values()}
    text = ", ".join(f"{verb.lower()} {_file_names(files)}" for verb, files in by_verb.items())
    return text[:1].upper() + text[1:] if len(by_verb) > 1 else ""


def _describe_edit(edits: Edits) -> str:
    if edits.removed and edits.added:
        return f"replacing {_count_lines(edits.removed)} with {_count_lines(edits.added)}"
    if edits.removed:
        return f"removing {_count_lines(edits.removed)}"
    return f"{'writing' if edits.verb == 'Created' else 'adding'} {_count_lines(edits.added)}" if edits.added else ""


def _count_lines(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _join(*clauses: str, error: str = "") -> str:
    why = f"failed: {_error_line(error)}" if error else ""
    return " — ".join(clause for clause in (*clauses, why) if clause)


def _error_line(error: str) -> str:
    """The line of an error that says what it was, rather than that there was one."""
    lines = error.splitlines()
    named = [line for line in lines if _ERROR_LINE.search(line) and not _VERDICT_LINE.search(line)]
    other = [line for line in lines if not _VERDICT_LINE.search(line)]
    return shorten(next(iter(named or other or lines), ""), LONGEST_LINE)


def _key_output_line(output: str) -> str:
    """The line of an output that says most: a test runner's count, else the last line with words."""
    lines = [line.strip() for line in output[-4000:].splitlines() if line.strip() and not _VERDICT_LINE.search(line)]
    with_words = (line for line in reversed(lines) if _WORD.search(line))
    last = next(with_words, lines[-1] if lines and any(map(str.isalnum, lines[-1])) else "")
    return shorten(tool_calls.runner_count_line(output) or last, LONGEST_LINE)


def _body(given: str, output: str) -> str:
    parts = (("Input", given), ("Output", output))
    return "\n".join(f"{name}: {text.strip()}" for name, text in parts if text.strip())


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _estimate_tokens(*texts: str) -> int:
    return (sum(map(len, texts)) + 3) // 4


FIRST_PROMPTS, RECENT_ACTIONS = 3, 300
"""How many prompts from the beginning of a session, and how many of its newest observations, are read."""


@dataclass(frozen=True, slots=True)
class Action:
    """One observation, as far as the state of a session needs it."""

    type: str
    title: str
    narrative: str
    facts: str
    read: tuple[str, ...]
    modified: tuple[str, ...]
    at_ms: int
    digest: str = ""
    error: str = ""
    succeeded: bool = False
    verbs: Mapping[str, object] = field(default_factory=dict)
    agent: str = ""
    text: str = ""
    """The text of a prompt or an answer; empty for everything else."""
    printed: tuple[str, ...] = ()
    """The keys of steps that a tool printed."""

    @classmethod
    def of(
        cls, type_: str, title: str, text: str, details: Mapping[str, str], meta: Mapping[str, object], at_ms: int
    ) -> Action:
        """From an observation, whether it is stored already or about to be."""
        return cls(
            type=type_,
            title=title,
            narrative=details.get("narrative", ""),
            facts=details.get("facts", ""),
            read=_split(details.get("files_read", "")),
            modified=_split(details.get("files_modified", "")),
            at_ms=at_ms,
            digest=_field_text(meta.get("digest")),
            error=_field_text(meta.get("error")),
            succeeded=meta.get("went_well") is True,
            verbs=verbs if isinstance(verbs := meta.get("verbs"), Mapping) else {},
            agent=_field_text(meta.get("agent")),
            text=text if type_ in (PROMPT, ANSWER) else "",
            printed=tuple(_field_text(meta.get("printed")).split()),
        )

    @classmethod
    def of_item(cls, item: Item) -> Action:
        return cls.of(item.type, item.title, item.body, item.details, item.meta, item.created_ms)


@dataclass(slots=True)
class SessionState:
    """A session while its events are stored."""

    key: str
    source: str
    started_ms: int
    project: str | None = None
    label: str = ""
    forgotten: bool = False
    is_new: bool = True
    meta: dict[str, object] = field(default_factory=dict)
    first_prompts: list[str] = field(default_factory=list)
    actions: deque[Action] = field(default_factory=lambda: deque(maxlen=RECENT_ACTIONS))
    counts: Counter[str] = field(default_factory=Counter)
    summary: Item | None = None
    checkpoint: Item | None = None
    answers: list[tuple[int, str]] = field(default_factory=list)
    """The answers at the stops since the last summary, with their times."""
    closes_ms: int | None = None
    """When it stopped since its last summary, which is then due."""
    summarised_ms: int = 0
    """When it was last summarised."""
    messages: int = 0
    """How many messages of it were stored in other ways."""

    def resume(self, progress: SessionProgress) -> None:
        """Continue a session that is in the store."""
        session = progress.session
        self.is_new, self.forgotten = False, session.forgotten_ms is not None
        self.project = session.project if session.project is not None else self.project
        self.label, self.started_ms = session.label, session.started_ms
        self.first_prompts = [item.title for item in progress.opening]
        self.actions.extend(map(Action.of_item, progress.recent))
        self.counts.update(progress.counts)
        self.summary, self.checkpoint = progress.summary, progress.checkpoint
        self.summarised_ms = max((one.created_ms for one in (self.summary, self.checkpoint) if one), default=0)
        self.messages = session.messages

    def add(self, action: Action) -> None:
        self.actions.append(action)
        self.counts[action.type] += 1
        if action.type == PROMPT:
            self.label = self.label or action.title
            if len(self.first_prompts) < FIRST_PROMPTS:
                self.first_prompts.append(action.title)

    def close(self, at_ms: int, answer: str) -> None:
        """Mark the session as due for its summary, with its last answer. Without prompts its first action names it."""
        self.closes_ms = at_ms
        if not self.label and self.actions:
            self.label = self.actions[0].title
        if answer.strip():
            self.answers.append((at_ms, answer))

    @property
    def is_empty(self) -> bool:
        """Whether nothing has happened in it that is worth listing."""
        return not (self.counts or self.messages or self.summary or self.checkpoint)

    def actions_since(self, since_ms: int) -> Iterable[Action]:
        """The actions since a time, the latest first."""
        for action in reversed(self.actions):
            if action.at_ms < since_ms:
                return
            yield action


def _field_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _split(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(", ") if name)
