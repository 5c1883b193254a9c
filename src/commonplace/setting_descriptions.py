"""What each setting means, by subject: for `commonplace settings NAME` and the site of the documentation."""

from __future__ import annotations

from dataclasses import MISSING, fields

from commonplace.config import Settings

DESCRIPTIONS: dict[str, dict[str, str]] = {
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
        "sync_private": "Projects that never leave this machine, separated by commas.",
    },
}
MEANING = {name: meaning for group in DESCRIPTIONS.values() for name, meaning in group.items()}


def default_of(name: str) -> str:
    """Its default as one would write it; empty if there is none."""
    (default,) = (field.default for field in fields(Settings) if field.name == name)
    return "" if default is MISSING else str(default)
