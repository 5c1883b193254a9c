"""Open steps: what the summaries and checkpoints of a project leave to do. A step stays until it is done or dismissed.

Hooks take a step out of the summary and the checkpoint that name it once a later turn or session says it is done. A
person dismisses one by editing or forgetting them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from commonplace.errors import Conflict, NotFound
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Scope
from commonplace.text.redact import redact
from commonplace.text.sentences import shorten

STILL_FAILING = "Still failing: "
# How many summaries and checkpoints of a project are looked at, the newest.
MAX_NOTES = 100
HOOK_NOTES, LEFT = "heard", "left"
# Characters of a step in a list.
LONGEST_STEP = 500


class SessionNotes(Protocol):
    """A summary or a checkpoint, whole or as a line of a report."""

    @property
    def details(self) -> Mapping[str, str]: ...
    @property
    def meta(self) -> Mapping[str, object]: ...


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A step, and the newest summary or checkpoint of its session that names it."""

    text: str
    item: Item


def open_steps(memory: LocalMemory, project: str | None, limit: int) -> list[OpenStep]:
    """The steps that are open in a project, those of its newest sessions first, each once."""
    return open_steps_of(summaries_and_checkpoints(memory, project))[:limit]


def open_steps_of(notes: Iterable[Item]) -> list[OpenStep]:
    """The steps that summaries and checkpoints, the newest first, leave open."""
    sessions: dict[object, list[Item]] = {}
    for item in notes:
        sessions.setdefault(item.session or item.uid, []).append(item)
    found: dict[str, OpenStep] = {}
    for own in sessions.values():
        newest, gone = next((item for item in own if steps_in(item)), own[0]), dismissed_steps(own)
        for line in steps_in(newest):
            if line not in gone:
                found.setdefault(line.casefold(), OpenStep(line, newest))
    return list(found.values())


def summaries_and_checkpoints(memory: LocalMemory, project: str | None, most: int = MAX_NOTES) -> list[Item]:
    """The newest summaries and checkpoints of a project."""
    return memory.store.newest(Scope.inside(project, kinds=("summary", "checkpoint")), most)


def close_step(memory: LocalMemory, project: str | None, text: str) -> list[Item]:
    """Mark a step or question as done: take it out of every note of the project that names it.

    Returns the notes as they were. NotFound if none names it.
    """
    from commonplace.memory.edit_and_forget import Changes, edit_item

    wanted = _as_listed(text)
    closed: list[Item] = []
    for item in summaries_and_checkpoints(memory, project):
        left = {
            name: "\n".join(line for line in lines if _as_listed(line) != wanted)
            for name in ("next_steps", "open_questions")
            if (lines := item.details.get(name, "").splitlines())
        }
        changed = {name: text for name, text in left.items() if text != "\n".join(item.details[name].splitlines())}
        if changed:
            edit_item(memory, item.id, Changes(details=changed), item.rev)
            closed.append(item)
    if not closed:
        raise NotFound(
            "No such step is open.",
            "`commonplace overview` lists those that are; it may be done by now.",
        )
    return closed


def reopen_step(memory: LocalMemory, notes: Iterable[tuple[str, int]]) -> None:
    """Undo `close_step`: bring notes, by their ids, back to the revisions that they had; Conflict if they changed."""
    from commonplace.memory.history import revert_to_revision
    from commonplace.memory.items import get_item

    found = [(get_item(memory, id_), rev) for id_, rev in notes]
    if any(item.rev != rev + 1 for item, rev in found):
        raise Conflict("The session has continued since then.", "Add the step again by editing its summary.")
    for item, rev in found:
        revert_to_revision(memory, item.id, rev)


def _as_listed(line: str) -> str:
    """A step as lists and pages show it, to be recognised by."""
    return redact(shorten(line, LONGEST_STEP)).casefold()


def steps_in(notes: SessionNotes) -> list[str]:
    """The steps that a summary or checkpoint names, a line each."""
    return [line for line in map(str.strip, notes.details.get("next_steps", "").splitlines()) if line]


def dismissed_steps(notes: Iterable[SessionNotes]) -> set[str]:
    """The steps that hooks wrote and a person took out of one of a session's summary and checkpoint."""
    return {step for one in notes for step in _written(one) if step not in steps_in(one)}


def failing_command(step: str) -> str:
    """The command that a step says still fails."""
    return step.removeprefix(STILL_FAILING).partition(" — ")[0]


def failure_reason(step: str) -> str:
    """Why that command fails, as far as the step says."""
    return step.partition(" — ")[2].removesuffix(" (failed)")


def _written(notes: SessionNotes) -> Iterator[str]:
    noted = notes.meta.get(HOOK_NOTES)
    left = noted.get(LEFT) if isinstance(noted, Mapping) else None
    yield from (step for step in left if isinstance(step, str)) if isinstance(left, list) else ()
