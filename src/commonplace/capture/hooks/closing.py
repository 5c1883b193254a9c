"""Closing: one summary and one checkpoint of a session, made of what happened in it and of what was answered last."""

from __future__ import annotations

from collections.abc import Iterator

from commonplace.capture.hooks.course import Course
from commonplace.memory.remember import Note


def closed(course: Course) -> Iterator[Note]:
    """The summary and the checkpoint of a session that stopped, as they should be by now; none if nothing happened."""
    return iter(())
