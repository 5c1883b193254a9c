"""Hooks of an editor that is connected to a server elsewhere: where they keep what they send, and how sessions start.

Such hooks have a data folder of their own, with the server's address and key, a spool, and cached contexts. Events wait
in the spool until the server has them (send_events.py). A session that starts gets the context from the server, or the
last one that the server gave if it is slow or away. A project that stays on this machine (`sync_private`) gets the
context of this machine's own memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import urlencode

from commonplace.capture.hooks.context_cache import cache_context, cached_context
from commonplace.capture.hooks.drain_process import spawn_drain
from commonplace.capture.hooks.spool import (
    CONTEXT_FAILURE,
    EVENT,
    count_failure,
    ensure_private_folder,
    seconds_to_wait,
    spool_folder,
)
from commonplace.capture.hooks.spool_reader import has_waiting_events
from commonplace.capture.hooks.working_folder import WorkingFolders, folder_context
from commonplace.config import Settings, listed, load
from commonplace.data_folder import TEAMS
from commonplace.http_client import TRIES, HttpClient
from commonplace.resident_client.ask_resident import is_off
from commonplace.resident_client.find_or_start import start
from commonplace.temporary_files import written_file
from commonplace.text.project_names import same_project
from commonplace.text.redact import redact

SERVER_FILE = "server.json"
CONTEXT_PATH = "/api/v1/hooks/context"
# Seconds for one request of a process in the background, and of a session that starts.
SEND_TIMEOUT, START_TIMEOUT = 10.0, 0.8
# Cached contexts have no other state than being the last that the server gave.
_CACHED = "server"


class TeamServer(NamedTuple):
    """A server elsewhere, and the folder of the hooks that send to it."""

    url: str
    key: str
    folder: Path

    @property
    def home(self) -> Path:
        """The data folder of this machine's own memory."""
        return self.folder.parent.parent

    def client(self, timeout: float = SEND_TIMEOUT, tries: int = TRIES) -> HttpClient:
        return HttpClient(self.url, self.key, timeout, tries)


def team_server(data: Path, url: str, key: str) -> TeamServer:
    """The server at an address, as the holder of a key sees it: the key decides the space."""
    url = url.partition("?")[0]
    name = hashlib.sha256(f"{url}\0{key}".encode()).hexdigest()[:12]
    return TeamServer(url, key, data.absolute() / TEAMS / name)


def save_server(server: TeamServer) -> None:
    """Write the address and the key where the hooks find them, readable by their owner only."""
    ensure_private_folder(str(server.folder.parent))
    ensure_private_folder(str(server.folder))
    with written_file(server.folder / SERVER_FILE, overwrite=True) as file:
        file.write(json.dumps({"url": server.url, "key": server.key}).encode())


def load_server(folder: Path) -> TeamServer | None:
    """The server of a folder; None if there is none, or its file cannot be read."""
    try:
        found = json.loads((folder / SERVER_FILE).read_text(encoding="utf-8"))
        return TeamServer(str(found["url"]), str(found["key"]), folder.absolute())
    except (OSError, ValueError, TypeError, KeyError):
        return None


def team_servers(data: Path) -> list[TeamServer]:
    """All servers that hooks on this machine send to."""
    folder = data / TEAMS
    found = sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []
    return [server for path in found if (server := load_server(path))]


def remove_server(server: TeamServer) -> bool:
    """Delete the folder with the key; False if events still wait in it."""
    import shutil

    spool = Path(spool_folder(str(server.folder)))
    if spool.is_dir() and any(path.suffix == EVENT for path in spool.iterdir()):
        return False
    shutil.rmtree(server.folder, ignore_errors=True)
    return True


def home_settings(server: TeamServer, env: Mapping[str, str] = os.environ) -> Settings:
    """The settings of this machine's own memory: what is private, and how long a context may be."""
    return load({"data_dir": str(server.home)}, env)


def stays_here(settings: Settings, project: str | None) -> bool:
    """Whether a project is one of those that stay on this machine, as for `commonplace sync`."""
    return project is not None and any(same_project(project, one) for one in listed(settings.sync_private))


def fetch_context(
    server: TeamServer, folder: str, session: str, env: Mapping[str, str], timeout: float, *, once: bool = False
) -> str:
    """The context for a session in a folder, from the server; it is cached for when the server is away.

    With `once`, a server that does not answer is not asked again.
    """
    settings = home_settings(server, env)
    if settings.opening_tokens == 0:
        return ""
    client = server.client(timeout, tries=1 if once else TRIES)

    def ask(project: str | None, tokens: int) -> str:
        query = {"tokens": max(1, tokens), **({"project": project} if project else {}), "session": session}
        reply = client.request("GET", f"{CONTEXT_PATH}?{urlencode({k: v for k, v in query.items() if v})}")
        with client.reading_reply():
            return str(reply["text"])

    try:
        text = folder_context(server.folder, folder, settings.opening_tokens, ask)
    finally:
        client.close()
    if redact(f"{folder}\n{session}") == f"{folder}\n{session}":
        cache_context(str(server.folder), folder, session, _CACHED, text)
    return text


def team_context(
    data: str,
    folder: str,
    session: str,
    env: Mapping[str, str],
    own_context: Callable[[str, str, str, Mapping[str, str]], str],
) -> str:
    """What a session should know that starts now: what the server says, or what it said last if it is slow or away.

    `own_context` makes the one of this machine's memory, for a project that stays here.
    """
    server = load_server(Path(data))
    if server is None:
        return ""
    settings = home_settings(server, env)
    if settings.sync_private and stays_here(settings, WorkingFolders().of(folder).project):
        return own_context(str(server.home), folder, session, env)
    if has_waiting_events(replace(settings, data_dir=server.folder)):
        # What the last session left is sent now that somebody works here again.
        spawn_drain(data, env)
    if not is_off(env):
        # Prompts ask it for the server's hints.
        start(str(server.home))
    fetched: list[str] = []
    seconds = seconds_to_wait(env, START_TIMEOUT)

    def fetch() -> None:
        with contextlib.suppress(Exception):
            fetched.append(fetch_context(server, folder, session, env, seconds, once=True))

    worker = Thread(target=fetch, daemon=True)
    worker.start()
    worker.join(seconds)
    if fetched:
        return fetched[0]
    count_failure(spool_folder(data), "hook", f"{CONTEXT_FAILURE}server-away")
    return cached_context(data, folder, session, _CACHED) or cached_context(data, folder, "", _CACHED) or ""
