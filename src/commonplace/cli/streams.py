"""`streams`: memories that agents are still sending in chunks."""

from __future__ import annotations

import click

from commonplace.cli import tables
from commonplace.cli.call import Call, command, listing
from commonplace.dialects.records import stream_record
from commonplace.memory.streams import IDLE_HOURS, open_streams
from commonplace.memory.streams import cancel as cancel_stream


@listing("streams", "commonplace streams", "commonplace streams --json")
def streams(call: Call) -> None:
    """Open streams, the oldest first: memories that agents started and neither finalized nor cancelled.

    One that nobody continues for a day expires.
    """
    with call.book() as book:
        records = [stream_record(stream) for stream in open_streams(book)]
    if call.json:
        call.reply({"streams": records})
    elif not records:
        call.note(f"No stream is open. One that nobody continues expires after {IDLE_HOURS} hours.")
    else:
        rows = [{**row, "when": row["touched_at_epoch"]} for row in records]
        tables.table(("stream_id", "type", "project", "chunks", "characters", "when"), rows)


@command("cancel", "commonplace streams cancel stream_0123456789abcdef")
@click.argument("id_", metavar="ID")
def cancel(call: Call, id_: str) -> None:
    """Drop a stream and its chunks. No memory is made of them, and this cannot be undone."""
    with call.book() as book:
        stream = cancel_stream(book, id_)
    if call.json:
        call.reply(stream_record(stream))
    else:
        call.say(f"Cancelled {stream.id}: {stream.chunks} chunks, {stream.characters} characters dropped")


streams.add_command(cancel)
