"""Hooks of an editor that is connected to a server elsewhere: where they keep what they send, and how sessions start.

Such hooks have a data folder of their own, with the server's address and key, a spool, and cached contexts. Events wait
in the spool until the server has them (send_events.py). A session that starts gets the context from the server, or the
last one that the server gave if it is slow or away.

Only the repositories that somebody named when they connected are shared. Everything else stays on this machine: it gets
the context of this machine's own memory, and agents may not use the server's tools there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import urlencode

from commonplace.capture.hooks.spool_reader import has_waiting_events
from commonplace.capture.hooks.working_folder import WorkingFolder, WorkingFolders, folder_context
from commonplace.config import Settings, listed, load
from commonplace.data_folder import TEAMS
from commonplace.errors import CommonplaceError, Forbidden, InvalidInput, RemoteError, Unauthorized
from commonplace.fast.context_cache import CONTEXT_FOLDER, cache_context, cached_context
from commonplace.fast.drain_process import spawn_drain
from commonplace.fast.find_or_start import start
from commonplace.fast.session_hints import shown_ids
from commonplace.fast.settings import may_start_resident
from commonplace.fast.spool import (
    CONTEXT_FAILURE,
    EVENT,
    HINT_FOLDER,
    count_failure,
    ensure_private_folder,
    seconds_to_wait,
    spool_folder,
)
from commonplace.hosts.hook_event import Event
from commonplace.hosts.tool_text import command_of, files_of
from commonplace.http_client import TRIES, HttpClient
from commonplace.memory.detect_project import detect_project
from commonplace.memory.private_projects import is_private, private_projects_of
from commonplace.temporary_files import written_file
from commonplace.text.project_names import EVERY_PROJECT, means_project
from commonplace.text.redact import redact

SERVER_FILE = "server.json"
CONTEXT_PATH = "/api/v1/hooks/context"
# How many of the ids that were shown here are sent, the latest.
_MOST_TOLD = 300
# Seconds for one request of a process in the background, and of a session that starts.
SEND_TIMEOUT, START_TIMEOUT = 10.0, 0.8
# Cached contexts have no other state than being the last that the server gave.
_CACHED = "server"
# In these arguments tools are given a project.
_PROJECT_ARGUMENTS = ("project", "project_id")
# The pattern that shares every folder, also those outside a repository.
EVERY_FOLDER = EVERY_PROJECT
# A word of a command that leads out of the folder, or says where something is from the root on.
_PATH_IN_COMMAND = re.compile(r"(?<![\w.~-])(?:~|\.\.|[A-Za-z]:)?[/\\][^\s'\"`;|&<>()$*?]{0,1000}")


class TeamServer(NamedTuple):
    """A server elsewhere, the folder of the hooks that send to it, and what is shared with it.

    `shared` are names of projects, or patterns such as `github.com/acme/*`. `leaving`: no editor is connected any more,
    and the folder goes with the last event that waits in it.
    """

    url: str
    key: str
    folder: Path
    space: str = ""
    shared: tuple[str, ...] = (EVERY_FOLDER,)
    leaving: bool = False

    @property
    def home(self) -> Path:
        """The data folder of this machine's own memory."""
        return self.folder.parent.parent

    def client(self, timeout: float = SEND_TIMEOUT, tries: int = TRIES) -> HttpClient:
        return HttpClient(self.url, self.key, timeout, tries)


def team_server(data: Path, url: str, key: str, space: str = "", shared: Sequence[str] = ()) -> TeamServer:
    """The server at an address, as the holder of a key sees it: the key decides the space.

    What nobody named is not shared. A new key to a space has the folder of the old one: what waits there is sent with
    the new key.
    """
    url = url.partition("?")[0]
    for known in team_servers(data):
        if known.url == url and (known.key == key or (space and known.space == space)):
            shared = tuple(shared) or known.shared
            return known._replace(key=key, space=space or known.space, shared=shared, leaving=False)
    name = hashlib.sha256(f"{url}\0{space or key}".encode()).hexdigest()[:12]
    return TeamServer(url, key, data.absolute() / TEAMS / name, space, tuple(shared))


