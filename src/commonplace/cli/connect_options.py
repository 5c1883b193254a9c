"""The options of `connect`, checked: the address, key, data folder and hooks that every editor gets in one run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qs, urlsplit

import click

from commonplace.cli.command import Call
from commonplace.cli.terminal import is_interactive
from commonplace.data_folder import data_folder
from commonplace.errors import Forbidden, InvalidInput, RemoteError, Unauthorized
from commonplace.hosts.connections import (
    CONNECT_KEY_PREFIX,
    DesiredConnection,
    calls_this_memory,
    commonplace_program,
    local_server,
    read_connection,
)
from commonplace.hosts.host import Host, Locations, Server
from commonplace.model import Key

if TYPE_CHECKING:
    from commonplace.capture.hooks.team_server import TeamServer
    from commonplace.memory.local_memory import LocalMemory

T = TypeVar("T")
DEFAULT_PROFILE = "core"
# What shares every folder with a server.
ALL = "all"
# A placeholder for a key that is created only if it is written.
NO_KEY_YET = "sk-sekha-"


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """What is configured in every editor that is connected in one run."""

    call: Call
    locations: Locations
    profile: str
    url: str
    key: str
    hooks: bool
    space: str = ""
    shared: tuple[str, ...] = ()

    def wanted(self, editor: Host) -> DesiredConnection:
        """What this editor gets. A key that it already has for this address is kept, unless it was revoked."""
        key = self.key or self._known_key(editor) or NO_KEY_YET
        return self._with(key)

    def with_new_key(self, editor: Host, wanted: DesiredConnection) -> DesiredConnection:
        """The same with a valid key, which is created if there is none."""
        if wanted.server.key != NO_KEY_YET:
            return wanted
        from commonplace.memory import api_keys

        with self.call.local_memory(is_shown=False) as memory:
            return self._with(api_keys.create_key(memory, _key_name(editor))[1])

    def _with(self, key: str) -> DesiredConnection:
        program, data_dir = commonplace_program(), _custom_data_dir(self.call)
        if not self.url:
            server = local_server(program, self.profile, data_dir)
        else:
            server = Server(url=self.url, key=key)
            if team := self.team_server(key):
                data_dir = str(team.folder)
        return DesiredConnection(server, program if self.hooks else (), data_dir)

    def team_server(self, key: str) -> TeamServer | None:
        """The server elsewhere that the hooks send to; None if they capture into this machine's own memory."""
        if not (self.url and self.hooks) or key == NO_KEY_YET or _is_of_this_memory(self.call, key):
            return None
        from commonplace.capture.hooks.team_server import team_server

        return team_server(self.call.settings().data_dir, self.url, key, self.space, self.shared)

    @property
    def private(self) -> str:
        """The projects that stay here whatever is shared, as the person wrote them."""
        return self.call.settings().sync_private.strip()

    @property
    def is_open_everywhere(self) -> bool:
        """Whether agents can use a server elsewhere in every folder, because no hooks know what is shared."""
        elsewhere = self.url and self.key and not _is_of_this_memory(self.call, self.key)
        return bool(elsewhere) and not (self.hooks or self.locations.project)

    def _known_key(self, editor: Host) -> str:
        if not self.url:
            return ""
        from commonplace.memory.api_keys import is_revoked_or_expired

        there = read_connection(editor, self.locations)
        secret = there.key if there and there.ours and _is_same_server(there.url, self.url) else ""
        if not secret:
            return ""
        revoked = _in_existing_store(self.call, lambda memory: is_revoked_or_expired(memory, secret))
        return "" if revoked else secret

    def checked(self, share: Sequence[str], *, check: bool, dry_run: bool) -> ConnectOptions:
        """The same after the address and the key of a server elsewhere were tried, with what is shared with it."""
        if _is_of_this_memory(self.call, self.key):
            return self
        self._refuse_private_project()
        space = _check_server(self.url, self.key, hooks=self.hooks) if check else ""
        options = replace(self, space=space)
        return replace(options, shared=tuple(share) if dry_run else _shared(options, share))

    def with_known_key(
        self, editors: Sequence[Host], share: Sequence[str], *, check: bool, dry_run: bool
    ) -> ConnectOptions:
        """The same with the key of a server elsewhere that is in the editors' settings, as if it had been given."""
        if self.key or not self.url:
            return self
        keys = {self._known_key(editor) for editor in editors} - {""}
        known = [key for key in keys if not _is_of_this_memory(self.call, key)]
        if len(known) > 1:
            sentence = f"These editors have several keys for {server_address(self.url)}."
            raise InvalidInput(sentence, "Say which one with --key, or connect one editor at a time.")
        if not known:
            if share:
                raise InvalidInput("--share is for a server elsewhere.", "Give the --key of that server, too.")
            return self
        return replace(self, key=known[0]).checked(share, check=check, dry_run=dry_run)

    def _refuse_private_project(self) -> None:
        """Refuse to connect only one project with a server elsewhere if that is private."""
        from commonplace.memory.private_projects import is_private, private_projects_of

        folder = self.locations.project
        if folder is None:
            return
        project = self.call.project_at(folder)
        if is_private(private_projects_of(self.call.settings()), project):
            sentence = f"{project or 'This folder'} is private: the setting sync_private keeps it on this machine."
            raise InvalidInput(sentence, "Connect it without --http, or change the setting.")

    def hooks_notice(self) -> str:
        """A notice if the address is elsewhere and no key of that server was given, else empty."""
        if not (self.url and self.hooks) or self.key:
            return ""
        if calls_this_memory(self.url, Key(0, CONNECT_KEY_PREFIX, "", "write", None, 0)):
            return ""
        folder = self.call.settings().data_dir.absolute()
        return (
            f"The server at {server_address(self.url)} does not know a key that is created here: give its --key."
            f" Until then hooks capture into this machine's own memory in {folder}."
        )


