"""Fields as people give them: `NAME=VALUE` pairs, comma separated lists, paths from where they stand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from commonplace.cli.command import Call
from commonplace.errors import InvalidInput
from commonplace.hosts.project_files import exact_folder, project_folder

F = TypeVar("F", bound=Callable[..., Any])


class PluginChoice(click.Choice[str]):
    """One of our own names, or one that a plugin adds; plugins are looked up only for a name that is not ours."""

    def __init__(self, names: Sequence[str], all_names: Callable[[], Sequence[str]]) -> None:
        super().__init__(names)
        self._all_names = all_names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.choices:
            return str(value)
        return click.Choice(self._all_names()).convert(value, param, ctx)


def field_option(help_: str) -> Callable[[F], F]:
    return click.option("--field", "fields", metavar="NAME=VALUE", multiple=True, help=help_)


def parse_fields(given: Sequence[str]) -> dict[str, str]:
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


def join_names(values: Sequence[str]) -> str:
    """Comma separated or repeated values, as they are stored."""
    names = [name.strip() for value in values for name in value.split(",")]
    return ", ".join(name for name in names if name)


def root_metadata(details: dict[str, str]) -> dict[str, Any]:
    """Metadata that says where relative paths start, so that staleness can be seen from anywhere."""
    files = details.get("files_modified", "").split(", ")
    if any(name and not name.startswith("~") and not Path(name).is_absolute() for name in files):
        with contextlib.suppress(OSError):
            return {"root": str(Path.cwd())}
    return {}


root_option = click.option(
    "--root", metavar="FOLDER", help="The project's folder; the repository around this one if omitted."
)


def project_root(root: str | None) -> Path:
    """The folder that was named, else the top of the repository around the current one, else that."""
    if root is not None:
        return exact_folder(Path(root))
    try:
        return project_folder(Path.cwd())
    except OSError as error:
        # The folder was removed under us.
        raise InvalidInput("The current folder does not exist.", "Name one with --root.") from error


def project_of_folder(call: Call, folder: Path) -> str | None:
    """The project of a folder; None outside any, which is worth a remark."""
    found = call.project_at(folder)
    if found is None:
        call.note("This folder is no git repository, so this is about every project. --project names one.")
    return found
