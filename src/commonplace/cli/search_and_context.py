"""`search`, `context`, `rules`, `timeline`: what is found, and what an agent gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.options import (
    PROJECTS,
    as_of_filter,
    id_argument,
    limit_option,
    project_option,
    search_filters,
    text_argument,
)
from commonplace.cli.terminal import current_folder, environment, one_line, plain, quoted
from commonplace.dialects.records import hit_record, item_record, parse_id
from commonplace.model import Scope
from commonplace.text.redact import redact_lines

if TYPE_CHECKING:
    from commonplace.dialects.tool import Tool
    from commonplace.memory.local_memory import LocalMemory

MAX_RESULTS = 1000
# Beside an answer, what is less likely one is left out of the table.
HARDLY = 0.1


@command(
    "search",
    'commonplace search "how do users stay logged in?"',
    "commonplace search 'redis AND session* NOT cookie' -p my-api",
    "commonplace search deploy -t decision --since 30d",
    "commonplace search '\"request bodies\"' -n 5 --json",
)
@click.argument("query", nargs=-1, required=True)
@limit_option(10, MAX_RESULTS, "Show at most this many.")
@click.option("--why", is_flag=True, help="Show how each result got its rank.")
@search_filters
def search(
    call: Call,
    query: Sequence[str],
    why: bool,
    project: str | None,
    everywhere: bool,
    only_global: bool,
    **filters: Any,
) -> None:
    """Search the project of the current folder and what applies everywhere; outside a project, everything.

    A plain question is ranked by words and by meaning. A query with operators is a filter that every result matches:
    AND, OR, NOT, "a phrase", prefix*, column:term (title, text, narrative, facts, concepts, files, tags, type) and
    parentheses. `-` reads the query from standard input.
    """
    question = text_argument(query, "The query is empty.", "Enter some words to look for.")
    place, with_global = call.searched_place(project, everywhere=everywhere, only_global=only_global)
    with call.memory(drain_more=True) as memory:
        found = memory.search(question, project=place, with_global=with_global, only_global=only_global, **filters)
        results = [hit_record(hit, why=why) for hit in found.hits]
        state = memory.embedding_state
    if call.json:
        call.reply(
            {
                "results": results,
                "total": found.total,
                "by_meaning": found.by_meaning,
                "waiting_for_vectors": found.waiting,
                "note": found.note,
            }
        )
        return
    if not found.by_meaning:
        call.warn_keywords_only(state)
    call.warn_incomplete(found.waiting)
    call.say_where(place, with_global)
    if not results:
        call.note("Nothing was found. Try fewer or different words; `commonplace list` shows the newest items.")
        return
    if found.note:
        call.note(found.note)
    # Below a clear answer, what hardly answers is no help: --json and --why have it all.
    answered = found.by_meaning and not found.is_filter and not found.note
    shown = [row for row in results if why or not answered or row["relevance"] >= HARDLY]
    tables.search_results(shown)
    if why:
        tables.score_parts(shown)
    if len(shown) < len(results):
        left_out = len(results) - len(shown)
        call.note(f"{left_out} less likely {'one is' if left_out == 1 else 'ones are'} left out; --why shows them too.")
    elif found.total > len(results):
        call.note(f"{len(results)} of {found.total} shown; --limit shows more.")


# Agents get as many rules as fit; a person gets all of them.
MAX_RULES = 100_000
MAX_DEPTH = 50


@command(
    "context",
    "commonplace context",
    'commonplace context my-api -q "rate limiting"',
    "commonplace context my-api --budget 4000",
    "commonplace context --start",
)
@click.argument("project", required=False, shell_complete=PROJECTS)
@project_option("The same as PROJECT.", names=("named",))
@click.option("--start", is_flag=True, help="Show the text that hooks give a session which starts in this folder now.")
@click.option("-q", "--query", help="What you are about to do: what matters for that comes first.")
@click.option("--budget", type=click.IntRange(1), default=2000, show_default=True, help="Use at most this many tokens.")
@as_of_filter
def context(
    call: Call,
    project: str | None,
    named: str | None,
    start: bool,
    query: str | None,
    budget: int,
    as_of: str | None,
) -> None:
    """Show what an agent gets before it works on PROJECT (default: that of the current folder).

    Decisions and rules come first, then what is recent or answers the query, the last summaries, and where work
    stopped. This is what the tool `get_context` gives. Hooks give a session less when it starts: `--start` shows that
    text, and `commonplace shown` what a session really got.
    """
    project = call.named_project(project, named)
    if start:
        if project or query or as_of:
            raise click.UsageError("--start is for the current folder, as it is now.", click.get_current_context())
        _show_start(call)
        return
    from commonplace.dialects.get_context import written_context
    from commonplace.dialects.window_project import NO_PROJECT
    from commonplace.memory.projects import require_project
    from commonplace.memory.search_candidates import embed_for_question

    wanted = project if project is not None else call.current_project() or NO_PROJECT
    arguments: dict[str, Any] = {"project": wanted, "token_budget": budget}
    if query is not None:
        arguments["query"] = query
    if as_of is not None:
        arguments["as_of"] = as_of
    with call.local_memory(drain_more=True) as memory:
        require_project(memory, project)
        if query:
            embed_for_question(memory, query, [Scope.around(None if wanted == NO_PROJECT else wanted)])
        if call.json:
            call.reply(call_tool(memory, "get_context", arguments))
            return
        # The budget is for the printed text, which is much shorter than JSON.
        checked = _tool("get_context").checked(arguments)
        data: dict[str, Any] = {**written_context(memory, characters=_printed_length, **checked)}
    show_context(data)
    if data.get("notice"):
        call.note(data["notice"])


def _show_start(call: Call) -> None:
    from commonplace.capture.hooks.context_refresh import start_context
    from commonplace.capture.hooks.team_server import team_context

    folder = str(current_folder())
    _project, servers = call.shared_here()
    if servers:
        text = team_context(str(servers[0].folder), folder, "", environment(), lambda *_own: "")
        call.note(f"From {servers[0].url}, whose memory agents have here.")
    else:
        with call.local_memory(drain_more=True) as memory:
            text = start_context(memory, folder)
    call.answer({"folder": folder, "text": text}, lambda: click.echo(plain(text).strip()) if text else None)
    if not text:
        trying = "; `commonplace doctor hooks` tries the server" if servers else ""
        call.note(f"A session that starts here gets nothing: nothing is known here, or opening_tokens is 0{trying}.")


def call_tool(memory: LocalMemory, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent would get from this tool of the Kiro dialect."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return dict(_tool(tool).run(memory, given).data)


def _tool(name: str) -> Tool:
    from commonplace.dialects import get_context, kiro

    return next(known for known in (*kiro.TOOLS, get_context.PROJECT_CONTEXT) if known.name == name)


def show_context(data: Mapping[str, Any]) -> None:
    """Print a context as Markdown, answers to the query first, and how many tokens it took."""
    place = {id_: number for number, id_ in enumerate(data["answers"])}
    items = sorted(data["items"], key=lambda entry: place.get(entry["id"], len(place)))
    shown = {**data, "items": items}
    for text, style in _context_lines(shown):
        click.secho(text, **style)
    left = data["totalCount"] - data["returnedCount"]
    used = f"{-(-_printed_length(shown) // 4)} of {data['tokenBudget']} tokens"
    click.secho(f"\n({used}{f', {left} items left out' if left else ''})", dim=True)


def _printed_length(data: Mapping[str, Any]) -> int:
    return sum(len(text) + 1 for text, _style in _context_lines(data))


def _context_lines(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lines with their styles."""
    if "project" in data:
        yield f"# What to know about {one_line(data['project'])}", {"bold": True}
        if not (data["items"] or data["summaries"] or data["checkpoint"]):
            yield "\nNothing is remembered here yet.", {}
    for entry in data["items"]:
        title, content = entry["title"].strip(), entry["content"].strip()
        # A title that is the beginning of a single line adds nothing to it.
        same = "\n" not in content and content.startswith(title.removesuffix("…"))
        yield f"\n## {_source(entry)}{one_line(content if same else title)}", {"bold": True}
        yield f"{entry['type']} {entry['id']}, {entry['created_at'][:10]}, score {entry['score']:.2f}", {"dim": True}
        if not same:
            yield quoted(entry["content"]), {}
    for summary in data["summaries"]:
        yield f"\n## Session: {_source(summary)}{one_line(summary['request'] or '')}", {"bold": True}
        yield from _field_lines(summary, ("investigated", "learned", "completed", "next_steps", "notes"))
    if data["checkpoint"]:
        task = one_line(data["checkpoint"]["task"] or "")
        yield f"\n## Where it stopped: {_source(data['checkpoint'])}{task}", {"bold": True}
        yield from _field_lines(data["checkpoint"], ("progress", "next_steps", "open_questions", "relevant_files"))


