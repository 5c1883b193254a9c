"""The indexes: whether everything that is searched can be found by its words and by its meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from commonplace.doctor.finding import Finding, failure, remark, well
from commonplace.doctor.patient import Patient
from commonplace.errors import TimedOut
from commonplace.memory.rebuild import rebuild
from commonplace.memory.upkeep import IndexState, index_state, mend_words

AREA = "index"
SECONDS = 30.0
# What is embedded at once when something is mended; the rest follows in the background of any server.
MENDED_AT_ONCE = 2_000


def examine(patient: Patient) -> Iterator[Finding]:
    if not patient.opens():
        return
    try:
        state = index_state(patient.book(), SECONDS)
    except TimedOut:
        yield remark(AREA, "words", f"Counting was given up after {SECONDS:.0f} seconds.")
        return
    yield _words(patient, state)
    yield _vectors(patient, state)


def _words(patient: Patient, state: IndexState) -> Finding:
    def mend() -> str:
        return f"{mend_words(patient.book()):,} rows of the index were mended."

    if state.wordless:
        told = f"{state.wordless:,} of {state.passages:,} passages cannot be found by their words."
        return failure(AREA, "words", told, "They can be indexed again: use --fix.", mend)
    if state.stray:
        told = f"{state.stray:,} rows of the index belong to nothing."
        return failure(AREA, "words", told, "They can be taken away: use --fix.", mend)
    return well(AREA, "words", f"All {state.passages:,} passages can be found by their words.")


def _vectors(patient: Patient, state: IndexState) -> Finding:
    lost = state.vectorless + state.given_up
    if lost:
        told = f"{lost:,} of {state.passages:,} passages cannot be found by meaning, and nobody is working on it."
        return failure(AREA, "vectors", told, "They can be embedded again: use --fix.", _again(patient))
    if not state.waiting:
        return well(AREA, "vectors", f"All {state.passages:,} passages can be found by meaning.")
    told = f"{state.waiting:,} of {state.passages:,} passages wait for a vector."
    if patient.settings.embedder == "off":
        return remark(AREA, "vectors", f"{told} The embedder is off.", "Set embedder to builtin to search by meaning.")
    return remark(AREA, "vectors", told, "A running server makes them, and so does the next search.")


def _again(patient: Patient) -> Callable[[], str]:
    def mend() -> str:
        waiting = rebuild(patient.book())
        done = patient.book().meaning.catch_up(MENDED_AT_ONCE)
        return f"{done:,} passages were embedded again, {max(0, waiting - done):,} wait for it."

    return mend
