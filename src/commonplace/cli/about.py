"""`about` and `profile`: what is known of somebody or something, and how the people of this memory work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import as_of_filter, id_argument, limit_option
from commonplace.dialects.records import item_record, parse_id
from commonplace.text.dates import local_day
from commonplace.text.sentences import shorten

if TYPE_CHECKING:
    from commonplace.library.results import EntityKnowledge, Item, Profile

_LONGEST = 300
_KINDS = ("person", "project", "service", "library", "file", "thing")


@command(
    "about",
    "commonplace about",
    "commonplace about my-api",
    "commonplace about my-api --as-of yesterday",
    "commonplace about --kind person",
)
@click.argument("name", nargs=-1)
@click.option("-k", "--kind", type=click.Choice(_KINDS), help="List only this kind.")
@click.option("-p", "--project", help="Only what this project says.")
@as_of_filter
@limit_option(50, 1000, "Show at most this many.")
def about(
    call: Call, name: Sequence[str], kind: str | None, project: str | None, as_of: str | None, limit: int
) -> None:
    """Show what is known about NAME: a person, project, service, library, file or other thing.

    The most trusted statements come first, then where else it is named and what it is related to. Without NAME, list
    all that memories name, the most frequent first.
    """
    from commonplace.dialects.project_and_entity_records import entity_record, knowledge_record

    with call.memory(drain_more=True) as memory:
        if not name:
            found = memory.entities(kind=kind or "", project=project, limit=limit, as_of=as_of)
            empty = "No names yet."
            call.answer_list("entities", [entity_record(entity) for entity in found], _show_entities, empty)
            return
        if kind is not None:
            raise click.UsageError("--kind is for the list; leave NAME out.", click.get_current_context())
        known = memory.about(" ".join(name), project=project, as_of=as_of)
    call.answer(knowledge_record(known), lambda: _show_knowledge(call, known))


def _show_entities(records: Sequence[Mapping[str, Any]]) -> None:
    rows = [{**row, "aliases": ", ".join(row["aliases"])} for row in records]
    tables.table(("name", "kind", "items", "aliases"), rows)


def _show_knowledge(call: Call, known: EntityKnowledge) -> None:
    entity = known.entity
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    call.say(f"{entity.name} ({entity.kind}{also})", bold=True)
    since = f"Known since {local_day(entity.first_ms)}, last mentioned {local_day(entity.last_ms)}"
    by = ", ".join(f"{name} ({number})" for name, number in known.authors.items())
    call.say(f"{since}. {f'Said by {by}.' if by else ''}".rstrip(), dim=True)
    for heading, items in (("", known.statements), ("Named elsewhere", known.elsewhere), ("Written", known.written)):
        if items and heading:
            call.say(f"\n{heading}", bold=True)
        for item in items:
            call.say(_line(item))
    if known.total > len(known.statements):
        call.say(f"and {known.total - len(known.statements)} more", dim=True)
    if known.related:
        call.say("\nRelated", bold=True)
        for one in known.related:
            call.say(f"{one.phrase} ({one.kind})")


def _line(item: Item) -> str:
    mark = "proposed " if item.review == "proposed" else ""
    return f"{item.id}  {mark}{item.type}: {shorten(item.text or item.title, _LONGEST)}"


@command("pin", "commonplace profile pin 1")
@id_argument
def pin(call: Call, id_: str) -> None:
    """Pin a memory to the profile: it comes first."""
    _show_item(call, id_, "pinned", "is pinned to the profile")


@command("hide", "commonplace profile hide 1")
@id_argument
def hide(call: Call, id_: str) -> None:
    """Hide a memory from the profile; it stays a memory."""
    _show_item(call, id_, "hidden", "is hidden from the profile")


@command("reset", "commonplace profile reset 1")
@id_argument
def reset(call: Call, id_: str) -> None:
    """Undo `profile pin` or `profile hide`."""
    _show_item(call, id_, "auto", "is included automatically if it fits")


def _show_item(call: Call, id_: str, show: Any, done: str) -> None:
    with call.memory() as memory:
        item = memory.show_in_profile(parse_id(id_), show)
    call.answer(item_record(item), f"{item.type.capitalize()} {item.id} {done}: {item.title}")


@listing(
    "profile",
    "commonplace profile",
    "commonplace profile --project my-api",
    commands=(pin, hide, reset),
)
@click.option("-p", "--project", help="Only the people who work on this project (default: everyone).")
def profile(call: Call, project: str | None) -> None:
    """Show how you and your team work, as agents see it when a session starts (at most 300 tokens).

    Each line comes from a memory that you stated or accepted: `edit` changes it, `profile pin` and `profile hide`
    choose it. The setting user_profile = "off" keeps the profile from agents.
    """
    from commonplace.dialects.project_and_entity_records import profile_record

    with call.memory(drain_more=True) as memory:
        found = memory.profile(project)
    call.answer(profile_record(found), lambda: _show_profile(call, found))


def _show_profile(call: Call, profile: Profile) -> None:
    from commonplace.memory.profile import PROFILE_HEADINGS

    group = ""
    for line in profile.lines:
        if line.group != group:
            call.say(("\n" if group else "") + PROFILE_HEADINGS[line.group], bold=True)
            group = line.group
        call.say(f"{line.item.id}  {line.quote}{''.join(_marks(line.pinned, line.times))}")
    if not profile.lines:
        call.note("Nothing is known yet. `commonplace add 'I prefer short answers' --type heuristic` is a good start.")
    if profile.hidden:
        call.note(f"Hidden: {', '.join(str(item.id) for item in profile.hidden)}. `profile reset ID` undoes it.")
    if not profile.offered:
        call.note('Agents do not get it: the setting user_profile is "off".')


def _marks(pinned: bool, times: int) -> Iterator[str]:
    if pinned:
        yield " (pinned)"
    if times > 1:
        yield f" (said {times} times)"