def _source(row: Mapping[str, Any]) -> str:
    """Whose an entry is, if no person here stated or accepted it."""
    return f"({one_line(row['source'])}) " if row.get("source") else ""


def _field_lines(row: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in names:
        if row.get(name):
            text, label = plain(str(row[name])).strip(), name.replace("_", " ")
            yield (f"- {label}:\n{quoted(text)}" if "\n" in text else f"- {label}: {text}"), {}


@command(
    "rules",
    "commonplace rules",
    "commonplace rules -p my-api --file src/api/users.ts",
    "commonplace rules --global",
)
@project_option("The project (default: that of the current folder).")
@click.option("-g", "--global", "only_global", is_flag=True, help="Only the rules for every project.")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    type=click.Path(),
    help="Only the rules that apply to this file; repeatable.",
)
def rules(call: Call, project: str | None, only_global: bool, files: Sequence[str]) -> None:
    """Show the rules of a project and those for every project, oldest first.

    Rules for certain files are listed under their patterns.
    """
    from commonplace.dialects.memories_records import rules_text

    name = call.project(project, only_global)
    wanted = [_path_in_project(file) for file in files]
    with call.memory() as memory:
        active = memory.rules(name, files=wanted, limit=MAX_RULES)
    record = {
        "project": name,
        "project_rules": [item_record(item) for item in active.project],
        "global_rules": [item_record(item) for item in active.everywhere],
        "rules_for_other_files": active.elsewhere,
    }
    call.answer(record, redact_lines(rules_text(active, wanted)))


