"""Settings: defaults < TOML file < environment < command line; and what each of them means.

Read on every start, also by hooks, so it uses nothing but the standard library.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.data_folder import DATABASE_NAME, closed_folder, data_folder
from commonplace.errors import InvalidInput, StoreError

KEY_FILE_NAME = "api-key"
PROFILES = ("all", "core", "kiro", "memories", "ecm", "sekha", "chatgpt")
EMBEDDERS = ("builtin", "endpoint", "off")
RERANKERS = ("builtin", "off")
# What `embedder_kind` calls an embedder that is the path of a folder with a model.
FOLDER = "folder"
DURABILITY = ("full", "normal")
RESIDENT = ("on", "off")
# What hooks show unasked while an agent works: nothing, only what concerns a file or command, or all that is of use.
HOOKS_RECALL = ("off", "rules", "full")
LOG_FORMATS = ("text", "json")
LOG_LEVELS = ("debug", "info", "warning", "error")
# Where the key of an encrypted store is.
ENCRYPTION = ("off", "keyring", "file")
# What becomes of memories that agents write: they count at once, or after a person's review.
AGENT_MEMORIES = ("accepted", "proposed")
USER_PROFILE = ("on", "off")
_CHOICES = (
    ("profile", PROFILES),
    ("reranker", RERANKERS),
    ("durability", DURABILITY),
    ("resident", RESIDENT),
    ("hooks_recall", HOOKS_RECALL),
    ("log_format", LOG_FORMATS),
    ("log_level", LOG_LEVELS),
    ("encryption", ENCRYPTION),
    ("agent_memories", AGENT_MEMORIES),
    ("user_profile", USER_PROFILE),
)
# Whole numbers beyond this are nothing that a setting could mean, and some have no float.
_LARGEST = 2**63
# Settings that hold a password or a key: their values are shown nowhere.
SECRET = ("database_url", "database_replicas", "endpoint_key", "remote_key")
# PostgreSQL's own other spelling, `host=... dbname=...`, will do too.
DATABASES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a person can set. The field names are the TOML keys; COMMONPLACE_<NAME> the variables."""

    data_dir: Path
    profile: str = "all"
    space: str = "default"
    # These hold passwords: they are named in no message.
    database_url: str = field(default="", repr=False)
    database_replicas: str = field(default="", repr=False)
    database_connections: int = 10
    project: str = ""
    author: str = ""
    agent_memories: str = "accepted"
    durability: str = "full"
    embedder: str = "builtin"
    embedder_threads: int = 2
    reranker: str = "builtin"
    endpoint_url: str = ""
    endpoint_model: str = ""
    endpoint_key: str = ""
    endpoint_timeout: float = 10.0
    query_timeout: float = 10.0
    busy_timeout: float = 30.0
    mcp_max_response: int = 2000
    opening_tokens: int = 625
    hooks_recall: str = "full"
    user_profile: str = "on"
    resident: str = "on"
    resident_idle_minutes: float = 15.0
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    allowed_hosts: str = ""
    trusted_proxies: str = ""
    rate_limit: float = 600.0
    rate_burst: int = 1200
    max_body_mb: int = 32
    max_import_mb: int = 2048
    import_dir: str = ""
    remote_url: str = ""
    # A key: it is shown nowhere.
    remote_key: str = field(default="", repr=False)
    sync_private: str = ""
    shutdown_delay: float = 0.0
    shutdown_grace: float = 5.0
    log_format: str = "text"
    log_level: str = "warning"
    backup_every_hours: float = 24.0
    backup_daily: int = 7
    backup_weekly: int = 4
    encryption: str = "off"
    encryption_key_file: str = ""

    @property
    def database(self) -> Path:
        return self.data_dir / DATABASE_NAME

    @property
    def backups(self) -> Path:
        """Where copies of the store are kept."""
        return self.data_dir / "backups"

    @property
    def has_store(self) -> bool:
        """Whether there is something to open: a server is taken to be there."""
        return bool(self.database_url) or self.database.exists()

    @property
    def key_file(self) -> Path:
        """Where `serve` leaves the first key for its owner."""
        return self.data_dir / KEY_FILE_NAME


