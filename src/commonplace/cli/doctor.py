"""`doctor`: check that everything works by trying it, and fix what does not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from commonplace.cli.command import Call, command
from commonplace.cli.terminal import plain, wrapped
from commonplace.doctor.checkup import NAMES, fix_findings, run_checks
from commonplace.doctor.doctor_context import DoctorContext, Finding, doctor_context
from commonplace.errors import InvalidInput
from commonplace.hosts.project_files import project_folder

FAILURES_FOUND = 1
INDENT = " " * 9
COLOURS = {"ok": "green", "remark": "yellow", "failure": "red"}


@command(
    "doctor",
    "commonplace doctor",
    "commonplace doctor --fix",
    "commonplace doctor connections hooks",
)
@click.argument("areas", metavar="[AREA]...", nargs=-1, type=click.Choice(NAMES))
@click.option("--fix", is_flag=True, help="Fix what can be fixed safely, then check again.")
def doctor(call: Call, areas: Sequence[str], fix: bool) -> None:
    """Check the whole installation by using it: the store, the model, the connected editors, their hooks.

    The servers of your editors are started and asked for their tools, and their hooks run with a sample event that
    leaves no trace. Each failure comes with advice; the exit code is 1 if one remains. `check` looks for damage in the
    stored data. AREA is store, index, model, connections, hooks, recall, spool, resident, permissions or versions.
    """
    context = doctor_context(call.data_dir, _project())
    try:
        findings, fixed = _check_and_fix(call, context, areas, fix)
    finally:
        context.close()
    failures = sum(finding.state == "failure" for finding in findings)
    call.answer(
        {"healthy": not failures, "findings": [_record(one) for one in findings], "mended": fixed},
        _verdict(findings, failures),
        bold=True,
    )
    if failures:
        call.exit(FAILURES_FOUND)


def _check_and_fix(
    call: Call, context: DoctorContext, areas: Sequence[str], fix: bool
) -> tuple[list[Finding], list[dict[str, str]]]:
    """The findings in the end, and what was done to fix them."""
    findings = [_show(call, finding) for finding in run_checks(context, areas)]
    fixed: list[dict[str, str]] = []
    if not fix:
        return findings, fixed
    for finding, done in fix_findings(findings):
        fixed.append({"area": finding.area, "what": finding.what, "done": done})
        if not call.json:
            call.say(f"{'fixed':<8} {finding.area} {finding.what}: {done}", fg="cyan")
    if fixed:
        # All areas: what was fixed in one may have been the cause in another.
        context.close()
        # With the settings as they can be read now.
        with closing(doctor_context(call.data_dir, _project())) as again:
            findings = [_show(call, finding) for finding in run_checks(again, areas)]
    return findings, fixed


def _show(call: Call, finding: Finding) -> Finding:
    if not call.json:
        click.secho(f"{finding.state:<8} ", nl=False, fg=COLOURS[finding.state])
        call.say(_indented(f"{finding.area} {finding.what}: {finding.sentence}"))
        if finding.advice and finding.state != "ok":
            call.say(f"{INDENT}{_indented(finding.advice)}", dim=True)
    return finding


def _indented(text: str) -> str:
    """Text below the state of the finding, also where it takes several lines."""
    return wrapped(INDENT + plain(text), sys.stdout, INDENT).removeprefix(INDENT)


def _record(finding: Finding) -> dict[str, Any]:
    return {
        "area": finding.area,
        "what": finding.what,
        "state": finding.state,
        "sentence": finding.sentence,
        "fix": finding.advice,
        "mendable": finding.fix is not None,
    }


def _verdict(findings: Sequence[Finding], failures: int) -> str:
    fixable = sum(finding.state == "failure" and finding.fix is not None for finding in findings)
    if not failures:
        return "Everything works."
    hint = f" `commonplace doctor --fix` fixes {fixable} of them." if fixable else ""
    return f"{failures} of {len(findings)} checks failed.{hint}"


def _project() -> Path | None:
    """The project around the current folder, which may have connections of its own."""
    try:
        folder = project_folder(Path.cwd())
    except (OSError, InvalidInput):
        # The folder was removed while we are in it.
        return None
    return None if folder == Path.home() else folder
