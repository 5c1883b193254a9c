"""Phrases: how observations say what happened: counts, outcomes, names of files, the gist of a command line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from commonplace.capture.hooks import tool_calls
from commonplace.capture.hooks.concepts import find_concepts
from commonplace.capture.hooks.prompts_and_answers import prompt_title
from commonplace.capture.hooks.tool_calls import (
    OTHER_TOOL,
    Edits,
    command_outcome,
    server_and_tool,
    test_count_line,
    tool_type,
)
from commonplace.capture.hooks.working_folder import WorkingFolder
from commonplace.hosts.hook_event import Event
from commonplace.hosts.tool_text import clean_text, cut_middle
from commonplace.text.redact import redact
from commonplace.text.shell_commands import main_command
from commonplace.text.titles import shorten, title_of

LONGEST_LINE = 150
_VERDICT = re.compile(r"exit(?:ed with)? (?:code|status)|={4}|-{4}|_{4}", re.IGNORECASE)
_NAMED = re.compile(r"(?:Error|Exception)\b|\b(?:error|fatal|panic)(?:\[\w+\])?:|\berror \w+\d+:")
_WORDS = re.compile(r"[^\W\d_]{2}")


def short_command(command: str) -> str:
    """A command line as a title: its first part that does something, without where its output goes."""
    return shorten(redact(main_command(command)), 60)


def file_names(files: tuple[str, ...]) -> str:
    if not files:
        return "a file"
    first = files[0].rstrip("/").replace("\\", "/").rpartition("/")[2] or files[0]
    return f"{first} and {len(files) - 1} more" if files[1:] else first


def describe_edits(verbs: Mapping[str, str]) -> str:
    """What was done to files, if it differs: `Modified a.ts, created b.ts`."""
    alike = {verb: tuple(file for file, done in verbs.items() if done == verb) for verb in verbs.values()}
    told = ", ".join(f"{verb.lower()} {file_names(files)}" for verb, files in alike.items())
    return told[:1].upper() + told[1:] if len(alike) > 1 else ""


def describe_edit(made: Edits) -> str:
    if made.removed and made.added:
        return f"replacing {count_lines(made.removed)} with {count_lines(made.added)}"
    if made.removed:
        return f"removing {count_lines(made.removed)}"
    return f"{'writing' if made.verb == 'Created' else 'adding'} {count_lines(made.added)}" if made.added else ""


def count_lines(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def describe_size(lines: int) -> str:
    return count_lines(lines) if lines else ""


def describe_results(lines: int) -> str:
    return f"{count_lines(lines)} of results" if lines else ""


def join_clauses(told: str, *more: str, failed: str = "") -> str:
    why = f"failed: {error_line(failed)}" if failed else ""
    return " — ".join(part for part in (told, *more, why) if part)


def error_line(error: str) -> str:
    """The line of an error that says what it was, rather than that there was one."""
    lines = error.splitlines()
    named = [line for line in lines if _NAMED.search(line) and not _VERDICT.search(line)]
    other = [line for line in lines if not _VERDICT.search(line)]
    return shorten(next(iter(named or other or lines), ""), LONGEST_LINE)


def key_output_line(output: str) -> str:
    """The line of an output that says most: what a test runner counted, else the last one that has words."""
    lines = [line.strip() for line in output[-4000:].splitlines() if line.strip() and not _VERDICT.search(line)]
    worded = (line for line in reversed(lines) if _WORDS.search(line))
    last = next(worded, lines[-1] if lines and any(map(str.isalnum, lines[-1])) else "")
    return shorten(test_count_line(output) or last, LONGEST_LINE)


def input_and_output(given: str, answered: str) -> str:
    parts = (("Input", given), ("Output", answered))
    return "\n".join(f"{name}: {text.strip()}" for name, text in parts if text.strip())


def content_digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def estimate_tokens(*texts: str) -> int:
    return (sum(map(len, texts)) + 3) // 4


PROMPT, ANSWER, COMPACTION, DELEGATION = "prompt", "answer", "compaction", "delegation"
LONGEST_TITLE, LONGEST_GIST, LONGEST_FACT = 100, 300, 1000
LONGEST_PROMPT, LONGEST_REPLY = 20_000, 8_000
LONGEST_ANSWER, LONGEST_INPUT, LONGEST_OUTPUT = 2_000, 800, 500
_PROGRAM = re.compile(r"(?:[A-Z_][A-Z0-9_]*=\S*\s+)*(?:sudo\s+|time\s+|npx\s+|uv run\s+)?([\w./\\+-]+)")
_DOMAIN = re.compile(r"https?://(?:www\.)?([^/\s:?#]+)")


@dataclass(frozen=True, slots=True)
class Observation:
    """What happened, in the fields of an observation. `error` says what went wrong if it failed.

    `verbs` says what was done to each file, if that differs. `went_well` says of a command that it is known not to
    have failed. `digest` is the same when the same was asked and answered; `tokens` what reading both would cost.
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
    went_well: bool = False
    digest: str = ""
    tokens: int = 0

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


