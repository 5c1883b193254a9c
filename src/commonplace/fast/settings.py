"""The settings that the fast program needs: where the store is, whether there is a resident process, which profile.

`config.py` reads all settings, and says what is wrong with them; loading it takes longer than a hook may take.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

RESIDENT_VARIABLE = "COMMONPLACE_RESIDENT"
DATABASE_VARIABLE = "COMMONPLACE_DATABASE_URL"
PROFILE_VARIABLE = "COMMONPLACE_PROFILE"
CONFIG_VARIABLE = "COMMONPLACE_CONFIG"
_KEY = frozenset("abcdefghijklmnopqrstuvwxyz_")
_NUMBER = frozenset("0123456789+-._eE")


def config_path(data: str, env: Mapping[str, str]) -> str:
    """The file with the settings, whether it is there or not."""
    return os.path.expanduser(env.get(CONFIG_VARIABLE, "")) or os.path.join(data, "config.toml")


def read_config(data: str, env: Mapping[str, str]) -> dict[str, object]:
    """The settings at the top of the file; none if there is no file. OSError or ValueError if it cannot be read."""
    try:
        with open(config_path(data, env), encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return {}
    found: dict[str, object] = {}
    # Only these end a line and stand around a value there: other separators may be part of a comment.
    for line in text.split("\n"):
        line = line.strip(" \t\r")
        if line.startswith("["):
            # A table: none of the settings that are needed here stand in one.
            break
        if not line or line.startswith("#"):
            continue
        key, _equals, value = line.partition("=")
        key, plain = key.rstrip(), _plain_value(value.strip())
        if plain is None or not key or key in found or not _KEY.issuperset(key):
            return _load_toml(text)
        found[key] = plain
    return found


def _plain_value(value: str) -> object:
    """A text without escapes; False for a number or a truth value, which none of the settings here is; else None."""
    quote = value[:1]
    if quote in ("'", '"'):
        text, end, rest = value[1:].partition(quote)
        rest = rest.strip()
        return text if end and "\\" not in text and (not rest or rest.startswith("#")) else None
    bare = value.partition("#")[0].rstrip()
    return False if bare in ("true", "false") or (bare and _NUMBER.issuperset(bare)) else None


def _load_toml(text: str) -> dict[str, object]:
    """A file that has more than plain lines."""
    # It takes as long to load as a hook, and most people need none of it.
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _setting(name: str, variable: str, data: str, env: Mapping[str, str]) -> str:
    """A setting of the environment, else of the file. The whole program complains about a file that is damaged."""
    if env.get(variable):
        return env[variable]
    try:
        value = read_config(data, env).get(name)
    except (OSError, ValueError):
        return ""
    return value if isinstance(value, str) else ""


def is_remote_store(data: str, env: Mapping[str, str]) -> bool:
    """Whether the store is a database on a server."""
    return bool(_setting("database_url", DATABASE_VARIABLE, data, env))


def is_turned_off(env: Mapping[str, str]) -> bool:
    """Whether the environment says that there is to be no resident process."""
    return env.get(RESIDENT_VARIABLE, "").lower() == "off"


def may_start_resident(data: str, env: Mapping[str, str]) -> bool:
    """Whether there may be a resident process for a data folder."""
    return _setting("resident", RESIDENT_VARIABLE, data, env).lower() != "off"


def profile_to_serve(data: str, given: str, env: Mapping[str, str]) -> str | None:
    """The profile for an editor; None if the resident process is off, or the command line has to say what is wrong."""
    try:
        config = read_config(data, env)
    except (OSError, ValueError):
        return None
    resident = env.get(RESIDENT_VARIABLE) or config.get("resident", "on")
    profile = given or env.get(PROFILE_VARIABLE) or config.get("profile", "all")
    return profile if resident == "on" and isinstance(profile, str) and profile.isalnum() else None
