"""Where the data lies. Hooks ask this before anything else, so it imports next to nothing."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def data_folder(given: str, env: Mapping[str, str]) -> str:
    """The folder that was named on the command line, else in the environment, else where the system wants it."""
    return given or env.get("COMMONPLACE_DATA_DIR") or env.get("KIRO_MEMORY_DATA_DIR") or _usual(env)


# Below the data folder: a folder for each server elsewhere that hooks send to, with a spool of its own.
TEAMS = "teams"


def is_team_folder(data: str) -> bool:
    """Whether a data folder is that of hooks that send to a server elsewhere: there is no store in it."""
    return os.path.basename(os.path.dirname(os.path.abspath(data))) == TEAMS


def _usual(env: Mapping[str, str]) -> str:
    home = env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~")
    if sys.platform == "win32":
        parent = env.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        parent = os.path.join(home, "Library", "Application Support")
    else:
        parent = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(parent, "commonplace")
