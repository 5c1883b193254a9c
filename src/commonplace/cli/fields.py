"""Fields as people give them: `NAME=VALUE` pairs, comma separated lists, paths from where they stand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from commonplace.errors import InvalidInput

F = TypeVar("F", bound=Callable[..., Any])


def field_option(help_: str) -> Callable[[F], F]:
    return click.option("--field", "fields", metavar="NAME=VALUE", multiple=True, help=help_)


def pairs(given: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` strings as a mapping; dashes in names are underscores."""
    fields = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidInput(
                f"--field {text[:60]!r} is not NAME=VALUE.", "For example --field next_steps='Write tests'."
            )
        fields[name.strip().replace("-", "_")] = value
    return fields


def listed(values: Sequence[str]) -> str:
    """Comma separated or repeated values, as they are stored."""
    names = [name.strip() for value in values for name in value.split(",")]
    return ", ".join(name for name in names if name)


def root_of(details: dict[str, str]) -> dict[str, Any]:
    """Metadata that says where relative paths start, so that staleness can be seen from anywhere."""
    files = details.get("files_modified", "").split(", ")
    if any(name and not name.startswith("~") and not Path(name).is_absolute() for name in files):
        with contextlib.suppress(OSError):
            return {"root": str(Path.cwd())}
    return {}
