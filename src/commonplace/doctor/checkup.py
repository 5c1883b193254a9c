"""The checks of every area in turn, each independent of the others, and fixing what they find; also the versions."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import commonplace
from commonplace import plugins
from commonplace.capture.importers.formats import check_format
from commonplace.doctor.doctor_context import DoctorContext, Finding, failure, ok, remark
from commonplace.doctor.editor_checks import check_connections, check_hooks, check_recall, check_spool
from commonplace.doctor.memory_checks import check_index, check_model, check_permissions, check_store
from commonplace.errors import CommonplaceError
from commonplace.hosts.host import check_host

Check = Callable[[DoctorContext], Iterable[Finding]]


def check_versions(context: DoctorContext) -> Iterator[Finding]:
    """Whether the settings are valid, and editors start the same version."""
    python = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    yield ok("commonplace", f"Commonplace {commonplace.__version__} runs on {python}.")
    if context.settings_error is not None:
        yield failure("settings", context.settings_error.message, context.settings_error.hint)
    else:
        yield ok("settings", f"The settings are valid; the data is in {context.settings.data_dir}.")
    yield from _check_plugins()
    others = {answer.version for answer in context.answers.values() if answer.version} - {commonplace.__version__}
    if others:
        sentence = f"Editors start Commonplace {', '.join(sorted(others))}, not {commonplace.__version__}."
        yield remark("editors", sentence, "Connect them again with this one: `commonplace connect`.")


def check_resident(context: DoctorContext) -> Iterator[Finding]:
    """Whether the process that windows share answers."""
    from commonplace.resident_client.list_and_stop import describe, resident_processes, stop_residents

    data = str(context.settings.data_dir)
    found = resident_processes(data)
    for one in found:
        if "hangs" in one:
            advice = "`commonplace stop` stops it. Editor windows work without it in the meantime."
            yield failure("process", describe(one), advice, lambda: f"Stopped {stop_residents(data)}.")
        else:
            yield ok("process", describe(one))
    if not found:
        state = "is off" if context.settings.resident == "off" else "is not running; the next window starts it"
        yield ok("process", f"The resident process {state}.")


def _check_plugins() -> Iterator[Finding]:
    """What other packages add. One that cannot be loaded is left out everywhere, so it is named here."""
    checks = {plugins.HOSTS: check_host, plugins.IMPORTERS: check_format}
    for group in plugins.GROUPS:
        for name, found in plugins.find_all(group, checks.get(group)).items():
            if isinstance(found, plugins.BrokenPlugin):
                yield failure(f"plugin {name}", str(found), f"Update or uninstall {found.package}.")
            else:
                yield ok(f"plugin {name}", f"The plugin {name} ({group}) is in use.")


# In the order in which they are shown; the versions are known after the connections were probed.
AREAS: tuple[tuple[str, Check], ...] = (
    ("store", check_store),
    ("index", check_index),
    ("model", check_model),
    ("connections", check_connections),
    ("hooks", check_hooks),
    ("recall", check_recall),
    ("spool", check_spool),
    ("resident", check_resident),
    ("permissions", check_permissions),
    ("versions", check_versions),
)
NAMES = tuple(name for name, _check in AREAS)
REPORT = "Please report it, with the output of `commonplace doctor --json`."


def run_checks(context: DoctorContext, names: Sequence[str] = ()) -> Iterator[Finding]:
    """The findings of these areas, or of all."""
    for name, check in AREAS:
        if not names or name in names:
            for finding in _run_check(check, context):
                yield replace(finding, area=name)


def fix_findings(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Fix what can be fixed, and say what was done; the next checks show whether it helped."""
    for finding in findings:
        if finding.fix is not None and finding.state != "ok":
            try:
                done = finding.fix()
            except CommonplaceError as error:
                done = f"It could not be fixed: {error.message} {error.hint}"
            except Exception as error:  # noqa: BLE001 - one failure must not stop the other fixes
                done = f"It could not be fixed: {_describe_error(error)}"
            yield finding, done


def _run_check(check: Check, context: DoctorContext) -> Iterator[Finding]:
    try:
        yield from check(context)
    except CommonplaceError as error:
        yield failure("examination", error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - a check that fails unexpectedly is a finding like others
        yield failure("examination", f"It could not be checked: {_describe_error(error)}.", REPORT)


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
