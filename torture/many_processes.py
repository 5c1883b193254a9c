"""Crowds on one file: killed at random, starting all at once, staying for a while; and a store that is forked."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence

from commonplace.resident_client.list_and_stop import resident_processes, stop_residents
from torture.checks import check_all, check_finally, check_memory
from torture.clients import AddCommands, Client, EditorClient, HttpClient, ReaderClient, WriterClient
from torture.ledger import Ledger
from torture.workspace import TIMEOUT, Workspace

# Who is killed in a round: the doors in about the proportions in which they are used.
VICTIMS: Sequence[type[Client]] = (
    WriterClient,
    WriterClient,
    EditorClient,
    EditorClient,
    AddCommands,
    AddCommands,
    HttpClient,
    ReaderClient,
)
TWENTY: Sequence[type[Client]] = (
    *[EditorClient] * 6,
    *[WriterClient] * 6,
    *[AddCommands] * 4,
    *[HttpClient] * 2,
    *[ReaderClient] * 2,
)
MANY = 1_000
# Editors that share a resident process.
SHARING = 6


def killed(workspace: Workspace) -> None:
    """Each of them dies after some answers or while it starts, whatever the others do; then all is looked up.

    Somebody who never dies reads along all the time, and has to have seen everything.
    """
    with workspace.memory() as watching:
        for round_ in range(workspace.effort):
            victims = [kind(workspace, f"{kind.__name__.lower()}{round_}n{n}") for n, kind in enumerate(VICTIMS)]
            ends = [
                threading.Thread(
                    target=victim.dies_after,
                    # Some do not live to say anything.
                    args=(
                        workspace.random.choice((0, 1, 2, 5, 12)),
                        workspace.random.random() * workspace.random.random(),
                    ),
                )
                for victim in victims
            ]
            for end in ends:
                end.start()
            for end in ends:
                end.join(TIMEOUT)
            check_memory(workspace, watching, f"round {round_}, by somebody who watched")
        check_all(workspace, "by somebody who came later")
    check_finally(workspace)


def at_once(workspace: Workspace) -> None:
    """A thousand processes open a store that is not there yet, and write, all at the same moment; again and again."""
    for _ in range(workspace.effort):
        output = workspace.run("torture.writers", "crowd", str(MANY))
        lines = output.stdout.decode().splitlines()
        if output.returncode or len(lines) != MANY + 1:
            workspace.outcome.refused.append(f"{len(lines)} of {MANY} answered: {output.stderr!r}")
        for line in lines:
            text = workspace.ledger.hear(line)
            if "refused" in text:
                workspace.outcome.refused.append(text["refused"])
        workspace.outcome.count("starts", MANY)
        check_all(workspace, f"after {MANY} starts")
        workspace.turn_page(Ledger())
        workspace.data.rename(workspace.folder / f"data-{workspace.outcome.done['starts']}")


def staying(workspace: Workspace, kinds: Sequence[type[Client]]) -> None:
    """They all work at once for a while, and end as they should. Nobody is refused anything."""
    clients = [kind(workspace, f"{kind.__name__.lower()}n{n}") for n, kind in enumerate(kinds)]
    for client in clients:
        client.wait_for(1)
    threading.Event().wait(workspace.effort)
    for client in clients:
        client.stop()
    for client in clients:
        client.ended()
        if not client.answers:
            workspace.outcome.refused.append(f"{client.name} was never answered")
    workspace.outcome.count("processes", len(clients))
    check_finally(workspace)


def twenty(workspace: Workspace) -> None:
    staying(workspace, TWENTY)


def editors(workspace: Workspace) -> None:
    staying(workspace, [EditorClient] * 10)


def resident(workspace: Workspace) -> None:
    """Editors share a resident process, which is killed with -9 again and again; all of them go on."""
    workspace.more["resident"] = "on"
    data = str(workspace.data)
    try:
        editors = [EditorClient(workspace, f"editor{n}") for n in range(SHARING)]
        for _ in range(workspace.effort):
            for editor in editors:
                editor.wait_for(editor.answers + workspace.random.choice((1, 2, 5)))
            threading.Event().wait(workspace.random.random() * workspace.random.random())
            for process in resident_processes(data):
                os.kill(process["pid"], signal.SIGKILL)
                workspace.outcome.count("kills")
        for editor in editors:
            editor.wait_for(editor.answers + 1)
            editor.stop()
        for editor in editors:
            editor.ended()
        check_all(workspace, "after the resident process was killed")
    finally:
        stop_residents(data)
    check_finally(workspace)


def forked(workspace: Workspace) -> None:
    """A process with an open store forks while its threads write; parent and children go on."""
    began = time.monotonic()
    for round_ in range(workspace.effort):
        output = workspace.run("torture.forking", f"r{round_}")
        for line in output.stdout.decode().splitlines():
            workspace.ledger.hear(line)
        if output.returncode:
            workspace.outcome.refused.append(output.stderr.decode()[-400:])
        workspace.outcome.count("forks", 5)
        check_all(workspace, f"round {round_} after {time.monotonic() - began:.0f} s")
    check_finally(workspace)
