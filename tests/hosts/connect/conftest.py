"""Homes of every system, with every editor in them, and what they are to be connected to."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.hosts.connections import (
    ConnectionPlan,
    DesiredConnection,
    apply_plan,
    local_server,
    plan_connection,
    plan_disconnection,
)
from commonplace.hosts.host import Host, Locations, System

SYSTEMS: tuple[System, ...] = ("linux", "darwin", "win32")
PROGRAMS = {
    "linux": ("/opt/tools/commonplace",),
    "darwin": ("/opt/tools/commonplace",),
    "win32": (r"C:\tools\commonplace.exe",),
}


@pytest.fixture
def places(tmp_path: Path) -> Locations:
    """A home on Linux."""
    (tmp_path / "home").mkdir()
    return Locations(tmp_path / "home", "linux")


def wanted(system: System = "linux", profile: str = "core") -> DesiredConnection:
    """A server that is started, and hooks."""
    return DesiredConnection(local_server(PROGRAMS[system], profile, None), PROGRAMS[system])


def connect(
    editor: Host, places: Locations, wish: DesiredConnection | None = None, *, force: bool = False
) -> ConnectionPlan:
    planned = plan_connection(editor, places, wish or wanted(places.system), force=force)
    apply_plan(planned, places)
    return planned


def disconnect(editor: Host, places: Locations) -> ConnectionPlan:
    planned = plan_disconnection(editor, places)
    apply_plan(planned, places)
    return planned


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
