"""Closing: one summary and one checkpoint of a session, made of what happened in it and of what was answered last.

Nothing is invented: what nobody did or said stays empty, and a session in which nothing happened has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from commonplace.capture.hooks.answers import Heard
from commonplace.capture.hooks.concepts import concepts
from commonplace.capture.hooks.course import Course, Deed
from commonplace.capture.hooks.observations import ANSWER, COMPACTION, PROMPT
from commonplace.capture.hooks.requests import is_reply
from commonplace.capture.hooks.steps import heard_in
from commonplace.memory.captured import is_edited
from commonplace.memory.open_steps import HEARD, STILL_FAILING, dismissed
from commonplace.memory.remember import Note
from commonplace.model import Item
from commonplace.text.commands import covers, essence
from commonplace.text.summarise import shorten

MOST_FILES, MOST_KNOWN, MOST_LINES, MOST_SHOWN = 20, 200, 5, 10
_LONGEST, _LONGEST_COMMAND = 200, 120
_NEWLINE = "\n"
# What a command has to be about to be worth telling that it went well.
_FEATS = frozenset(("testing", "build", "code-quality", "dependencies", "database", "devops"))
_DEED_OF_GIT = re.compile(
    r"\bgit (?:\S+ )*?(?:commit|push|merge|rebase|tag|revert|cherry-pick)\b|\bgh (?:pr|release) create\b"
)
_COUNTED: Mapping[str, tuple[str, str]] = {
    PROMPT: ("prompt", "prompts"),
    "file-write": ("edit", "edits"),
    "command": ("command", "commands"),
    "file-read": ("read", "reads"),
    "research": ("look-up", "look-ups"),
    "delegation": ("delegation", "delegations"),
    "tool-use": ("tool use", "tool uses"),
}


def closed(course: Course) -> Iterator[Note]:
    """The summary and the checkpoint of a session that stopped, as they should be by now; none if nothing happened.

    What a person rewrote is left as it is.
    """
    if course.closes_ms is None:
        return
    kept = [item for item in (course.summary, course.checkpoint) if item]
    # What a person edited is not written any more, so the other one tells where hooks were.
    latest = next((item for item in kept if not is_edited(item)), kept[0] if kept else None)
    heard = heard_in(course, Heard.from_json(latest.meta.get(HEARD) if latest else None).without(dismissed(kept)))
    deeds = [deed for deed in course.deeds if deed.type not in (PROMPT, ANSWER, COMPACTION)]
    if not (deeds or (course.opening and heard != Heard())):
        return
    before = _texts(course.summary.meta.get("written")) if course.summary else []
    written = _recent_first([*before, *(file for deed in deeds for file in deed.modified)])
    told = {HEARD: heard.as_json()} if heard != Heard() else {}
    details = _summary(course, deeds, heard, written)
    if not _is_kept(course.summary):
        files: dict[str, object] = {"written": list(reversed(written[:MOST_KNOWN]))} if written else {}
        yield _note(course, "summary", details, {**told, **files})
    if not _is_kept(course.checkpoint):
        yield _note(course, "checkpoint", _checkpoint(course, deeds, heard, details, written), told)


def _is_kept(item: Item | None) -> bool:
    """Whether a person wrote in it."""
    return item is not None and is_edited(item)


def _summary(course: Course, deeds: Sequence[Deed], heard: Heard, written: Sequence[str]) -> dict[str, str]:
    return {
        "request": _request(course),
        "investigated": _investigated(deeds),
        "learned": "\n".join(heard.learnt),
        "completed": "\n".join([*_changes(deeds, written), *_feats(deeds)]),
        "next_steps": "\n".join(dict.fromkeys([*heard.left, *_open_failures(deeds)])),
        "notes": _notes(course),
    }


def _checkpoint(
    course: Course, deeds: Sequence[Deed], heard: Heard, summary: Mapping[str, str], written: Sequence[str]
) -> dict[str, str]:
    read = _recent_first(file for deed in deeds for file in deed.read)
    steps = [deed for deed in course.deeds if deed.type != ANSWER]
    asked = [deed.title for deed in course.deeds if deed.type == PROMPT and not is_reply(deed.title)]
    return {
        "task": asked[-1] if asked else summary["request"].partition("\n")[0],
        "progress": "\n".join(heard.done) or summary["completed"],
        "next_steps": summary["next_steps"],
        "open_questions": "\n".join(heard.questions),
        "relevant_files": ", ".join(list(dict.fromkeys([*written, *read]))[:MOST_FILES]),
        "snapshot": "\n".join(f"{deed.type}: {deed.title}" for deed in steps[-MOST_SHOWN:]),
    }


def _request(course: Course) -> str:
    """How it began, and what was asked last. A reply such as "no, keep it" asks for nothing by itself."""
    last = [deed.title for deed in course.deeds if deed.type == PROMPT and not is_reply(deed.title)][-2:]
    return "\n".join(dict.fromkeys([*course.opening[:1], *last]))


def _investigated(deeds: Sequence[Deed]) -> str:
    read = _recent_first(file for deed in deeds for file in deed.read)
    sought = [deed.title for deed in deeds if deed.type == "file-read" and not (deed.read or deed.error)]
    looked_up = [deed.title for deed in deeds if deed.type == "research" and not deed.error]
    asked = [deed.title for deed in deeds if deed.type == "delegation"]
    lines = [
        f"Read {_some(read)}" if read else "",
        *_latest(sought),
        *(f"Looked up: {title}" for title in _latest(looked_up)),
        *(f"Delegated: {title}" for title in _latest(asked)),
    ]
    return "\n".join(line for line in lines if line)


def _changes(deeds: Sequence[Deed], written: Sequence[str]) -> Iterator[str]:
    """What was written, by file, the latest first."""
    verbs: dict[str, str] = {}
    for deed in deeds:
        for file in deed.modified:
            verb = str(deed.verbs.get(file) or deed.title.partition(" ")[0])
            verbs[file] = verb if verb in ("Deleted", "Moved") else verbs.get(file, verb)
    told = [f"{verbs.get(file, 'Modified')} {file}" for file in written[:MOST_FILES]]
    if told:
        yield ", ".join(told) + (f" and {len(written) - MOST_FILES} more" if written[MOST_FILES:] else "")


def _feats(deeds: Sequence[Deed]) -> list[str]:
    """Commands that are known to have gone well and mean something: tests, builds, commits."""
    last = {essence(deed.facts): deed for deed in deeds if deed.type == "command" and _is_feat(deed.facts)}
    return _latest([deed.narrative for deed in last.values() if deed.went_well])


def _is_feat(line: str) -> bool:
    return bool(_DEED_OF_GIT.search(line) or _FEATS.intersection(concepts(command=line).split(", ")))


def _open_failures(deeds: Sequence[Deed]) -> list[str]:
    """Commands that failed and have not gone well since, alone or as part of a larger test run."""
    failing: dict[str, Deed] = {}
    for deed in deeds:
        if deed.type != "command" or not deed.facts:
            continue
        if not deed.error:
            same = essence(deed.facts)
            failing = {
                name: other
                for name, other in failing.items()
                if name != same and not (deed.went_well and covers(deed.facts, other.facts))
            }
        elif _is_feat(deed.facts):
            failing.pop(essence(deed.facts), None)
            failing[essence(deed.facts)] = deed
    return [f"{STILL_FAILING}{_failing(deed)}" for deed in list(failing.values())[-3:]]


def _failing(deed: Deed) -> str:
    """The command, and what its narrative says of how it failed."""
    why = deed.narrative.partition(" — ")[2] or "failed"
    return shorten(f"{shorten(deed.facts.partition(_NEWLINE)[0], _LONGEST_COMMAND)} — {why}", _LONGEST)


def _notes(course: Course) -> str:
    numbers = ((course.counts[type_], names) for type_, names in _COUNTED.items())
    return ", ".join(f"{number} {names[number != 1]}" for number, names in numbers if number)


def _note(course: Course, kind: str, details: Mapping[str, str], meta: Mapping[str, object]) -> Note:
    title = (details.get("request") or details.get("task") or course.label).partition("\n")[0]
    return Note(
        kind="summary" if kind == "summary" else "checkpoint",
        title=title,
        details={name: value for name, value in details.items() if value},
        meta=meta,
        project=course.project,
        session=course.key,
        created_ms=course.closes_ms,
    )


def _recent_first(files: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed(list(files))))


def _latest(lines: Sequence[str]) -> list[str]:
    """The last few that differ, in their order."""
    return [shorten(line, _LONGEST) for line in reversed(_recent_first(lines)[:MOST_LINES])]


def _some(files: Sequence[str]) -> str:
    told = ", ".join(files[:MOST_SHOWN])
    return f"{told} and {len(files) - MOST_SHOWN} more" if files[MOST_SHOWN:] else told


def _texts(kept: object) -> list[str]:
    return [text for text in kept if isinstance(text, str)] if isinstance(kept, list) else []
