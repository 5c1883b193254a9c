"""`projects`: where things belong, and the names each place answers to."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from commonplace.capture.hooks.context_cache import drop_cached_contexts
from commonplace.capture.hooks.repository_identity import record_commit
from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.search import MANY_SECONDS, embed_pending
from commonplace.cli.terminal import one_line
from commonplace.dialects.records import project_record
from commonplace.errors import InvalidInput, StoreError
from commonplace.memory.items import alias_project
from commonplace.memory.items import list_projects as all_projects
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.topics import CentralPassage, Topic, list_topics, update_topics
from commonplace.memory.topics import find_topic as one_topic
from commonplace.text.dates import iso_time
from commonplace.text.project_names import detect_project
from commonplace.text.redact import redact
from commonplace.text.titles import shorten


@listing("projects", "commonplace projects", "commonplace projects --json", "commonplace projects alias my-api backend")
def projects(call: Call) -> None:
    """Projects, the one used last first, with the other names they answer to.

    A project is named by its git remote, such as github.com/acme/my-api, and answers to my-api as well.
    """
    with call.memory() as memory:
        records = [project_record(project) for project in all_projects(memory)]
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
    with call.memory() as memory:
        canonical = alias_project(memory, name, alias)
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
    if project is None or not record_commit(data, project, here):
        raise InvalidInput(f"{here} is no git repository with a commit.", "Name the folder of a clone.")
    drop_cached_contexts(str(data), str(here))
    if call.json:
        call.reply({"project": project, "folder": str(here)})
    else:
        call.say(f"Sessions in {here} are shown the memory of {project}.")


projects.add_command(alias)
projects.add_command(trust)

SHOWN = 200


@listing("clusters", "commonplace clusters", "commonplace clusters --json")
def clusters(call: Call) -> None:
    """Topics: groups of passages that are about the same, the largest first, named by their own words.

    Each belongs to one project. They grow as passages come, and are built anew when a third of them changed.
    """
    with call.memory() as memory:
        found = _up_to_date_topics(call, memory)
        state = memory.embeddings.state
    if call.json:
        call.reply({"clusters": [topic_record(topic) for topic in found]})
    elif found:
        rows = [{**topic_record(topic), "when": topic.built_ms} for topic in found]
        tables.table(("id", "name", "size", "project", "when"), rows)
    elif state == "off":
        call.note("No topics: meaning is off, and they are made of meaning.")
    else:
        call.note("No topics yet: too little was remembered, or it waits for its vectors (`commonplace status`).")


@command("show")
@click.argument("name_or_id", metavar="NAME_OR_ID")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Most passages.")
def show_topic(call: Call, name_or_id: str, limit: int) -> None:
    """The most central passages of a topic. NAME_OR_ID is its name in any case, or its number."""
    with call.memory() as memory:
        _up_to_date_topics(call, memory)
        topic, central = one_topic(memory, name_or_id, limit)
    if call.json:
        call.reply({**topic_record(topic), "passages": [topic_passage_record(one) for one in central]})
        return
    call.say(f"{topic.name} ({topic.size} passages, {topic.project or 'no project'})", bold=True)
    rows = [
        {"id": one.passage.item_id, "nearness": f"{one.nearness:.2f}", "content": shorten(one_line(_text(one)), SHOWN)}
        for one in central
    ]
    tables.table(("id", "nearness", "content"), rows)


clusters.add_command(show_topic)


def topic_record(topic: Topic) -> dict[str, Any]:
    """A topic as a program reads it."""
    return {
        "id": topic.id,
        "name": topic.name,
        "size": topic.size,
        "project": topic.project,
        "built_at": iso_time(topic.built_ms),
    }


def topic_passage_record(central: CentralPassage) -> dict[str, Any]:
    return {
        "passage": central.passage.id,
        "item": central.passage.item_id,
        "nearness": round(central.nearness, 4),
        "text": _text(central),
    }


def _text(central: CentralPassage) -> str:
    return redact(central.passage.text)


def _up_to_date_topics(call: Call, memory: LocalMemory) -> list[Topic]:
    """The topics as they are now. A store that cannot be written still answers."""
    embed_pending(memory, MANY_SECONDS)
    with contextlib.suppress(StoreError):
        if not list_topics(memory) and update_topics(memory):
            call.note("No topics were built yet: building them now.")
        while update_topics(memory):
            pass
    return list_topics(memory)
