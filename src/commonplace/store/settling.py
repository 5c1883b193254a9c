"""Settling: which of two versions of a record stands, and what is kept of the other. The same in every store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.model import Change
from commonplace.store.records import Record, before_of, line_id, said_of, state_hash, state_of

MERGE = "merge"
"""The line in a history that keeps the version which did not stand."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Whether the arriving version stands, the lines that the history lacks, and whether both had changed."""

    takes: bool
    lines: tuple[Change, ...]
    conflict: bool
    version: int


def settle(here: Record, arriving: Record) -> Settled:
    """The later version stands; where both are of one moment, the same one in every store.

    The other is kept in the history, unless all that was done to it was done to this one too: then this one was made
    of it. What follows a source, and what was cleaned, tells nothing of that in its history.
    """
    lines = lacking(here, arriving.history)
    version = max(here.version, arriving.version)
    if state_of(here) == state_of(arriving):
        return Settled(takes=False, lines=lines, conflict=False, version=version)
    takes = (arriving.version, state_hash(arriving)) > (here.version, state_hash(here))
    standing, other = (arriving, here) if takes else (here, arriving)
    said = said_of(other.what, other.fields)
    known = [said_of(standing.what, told) for told in (standing.fields, *(line.before for line in standing.history))]
    conflict = bool(lacking(standing, other.history)) and said not in known
    if conflict:
        line = Change(other.fields["rev"], MERGE, other.version, before_of(other))
        lines = (*lines, *lacking(here, [line], besides=lines))
    return Settled(takes, lines, conflict, version)


def keep_numbers(lines: Sequence[Change], here: int, rev: int) -> bool:
    """Whether lines stay numbered as they are told: they are all that is here, and count up to the revision."""
    revs = [line.rev for line in lines]
    return here == len(lines) and revs == sorted(set(revs)) and (not revs or revs[-1] < rev)


def lacking(here: Record, lines: Sequence[Change], besides: Sequence[Change] = ()) -> tuple[Change, ...]:
    """Those lines that a record's history does not have, each once."""
    known = {line_id(line) for line in (*here.history, *besides)}
    new = {line_id(line): line for line in lines}
    return tuple(line for id_, line in new.items() if id_ not in known)