def observe(event: Event, place: WorkingFolder) -> Observation:
    """What a tool, a prompt, the answer of a turn, a sub-agent's end or a compaction was."""
    if event.kind == "prompt":
        return _prompt(event)
    if event.kind == "stop":
        return _answer(event)
    if event.kind in ("subagent-stop", "compact"):
        return _told(event)
    type_ = "file-write" if tool_calls.is_patch(event) else tool_type(event.tool)
    return _BUILDERS.get(type_, _tool_use)(event, place)


def _prompt(event: Event) -> Observation:
    text = cut_middle(clean_text(event.text), LONGEST_PROMPT)
    return Observation(
        PROMPT,
        prompt_title(redact(text)) or "Prompt",
        subtitle="prompt",
        narrative=_gist(text),
        concepts=find_concepts(text=text),
        body=text,
        digest=content_digest(PROMPT, text),
        tokens=estimate_tokens(event.text),
    )


def _answer(event: Event) -> Observation:
    """What the agent said at the end of a turn."""
    text = cut_middle(clean_text(event.text), LONGEST_REPLY)
    return Observation(
        ANSWER,
        title_of(redact(text)) or "Answer",
        subtitle="answer",
        narrative=_gist(text),
        concepts=find_concepts(text=text),
        body=text,
        digest=content_digest(ANSWER, text),
        tokens=estimate_tokens(event.text),
    )


def _told(event: Event) -> Observation:
    text = cut_middle(clean_text(event.text), LONGEST_PROMPT)
    by_agent = event.kind == "subagent-stop"
    who = shorten(event.agent, LONGEST_LINE) or "a sub-agent"
    return Observation(
        DELEGATION if by_agent else COMPACTION,
        title_of(redact(text)) or ("Answer of a sub-agent" if by_agent else "Compaction"),
        subtitle=who if by_agent else "summary of the session so far",
        narrative=_gist(text),
        concepts=find_concepts(text=text),
        body=text,
        digest=content_digest(DELEGATION, text),
        tokens=estimate_tokens(event.text),
    )


def _file_write(event: Event, place: WorkingFolder) -> Observation:
    named = place.named(tool_calls.named_files(event))
    output, error = tool_calls.output_and_error(event)
    made = tool_calls.edits_of(event)
    first = named[0] if named else ""
    verbs = {file: verb for path, verb in made.verbs.items() for file in place.named([path])}
    title = describe_edits(verbs) or f"{made.verb} {file_names(named)}"
    where = f" at {first}" if len(named) == 1 and "/" in first else f": {', '.join(named[:10])}" if named[1:] else ""
    reason = tool_calls.first_text(dict(event.input), "description", "instruction", "instructions", "explanation")
    narrative = join_clauses(
        f"{title}{where}", describe_edit(made), shorten(redact(reason), LONGEST_LINE), failed=error
    )
    return Observation(
        "file-write",
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=shorten(f"{_KINDS_OF_CHANGE.get(made.verb, 'edit')} {first}".strip(), LONGEST_LINE),
        narrative=narrative,
        facts=cut_middle(", ".join(named), LONGEST_FACT),
        concepts=find_concepts(named, text=made.text),
        files_modified=() if error else named,
        verbs={} if error else verbs,
        body=input_and_output("\n".join([", ".join(named), cut_middle(made.text, LONGEST_INPUT)]).strip(), error),
        error=error,
        digest=content_digest("file-write", *named, made.text, made.verb, error),
        tokens=estimate_tokens(tool_calls.input_text(event.input), output),
    )


def _file_read(event: Event, place: WorkingFolder) -> Observation:
    named = place.named(tool_calls.named_files(event))
    output, error = tool_calls.output_and_error(event)
    given = dict(event.input)
    sought = shorten(redact(tool_calls.first_text(given, "pattern", "query", "regex", "search_term")), 80)
    where = ", ".join(file for file in named[:3] if file != ".")
    if sought:
        title, subtitle = f"Searched for {sought}", f"search in {where or '.'}"
        narrative = join_clauses(
            f"Searched for {sought}" + (f" in {where}" if where else ""),
            describe_results(tool_calls.output_lines(event)),
            failed=error,
        )
    else:
        title, subtitle = file_names(named), where
        narrative = join_clauses(
            f"Read {where or file_names(named)}", describe_size(tool_calls.output_lines(event)), failed=error
        )
    return Observation(
        "file-read",
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=shorten(subtitle, LONGEST_LINE),
        narrative=narrative,
        facts=cut_middle(", ".join(named), LONGEST_FACT),
        concepts=find_concepts(named, text=sought),
        files_read=() if sought else named,
        body=input_and_output(sought, error or cut_middle(output, LONGEST_OUTPUT)) if sought or error else "",
        error=error,
        digest=content_digest("file-read", *named, sought, output),
        tokens=estimate_tokens(tool_calls.input_text(event.input), output),
    )


