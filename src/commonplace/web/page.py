"""What a page is: a row of the table, with a function that gets the request and replies with a template and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

from commonplace.errors import InvalidInput
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import list_projects
from commonplace.model import Key

Method = Literal["GET", "POST"]
KeyScope = Literal["read", "write", "admin"]
# Its value is the part of a page that is requested instead of the whole.
PART_HEADER = "x-part"
_LOCAL_PATH = re.compile(r"/(?![/\\])[!-~]{0,2000}")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request of somebody who is signed in: the values in its path, its query and its form."""

    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    form: Mapping[str, Sequence[str]]
    key: Key
    headers: Mapping[str, str]

    def one(self, name: str, default: str = "") -> str:
        """A value of the query, stripped."""
        return last_value(self.query, name).strip() or default

    def many(self, name: str) -> list[str]:
        """All values of the query with this name that are not blank."""
        return [value.strip() for value in self.query.get(name, ()) if value.strip()]

    def given(self, name: str) -> str:
        """A value of the form, as it was written."""
        return last_value(self.form, name)

    def chosen(self, name: str) -> list[str]:
        """All values of the form with this name."""
        return list(self.form.get(name, ()))

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number of the query or the form."""
        text = last_value(self.form, name).strip() or self.one(name)
        if not text:
            return default
        if not re.fullmatch(r"-?[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise InvalidInput(f"{name} is {text[:40]!r}.", f"Choose a whole number from {least} to {most}.")
        return int(text)

    @property
    def rev(self) -> int:
        """The revision that a form was made for."""
        return self.number("rev", 0, 0, 10**9)

    def may(self, scope: KeyScope) -> bool:
        return self.key.allows(scope)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page to render: the template of this name with these values."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """Another page of ours to go to; `did` names the notice to show there (texts/done.toml), about `about`."""

    path: str
    did: str = ""
    about: str = ""
    cookies: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        path, mark, place = self.path.partition("#")
        return with_query(path, {"did": self.did, "about": self.about}) + mark + place


@dataclass(frozen=True, slots=True)
class FileReply:
    """A file to download, or data."""

    content: bytes = b""
    media: str = "application/octet-stream"
    name: str = ""


PageReply = Rendered | Redirect | FileReply
PageFunction = Callable[[LocalMemory, PageRequest], PageReply]


@dataclass(frozen=True, slots=True)
class Page:
    """One row of the table: its path, the scope it takes, its function. `place` is its entry in the menu.

    `parts` are blocks of the template that can be requested alone, to be put into an open page.
    """

    method: Method
    path: str
    scope: KeyScope
    call: PageFunction
    place: str = ""
    parts: tuple[str, ...] = ()


def last_value(fields: Mapping[str, Sequence[str]], name: str, default: str = "") -> str:
    """The value of a field; of several with the same name, the last."""
    return (fields.get(name) or (default,))[-1]


def with_query(path: str, values: Mapping[str, str | Sequence[str]]) -> str:
    """A path with these values in its query, after those it has; empty ones are left out."""
    query = urlencode({name: value for name, value in values.items() if value}, doseq=True)
    return f"{path}{'&' if '?' in path else '?'}{query}" if query else path


def project_names(memory: LocalMemory) -> list[str]:
    """The projects that pages offer to choose from."""
    return [project.name for project in list_projects(memory)]


def local_path(path: str, default: str = "/") -> str:
    """A path of this site to go back to; anything else, such as another site's, becomes the default."""
    return path if _LOCAL_PATH.fullmatch(path) else default
