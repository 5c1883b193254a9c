"""Plugins: hosts, import formats and embedders that other packages add by entry points.

    [project.entry-points."commonplace.hosts"]
    acme = "acme_commonplace:HOST"

Whatever Commonplace brings itself stands in plain tables and is looked up there first. Installed packages are searched
only for a name that no table has, or where all names are listed, so that hooks and start-up pay nothing for it.
A plugin that cannot be loaded is reported by its name, and the others go on working. One that hangs is given up, and
what it prints meanwhile goes to standard error. See docs/reference/add-a-host.md.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.errors import InvalidInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

HOSTS = "commonplace.hosts"
IMPORTERS = "commonplace.importers"
EMBEDDERS = "commonplace.embedders"
GROUPS = (HOSTS, IMPORTERS, EMBEDDERS)
# Seconds after which a plugin that is not loaded yet is given up. An agent waits for the hooks of a host; an embedder
# may import much.
LOAD_SECONDS = {HOSTS: 5.0, IMPORTERS: 30.0, EMBEDDERS: 60.0}
# In place of these, for a machine that is very busy.
SECONDS_VARIABLE = "COMMONPLACE_PLUGIN_SECONDS"

Check = Callable[[str, Any], str]
"""Says what is wrong with the object that an entry point of some name leads to; empty if nothing is."""


class BrokenPlugin(NamedTuple):
    """An entry point that cannot be used, and why."""

    group: str
    name: str
    package: str
    why: str

    def __str__(self) -> str:
        return f"The plugin {self.name} of the package {self.package} cannot be used: {self.why}."


def names(group: str) -> tuple[str, ...]:
    """The names that installed packages add to a group, without loading any of them."""
    return tuple(sorted(_entry_points(group)))


def find(group: str, name: str, check: Check | None = None) -> Any | None:
    """The object of one plugin; None if no package has it. InvalidInput, naming the package, if it cannot be used."""
    loaded = _loaded(group, name, check) if name in _entry_points(group) else None
    if isinstance(loaded, BrokenPlugin):
        raise InvalidInput(str(loaded), f"Update or uninstall {loaded.package}.")
    return loaded


def find_all(group: str, check: Check | None = None) -> dict[str, Any]:
    """Every plugin of a group by its name: the object, or a BrokenPlugin, which takes nothing from the others."""
    return {name: _loaded(group, name, check) for name in names(group)}


@cache
def _loaded(group: str, name: str, check: Check | None) -> Any:
    entry = _entry_points(group)[name]
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
    seconds = _seconds_to_load(group)
    result: list[Any] = []
    # A thread of its own can be left behind if it hangs.
    loading = threading.Thread(target=_load, args=(entry, result), name=f"commonplace-plugin-{name}", daemon=True)
    with _stdout_to_stderr:
        loading.start()
        loading.join(seconds)
    if not result:
        return BrokenPlugin(group, name, package, f"loading it took longer than {seconds:g} seconds")
    found = result[0]
    if isinstance(found, _Raised):
        return BrokenPlugin(group, name, package, f"{type(found.error).__name__}: {found.error}".rstrip(".: "))
    wrong = check(name, found) if check else ""
    return BrokenPlugin(group, name, package, wrong) if wrong else found


class _Raised(NamedTuple):
    """What a plugin raised while it was loaded."""

    error: BaseException


def _load(entry: EntryPoint, result: list[Any]) -> None:
    try:
        found = entry.load()
    except BaseException as error:  # noqa: BLE001 - somebody else's code may raise anything, or end the program
        found = _Raised(error)
    result.append(found)


def _seconds_to_load(group: str) -> float:
    try:
        return float(os.environ.get(SECONDS_VARIABLE) or LOAD_SECONDS[group])
    except ValueError:
        return LOAD_SECONDS[group]


class _StdoutToStderr:
    """While it is entered, what anything writes to standard output goes to standard error: print, bytes, a child.

    A command's output is read by programs, and a hook's by an agent. On Windows a server speaks its protocol on the
    same descriptor, so there it is left alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entered = 0
        self._stdout = -1

    def __enter__(self) -> None:
        with self._lock:
            self._entered += 1
            if self._entered == 1 and sys.platform != "win32":
                _flush_stdout()
                with contextlib.suppress(OSError):
                    self._stdout = os.dup(1)
                    os.dup2(2, 1)

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._entered -= 1
            if not self._entered and self._stdout >= 0:
                _flush_stdout()
                os.dup2(self._stdout, 1)
                os.close(self._stdout)
                self._stdout = -1


_stdout_to_stderr = _StdoutToStderr()


def _flush_stdout() -> None:
    if sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()


def _is_used(group: str) -> bool:
    """Whether any installed package names a group. Looking is quicker than importing what parses the files."""
    name = group.encode()
    for folder in sys.path:
        try:
            with os.scandir(folder or os.curdir) as entries:
                packages = [Path(entry) for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
        except NotADirectoryError:
            # An archive, of which only Python knows what is in it.
            return True
        except OSError:
            continue
        for package in packages:
            with contextlib.suppress(OSError):
                if name in (package / "entry_points.txt").read_bytes():
                    return True
    return False


@cache
def _entry_points(group: str) -> Mapping[str, EntryPoint]:
    """By name. Of two packages that use one name, the first on the path is taken, as Python does with modules."""
    if not _is_used(group):
        return {}
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found