def load(overrides: Mapping[str, object] | None = None, env: Mapping[str, str] | None = None) -> Settings:
    """Settings for this process. `overrides` come from the command line; None values in it are ignored."""
    env = os.environ if env is None else env
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    data_dir = _path(data_folder(str(given.get("data_dir") or ""), env))
    if (closed := closed_folder(data_dir)) is not None:
        raise StoreError(
            f"The data folder {data_dir} cannot be read: this user may not open {closed}.",
            f"If it is yours, open it: chmod u+rwx {closed}. If not, choose another folder: COMMONPLACE_DATA_DIR.",
        )
    layers = (_from_file(data_dir, env), _from_environment(env), given)
    chosen: dict[str, Any] = {}
    for layer in layers:
        chosen |= {name: _typed(name, value) for name, value in layer.items() if name != "data_dir"}
    return _checked(Settings(data_dir=data_dir, **chosen))


def sources(overrides: Mapping[str, object] | None = None, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Where each setting that is not a default was set: `file`, `environment` or `command line`."""
    env = os.environ if env is None else env
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    data_dir = _path(data_folder(str(given.get("data_dir") or ""), env))
    layers = (("file", _from_file(data_dir, env)), ("environment", _from_environment(env)), ("command line", given))
    return {name: layer for layer, values in layers for name in values}


def listed(value: str) -> tuple[str, ...]:
    """The entries of a comma separated setting."""
    return tuple(entry for entry in (part.strip() for part in value.split(",")) if entry)


def address(settings: Settings, path: str) -> str:
    """Where a page of the server is: under the name that others call it by, else on this machine."""
    names = listed(settings.allowed_hosts)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"https://{names[0]}{path}" if names else f"http://{host}:{settings.port}{path}"


def _path(name: str) -> Path:
    try:
        if "\0" in name:
            raise ValueError("it contains a NUL character")
        return Path(name).expanduser()
    except (RuntimeError, ValueError) as error:
        raise InvalidInput(f"{name!r} cannot be a path: {error}.", "Name another file or folder.") from error


def config_file(data_dir: Path, env: Mapping[str, str]) -> Path:
    """The file with the settings, whether it is there or not."""
    named = env.get("COMMONPLACE_CONFIG")
    return _path(named) if named else data_dir / "config.toml"


def _from_file(data_dir: Path, env: Mapping[str, str]) -> dict[str, object]:
    named, path = env.get("COMMONPLACE_CONFIG"), config_file(data_dir, env)
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        if named:
            raise InvalidInput(
                f"The configuration file {path} does not exist.", "Correct COMMONPLACE_CONFIG."
            ) from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"The configuration file {path} cannot be read: {error}.", "Make it a readable UTF-8 file, or remove it."
        ) from error
    # Most have no such file, and this takes longer to load than all the rest.
    import tomllib

    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"The configuration file {path} is not valid TOML: {error}.", "Correct that line of the file."
        ) from error
    values = _without_tables(values)
    # Where the data is decides which file is read, so the file cannot say it.
    known = {f.name for f in fields(Settings)} - {"data_dir"}
    unknown = sorted(set(values) - known)
    if unknown:
        raise InvalidInput(
            f"The configuration file {path} has unknown settings: {', '.join(unknown)}.",
            f"Known settings: {', '.join(sorted(known))}.",
        )
    return values


# Settings that may also stand in a table: `tokens.mcpMaxResponse` is what ECM's reference calls one of ours.
_IN_TABLES = {"tokens": {"mcpMaxResponse": "mcp_max_response"}, "hooks": {"recall": "hooks_recall"}}


def _without_tables(values: dict[str, Any]) -> dict[str, Any]:
    """Settings by our names, wherever they stand."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        known = _IN_TABLES.get(name, {})
        if isinstance(value, dict) and value and value.keys() <= known.keys():
            flat |= {known[key]: inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat


def _from_environment(env: Mapping[str, str]) -> dict[str, object]:
    names = {f"COMMONPLACE_{f.name.upper()}": f.name for f in fields(Settings)}
    return {field: env[name] for name, field in names.items() if env.get(name)}


def _typed(name: str, value: object) -> object:
    kind = type(getattr(Settings(data_dir=Path()), name))
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST:
        return float(value)
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            return kind(value)
        except ValueError:
            pass
    raise InvalidInput(
        f"Setting {name} must be of type {kind.__name__}, not {repr(value)[:60]}.",
        f"Correct it where it is set: the command line, COMMONPLACE_{name.upper()} or the configuration file.",
    )


def embedder_kind(embedder: str) -> str:
    """`folder` if the setting is the path of one, which no name of an embedder looks like; else the setting."""
    return FOLDER if "/" in embedder or "\\" in embedder or embedder.startswith("~") else embedder


def model_folder(embedder: str) -> Path:
    """The folder that the setting names. Servers start in any folder, so the path has to be a whole one."""
    folder = _path(embedder)
    if not folder.is_absolute():
        raise InvalidInput(
            f"Setting embedder is {embedder!r}, a folder relative to another.",
            "Give its absolute path, or one that starts with ~/.",
        )
    return folder


class _Range(NamedTuple):
    """The least and the most that a number may be, and what to choose; with `above` it must be more than the least."""

    name: str
    least: float
    most: float
    choose: str
    above: bool = False
    fault: str = "is {value}."


_SECONDS = "must be a number of seconds above 0."
_RANGES = (
    _Range("database_connections", 1, 1000, "Choose 1 to 1000."),
    _Range("embedder_threads", 1, 256, "Choose 1 to 256."),
    _Range("endpoint_timeout", 0, 3600, "Choose at most 3600.", above=True, fault=_SECONDS),
    _Range("query_timeout", 0, 3600, "Choose at most 3600.", above=True, fault=_SECONDS),
    _Range("busy_timeout", 0, 3600, "Choose at most 3600.", above=True, fault=_SECONDS),
    _Range("mcp_max_response", 500, 50_000, "Choose 500 to 50000 tokens for a reply."),
    _Range("opening_tokens", 0, 50_000, "Choose 0 (print nothing) to 50000 tokens."),
    _Range("resident_idle_minutes", 0, 24 * 60, "Choose 0 to 1440 minutes."),
    _Range("rate_limit", 0, 1_000_000, "Choose requests per second above 0.", above=True),
    _Range("workers", 1, 64, "Choose 1 to 64."),
    _Range("rate_burst", 1, 1_000_000, "Choose 1 to 1000000."),
    _Range("max_body_mb", 1, 1024, "Choose 1 to 1024."),
    _Range("max_import_mb", 1, 1024 * 1024, "Choose 1 to 1048576."),
    _Range("shutdown_delay", 0, 3600, "Choose 0 to 3600 seconds."),
    _Range("shutdown_grace", 0, 3600, "Choose 0 to 3600 seconds."),
    _Range("backup_every_hours", 0, 24 * 366, "Choose 0 (never) to 8784."),
    _Range("backup_daily", 0, 1000, "Choose 0 to 1000 copies to keep."),
    _Range("backup_weekly", 0, 1000, "Choose 0 to 1000 copies to keep."),
    _Range("port", 0, 65535, "Choose 0 (any free port) to 65535."),
)


def _checked(settings: Settings) -> Settings:
    for name, allowed in _CHOICES:
        value = getattr(settings, name)
        if value not in allowed:
            raise InvalidInput(f"Setting {name} is {value!r}.", f"Choose one of {', '.join(allowed)}.")
    _check_embedder(settings)
    _check_databases(settings)
    if not 0 < len(settings.space) <= 200:
        raise InvalidInput("Setting space must be a name of 1 to 200 characters.", "Choose a shorter name.")
    if settings.encryption == "file" and not settings.encryption_key_file:
        raise InvalidInput("The key of the store is in a file, but encryption_key_file is not set.", "Name the file.")
    for one in _RANGES:
        value = getattr(settings, one.name)
        if not one.least <= value <= one.most or (one.above and value == one.least):
            raise InvalidInput(f"Setting {one.name} {one.fault.format(value=value)}", one.choose)
    return settings


def _check_embedder(settings: Settings) -> None:
    embedder = settings.embedder
    if embedder_kind(embedder) == FOLDER:
        model_folder(embedder)
    elif embedder not in EMBEDDERS:
        from commonplace import plugins

        if embedder not in plugins.names(plugins.EMBEDDERS):
            choices = f"Choose one of {', '.join(EMBEDDERS)}, or the absolute path of a folder with an ONNX model."
            raise InvalidInput(f"Setting embedder is {embedder!r}.", choices)
    if embedder == "endpoint" and not (settings.endpoint_url and settings.endpoint_model):
        raise InvalidInput(
            "The embedder is an endpoint, but endpoint_url or endpoint_model is not set.",
            "Set both, or choose the embedder builtin or off.",
        )


def _check_databases(settings: Settings) -> None:
    replicas = listed(settings.database_replicas)
    for name, named in (("database_url", settings.database_url), *(("database_replicas", one) for one in replicas)):
        if named and not named.startswith(DATABASES) and ("://" in named or "=" not in named):
            raise InvalidInput(
                f"Setting {name} is not the address of a PostgreSQL database.",
                "Write it as postgresql://user:<password>@host:5432/database.",
            )
    if replicas and not settings.database_url:
        raise InvalidInput("Setting database_replicas is set without database_url.", "Name the primary there.")


SETTING_DESCRIPTIONS: dict[str, dict[str, str]] = {
    "Agents and sessions": {
        "data_dir": "Where the store is; also `--data-dir`, or `KIRO_MEMORY_DATA_DIR`. By default your data folder.",
        "author": "The author of your memories. By default your system user.",
        "opening_tokens": "The most tokens shown at the start of a session; 0 for none.",
        "user_profile": "Whether agents get the profile of how you work: `on` or `off`.",
        "hooks_recall": "What hooks show while an agent works: `full`, `rules` or `off`.",
        "agent_memories": "What agents write counts at once (`accepted`) or waits for your review (`proposed`).",
        "profile": "Which tools agents get: `all`, `core`, `kiro`, `memories`, `ecm`, `sekha` or `chatgpt`.",
        "project": "The project that memories.sh's tools read. By default that of the current folder.",
        "mcp_max_response": "Tokens in a reply of `recall`, `explain` or `predict`, 500 to 50000; also `mcpMaxResponse`"
        " under `[tokens]`.",
        "resident": "Whether editor windows share one resident process: `on` or `off`.",
        "resident_idle_minutes": "Idle minutes until the resident process ends.",
    },
    "Search": {
        "embedder": "What makes vectors: `builtin`, the full path of a model's folder, `endpoint`, `off` (words only),"
        " or one that a package adds.",
        "embedder_threads": "Batches that the model works on at once.",
        "reranker": "Whether a cross-encoder reorders the best hits: `builtin` or `off`.",
        "endpoint_url": "An OpenAI-compatible endpoint, such as `http://localhost:11434/v1`.",
        "endpoint_model": "The model of the endpoint.",
        "endpoint_key": "The API key of the endpoint.",
        "endpoint_timeout": "Seconds to wait for the endpoint.",
        "query_timeout": "Seconds until a query is interrupted.",
    },
    "The store": {
        "durability": "Whether a write survives a power cut (`full`) or only a crash of the process (`normal`).",
        "busy_timeout": "Seconds to wait for another process that writes.",
        "encryption": "Where the key of an encrypted store is: `off`, `keyring` or `file`.",
        "encryption_key_file": "The file with the key of the store.",
        "backup_every_hours": "Hours between the backups of a server; 0 for never.",
        "backup_daily": "How many daily backups are kept.",
        "backup_weekly": "How many weekly backups are kept before those.",
        "database_url": "A PostgreSQL database: `postgresql://user:password@host:5432/commonplace`.",
        "database_replicas": "The replicas of the database, separated by commas.",
        "database_connections": "The most connections of a process to the database.",
    },
    "The server": {
        "host": "Where `serve` listens; for other machines, set `allowed_hosts`, too.",
        "port": "The port of `serve`; 0 for any free one.",
        "allowed_hosts": "The names by which others call the server, separated by commas.",
        "trusted_proxies": "Addresses or networks, separated by commas, whose `X-Forwarded-For` and"
        " `X-Forwarded-Proto` are believed.",
        "workers": "How many processes answer; always 1 on Windows.",
        "rate_limit": "Requests of a key per second.",
        "rate_burst": "Requests of a key at once.",
        "max_body_mb": "The largest request body, in MB.",
        "max_import_mb": "The largest import, in MB.",
        "import_dir": "A folder whose files `serve` imports.",
        "shutdown_delay": "Seconds that `serve` keeps working after SIGTERM.",
        "shutdown_grace": "Seconds for requests in progress after that.",
        "log_format": "`text` or `json`.",
        "log_level": "What is logged: `debug`, `info` (every request), `warning` or `error`.",
    },
    "Spaces and sync": {
        "space": "The space to use.",
        "remote_url": "The server for `sync` and `promote`.",
        "remote_key": "The key to that server, which decides the space.",
        "sync_private": "Projects that never leave this machine: names or patterns, separated by commas.",
    },
}
SETTING_MEANINGS = {name: meaning for group in SETTING_DESCRIPTIONS.values() for name, meaning in group.items()}


def default_of_setting(name: str) -> str:
    """Its default as one would write it; empty if there is none."""
    (default,) = (field.default for field in fields(Settings) if field.name == name)
    return "" if default is MISSING else str(default)
