"""What a page is: a row of the table. Its function gets what was asked and answers with a template and its values."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

from commonplace.errors import InvalidInput
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Key
from commonplace.workers import Workers

Method = Literal["GET", "POST"]
KeyScope = Literal["read", "write", "admin"]
_OWN_PATH = re.compile(r"/(?![/\\])[!-~]{0,2000}")


@dataclass(frozen=True, slots=True)
class ServerContext:
    """What pages can know about the server they are part of, and whether it is about to end."""

    workers: Workers
    ending: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request of somebody who is signed in: what was in its path, its query and its form."""

    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    form: Mapping[str, Sequence[str]]
    key: Key
    server: ServerContext
    headers: Mapping[str, str]

    def one(self, name: str, default: str = "") -> str:
        """A value of the query, without the blanks around it."""
        return _last(self.query, name).strip() or default

    def many(self, name: str) -> list[str]:
        """All values of the query with this name that say something."""
        return [value.strip() for value in self.query.get(name, ()) if value.strip()]

    def given(self, name: str) -> str:
        """A value of the form, as it was written."""
        return _last(self.form, name)

    def chosen(self, name: str) -> list[str]:
        """All values of the form with this name."""
        return list(self.form.get(name, ()))

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number of the query or the form."""
        text = _last(self.form, name).strip() or self.one(name)
        if not text:
            return default
        if not re.fullmatch(r"-?[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise InvalidInput(f"{name} is {text[:40]!r}.", f"Choose a whole number from {least} to {most}.")
        return int(text)

    def may(self, scope: KeyScope) -> bool:
        return self.key.allows(scope)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page to show: the template of this name with these values."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """On to another page of ours, where `did` names what is told there (words/done.toml), about `about`."""

    path: str
    did: str = ""
    about: str = ""
    cookies: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        path, mark, place = self.path.partition("#")
        told = {name: value for name, value in (("did", self.did), ("about", self.about)) if value}
        return path + (("&" if "?" in path else "?") + urlencode(told) if told else "") + mark + place


@dataclass(frozen=True, slots=True)
class FileReply:
    """A file or a stream, as it is."""

    content: bytes = b""
    media: str = "application/octet-stream"
    name: str = ""
    stream: Callable[[], AsyncIterator[bytes]] | None = None


PageReply = Rendered | Redirect | FileReply
PageFunction = Callable[[LocalMemory, PageRequest], PageReply]


@dataclass(frozen=True, slots=True)
class Page:
    """One row: where, who may, what it does. `place` is the entry of the menu that it belongs to.

    `parts` are blocks of the template that can be asked for alone, to be put into a page that is open.
    """

    method: Method
    path: str
    scope: KeyScope
    call: PageFunction
    place: str = ""
    parts: tuple[str, ...] = ()


def local_path(path: str, default: str = "/") -> str:
    """A path of ours to go back to; anything else, such as another site's, is the default."""
    return path if _OWN_PATH.fullmatch(path) else default


def _last(values: Mapping[str, Sequence[str]], name: str) -> str:
    found = values.get(name, ())
    return found[-1] if found else ""
