"""Observations: an event of a hook as one thing that happened, told as Kiro Memory's reference shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from commonplace.capture.hooks import arguments
from commonplace.capture.hooks.concepts import concepts
from commonplace.capture.hooks.event import Event
from commonplace.capture.hooks.phrases import (
    LONGEST,
    body,
    brief,
    change,
    complaint,
    digest,
    found,
    names,
    sentence,
    several,
    size,
    telling_line,
    tokens,
)
from commonplace.capture.hooks.places import Place
from commonplace.capture.hooks.requests import request_of
from commonplace.capture.hooks.tools import OTHER, parts_of, type_of
from commonplace.capture.hooks.verdicts import verdict
from commonplace.capture.transcripts.wording import cut, said
from commonplace.text.redact import redact
from commonplace.text.summarise import shorten, title_of

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


def observe(event: Event, place: Place) -> Observation:
    """What a tool, a prompt, the answer of a turn, a sub-agent's end or a compaction was."""
    if event.kind == "prompt":
        return _prompt(event)
    if event.kind == "stop":
        return _answer(event)
    if event.kind in ("subagent-stop", "compact"):
        return _told(event)
    type_ = "file-write" if arguments.is_patch(event) else type_of(event.tool)
    return _BUILDERS.get(type_, _tool_use)(event, place)


def _prompt(event: Event) -> Observation:
    text = cut(said(event.text), LONGEST_PROMPT)
    return Observation(
        PROMPT,
        request_of(redact(text)) or "Prompt",
        subtitle="prompt",
        narrative=_gist(text),
        concepts=concepts(text=text),
        body=text,
        digest=digest(PROMPT, text),
        tokens=tokens(event.text),
    )


def _answer(event: Event) -> Observation:
    """What the agent said at the end of a turn."""
    text = cut(said(event.text), LONGEST_REPLY)
    return Observation(
        ANSWER,
        title_of(redact(text)) or "Answer",
        subtitle="answer",
        narrative=_gist(text),
        concepts=concepts(text=text),
        body=text,
        digest=digest(ANSWER, text),
        tokens=tokens(event.text),
    )


def _told(event: Event) -> Observation:
    text = cut(said(event.text), LONGEST_PROMPT)
    by_agent = event.kind == "subagent-stop"
    who = shorten(event.agent, LONGEST) or "a sub-agent"
    return Observation(
        DELEGATION if by_agent else COMPACTION,
        title_of(redact(text)) or ("Answer of a sub-agent" if by_agent else "Compaction"),
        subtitle=who if by_agent else "summary of the session so far",
        narrative=_gist(text),
        concepts=concepts(text=text),
        body=text,
        digest=digest(DELEGATION, text),
        tokens=tokens(event.text),
    )


def _file_write(event: Event, place: Place) -> Observation:
    named = place.named(arguments.files(event))
    output, error = arguments.answer(event)
    made = arguments.edits(event)
    first = named[0] if named else ""
    verbs = {file: verb for path, verb in made.verbs.items() for file in place.named([path])}
    title = several(verbs) or f"{made.verb} {names(named)}"
    where = f" at {first}" if len(named) == 1 and "/" in first else f": {', '.join(named[:10])}" if named[1:] else ""
    reason = arguments.first_text(dict(event.input), "description", "instruction", "instructions", "explanation")
    narrative = sentence(f"{title}{where}", change(made), shorten(redact(reason), LONGEST), failed=error)
    return Observation(
        "file-write",
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=shorten(f"{_KINDS_OF_CHANGE.get(made.verb, 'edit')} {first}".strip(), LONGEST),
        narrative=narrative,
        facts=cut(", ".join(named), LONGEST_FACT),
        concepts=concepts(named, text=made.text),
        files_modified=() if error else named,
        verbs={} if error else verbs,
        body=body("\n".join([", ".join(named), cut(made.text, LONGEST_INPUT)]).strip(), error),
        error=error,
        digest=digest("file-write", *named, made.text, made.verb, error),
        tokens=tokens(arguments.told(event.input), output),
    )


def _file_read(event: Event, place: Place) -> Observation:
    named = place.named(arguments.files(event))
    output, error = arguments.answer(event)
    given = dict(event.input)
    sought = shorten(redact(arguments.first_text(given, "pattern", "query", "regex", "search_term")), 80)
    where = ", ".join(file for file in named[:3] if file != ".")
    if sought:
        title, subtitle = f"Searched for {sought}", f"search in {where or '.'}"
        narrative = sentence(
            f"Searched for {sought}" + (f" in {where}" if where else ""),
            found(arguments.lines_of_answer(event)),
            failed=error,
        )
    else:
        title, subtitle = names(named), where
        narrative = sentence(f"Read {where or names(named)}", size(arguments.lines_of_answer(event)), failed=error)
    return Observation(
        "file-read",
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=shorten(subtitle, LONGEST),
        narrative=narrative,
        facts=cut(", ".join(named), LONGEST_FACT),
        concepts=concepts(named, text=sought),
        files_read=() if sought else named,
        body=body(sought, error or cut(output, LONGEST_OUTPUT)) if sought or error else "",
        error=error,
        digest=digest("file-read", *named, sought, output),
        tokens=tokens(arguments.told(event.input), output),
    )


