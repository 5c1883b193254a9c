"""What an editor is told to use: a server that it starts itself, or the address of one that runs, with a key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from commonplace.cli.call import Call
from commonplace.data_folder import data_folder
from commonplace.errors import InvalidInput, Unauthorized
from commonplace.hosts.connect.connection import connection
from commonplace.hosts.connect.editor import Editor, Server
from commonplace.hosts.connect.places import Places
from commonplace.hosts.connect.program import our_program
from commonplace.hosts.connect.wanted import Wanted, local_server

DEFAULT_PROFILE = "core"
# In place of a key that is made only if it is written.
NO_KEY_YET = "sk-sekha-"


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person chose for every editor that is connected in one run."""

    call: Call
    places: Places
    profile: str
    url: str
    key: str
    hooks: bool

    def wanted(self, editor: Editor) -> Wanted:
        """What this editor is to have. A key that it has for this address already is kept, unless it was revoked."""
        key = self.key or self._known_key(editor) or NO_KEY_YET
        return self._with(key)

    def with_new_key(self, editor: Editor, wanted: Wanted) -> Wanted:
        """The same, with a key that works, made if there is none."""
        if wanted.server.key != NO_KEY_YET:
            return wanted
        from commonplace.memory import keys

        with self.call.book() as book:
            return self._with(keys.create(book, _key_name(editor))[1])

    def _with(self, key: str) -> Wanted:
        program, data_dir = our_program(), _unusual_data_dir(self.call)
        server = Server(url=self.url, key=key) if self.url else local_server(program, self.profile, data_dir)
        return Wanted(server, program if self.hooks else (), data_dir)

    def _known_key(self, editor: Editor) -> str:
        there = connection(editor, self.places) if self.url else None
        secret = _key_of(there.headers or {}) if there and there.ours and there.url == self.url else ""
        return "" if secret and _is_spent(self.call, secret) else secret


def choose(
    call: Call, places: Places, profile: str | None, http: str | None, key: str | None, *, hooks: bool
) -> Choice:
    """Check what was chosen. An empty address means the server on this machine."""
    if http is None and key is not None:
        raise InvalidInput("--key is for --http.", "Name both, or none.")
    if http is not None and profile is not None:
        raise InvalidInput("A server that runs has its profile already.", "Leave --profile out, or --http.")
    if key is not None:
        from commonplace.memory.keys import looks_like_one

        if not looks_like_one(key):
            raise InvalidInput("That is no key of Commonplace.", "`commonplace keys create NAME` makes one.")
    url = "" if http is None else _address(call, http)
    return Choice(call, places, profile or DEFAULT_PROFILE, url, key or "", hooks)


def revoke_key(call: Call, editor: Editor, headers: Mapping[str, str]) -> None:
    """Let a key that was made for an editor work no longer. One that somebody gave us is theirs."""
    secret = _key_of(headers)
    if not secret or not call.settings().has_store:
        return
    from commonplace.memory import keys

    with call.book() as book:
        try:
            key = keys.check(book, secret)
        except Unauthorized:
            return
        if key.name == _key_name(editor):
            keys.revoke(book, key.id)


def _is_spent(call: Call, secret: str) -> bool:
    if not call.settings().has_store:
        return False
    from commonplace.memory import keys

    with call.book() as book:
        return keys.is_spent(book, secret)


def _key_name(editor: Editor) -> str:
    return f"connect {editor.name}"


def _key_of(headers: Mapping[str, str]) -> str:
    return headers.get("Authorization", "").removeprefix("Bearer ")


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
        raise InvalidInput(f"{url[:200]!r} is no address.", "Write it like http://127.0.0.1:8765/mcp.")
    return url


def _unusual_data_dir(call: Call) -> str | None:
    """The data folder, if it is not the one that an editor's own processes would take."""
    # An editor that was not started from a shell knows no more than this.
    env = {name: os.environ[name] for name in ("HOME", "USERPROFILE", "LOCALAPPDATA") if name in os.environ}
    folder = call.settings().data_dir.absolute()
    return None if folder == Path(data_folder("", env)).absolute() else str(folder)
