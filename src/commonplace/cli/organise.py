"""The commands of `conversations` that change something about one: where it is, what it is called, how it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from commonplace.cli.command import Call, command
from commonplace.dialects.records import conversation_record
from commonplace.memory import conversations
from commonplace.memory.conversations import ConversationChanges, find_session, update_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Session


@command("move", "commonplace conversations move 1 /desk/colours")
@click.argument("id_", metavar="ID")
@click.argument("folder")
def move(call: Call, id_: str, folder: str) -> None:
    """Put a conversation into FOLDER, which is there as soon as something is in it."""
    _arrange(call, id_, ConversationChanges(folder=folder), "{0.label} is in {0.folder} now.")


@command("rename", 'commonplace conversations rename 1 "Colours of the brand"')
@click.argument("id_", metavar="ID")
@click.argument("label")
def rename(call: Call, id_: str, label: str) -> None:
    """Call a conversation LABEL."""
    _arrange(call, id_, ConversationChanges(label=label), "Conversation {0.short_id} is called {0.label} now.")


@command("rate", "commonplace conversations rate 1 8", "commonplace conversations rate 1 2.5 --json")
@click.argument("id_", metavar="ID")
@click.argument("importance", metavar="0-10", type=float)
def rate(call: Call, id_: str, importance: float) -> None:
    """Say how important a conversation is. 10 pins it, less unpins it; 5 is what they begin with."""
    told = "{0.label} has importance {0.importance:g} and is {0.status} now."
    _arrange(call, id_, ConversationChanges(importance=importance), told)


@command("archive", "commonplace conversations archive 1", "commonplace conversations archive 1 2 --json")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def archive(call: Call, ids: Sequence[str]) -> None:
    """Put conversations aside: `prune` does not propose them again. Nothing is removed, and search still finds them."""
    _change_each(call, ids, "Archived", lambda memory, session: _set_status(memory, session, "archived"))


@command("unarchive", "commonplace conversations unarchive 1")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def unarchive(call: Call, ids: Sequence[str]) -> None:
    """Undo `archive`. One that is not archived stays what it is."""
    _change_each(
        call, ids, "Unarchived", lambda memory, session: conversations.unarchive_conversation(memory, session.uid)
    )


@command("pin", "commonplace conversations pin 1")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def pin(call: Call, ids: Sequence[str]) -> None:
    """Keep conversations for good: importance 10, and never proposed by `prune`."""
    _change_each(call, ids, "Pinned", lambda memory, session: _set_status(memory, session, "pinned"))


@command("unpin", "commonplace conversations unpin 1")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def unpin(call: Call, ids: Sequence[str]) -> None:
    """Undo `pin`, with the importance from before. One that is not pinned stays what it is."""
    _change_each(call, ids, "Unpinned", lambda memory, session: conversations.unpin_conversation(memory, session.uid))


@command("forget", "commonplace conversations forget 1", "commonplace conversations forget 1 --json")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def forget(call: Call, ids: Sequence[str]) -> None:
    """Take conversations and their messages out of every answer. All of them exist, or nothing happens."""
    done = _change_each(call, ids, "Forgot", lambda memory, session: conversations.forget_session(memory, session.uid))
    call.note(f"Undo: commonplace conversations restore {' '.join(session.short_id for session in done)}")


@command("restore", "commonplace conversations restore 1")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def restore(call: Call, ids: Sequence[str]) -> None:
    """Bring forgotten conversations back with the messages they had. All of them exist, or nothing happens."""
    _change_each(
        call,
        ids,
        "Restored",
        lambda memory, session: conversations.restore_session(memory, session.uid),
        forgotten=True,
    )


ORGANISE_COMMANDS = (move, rename, rate, archive, unarchive, pin, unpin, forget, restore)


def _arrange(call: Call, id_: str, wanted: ConversationChanges, told: str) -> None:
    with call.memory() as memory:
        session = update_conversation(memory, id_, wanted)
    if call.json:
        call.reply(conversation_record(session))
    else:
        call.say(told.format(session))


def _change_each(
    call: Call,
    ids: Sequence[str],
    done: str,
    change: Callable[[LocalMemory, Session], Session],
    *,
    forgotten: bool = False,
) -> list[Session]:
    """Change every conversation, once all of them are found."""
    with call.memory() as memory:
        found = {session.uid: session for session in (find_session(memory, id_, forgotten=forgotten) for id_ in ids)}
        sessions = [change(memory, session) for session in found.values()]
    if call.json:
        call.reply({"conversations": [conversation_record(session) for session in sessions]})
        return sessions
    for session in sessions:
        as_it_was = session.rev == found[session.uid].rev
        call.say(
            f"{'As it was:' if as_it_was else done} {session.short_id} {session.label} ({_describe_state(session)})"
        )
    return sessions


def _describe_state(session: Session) -> str:
    return "forgotten" if session.forgotten_ms is not None else f"{session.status}, importance {session.importance:g}"


def _set_status(memory: LocalMemory, session: Session, status: str) -> Session:
    return (
        session
        if session.status == status
        else update_conversation(memory, session.uid, ConversationChanges(status=status))
    )