class ServerFacts(NamedTuple):
    """What a server says of a key: the space that it opens, what it may do, and the project that it is limited to."""

    space: str
    role: str
    project: str | None


def ask_about_key(url: str, key: str, timeout: float = SEND_TIMEOUT) -> ServerFacts:
    """Try an address and a key; raises what is wrong with either."""
    client = HttpClient(url, key, timeout, tries=1)
    if client.address.is_unencrypted:
        sentence = f"Others on the way to {client.address.url} can read the key, and everything that is sent."
        raise InvalidInput(sentence, "Use https://.")
    try:
        reply = client.request("GET", "/api/v1/status")
        with client.reading_reply():
            # A server of an earlier version does not say what a key may do.
            known = reply.get("key") or {}
            return ServerFacts(str(reply["space"]), str(known.get("role", "writer")), known.get("project"))
    except Unauthorized as error:
        raise Unauthorized(error.message, "Ask whoever runs the server for a new key.") from error
    except RemoteError as error:
        raise RemoteError(error.message, "Start the server, or correct the address.") from error
    finally:
        client.close()


def save_server(server: TeamServer) -> None:
    """Write the address and the key where the hooks find them, readable by their owner only."""
    ensure_private_folder(str(server.folder.parent))
    ensure_private_folder(str(server.folder))
    with written_file(server.folder / SERVER_FILE, overwrite=True) as file:
        named = {"url": server.url, "key": server.key, "space": server.space, "shared": list(server.shared)}
        file.write(json.dumps({**named, "leaving": server.leaving}).encode())


def load_server(folder: Path) -> TeamServer | None:
    """The server of a folder; None if there is none, or its file cannot be read."""
    try:
        found = json.loads((folder / SERVER_FILE).read_text(encoding="utf-8"))
        # One that was saved before folders were named shares all of them, as it did then.
        shared = tuple(map(str, found.get("shared", [EVERY_FOLDER])))
        space, leaving = str(found.get("space", "")), bool(found.get("leaving"))
        return TeamServer(str(found["url"]), str(found["key"]), folder.absolute(), space, shared, leaving)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def team_servers(data: Path) -> list[TeamServer]:
    """All servers that hooks on this machine send to."""
    folder = data / TEAMS
    found = sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []
    return [server for path in found if (server := load_server(path))]


def remove_server(server: TeamServer) -> bool:
    """Delete the folder with the key; False if events still wait in it: it goes once they are sent."""
    spool = Path(spool_folder(str(server.folder)))
    if spool.is_dir() and any(path.suffix == EVENT for path in spool.iterdir()):
        forget_what_it_gave(server)
        save_server(server._replace(leaving=True))
        return False
    shutil.rmtree(server.folder, ignore_errors=True)
    return True


def home_settings(server: TeamServer, env: Mapping[str, str] = os.environ) -> Settings:
    """The settings of this machine's own memory: what is private, and how long a context may be."""
    settings = load({"data_dir": str(server.home)}, env)
    return replace(settings, sync_private=", ".join(private_projects_of(settings)))


def stays_here(server: TeamServer, settings: Settings, project: str | None) -> bool:
    """Whether what happens in a project stays on this machine: it is private, or not shared with the server."""
    is_shared = any(means_project(pattern, project) for pattern in server.shared)
    return not is_shared or is_private(listed(settings.sync_private), project)


def event_stays_here(server: TeamServer, settings: Settings, event: Event, folders: WorkingFolders) -> bool:
    """Whether an event stays on this machine: by where it happened, or by a file of another project that it names.

    Of the words of a command, or of what a sub-agent is told, only what lies in a repository counts: the folders of
    programs and of temporary files say nothing of whose it is.
    """
    where = folders.of(event.cwd)
    if stays_here(server, settings, where.project):
        return True
    told = f"{command_of(event.input)}\n{event.input.get('prompt', '')}"
    command = told.replace("${HOME}", "~").replace("$HOME", "~")
    around = {_absolute(name, where).parent for name in files_of(event.input)}
    for path in {_absolute(name, where) for name in _PATH_IN_COMMAND.findall(command)}:
        if detect_project(path) is not None:
            around.add(path)
    return any(stays_here(server, settings, _project_around(folder, where, folders)) for folder in around)


