"""`projects`: where things belong, and the names each place answers to."""

from __future__ import annotations

from pathlib import Path

import click

from commonplace.capture.hooks.prepared import drop_prepared
from commonplace.capture.hooks.repository_identity import note_commit
from commonplace.cli import tables
from commonplace.cli.call import Call, command, listing
from commonplace.dialects.records import project_record
from commonplace.errors import InvalidInput
from commonplace.memory.browse import add_alias
from commonplace.memory.browse import projects as all_projects
from commonplace.text.names import detect_project


@listing("projects", "commonplace projects", "commonplace projects --json", "commonplace projects alias my-api backend")
def projects(call: Call) -> None:
    """Projects, the one used last first, with the other names they answer to.

    A project is named by its git remote, such as github.com/acme/my-api, and answers to my-api as well.
    """
    with call.book() as book:
        records = [project_record(project) for project in all_projects(book)]
    if call.json:
        call.reply({"projects": records})
        return
    if not records:
        call.note("No project yet.")
        return
    tables.projects(records)


@command("alias", "commonplace projects alias my-api backend")
@click.argument("name")
@click.argument("alias")
def alias(call: Call, name: str, alias: str) -> None:
    """Let the project NAME answer to ALIAS as well."""
    with call.book() as book:
        canonical = add_alias(book, name, alias)
    if call.json:
        call.reply({"project": canonical, "alias": alias})
    else:
        call.say(f"{canonical} answers to {alias} as well.")


@command("trust", "commonplace projects trust", "commonplace projects trust ~/src/my-api")
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
def trust(call: Call, folder: Path | None) -> None:
    """Show the memory of the project that FOLDER names as its remote to sessions there.

    A clone is recognised by its commits. Only a repository that shares none with earlier clones needs this.
    """
    here = (folder or Path.cwd()).resolve()
    project, data = detect_project(here), call.settings().data_dir
    if project is None or not note_commit(data, project, here):
        raise InvalidInput(f"{here} is no git repository with a commit.", "Name the folder of a clone.")
    drop_prepared(str(data), str(here))
    if call.json:
        call.reply({"project": project, "folder": str(here)})
    else:
        call.say(f"Sessions in {here} are shown the memory of {project}.")


projects.add_command(alias)
projects.add_command(trust)
