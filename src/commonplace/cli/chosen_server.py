"""What an editor is told to use: a server that it starts itself, or the address of one that runs, with a key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from commonplace.cli.call import Call
from commonplace.data_folder import data_folder
from commonplace.errors import InvalidInput, Unauthorized
from commonplace.hosts.connect.connection import MADE_KEY, calls_this_memory, connection
from commonplace.hosts.connect.editor import Editor, Server
from commonplace.hosts.connect.places import Places
from commonplace.hosts.connect.program import our_program
from commonplace.hosts.connect.wanted import Wanted, local_server
from commonplace.model import Key

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
        secret = there.key if there and there.ours and _is_same_server(there.url, self.url) else ""
        return "" if secret and _is_spent(self.call, secret) else secret

    def split_memory(self) -> str:
        """What to say if hooks will capture into another memory than the one that tools use; empty if they won't."""
        if not (self.url and self.hooks):
            return ""
        made = Key(0, MADE_KEY, "", "write", None, 0)
        if calls_this_memory(self.url, _key_here(self.call, self.key) if self.key else made):
            return ""
        folder = self.call.settings().data_dir.absolute()
        return (
            f"Hooks capture into this machine's own memory in {folder}, not into the server at {server_of(self.url)}:"
            " what they capture is not shared, and sessions start with what this machine knows."
            " `commonplace sync` exchanges the two; --no-hooks captures nothing."
        )


def choose(
    call: Call, places: Places, profile: str | None, http: str | None, key: str | None, *, hooks: bool
) -> Choice:
    """Check what was chosen. An empty address means the server on this machine."""
    if http is None and key is not None:
        raise InvalidInput("--key is for --http.", "Name both, or none.")
    if key is not None:
        from commonplace.memory.keys import looks_like_one

        if not looks_like_one(key):
            raise InvalidInput("That is no key of Commonplace.", "`commonplace keys create NAME` makes one.")
    url = "" if http is None else _with_profile(_address(call, http), profile)
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


def server_of(url: str) -> str:
    """An address without which tools are asked for there."""
    return url.partition("?")[0]


def _is_same_server(one: str, other: str) -> bool:
    return server_of(one) == server_of(other)


def _with_profile(url: str, profile: str | None) -> str:
    """The address with the tools to offer, unless it names them: the same ones as a server that is started has."""
    named = "profile" in parse_qs(urlsplit(url).query)
    if named and profile is not None:
        raise InvalidInput(
            "The address names a profile already.", "Leave --profile out, or take it out of the address."
        )
    if named or urlsplit(url).fragment:
        return url
    return f"{url}{'&' if urlsplit(url).query else '?'}profile={profile or DEFAULT_PROFILE}"


def _key_here(call: Call, secret: str) -> Key | None:
    if not call.settings().has_store:
        return None
    from commonplace.memory import keys

    with call.book() as book:
        return keys.works_here(book, secret)


def _is_spent(call: Call, secret: str) -> bool:
    if not call.settings().has_store:
        return False
    from commonplace.memory import keys

    with call.book() as book:
        return keys.is_spent(book, secret)


def _key_name(editor: Editor) -> str:
    return f"{MADE_KEY}{editor.name}"


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
