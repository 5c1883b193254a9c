"""The checkup: every area in turn, none of which can spoil another, and mending what can be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from commonplace.doctor import connections, hooks, index, model, permissions, spool, store, versions
from commonplace.doctor.finding import Finding, failure
from commonplace.doctor.patient import Patient
from commonplace.errors import CommonplaceError

Examine = Callable[[Patient], Iterable[Finding]]
# In the order in which they are told; versions are known after the connections were asked.
AREAS: tuple[tuple[str, Examine], ...] = (
    (store.AREA, store.examine),
    (index.AREA, index.examine),
    (model.AREA, model.examine),
    (connections.AREA, connections.examine),
    (hooks.AREA, hooks.examine),
    (spool.AREA, spool.examine),
    (permissions.AREA, permissions.examine),
    (versions.AREA, versions.examine),
)
NAMES = tuple(name for name, _examine in AREAS)
REPORT = "Tell us, with what `commonplace doctor --json` says."


def checkup(patient: Patient, names: Sequence[str] = ()) -> Iterator[Finding]:
    """What there is to tell of these areas, or of all."""
    for name, examine in AREAS:
        if not names or name in names:
            yield from _isolated(name, examine, patient)


def mend(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Mend what can be, and tell of each what was done; whether that helped, the next checkup tells."""
    for finding in findings:
        if finding.mend is not None and finding.state != "ok":
            try:
                done = finding.mend()
            except CommonplaceError as error:
                done = f"It could not be mended: {error.message} {error.hint}"
            except Exception as error:  # noqa: BLE001 - what is left unmended must not keep the rest from it
                done = f"It could not be mended: {_why(error)}"
            yield finding, done


def _isolated(name: str, examine: Examine, patient: Patient) -> Iterator[Finding]:
    try:
        yield from examine(patient)
    except CommonplaceError as error:
        yield failure(name, "examination", error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - one area that cannot be examined is a finding like others
        yield failure(name, "examination", f"It could not be examined: {_why(error)}.", REPORT)


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
