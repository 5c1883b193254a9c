"""`doctor`: whether everything works, by trying it; what to do where something does not, and doing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from commonplace.cli.command import Call, command
from commonplace.doctor.checkup import NAMES, run_checks
from commonplace.doctor.checkup import fix_findings as mend_all
from commonplace.doctor.context import DoctorContext, Finding, doctor_context
from commonplace.errors import InvalidInput
from commonplace.hosts.project_files import project_folder
from commonplace.text.redact import redact

FAILURES_FOUND = 1
COLOURS = {"ok": "green", "remark": "yellow", "failure": "red"}


@command(
    "doctor",
    "commonplace doctor",
    "commonplace doctor store index",
    "commonplace doctor --fix",
    "commonplace doctor --json",
)
@click.argument("areas", metavar="[AREA]...", nargs=-1, type=click.Choice(NAMES))
@click.option("--fix", is_flag=True, help="Mend what can be mended safely, then look again.")
def doctor(call: Call, areas: Sequence[str], fix: bool) -> None:
    """Whether everything works: store, index, model, connections, hooks, spool, permissions and versions.

    What an editor would start is started and asked for its tools, and its hooks are fired with a sample that leaves no
    trace. There is one line for each thing, and what to do for each that fails. The exit code is 1 if a failure stays.
    """
    patient = doctor_context(call.data_dir, _project())
    try:
        findings, mended = _examined(call, patient, areas, fix)
    finally:
        patient.close()
    failures = sum(finding.state == "failure" for finding in findings)
    if call.json:
        call.reply({"healthy": not failures, "findings": [_record(one) for one in findings], "mended": mended})
    else:
        call.say(_verdict(findings, failures), bold=True)
    if failures:
        click.get_current_context().exit(FAILURES_FOUND)


def _examined(
    call: Call, patient: DoctorContext, areas: Sequence[str], fix: bool
) -> tuple[list[Finding], list[dict[str, str]]]:
    """What was found in the end, and what was done to mend it."""
    findings = [_shown(call, finding) for finding in run_checks(patient, areas)]
    mended: list[dict[str, str]] = []
    if not fix:
        return findings, mended
    for finding, done in mend_all(findings):
        mended.append({"area": finding.area, "what": finding.what, "done": redact(done)})
        if not call.json:
            call.say(f"{'mended':<8} {finding.area} {finding.what}: {redact(done)}", fg="cyan")
    if mended:
        # All of it: what was mended in one area may have been the cause in another.
        patient.close()
        findings = [_shown(call, finding) for finding in run_checks(patient, areas)]
    return findings, mended


def _shown(call: Call, finding: Finding) -> Finding:
    if not call.json:
        click.secho(f"{finding.state:<8} ", nl=False, fg=COLOURS[finding.state])
        call.say(f"{finding.area} {finding.what}: {redact(finding.sentence)}")
        if finding.fix and finding.state != "ok":
            call.say(f"         {redact(finding.fix)}", dim=True)
    return finding


def _record(finding: Finding) -> dict[str, Any]:
    return {
        "area": finding.area,
        "what": finding.what,
        "state": finding.state,
        "sentence": redact(finding.sentence),
        "fix": redact(finding.fix),
        "mendable": finding.mend is not None,
    }


def _verdict(findings: Sequence[Finding], failures: int) -> str:
    mendable = sum(finding.state == "failure" and finding.mend is not None for finding in findings)
    if not failures:
        return "Everything works."
    hint = f" `commonplace doctor --fix` mends {mendable} of them." if mendable else ""
    return f"{failures} of {len(findings)} things do not work.{hint}"


def _project() -> Path | None:
    """The project around the current folder, which may have connections of its own."""
    try:
        folder = project_folder(Path.cwd())
    except (OSError, InvalidInput):
        # The folder was removed under us.
        return None
    return None if folder == Path.home() else folder
