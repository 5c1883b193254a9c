"""Settings: keys, spaces, the store and its backups, the model, connected editors, the doctor and the theme."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from commonplace.config import config_file
from commonplace.doctor.checkup import NAMES, fix_findings, run_checks
from commonplace.doctor.doctor_context import DoctorContext, Finding
from commonplace.errors import CommonplaceError, Forbidden, InvalidInput
from commonplace.hosts.connections import is_installed, read_connection
from commonplace.hosts.host import editors, locations_here
from commonplace.memory import api_keys, spaces
from commonplace.memory.backup import back_up_store, list_backups
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status_and_stats import last_check_result, status
from commonplace.model import ROLES
from commonplace.text.dates import DAY_MS
from commonplace.web.page_handler import THEME_COOKIE, THEMES, PageRequest, Redirect, Rendered, local_path

BACKUPS = 20
MAX_DAYS = 3650


@dataclass(frozen=True, slots=True)
class Host:
    """An editor on the server's machine: whether it is connected, how, and in which file."""

    name: str
    title: str
    state: str
    how: str = ""
    file: str = ""
    hooks: int = 0


def settings_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """All settings that the key may see."""
    return Rendered("settings", _values(memory, request))


def make_key(memory: LocalMemory, request: PageRequest) -> Rendered:
    """Make a key. Its secret is shown on this page only."""
    days = request.number("days", 0, 0, MAX_DAYS)
    expires = memory.clock() + days * DAY_MS if days else None
    project = request.given("project").strip() or None
    made, secret = api_keys.create_key(memory, request.given("name"), request.given("role"), project, expires)
    return Rendered("settings", _values(memory, request) | {"made": made, "secret": secret}, 201)


def revoke_key(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Revoke a key."""
    key = api_keys.revoke_key(memory, int(request.path["id"]) if request.path["id"].isdecimal() else request.path["id"])
    return Redirect("/settings#keys", "revoked", key.name)


def make_backup(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Back up the store now."""
    check_machine(memory, request)
    return Redirect("/settings#backups", "backed_up", back_up_store(memory).path.name)


def check_machine(memory: LocalMemory, request: PageRequest) -> None:
    """What concerns the machine, and not a space, is for the server's admins."""
    if not spaces.is_server_admin(memory, request.key):
        raise Forbidden("This concerns the server's machine.", "It needs an admin key of the server's own space.")


def _values(memory: LocalMemory, request: PageRequest) -> dict[str, Any]:
    admin = request.may("admin")
    machine = admin and spaces.is_server_admin(memory, request.key)
    return {
        "status": status(memory),
        "keys": api_keys.list_keys(memory) if admin else None,
        "roles": ROLES,
        "spaces": spaces.list_spaces(memory, request.key) if admin else None,
        "machine": machine,
        "backups": list_backups(memory.settings)[:BACKUPS] if machine and not memory.settings.database_url else None,
        "every_hours": memory.settings.backup_every_hours,
        "health": last_check_result(memory.settings) if machine else None,
        "hosts": _hosts() if machine else None,
        "config_file": str(config_file(memory.settings.data_dir, os.environ)),
        "made": None,
        "secret": "",
    }


def _hosts() -> list[Host]:
    """The editors that are here, the connected ones first."""
    places = locations_here()
    found = []
    for editor in editors():
        if editor.mcp.file(places) is None:
            continue
        try:
            now = read_connection(editor, places)
        except CommonplaceError as error:
            found.append(Host(editor.name, editor.title, "unclear", error.message))
            continue
        if now is not None and now.entry is not None:
            how = now.url or now.command
            found.append(Host(editor.name, editor.title, "connected", how, str(now.file), len(now.hooks)))
        elif is_installed(editor, places):
            found.append(Host(editor.name, editor.title, "here"))
    return sorted(found, key=lambda host: host.state != "connected")


def doctor_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The areas that can be checked."""
    check_machine(memory, request)
    return Rendered("doctor", {"areas": NAMES, "chosen": NAMES, "findings": None, "mended": []})


def run_doctor(memory: LocalMemory, request: PageRequest) -> Rendered:
    """Examine some areas, and mend what can be if that is wanted."""
    check_machine(memory, request)
    chosen = request.chosen("area")
    if not chosen or not set(chosen) <= set(NAMES):
        raise InvalidInput("No area was chosen.", f"Choose from {', '.join(NAMES)}.")
    context = DoctorContext(memory.settings, (locations_here(),))
    try:
        findings = list(run_checks(context, chosen))
        mended = [(finding, done) for finding, done in fix_findings(findings)] if request.given("mend") else []
        if mended:
            context.close()
            findings = list(run_checks(context, chosen))
    finally:
        context.close()
    findings.sort(key=_worst_first)
    return Rendered("doctor", {"areas": NAMES, "chosen": chosen, "findings": findings, "mended": mended})


def _worst_first(finding: Finding) -> int:
    return ("failure", "remark", "ok").index(finding.state)


def set_theme(_memory: LocalMemory, request: PageRequest) -> Redirect:
    """Store the theme, and go back to the page where it was chosen."""
    theme = request.given("theme")
    return Redirect(local_path(request.given("back")), cookies={THEME_COOKIE: theme if theme in THEMES else ""})
