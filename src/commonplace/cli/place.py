"""Which folder and which project a command about a project's files is for."""

from __future__ import annotations

from pathlib import Path

import click

from commonplace.cli.call import Call
from commonplace.errors import InvalidInput
from commonplace.hosts.folder import exact_folder, project_folder

root_option = click.option(
    "--root", metavar="FOLDER", help="The project's folder; the repository around this one if omitted."
)


def folder_of(root: str | None) -> Path:
    """The folder that was named, else the top of the repository around the current one, else that."""
    if root is not None:
        return exact_folder(Path(root))
    try:
        return project_folder(Path.cwd())
    except OSError as error:
        # The folder was removed under us.
        raise InvalidInput("The current folder does not exist.", "Name one with --root.") from error


def project_in(call: Call, folder: Path) -> str | None:
    """The project of a folder; None outside any, which is worth a remark."""
    found = call.project_at(folder)
    if found is None:
        call.note("This folder is no git repository, so this is about every project. --project names one.")
    return found