def connect_options(
    call: Call,
    locations: Locations,
    profile: str | None,
    http: str | None,
    key: str | None,
    share: Sequence[str] = (),
    *,
    hooks: bool,
    check: bool = True,
    dry_run: bool = False,
) -> ConnectOptions:
    """Check the options, and the address and key of a server elsewhere. An empty address means this machine's own."""
    if http is None and (key is not None or share):
        raise InvalidInput(f"{'--share' if key is None else '--key'} is for --http.", "Give both or neither.")
    if key is not None:
        from commonplace.memory.api_keys import looks_like_key

        if not looks_like_key(key):
            raise InvalidInput(
                "That is not a Commonplace key.", "Whoever runs the server makes one: `commonplace keys create NAME`."
            )
    url = "" if http is None else _with_profile(_address(call, http), profile)
    options = ConnectOptions(call, locations, profile or DEFAULT_PROFILE, url, key or "", hooks)
    return options.checked(share, check=check, dry_run=dry_run) if key else options


def _check_server(url: str, key: str, *, hooks: bool) -> str:
    """Try the address and the key of a server elsewhere; the space that the key opens."""
    from commonplace.capture.hooks.team_server import ask_about_key

    try:
        facts = ask_about_key(url, key)
    except (InvalidInput, RemoteError) as error:
        error.hint += " Or add --no-check to connect anyway."
        raise
    if hooks and facts.role == "reader":
        raise Forbidden("This key may only read, but hooks write.", "Ask for a writer's key, or add --no-hooks.")
    if hooks and facts.project:
        sentence = f"This key opens only the project {facts.project}, but hooks capture in all."
        raise Forbidden(sentence, "Ask for a key for all projects, or add --no-hooks.")
    return facts.space


