"""The spool: what hooks left there, since when, and what went wrong on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from commonplace.capture.hooks.drain import drain
from commonplace.capture.hooks.spool import OPENING, PART, SAMPLE
from commonplace.capture.hooks.waiting import SpoolState, forget_troubles, our_spool, spool_state, sweep
from commonplace.doctor.finding import Finding, failure, remark, well
from commonplace.doctor.patient import Patient
from commonplace.text.times import ago

AREA = "spool"
# Whoever waits longer, or takes more room, waits for a server or a command that never comes.
LATE_MS, LARGE = 24 * 3_600_000, 100 * 1024**2
DRAIN_SECONDS = 30.0
# A hook is done long before this.
LEFT_SECONDS = 3600
FIXES = {
    "disk-full": "Make room on the disk of the data folder.",
    "not-writable": "Make the data folder writable for its owner.",
    "not-our-folder": "The spool has to be a folder of your own, and no link: move what is there out of the way.",
    "unknown-host": "Connect the editor again: `commonplace connect`.",
    "unknown-event": "Connect the editor again: `commonplace connect`.",
}


def examine(patient: Patient) -> Iterator[Finding]:
    state = spool_state(patient.settings)
    if state.broken:
        yield failure(AREA, "folder", f"Hooks cannot leave anything: {state.broken}.", FIXES["not-our-folder"])
        return
    yield _waiting(patient, state)
    yield from _leftovers(patient)
    untold = {reason: number for reason, number in state.hook_failures.items() if reason.startswith(OPENING)}
    lost = {reason: number for reason, number in state.hook_failures.items() if reason not in untold}
    for what, counts in (("hooks", lost), ("openings", untold), ("refused", state.refused)):
        if counts:
            yield _troubles(patient, what, counts, state)


def _waiting(patient: Patient, state: SpoolState) -> Finding:
    if not state.waiting:
        return well(AREA, "waiting", "Nothing waits that hooks told.")
    now = time.time_ns() // 1_000_000
    since = "" if state.oldest_ms is None else f", the oldest from {ago(state.oldest_ms, now)}"
    told = f"{state.waiting:,} events wait to be remembered ({state.size / 1e6:,.1f} MB){since}."
    late = state.oldest_ms is not None and now - state.oldest_ms > LATE_MS
    fix = "A running server remembers them, and so does `commonplace drain`; or use --fix."
    return (failure if late or state.size > LARGE else remark)(AREA, "waiting", told, fix, _draining(patient))


def _draining(patient: Patient) -> Callable[[], str]:
    def mend() -> str:
        drained = drain(patient.book(), patient.settings, seconds=DRAIN_SECONDS)
        if drained.elsewhere:
            return "Another process is remembering them at this moment."
        return f"{drained.remembered:,} events were remembered, {drained.left:,} wait."

    return mend


def _leftovers(patient: Patient) -> Iterator[Finding]:
    """What hooks that were killed left half written."""

    def mend() -> str:
        sweep(our_spool(patient.settings))
        return "They were swept away."

    folder, old = our_spool(patient.settings), time.time() - LEFT_SECONDS
    halves = [path for path in folder.iterdir() if path.suffix in (PART, SAMPLE)] if folder.is_dir() else []
    if left := sum(path.exists() and path.lstat().st_mtime < old for path in halves):
        told = f"{left:,} files lie there that hooks began and could not finish."
        yield remark(AREA, "leftovers", told, "The next who drains the spool sweeps them away; or use --fix.", mend)


def _troubles(patient: Patient, what: str, counts: Mapping[str, int], state: SpoolState) -> Finding:
    def mend() -> str:
        forget_troubles(patient.settings)
        return "They were seen, and are counted anew from now on."

    reasons = ", ".join(f"{reason} {number:,}" for reason, number in counts.items())
    if state.last_trouble_ms is not None:
        reasons += f", the last {ago(state.last_trouble_ms, time.time_ns() // 1_000_000)}"
    known = next((FIXES[reason] for reason in counts if reason in FIXES), "")
    if what == "openings":
        told = f"{sum(counts.values()):,} sessions started without being told what is remembered ({reasons})."
        return remark(AREA, what, told, "What happened in them was kept. --fix counts anew.", mend)
    if what == "hooks":
        told = f"Hooks could not leave {sum(counts.values()):,} events ({reasons})."
        known = known or "See whether it goes on; if it does, tell us."
    else:
        told = f"{sum(counts.values()):,} events could not be kept ({reasons})."
        known = known or f"Look at them in {patient.settings.data_dir / AREA / 'refused'}."
    return failure(AREA, what, told, f"{known} --fix counts anew.", mend)
