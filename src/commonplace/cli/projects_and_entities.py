"""`projects`, `topics`, `overview`, `about` and `profile`: where projects stand, what is known, and how people work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import PROJECTS, as_of_filter, id_argument, limit_option, project_filter, project_option
from commonplace.cli.terminal import one_line
from commonplace.dialects.records import item_record, parse_id, project_record
from commonplace.errors import InvalidInput, NotFound, StoreError
from commonplace.memory.local_memory import wall_clock
from commonplace.text.dates import iso_time, local_day, parse_time, time_ago
from commonplace.text.redact import redact_data
from commonplace.text.sentences import shorten

if TYPE_CHECKING:
    from commonplace.library.memory import Memory
    from commonplace.library.results import EntityKnowledge, Item, Profile
    from commonplace.memory.local_memory import LocalMemory
    from commonplace.memory.project_overview import ProjectBrief
    from commonplace.memory.topics import CentralPassage, Topic

MAX_SHOWN = 200


@command("alias", "commonplace projects alias my-api backend")
@click.argument("name", shell_complete=PROJECTS)
@click.argument("alias")
def alias(call: Call, name: str, alias: str) -> None:
    """Give the project NAME a second name, ALIAS."""
    from commonplace.memory.projects import alias_project

    with call.local_memory() as memory:
        canonical = alias_project(memory, name, alias)
    call.answer({"project": canonical, "alias": alias}, f"{alias} is now another name for {canonical}.")


@command("trust", "commonplace projects trust", "commonplace projects trust .")
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
def trust(call: Call, folder: Path | None) -> None:
    """Give sessions in FOLDER the memory of the project that its git remote names.

    A clone is recognised by its commits. Only one that shares no commit with earlier clones needs this.
    """
    from commonplace.capture.hooks.working_folder import record_commit
    from commonplace.fast.context_cache import drop_cached_contexts
    from commonplace.memory.detect_project import detect_project

    here = (folder or Path.cwd()).resolve()
    project, data = detect_project(here), call.settings().data_dir
    if project is None or not record_commit(data, project, here):
        raise InvalidInput(f"{here} is not a git repository with a commit.", "Name the folder of a clone.")
    drop_cached_contexts(str(data), str(here))
    call.answer({"project": project, "folder": str(here)}, f"Sessions in {here} now get the memory of {project}.")


@listing(
    "projects",
    "commonplace projects",
    "commonplace projects alias my-api backend",
    commands=(alias, trust),
)
def projects(call: Call) -> None:
    """List projects, most recently used first, with their other names.

    A project is named by its git remote, such as github.com/acme/my-api; the name my-api works as well.
    """
    with call.memory() as memory:
        records = [project_record(project) for project in memory.projects()]
    call.answer_list(
        "projects",
        records,
        _show_projects,
        "No projects yet. `commonplace add` in a git repository creates its project.",
    )


def _show_projects(records: Sequence[Mapping[str, Any]]) -> None:
    rows = [{**row, "project": row["name"], "aliases": ", ".join(row["aliases"])} for row in records]
    tables.table(("project", "items", "when", "aliases"), rows)


@command("show")
@click.argument("name_or_id", metavar="NAME_OR_ID")
@limit_option(10, 1000, "Show at most this many passages.")
def show_topic(call: Call, name_or_id: str, limit: int) -> None:
    """Show the passages at the centre of a topic. NAME_OR_ID is its name or its number."""
    from commonplace.memory.topics import find_topic

    with call.local_memory() as memory:
        _up_to_date_topics(call, memory)
        topic, central = find_topic(memory, name_or_id, limit)
    record = {**topic_record(topic), "passages": [_passage_record(one) for one in central]}
    call.answer(record, f"{topic.name} ({topic.size} passages, {topic.project or 'no project'})", bold=True)
    if not call.json:
        rows = [
            {
                "id": one.passage.item_id,
                "nearness": f"{one.nearness:.2f}",
                "content": shorten(one_line(one.passage.text), MAX_SHOWN),
            }
            for one in central
        ]
        tables.table(("id", "nearness", "content"), rows)


@listing(
    "topics",
    "commonplace topics",
    commands=(show_topic,),
)
@project_filter
def topics(call: Call, project: str | None) -> None:
    """List topics, the largest first: what each project is about, in its own words."""
    from commonplace.memory.projects import require_project
    from commonplace.memory.topics import list_topics

    with call.local_memory() as memory:
        require_project(memory, project)
        found = _up_to_date_topics(call, memory)
        if project is not None:
            found = list_topics(memory, project)
        state = memory.embeddings.state
    empty = "No topics yet: too little is stored, or it is not embedded yet (`commonplace status`)."
    if state == "off":
        empty = "No topics: the setting `embedder` is off."
    times = {topic.id: topic.built_ms for topic in found}

    def show(records: Sequence[Mapping[str, Any]]) -> None:
        rows = [{**record, "when": times[record["id"]]} for record in records]
        tables.table(("id", "name", "size", "project", "when"), rows)

    # The earlier name of the command keeps its reply.
    name = "clusters" if call.old_name else "topics"
    call.answer_list(name, [topic_record(topic) for topic in found], show, empty)


def topic_record(topic: Topic) -> dict[str, Any]:
    """A topic for programs."""
    return {
        "id": topic.id,
        "name": topic.name,
        "size": topic.size,
        "project": topic.project,
        "built_at": iso_time(topic.built_ms),
    }


def _passage_record(central: CentralPassage) -> dict[str, Any]:
    return {
        "passage": central.passage.id,
        "item": central.passage.item_id,
        "nearness": round(central.nearness, 4),
        "text": central.passage.text,
    }


def _up_to_date_topics(call: Call, memory: LocalMemory) -> list[Topic]:
    """The topics, brought up to date first if the store can be written."""
    from commonplace.memory.search_candidates import TOPIC_SECONDS, embed_pending
    from commonplace.memory.topics import list_topics, update_topics

    embed_pending(memory, TOPIC_SECONDS)
    with contextlib.suppress(StoreError):
        if not list_topics(memory) and update_topics(memory):
            call.note("Building topics for the first time ...")
        while update_topics(memory):
            pass
    return list_topics(memory)


Data = Mapping[str, Any]
NOTHING = "No project yet. `commonplace connect` lets agents fill this memory."
# Lines of each part in a terminal; --json has all of them.
SHOWN = 8


@command(
    "overview",
    "commonplace overview",
    "commonplace overview my-api",
    "commonplace overview --all",
)
@click.argument("project", required=False, shell_complete=PROJECTS)
@project_option("The same as PROJECT.", names=("named",))
@click.option("--all", "every", is_flag=True, help="Summarise every project.")
@click.option("--done", metavar="STEP", help="Mark this open step as done.")
def overview(call: Call, project: str | None, named: str | None, every: bool, done: str | None) -> None:
    """Show where a project stands: what is open, what was decided and why, what failed, and its last week.

    PROJECT defaults to that of the current folder; outside any project, every project is summarised.
    """
    project = call.named_project(project, named)
    if every and (project or done):
        raise click.UsageError("--all cannot be combined with a project or a step.", click.get_current_context())
    place = None if every else call.project(project, only_global=False)
    if done and place is None:
        raise click.UsageError("Name the project of the step.", click.get_current_context())
    with call.memory(drain_more=True) as memory:
        if done and place is not None:
            notes = memory.close_step(done, project=place)
            call.answer({"done": done, "items": [item.id for item in notes]}, f"Done: {one_line(done)}")
        elif place is None or not _answer_one(call, memory, place, named=project is not None):
            _answer_all(call, memory.overviews(limit=100))


def _answer_one(call: Call, memory: Memory, project: str, *, named: bool) -> bool:
    """Whether there was such a project. That of the current folder may have nothing yet, but a named one must exist."""
    from commonplace.dialects.project_and_entity_records import overview_record

    try:
        data: Data = redact_data(overview_record(memory.overview(project)))
    except NotFound:
        if named:
            raise
        return False
    call.answer(data, lambda: _print(call, _lines(data)))
    return True


def _answer_all(call: Call, found: Sequence[ProjectBrief]) -> None:
    from commonplace.dialects.project_and_entity_records import brief_record

    records: list[Data] = [redact_data(brief_record(one)) for one in found]
    call.answer_list("projects", records, lambda rows: _print(call, _brief_lines(rows)), NOTHING)


def _lines(data: Data) -> Iterator[str | tuple[str]]:
    """The overview of one project, a line for each thing under a heading."""
    yield (one_line(data["name"] or "Without a project"),)
    yield one_line(" ".join(data["story"]))
    sections = {
        "Open": [_open_line(one) for one in data["open"]],
        "Decided": [_decision_line(one) for one in data["decisions"]],
        "Rejected": [_decision_line(one) for one in data["rejected"]],
        "To settle": [f"{pair['newer']['title']} <> {pair['older']['title']}" for pair in data["contradictions"]],
        "Failed": [_failure_line(one) for one in data["failures"]],
        "Rules": [one["title"] for one in [*data["rules"], *data["global_rules"]]],
        "People": [f"{one['name']}: {one['last_work']} ({_ago(one['last_at'])})" for one in data["people"]],
        "Files": [f"{one['path']} (changed {one['changed']}, read {one['read']})" for one in data["files"]],
        "Sessions": [f"{one['asked']} ({_ago(one['ended_at'])}, {one['id']})" for one in data["sessions"]],
    }
    for title, lines in sections.items():
        if lines:
            yield ""
            yield (title,)
            yield from (f"- {one_line(line)}" for line in lines[:SHOWN])
            more = max(0, len(lines) - SHOWN) + (data["left_out"].get("open_ends", 0) if title == "Open" else 0)
            if more:
                yield f"  and {more} more"
    if data["proposals"]:
        yield ""
        yield f"{data['proposals']} waiting for review: commonplace review"


def _brief_lines(rows: Sequence[Data]) -> Iterator[str | tuple[str]]:
    for place, row in enumerate(rows):
        if place:
            yield ""
        when = f" ({_ago(row['last_at'])})" if row["last_at"] else ""
        yield (one_line((row["name"] or "Without a project") + when),)
        yield from (f"- {one_line(step)}" for step in row["open_steps"])
        if row["open_count"] > len(row["open_steps"]):
            yield f"  and {row['open_count'] - len(row['open_steps'])} more"
        if row["decision"]:
            yield f"  Decided: {one_line(row['decision']['statement'])}"
        if row["session"]:
            yield f"  Last session: {one_line(row['session']['asked'])}"


def _open_line(one: Data) -> str:
    return (
        one["text"] if one["what"] == "next step" else f"{one['what']}: {one['text'].removeprefix('Still failing: ')}"
    )


def _decision_line(one: Data) -> str:
    return f"{one['at'][:10]} {one['said']}"


def _failure_line(one: Data) -> str:
    return f"{one['command']}: {'fixed' if one['fixed_at'] else 'not fixed'}. {one['why']}"


def _print(call: Call, lines: Iterable[str | tuple[str]]) -> None:
    """Print lines; one in a tuple is a heading."""
    for line in lines:
        if isinstance(line, tuple):
            call.say(line[0], bold=True)
        else:
            call.say(line)


def _ago(moment: str) -> str:
    return time_ago(parse_time(moment, local=False), wall_clock())


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