def _command(event: Event, place: Place) -> Observation:
    line = arguments.command(event)
    output, error = arguments.answer(event, shell=True)
    described = arguments.first_text(dict(event.input), "description")
    title = shorten(redact(described), 60) or brief(line) or event.tool or "command"
    program = _PROGRAM.match(brief(line))
    outcome = complaint(error) if error else telling_line(output)
    went = "failed" if error else verdict(event, line, output)
    told = f"Ran {brief(line) or title}" + (f" to {title[:1].lower()}{title[1:]}" if described else "")
    return Observation(
        "command",
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=program[1].replace("\\", "/").rpartition("/")[2] if program else "",
        narrative=told + (f" — {outcome}" if outcome else "") + (f" ({went})" if went else ""),
        facts=cut(redact(line), LONGEST_FACT),
        concepts=concepts(command=line, text=error),
        body=body(cut(line, LONGEST_ANSWER), cut(output or error, LONGEST_INPUT)),
        error=error,
        went_well=went == "success",
        digest=digest("command", line, output),
        tokens=tokens(arguments.told(event.input), output),
    )


def _research(event: Event, place: Place) -> Observation:
    asked = arguments.query(event)
    url = arguments.first_text(dict(event.input), "url", "urls", "Url")
    domain = _DOMAIN.search(url or asked)
    output, error = arguments.answer(event)
    is_page = bool(url) or bool(domain and asked.strip().startswith("http"))
    title = f"Fetched {domain[1]}" if is_page and domain else shorten(redact(asked), LONGEST_TITLE) or event.tool
    told = f"Fetched {shorten(redact(url or asked), LONGEST)}" if is_page else f"Searched the web for {title}"
    return Observation(
        "research",
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=domain[1] if domain else "web search",
        narrative=sentence(told, failed=error),
        facts=cut(redact(url), LONGEST_FACT),
        concepts=concepts(text=asked),
        body=body(cut(asked, LONGEST_INPUT), error or cut(output, LONGEST_ANSWER)),
        error=error,
        digest=digest("research", url, asked, output),
        tokens=tokens(arguments.told(event.input), output),
    )


def _delegation(event: Event, place: Place) -> Observation:
    asked, agent = arguments.task(event), shorten(redact(arguments.agent(event)), LONGEST_TITLE)
    output, error = arguments.answer(event)
    title = shorten(redact(asked), LONGEST) or "Delegated task"
    whole = arguments.first_text(dict(event.input), "prompt", "task", "message", "instructions") or asked
    return Observation(
        DELEGATION,
        shorten(f"Failed: {title}" if error else title, LONGEST),
        subtitle=agent,
        narrative=sentence(f"Delegated to {agent or 'a sub-agent'}: {title}", failed=error),
        facts=agent,
        concepts=concepts(text=whole),
        body=body(cut(whole, LONGEST_ANSWER), error or cut(output, LONGEST_ANSWER)),
        error=error,
        digest=digest(DELEGATION, output),
        tokens=tokens(arguments.told(event.input), output),
    )


def _tool_use(event: Event, place: Place) -> Observation:
    server, name = parts_of(event.tool)
    given, named = arguments.told(event.input), place.named(arguments.files(event))
    output, error = arguments.answer(event)
    about = shorten(redact(arguments.query(event) or given), 80)
    title = f"{name or 'tool'}: {about}" if about else name or "tool"
    return Observation(
        OTHER,
        shorten(f"Failed: {title}" if error else title, LONGEST_TITLE),
        subtitle=shorten(server or name, LONGEST),
        narrative=sentence(
            f"Used {name or 'a tool'}" + (f" of {server}" if server else ""), telling_line(output), failed=error
        ),
        facts=cut(", ".join(named), LONGEST_FACT),
        concepts=concepts(named, text=given),
        files_read=named,
        body=body(cut(given, LONGEST_OUTPUT), error or cut(output, LONGEST_OUTPUT)),
        error=error,
        digest=digest(event.tool, given, output),
        tokens=tokens(given, output),
    )


def _gist(text: str) -> str:
    """How a long text begins; empty for a short one, which stands for itself."""
    return shorten(redact(text), LONGEST_GIST) if len(text) > LONGEST_GIST else ""


_BUILDERS: Mapping[str, Callable[[Event, Place], Observation]] = {
    "file-write": _file_write,
    "file-read": _file_read,
    "command": _command,
    "research": _research,
    "delegation": _delegation,
}
_KINDS_OF_CHANGE = {"Created": "new", "Deleted": "delete", "Moved": "move"}
