"""`contradictions`: statements that cannot both hold, and statements that say the same, listed and settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from commonplace.cli.command import Call, command
from commonplace.cli.options import ITEMS, limit_option, project_filter
from commonplace.cli.terminal import is_interactive
from commonplace.dialects.records import item_brief, pair_record, parse_id
from commonplace.memory.contradictions import DEFAULT_LIMIT, KEEP, MAX_LIMIT, Keep, Settled, StatementPair
from commonplace.text.dates import iso_time
from commonplace.text.validity import describe_interval

if TYPE_CHECKING:
    from commonplace.library.memory import Memory

REASONS = {
    "opposite": "say opposite things",
    "number": "give different numbers or times",
    "choice": "make different choices",
    "replaced": "differ: the newer one says that something has changed",
    "meaning": "cannot both hold, as the model reads them",
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
        call.say(f"{number} of {len(pairs)}: {pair.older.id} and {pair.newer.id} {REASONS[pair.reason]}")
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


def _answer_settled(call: Call, settled: Settled) -> None:
    winners = " and ".join(str(item.id) for item in settled.kept)
    undo = f"commonplace contradictions {settled.older.id} {settled.newer.id} --undo"
    call.answer(
        {"kept": [item_brief(item) for item in settled.kept], "keep": settled.keep, "undo": undo},
        f"Settled: {winners} {'are' if len(settled.kept) > 1 else 'is'} right. Undo: {undo}",
    )
