"""`drain`: everything that hooks left waiting is remembered now, whether a server runs or not."""

from __future__ import annotations

from typing import Any

import click

from commonplace.cli.call import Call, command


@command("drain", "commonplace drain", "commonplace drain --seconds 10", "commonplace drain --json")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Leave the rest after about so long.")
def drain(call: Call, seconds: float | None) -> None:
    """Remember everything that hooks left in the spool, and lay ready what the next sessions are told.

    A running server does that by itself, and so does a hook at the end of a turn; other commands do a part of it.
    """
    from commonplace.capture.hooks.beside import drain_all

    drained = drain_all(call.settings(), seconds)
    data: dict[str, Any] = {
        "remembered": drained.remembered,
        "passed_over": drained.passed_over,
        "refused": dict(drained.refused),
        "waiting": drained.left,
        "elsewhere": drained.elsewhere,
    }
    if call.json:
        call.reply(data)
        return
    left = f"{drained.left:,} wait" if drained.left else "nothing waits"
    call.say(f"{drained.remembered:,} events remembered, {drained.passed_over:,} passed over; {left}.")
    if drained.refused:
        call.note(f"{drained.refused.total():,} could not be kept; `commonplace doctor spool` tells why.")
    if drained.elsewhere:
        call.note("Another process is remembering them at this moment.")