def _shared(options: ConnectOptions, share: Sequence[str]) -> tuple[str, ...]:
    """The projects that are shared with a server: as named, as before, or as the person answers."""
    from commonplace.capture.hooks.team_server import EVERY_FOLDER

    if share:
        return tuple(EVERY_FOLDER if name == ALL else name for name in share)
    if not options.hooks:
        return ()
    known = options.team_server(options.key)
    if known is not None and known.shared and known.folder.is_dir():
        return known.shared
    here = options.call.current_project()
    if options.locations.project:
        here = options.call.project_at(options.locations.project)
        return (here,) if here else ()
    if not is_interactive() or options.call.json:
        example = _owner_of(here) or "github.com/acme/*"
        raise InvalidInput(
            "Which repositories are shared with the server? Everything else stays on this machine.",
            f"Name them: --share '{example}', a repository's name, or --share {ALL} for every folder.",
        )
    question = f"Which repositories are shared? Names or patterns, with blanks between them, or {ALL}"
    answer = click.prompt(question, default=_owner_of(here) or None, err=True)
    return _shared(options, str(answer).split())


def _owner_of(project: str | None) -> str:
    """A pattern for all repositories of the owner of this one."""
    owner = (project or "").rpartition("/")[0]
    return f"{owner}/*" if owner else ""


def _is_of_this_memory(call: Call, secret: str) -> bool:
    """Whether a key is one of this machine's own memory: then hooks capture there, and nothing is shared."""
    from commonplace.memory.api_keys import find_working_key

    return _in_existing_store(call, lambda memory: find_working_key(memory, secret)) is not None


def revoke_key(call: Call, editor: Host, headers: Mapping[str, str]) -> None:
    """Revoke a key that was created for an editor. A key given with --key is left alone."""
    from commonplace.memory import api_keys

    def revoke(memory: LocalMemory) -> None:
        with contextlib.suppress(Unauthorized):
            key = api_keys.check_key(memory, secret)
            if f"{key.name} ".startswith(f"{_key_name(editor)} "):
                api_keys.revoke_key(memory, key.id)

    if secret := headers.get("Authorization", "").removeprefix("Bearer "):
        _in_existing_store(call, revoke)


def _in_existing_store(call: Call, ask: Callable[[LocalMemory], T]) -> T | None:
    """Ask the memory of this machine, if it has a store."""
    if not call.settings().has_store:
        return None
    with call.local_memory(is_shown=False) as memory:
        return ask(memory)


def server_address(url: str) -> str:
    """An address without its query, which chooses the tools."""
    return url.partition("?")[0]


def _is_same_server(one: str, other: str) -> bool:
    return server_address(one) == server_address(other)


def _with_profile(url: str, profile: str | None) -> str:
    """The address with the profile, unless it names one: the same tools as a server that is started offers."""
    named = "profile" in parse_qs(urlsplit(url).query)
    if named and profile is not None:
        raise InvalidInput(
            "The address already names a profile.", "Leave out --profile, or remove it from the address."
        )
    if named or urlsplit(url).fragment:
        return url
    return f"{url}{'&' if urlsplit(url).query else '?'}profile={profile or DEFAULT_PROFILE}"


def _key_name(editor: Host) -> str:
    return f"{CONNECT_KEY_PREFIX}{editor.name}"


def _address(call: Call, url: str) -> str:
    if not url:
        settings = call.settings()
        return f"http://{settings.host}:{settings.port}/mcp"
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right or not url.isprintable() or " " in url:
        raise InvalidInput(f"{url[:200]!r} is not an address.", "Write it like http://127.0.0.1:8765/mcp.")
    # The address of the server alone, as it is shown in a browser.
    return parts._replace(path="/mcp").geturl() if parts.path in ("", "/") else url


def _custom_data_dir(call: Call) -> str | None:
    """The data folder, if it is not the one that the processes of an editor would use."""
    # An editor that was not started from a shell has only these variables.
    env = {name: os.environ[name] for name in ("HOME", "USERPROFILE", "LOCALAPPDATA") if name in os.environ}
    folder = call.settings().data_dir.absolute()
    return None if folder == Path(data_folder("", env)).absolute() else str(folder)
