"""Steps of other sessions that a session closes: they leave the summaries and checkpoints that named them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from commonplace.capture.hooks.answers import Heard
from commonplace.capture.hooks.course import Course
from commonplace.capture.hooks.steps import closed_elsewhere
from commonplace.errors import Conflict, InvalidInput, NotFound, TooLarge
from commonplace.memory.book import Book
from commonplace.memory.captured import TOLD, Begun, is_edited
from commonplace.memory.edit import Changes, edit
from commonplace.memory.open_steps import HEARD, step_notes, steps_in
from commonplace.memory.remember import Note, note_of
from commonplace.model import Item

Written = TypeVar("Written", Item, Note)


def close_elsewhere(book: Book, courses: Sequence[Course], told: Sequence[Note]) -> tuple[list[Begun], list[Note]]:
    """What is to be written of sessions, given the ones that stopped and what is told of these.

    The summaries and checkpoints of other sessions lose the steps that were closed since. Those that a person or an
    agent wrote are edited at once, and lose nothing but the step.
    """
    stored: dict[int, Item] = {}
    changed: dict[int, Item] = {}
    new = list(told)
    stopped = sorted((course for course in courses if course.closes_ms is not None), key=lambda one: one.closes_ms or 0)
    keys = {course.key for course in stopped}
    for course in stopped:
        stored |= {item.id: item for item in step_notes(book, course.project) if item.session not in keys}
        open_ = [changed.get(id_, item) for id_, item in stored.items() if item.project == course.project]
        beside = [note for note in new if note.session != course.key and note.project == course.project]
        named = {step for note in told if note.session == course.key for step in steps_in(note)}
        steps: dict[str, int] = {}
        lines = [(step, item.created_ms) for item in open_ for step in steps_in(item)]
        for step, at_ms in (*lines, *((step, note.created_ms or 0) for note in beside for step in steps_in(note))):
            # Named again later, it was open then.
            steps[step] = max(at_ms, steps.get(step, 0))
        closed = closed_elsewhere(course, steps, named)
        changed |= {item.id: _without(item, closed) for item in open_ if closed.intersection(steps_in(item))}
        for note in beside:
            if closed.intersection(steps_in(note)):
                new[new.index(note)] = _without(note, closed)
    sessions: list[Begun] = []
    for id_, item in changed.items():
        if item.session and TOLD in item.meta and not is_edited(stored[id_]):
            new.append(replace(note_of(item), uid=None, meta={k: v for k, v in item.meta.items() if k != TOLD}))
            sessions.append(Begun(item.session, "", "", item.created_ms, item.project))
        else:
            _edit(book, item)
    return sessions, new


def _without(written: Written, gone: set[str]) -> Written:
    left = "\n".join(step for step in steps_in(written) if step not in gone)
    details = {name: text for name, text in written.details.items() if name != "next_steps"}
    heard = Heard.from_json(written.meta.get(HEARD)).without(gone)
    meta = {**written.meta, HEARD: heard.as_json()} if HEARD in written.meta else written.meta
    return replace(written, details={**details, "next_steps": left} if left else details, meta=meta)


def _edit(book: Book, item: Item) -> None:
    try:
        edit(book, item.id, Changes(details={"next_steps": item.details.get("next_steps", "")}, meta=item.meta))
    except (Conflict, InvalidInput, NotFound, TooLarge):
        # It changed meanwhile, or would say the same as another: the step stays open.
        return