def _command(event: Event, place: WorkingFolder) -> Observation:
    line = tool_calls.command_line(event)
    output, error = tool_calls.output_and_error(event, shell=True)
    described = tool_calls.first_text(dict(event.input), "description")
    title = shorten(redact(described), 60) or short_command(line) or event.tool or "command"
    program = _PROGRAM.match(short_command(line))
    outcome = error_line(error) if error else key_output_line(output)
    went = "failed" if error else command_outcome(event, line, output)
    told = f"Ran {short_command(line) or title}" + (f" to {title[:1].lower()}{title[1:]}" if described else "")
    return Observation(
        "command",
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=program[1].replace("\\", "/").rpartition("/")[2] if program else "",
        narrative=told + (f" — {outcome}" if outcome else "") + (f" ({went})" if went else ""),
        facts=cut_middle(redact(line), LONGEST_FACT),
        concepts=find_concepts(command=line, text=error),
        body=input_and_output(cut_middle(line, LONGEST_ANSWER), cut_middle(output or error, LONGEST_INPUT)),
        error=error,
        went_well=went == "success",
        digest=content_digest("command", line, output),
        tokens=estimate_tokens(tool_calls.input_text(event.input), output),
    )


def _research(event: Event, place: WorkingFolder) -> Observation:
    asked = tool_calls.search_query(event)
    url = tool_calls.first_text(dict(event.input), "url", "urls", "Url")
    domain = _DOMAIN.search(url or asked)
    output, error = tool_calls.output_and_error(event)
    is_page = bool(url) or bool(domain and asked.strip().startswith("http"))
    title = f"Fetched {domain[1]}" if is_page and domain else shorten(redact(asked), LONGEST_TITLE) or event.tool
    told = f"Fetched {shorten(redact(url or asked), LONGEST_LINE)}" if is_page else f"Searched the web for {title}"
    return Observation(
        "research",
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=domain[1] if domain else "web search",
        narrative=join_clauses(told, failed=error),
        facts=cut_middle(redact(url), LONGEST_FACT),
        concepts=find_concepts(text=asked),
        body=input_and_output(cut_middle(asked, LONGEST_INPUT), error or cut_middle(output, LONGEST_ANSWER)),
        error=error,
        digest=content_digest("research", url, asked, output),
        tokens=estimate_tokens(tool_calls.input_text(event.input), output),
    )


def _delegation(event: Event, place: WorkingFolder) -> Observation:
    asked, agent = tool_calls.delegated_task(event), shorten(redact(tool_calls.delegated_agent(event)), LONGEST_TITLE)
    output, error = tool_calls.output_and_error(event)
    title = shorten(redact(asked), LONGEST_LINE) or "Delegated task"
    whole = tool_calls.first_text(dict(event.input), "prompt", "task", "message", "instructions") or asked
    return Observation(
        DELEGATION,
        shorten(f"Failed: {title}" if error else title, LONGEST_LINE),
        subtitle=agent,
        narrative=join_clauses(f"Delegated to {agent or 'a sub-agent'}: {title}", failed=error),
        facts=agent,
        concepts=find_concepts(text=whole),
        body=input_and_output(cut_middle(whole, LONGEST_ANSWER), error or cut_middle(output, LONGEST_ANSWER)),
        error=error,
        digest=content_digest(DELEGATION, output),
        tokens=estimate_tokens(tool_calls.input_text(event.input), output),
    )


def _tool_use(event: Event, place: WorkingFolder) -> Observation:
    server, name = server_and_tool(event.tool)
    given, named = tool_calls.input_text(event.input), place.named(tool_calls.named_files(event))
    output, error = tool_calls.output_and_error(event)
    about = shorten(redact(tool_calls.search_query(event) or given), 80)
    title = f"{name or 'tool'}: {about}" if about else name or "tool"
    return Observation(
        OTHER_TOOL,
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=shorten(server or name, LONGEST_LINE),
        narrative=join_clauses(
            f"Used {name or 'a tool'}" + (f" of {server}" if server else ""), key_output_line(output), failed=error
        ),
        facts=cut_middle(", ".join(named), LONGEST_FACT),
        concepts=find_concepts(named, text=given),
        files_read=named,
        body=input_and_output(cut_middle(given, LONGEST_OUTPUT), error or cut_middle(output, LONGEST_OUTPUT)),
        error=error,
        digest=content_digest(event.tool, given, output),
        tokens=estimate_tokens(given, output),
    )


def _gist(text: str) -> str:
    """How a long text begins; empty for a short one, which stands for itself."""
    return shorten(redact(text), LONGEST_GIST) if len(text) > LONGEST_GIST else ""


_BUILDERS: Mapping[str, Callable[[Event, WorkingFolder], Observation]] = {
    "file-write": _file_write,
    "file-read": _file_read,
    "command": _command,
    "research": _research,
    "delegation": _delegation,
}
_KINDS_OF_CHANGE = {"Created": "new", "Deleted": "delete", "Moved": "move"}