def _path_in_project(file: str) -> str:
    """A path relative to the top of the repository, from wherever the command is run."""
    from commonplace.hosts.project_files import project_folder

    try:
        return (current_folder() / file).relative_to(project_folder(current_folder())).as_posix()
    except (OSError, ValueError):
        return file


@command("timeline", "commonplace timeline 12", "commonplace timeline 12 --before 10 --after 0")
@id_argument
@click.option("--before", type=click.IntRange(0, MAX_DEPTH), default=5, show_default=True, help="How many before it.")
@click.option("--after", type=click.IntRange(0, MAX_DEPTH), default=5, show_default=True, help="How many after it.")
def timeline(call: Call, id_: str, before: int, after: int) -> None:
    """Show what happened before and after a memory, in all projects, oldest first."""
    from commonplace.memory.items import get_item

    with call.local_memory(drain_more=True) as memory:
        anchor = get_item(memory, parse_id(id_))
        arguments = {"anchor_id": anchor.id, "depth_before": before, "depth_after": after}
        data = call_tool(memory, "timeline", arguments)
    call.answer(data, lambda: _show_timeline(data["timeline"]))


def _show_timeline(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print a timeline; the anchor is at position 0."""
    rows = [
        {
            **entry,
            "position": f"{entry['position']:+d}",
            "narrative": "" if entry["narrative"] == entry["title"] else entry["narrative"],
            "when": entry["created_at_epoch"],
        }
        for entry in entries
    ]
    tables.table(("position", "id", "type", "title", "narrative", "when"), rows)
