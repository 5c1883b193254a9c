"""Homes of every system, with every editor in them, and what they are to be connected to."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.hosts.connect.editor import Editor
from commonplace.hosts.connect.places import Places, System
from commonplace.hosts.connect.plan import Planned, carry_out, plan_connection, plan_disconnection
from commonplace.hosts.connect.wanted import Wanted, local_server

SYSTEMS: tuple[System, ...] = ("linux", "darwin", "win32")
PROGRAMS = {
    "linux": ("/opt/tools/commonplace",),
    "darwin": ("/opt/tools/commonplace",),
    "win32": (r"C:\tools\commonplace.exe",),
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A home on Linux."""
    (tmp_path / "home").mkdir()
    return Places(tmp_path / "home", "linux")


def wanted(system: System = "linux", profile: str = "core") -> Wanted:
    """A server that is started, and hooks."""
    return Wanted(local_server(PROGRAMS[system], profile, None), PROGRAMS[system])


def connect(editor: Editor, places: Places, wish: Wanted | None = None, *, force: bool = False) -> Planned:
    planned = plan_connection(editor, places, wish or wanted(places.system), force=force)
    carry_out(planned, places)
    return planned


def disconnect(editor: Editor, places: Places) -> Planned:
    planned = plan_disconnection(editor, places)
    carry_out(planned, places)
    return planned


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