def _absolute(name: str, where: WorkingFolder) -> Path:
    path = Path(name.removeprefix("file://"))
    if name.startswith("~"):
        with suppress(RuntimeError):
            path = path.expanduser()
    return Path(os.path.normpath(where.path / path))


def _project_around(folder: Path, where: WorkingFolder, folders: WorkingFolders) -> str | None:
    """The project of a folder; one below the folder that somebody works in is part of it, if no repository is there."""
    if folder.is_relative_to(where.root) and detect_project(folder) is None:
        return where.project
    return folders.of(str(folder)).project


def tool_refusal(data: str, folder: str, env: Mapping[str, str], given: Mapping[str, object]) -> str:
    """Why an agent may not call the server's tools like this in a folder; empty if it may.

    The server does not know where an agent works: what it is told there would be the whole team's. Nor does it know
    which projects stay here.
    """
    server = load_server(Path(data))
    if server is None:
        return ""
    settings, project = home_settings(server, env), WorkingFolders().of(folder).project
    if not stays_here(server, settings, project):
        private = private_projects_of(settings)
        named = [one for name in _PROJECT_ARGUMENTS if isinstance(one := given.get(name), str)]
        if (kept := next((one for one in named if is_private(private, one)), None)) is None:
            return ""
        project = kept
    return (
        f"{project or 'This folder'} is not shared with the team's memory at {server.url}, so its tools are not used"
        " here. `commonplace add` and `commonplace search` use the memory of this machine."
    )


def forget_what_it_gave(server: TeamServer) -> None:
    """Delete what is kept of a server that was left, or refuses the key: contexts, and what sessions were shown."""
    for name in (CONTEXT_FOLDER, HINT_FOLDER):
        shutil.rmtree(server.folder / name, ignore_errors=True)


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
        told = ",".join(shown_ids(str(server.folder))[:_MOST_TOLD])
        query = {"tokens": max(1, tokens), "project": project or "", "session": session, "told": told}
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


def team_context(data: str, folder: str, session: str, env: Mapping[str, str]) -> str | None:
    """What a session should know that starts now: what the server says, or what it said last if it is slow or away.

    None for a project that stays here: this machine's own memory has its context.
    """
    server = load_server(Path(data))
    if server is None:
        return ""
    settings = home_settings(server, env)
    if stays_here(server, settings, WorkingFolders().of(folder).project):
        return None
    if has_waiting_events(replace(settings, data_dir=server.folder)):
        # What the last session left is sent now that somebody works here again.
        spawn_drain(data, env)
    if may_start_resident(str(server.home), env):
        # Prompts ask it for the server's hints.
        start(str(server.home))
    fetched: list[str] = []
    seconds = seconds_to_wait(env, START_TIMEOUT)

    def fetch() -> None:
        try:
            fetched.append(fetch_context(server, folder, session, env, seconds, once=True))
        except (Unauthorized, Forbidden) as error:
            forget_what_it_gave(server)
            fetched.append(_refused(server, error))
        except Exception:  # noqa: BLE001 - away or too slow: the session starts with what it said last
            return

    worker = Thread(target=fetch, daemon=True)
    worker.start()
    worker.join(seconds)
    if fetched:
        return fetched[0]
    count_failure(spool_folder(data), "hook", f"{CONTEXT_FAILURE}server-away")
    return cached_context(data, folder, session, _CACHED) or cached_context(data, folder, "", _CACHED) or ""


def _refused(server: TeamServer, error: CommonplaceError) -> str:
    """What a session is told of a server that does not let this person in any more."""
    return (
        f"# Commonplace\n\nThe team's memory at {server.url} refuses this person's key, so nothing of it is known here."
        f" {error.message} Whoever runs the server can make a new one: `commonplace connect --http {server.url} --key"
        " KEY`, and what waits here is sent.\n"
    )
