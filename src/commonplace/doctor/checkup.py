"""The checkup: every area in turn, none of which can spoil another, and mending what can be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from commonplace.doctor import editor_checks, memory_checks, versions
from commonplace.doctor.context import DoctorContext, Finding, failure
from commonplace.errors import CommonplaceError

Check = Callable[[DoctorContext], Iterable[Finding]]
# In the order in which they are told; versions are known after the connections were asked.
AREAS: tuple[tuple[str, Check], ...] = (
    (memory_checks.STORE_AREA, memory_checks.check_store),
    (memory_checks.INDEX_AREA, memory_checks.check_index),
    (memory_checks.MODEL_AREA, memory_checks.check_model),
    (editor_checks.CONNECTIONS_AREA, editor_checks.check_connections),
    (editor_checks.HOOKS_AREA, editor_checks.check_hooks),
    (editor_checks.SPOOL_AREA, editor_checks.check_spool),
    (memory_checks.PERMISSIONS_AREA, memory_checks.check_permissions),
    (versions.VERSIONS_AREA, versions.check_versions),
)
NAMES = tuple(name for name, _examine in AREAS)
REPORT = "Tell us, with what `commonplace doctor --json` says."


def run_checks(context: DoctorContext, names: Sequence[str] = ()) -> Iterator[Finding]:
    """What there is to tell of these areas, or of all."""
    for name, examine in AREAS:
        if not names or name in names:
            yield from _run_check(name, examine, context)


def fix_findings(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Mend what can be, and tell of each what was done; whether that helped, the next checkup tells."""
    for finding in findings:
        if finding.mend is not None and finding.state != "ok":
            try:
                done = finding.mend()
            except CommonplaceError as error:
                done = f"It could not be mended: {error.message} {error.hint}"
            except Exception as error:  # noqa: BLE001 - what is left unmended must not keep the rest from it
                done = f"It could not be mended: {_describe_error(error)}"
            yield finding, done


def _run_check(name: str, examine: Check, context: DoctorContext) -> Iterator[Finding]:
    try:
        yield from examine(context)
    except CommonplaceError as error:
        yield failure(name, "examination", error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - one area that cannot be examined is a finding like others
        yield failure(name, "examination", f"It could not be examined: {_describe_error(error)}.", REPORT)


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
