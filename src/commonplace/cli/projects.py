"""`projects`: where things belong, and the names each place answers to."""

from __future__ import annotations

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command, listing
from commonplace.dialects.records import project_record
from commonplace.memory.browse import add_alias
from commonplace.memory.browse import projects as all_projects


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


projects.add_command(alias)
