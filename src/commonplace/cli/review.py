"""`review` and `contradictions`: what agents and capture proposed, and statements that cannot both hold, settled."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.cli.options import ITEMS, id_argument, ids_argument, limit_option, page_options, project_filter
from commonplace.cli.terminal import is_interactive
from commonplace.dialects.records import item_brief, item_record, pair_record, parse_id
from commonplace.errors import Conflict
from commonplace.memory.review import said_besides
from commonplace.memory.settle_contradictions import KEEP, Keep, Settled
from commonplace.memory.statement_pairs import DEFAULT_LIMIT, MAX_LIMIT, StatementPair
from commonplace.memory.statement_texts import statement_text
from commonplace.model import DISMISSED, PROPOSED
from commonplace.text.dates import iso_time, local_day
from commonplace.text.validity import describe_interval

if TYPE_CHECKING:
    from commonplace.library.memory import Memory
    from commonplace.model import Item

_KEYS = "a accept  e edit  d dismiss  s skip  u undo the last  q quit"


@command("accept", "commonplace review accept 12", "commonplace review accept 12 --content 'Deploys run on Mondays'")
@ids_argument
@click.option("-c", "--content", help="Accept it with this text instead.")
def accept(call: Call, ids: Sequence[str], content: str | None) -> None:
    """Accept proposals: from now on they count as agreed, under your name."""
    if content is not None and len(ids) > 1:
        raise click.UsageError("--content is for one proposal.", click.get_current_context())
    with call.memory() as memory:
        items = [memory.accept(parse_id(id_), text=content) for id_ in ids]
    call.answer(
        {"accepted": [item_brief(item) for item in items]},
        [f"Accepted {item.type} {item.id}: {item.title}" for item in items],
    )


@command("dismiss", "commonplace review dismiss 12")
@ids_argument
def dismiss(call: Call, ids: Sequence[str]) -> None:
    """Dismiss proposals: they are hidden from every answer and not proposed again."""
    with call.memory() as memory:
        items = memory.dismiss(*map(parse_id, ids))
    call.answer(
        {"dismissed": [item_brief(item) for item in items]},
        [f"Dismissed {item.type} {item.id}: {item.title}" for item in items],
    )


@command("undo", "commonplace review undo 12")
@id_argument
def undo(call: Call, id_: str) -> None:
    """Undo `accept` or `dismiss`: it waits for review again."""
    with call.memory() as memory:
        item = memory.undo_review(parse_id(id_))
    call.answer(item_record(item), f"{item.type.capitalize()} {item.id} is waiting for review again: {item.title}")


@listing(
    "review",
    "commonplace review",
    "commonplace review --list -p my-api",
    commands=(accept, dismiss, undo),
)
@project_filter
@click.option("--list", "only_list", is_flag=True, help="List them instead of going through them.")
@page_options("Proposals")
def review(call: Call, project: str | None, only_list: bool, limit: int, cursor: str | None) -> None:
    """Go through what agents proposed, newest first; one key accepts, edits, dismisses or skips each.

    What you accept counts as agreed, under your name; what you dismiss is hidden and not proposed again. `review undo`
    undoes either. With --list or --json, or outside a terminal, proposals are only listed.
    """
    with call.memory(drain_more=True) as memory:
        if not (only_list or call.json) and sys.stdin.isatty():
            with _single_keys() as read_key:
                _one_by_one(call, memory, project, read_key)
            return
        page = memory.proposals(project=project, limit=limit, cursor=cursor)
        records = [item_record(item) for item in page.items]
        titles = {item.id: " ".join(statement_text(item).split()) or item.title for item in page.items}
    columns = ("id", "type", "title", "project", "author", "when")
    empty = "Nothing to review."
    call.answer_list(
        *("proposals", records),
        lambda rows: tables.table(columns, [{**row, "title": titles[row["id"]]} for row in rows]),
        empty,
        next_cursor=page.next_cursor,
    )


@contextlib.contextmanager
def _single_keys() -> Iterator[Callable[[], str]]:
    """A terminal that gives each key at once; what was typed ahead is not lost."""
    try:
        import termios
        import tty
    except ImportError:
        yield click.getchar
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)
        yield lambda: os.read(terminal, 1).decode(errors="replace")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _one_by_one(call: Call, memory: Memory, project: str | None, read_key: Callable[[], str]) -> None:
    """Show each and do what the key says."""
    waiting = _all(memory, project)
    done: list[Item] = []
    counts = {"accepted": 0, "dismissed": 0, "skipped": 0}
    while waiting:
        item = waiting[0]
        call.say(f"\n{item.type} {item.id}, {item.project or 'everywhere'}, {_by(item)}", bold=True)
        call.say(item.text or item.title)
        for line in said_besides(memory.local, item):
            call.say(line)
        for one in memory.contradictions(item.id):
            if one.item.review != PROPOSED:
                call.say(f"This seems to go against {one.item.type} {one.item.id}: {one.item.title}")
        call.say(f"[{_KEYS}]", dim=True)
        key = read_key().lower()
        if key in ("", "q", "\x03", "\x04", "\x1b"):
            break
        if key == "u" and done:
            last = done.pop()
            counts["dismissed" if last.review == DISMISSED else "accepted"] -= 1
            waiting.insert(0, memory.undo_review(last.id))
            continue
        try:
            decided = _decide(memory, item, key)
        except Conflict as error:
            call.say(f"{error.message} {error.hint}")
            waiting[:1] = [one for one in memory.get_many([item.id]) if one.review == PROPOSED]
            continue
        if decided is not None:
            done.append(decided)
            counts["dismissed" if key == "d" else "accepted"] += 1
        elif key == "s":
            counts["skipped"] += 1
        else:
            continue
        waiting.pop(0)
    if not any(counts.values()) and not waiting:
        call.note("Nothing to review.")
    else:
        call.say(", ".join(f"{number} {what}" for what, number in counts.items() if number) or "Nothing changed.")


def _decide(memory: Memory, item: Item, key: str) -> Item | None:
    """The item as it is after the key; None if nothing was decided."""
    if key == "a":
        return memory.accept(item.id, expect_rev=item.rev)
    if key == "d":
        return memory.dismiss(item.id)[0]
    if key == "e":
        written: Any = click.edit(item.body)
        if written is not None and written.strip():
            return memory.accept(item.id, text=written.strip(), expect_rev=item.rev)
    return None


def _all(memory: Memory, project: str | None) -> list[Item]:
    found: list[Item] = []
    cursor: str | None = None
    while True:
        page = memory.proposals(project=project, limit=1000, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def _by(item: Item) -> str:
    return f"{item.author or item.origin or 'unknown'}, {local_day(item.created_ms)}"


REASONS = {
    "opposite": "say opposite things",
    "number": "give different numbers or times",
    "rejected": "cannot both hold: one brings back what was rejected",
    "meaning": "seem to disagree",
    "same": "say the same thing",
    "": "do not seem to contradict each other",
}
_ANSWERS: dict[str, Keep | Literal["skip", "quit"]] = {"n": "new", "o": "old", "b": "both", "s": "skip", "q": "quit"}


@command(
    "contradictions",
    "commonplace contradictions",
    "commonplace contradictions 12 17 --keep new",
    "commonplace contradictions 12 17 --undo",
)
@click.argument("ids", nargs=-1, metavar="[ID ID]", shell_complete=ITEMS)
@click.option("--keep", type=click.Choice(KEEP), help="Which of the two is right: the newer, the older, or both.")
@click.option("--undo", is_flag=True, help="Undo a decision about the two.")
@click.option("--twins", is_flag=True, help="Also list statements that say the same thing.")
@project_filter
@limit_option(DEFAULT_LIMIT, MAX_LIMIT, "Show at most this many pairs.")
def contradictions(
    call: Call,
    ids: tuple[str, ...],
    keep: Keep | None,
    undo: bool,
    twins: bool,
    project: str | None,
    limit: int,
) -> None:
    """List statements that contradict each other; in a terminal, ask which one is right.

    Rules, decisions, facts, constraints and notes are compared within their project. The one you keep supersedes the
    other; two that are both right are not shown again. --undo undoes either.
    """
    if (ids or keep or undo) and (len(ids) != 2 or bool(keep) == undo):
        raise click.UsageError("Name two items and either --keep or --undo.", click.get_current_context())
    with call.memory() as memory:
        if undo:
            pair = memory.reopen(*map(parse_id, ids))
            call.answer(pair_record(pair), f"Undone: {pair.older.id} and {pair.newer.id} are open again.")
        elif keep:
            _answer_settled(call, memory.settle(*map(parse_id, ids), keep=keep))
        else:
            _list_pairs(call, memory, memory.open_contradictions(project=project, twins=twins, limit=limit))


def _list_pairs(call: Call, memory: Memory, pairs: list[StatementPair]) -> None:
    if call.json:
        call.reply({"contradictions": [pair_record(pair) for pair in pairs]})
        return
    if not pairs:
        call.note("No contradictions.")
    asking = is_interactive()
    for number, pair in enumerate(pairs, 1):
        call.say(f"{number} of {len(pairs)}: {_relation(pair)}")
        for item in (pair.older, pair.newer):
            by = f", {item.author}" if item.author else ""
            interval = describe_interval(item.valid_from_ms, item.valid_until_ms)
            valid = f", valid {interval}" if interval else ""
            call.say(f"  {item.id}  {iso_time(item.created_ms)[:10]}{by}{valid}  {' '.join(item.text.split())}")
        if not asking:
            call.say(f"  commonplace contradictions {pair.older.id} {pair.newer.id} --keep new|old|both")
            continue
        answers = click.Choice(list(_ANSWERS))
        question, proposed = "Keep (n)ew, (o)ld, (b)oth, (s)kip, (q)uit", "n" if pair.supersede else "s"
        chosen = _ANSWERS[click.prompt(question, default=proposed, type=answers, show_choices=False)]
        if chosen == "quit":
            return
        if chosen != "skip":
            _answer_settled(call, memory.settle(pair.older.id, pair.newer.id, keep=chosen))


def _relation(pair: StatementPair) -> str:
    if pair.supersede and pair.reason != "same":
        return f"{pair.newer.id} replaces {pair.older.id}, it seems"
    return f"{pair.older.id} and {pair.newer.id} {REASONS[pair.reason]}"


def _answer_settled(call: Call, settled: Settled) -> None:
    winners = " and ".join(str(item.id) for item in settled.kept)
    undo = f"commonplace contradictions {settled.older.id} {settled.newer.id} --undo"
    call.answer(
        {"kept": [item_brief(item) for item in settled.kept], "keep": settled.keep, "undo": undo},
        f"Settled: {winners} {'are' if len(settled.kept) > 1 else 'is'} right. Undo: {undo}",
    )
