"""Named steps, each broken at a moment of the disk (crash_runner.py): a kill, a torn write, a power cut, a full disk.

Afterwards nothing acknowledged is lost and all is sound; done again, the step ends as if it had never been broken.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torture.checks import check_all
from torture.crash_runner import FULL, HOWS
from torture.ledger import Ledger
from torture.workspace import Workspace

_KILLED = (-9, 9)
PREPARED = "prepared"
# About as many as so many writes take.
MOST_MOMENTS, WRITES = 1200, 25

Prepare = Callable[[Workspace], object]
Settled = Callable[[Workspace], Sequence[str]]
"""What is wrong after the step was done to its end."""


def nothing(_arena: Workspace) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Step:
    """Something a user or a server does in one go. Words in braces are what `prepare` left in a file of that name."""

    command: tuple[str, ...]
    prepare: Prepare
    settled: Settled = nothing
    judged: Callable[[Workspace, str], None] = check_all
    # Of some steps the second time is refused: the first was done, though nobody was told.
    again: tuple[int, ...] = (0,)
    hows: Sequence[str] = field(default=HOWS)
    stdin: bytes = b""


def broken(step: Step) -> Callable[[Workspace], None]:
    """A scenario: the step, broken at some of its moments in some of the ways."""

    def play(workspace: Workspace) -> None:
        step.prepare(workspace)
        shutil.copytree(workspace.data, workspace.folder / PREPARED)
        known, moments = workspace.ledger.copy(), moments_of(workspace, step)
        for number in sorted(workspace.random.sample(range(1, len(moments) + 1), min(workspace.effort, len(moments)))):
            break_at(workspace, step, number, workspace.random.choice(step.hows), moments[number - 1], known)

    return play


def dying(workspace: Workspace) -> None:
    """One writer after the other dies at some moment, in some way, always on the same store."""
    for round_ in range(workspace.effort):
        how = workspace.random.choice(HOWS)
        crash_point = (
            "torture.crash_runner",
            str(workspace.random.randrange(1, MOST_MOMENTS)),
            how,
            str(_report(workspace)),
        )
        output = workspace.run(*crash_point, "torture.writers", "write", f"d{round_}", str(WRITES))
        _hear(workspace, output.stdout)
        if output.returncode in _KILLED:
            workspace.outcome.count("kills")
        elif how == FULL:
            workspace.outcome.count("full disks")
        check_all(workspace, f"{' '.join(crash_point[1:3])} in round {round_}")


def moments_of(workspace: Workspace, step: Step) -> list[str]:
    """What the step does to the disk if it is let alone, which it has to survive, too."""
    output = _crashed(workspace, step, 0, "kill")
    if output != 0:
        raise AssertionError(f"undisturbed, it ended with {output}")
    _settle(workspace, step, "undisturbed")
    return [str(one) for one in json.loads(_report(workspace).read_text(encoding="utf-8"))]


def break_at(workspace: Workspace, step: Step, number: int, how: str, what: str, known: Ledger) -> None:
    """Break it at one moment, look at what is there, and do it again."""
    shutil.rmtree(workspace.data)
    shutil.copytree(workspace.folder / PREPARED, workspace.data)
    workspace.turn_page(known.copy())
    when = f"{how} at moment {number} ({what})"
    code = _crashed(workspace, step, number, how)
    if how == FULL:
        workspace.outcome.count("full disks")
    elif code in _KILLED:
        workspace.outcome.count("kills")
    else:
        # Threads of its own made it pass by that moment.
        workspace.outcome.count("moments missed")
    step.judged(workspace, when)
    output = workspace.run(*_command(workspace, step), stdin=step.stdin)
    _hear(workspace, output.stdout)
    if output.returncode not in step.again:
        workspace.outcome.refused.append(
            f"{when}; again: {output.returncode} {output.stdout[-300:]!r} {output.stderr[-600:]!r}"
        )
    _settle(workspace, step, f"{when}, then done again")


def _settle(workspace: Workspace, step: Step, when: str) -> None:
    workspace.outcome.unsound += [f"{when}: {one}" for one in step.settled(workspace)]
    check_all(workspace, when)


def _crashed(workspace: Workspace, step: Step, number: int, how: str) -> int:
    crash_point = ("torture.crash_runner", str(number), how, str(_report(workspace)))
    output = workspace.run(*crash_point, *_command(workspace, step), stdin=step.stdin)
    _hear(workspace, output.stdout)
    if how == FULL and output.returncode == 1:
        workspace.outcome.refused.append(f"full at {number}: {output.stdout[-300:]!r} {output.stderr[-600:]!r}")
    return output.returncode


def _hear(workspace: Workspace, output: bytes) -> None:
    """What a scribe had said by then was acknowledged; of other steps nothing is."""
    for line in output.splitlines(keepends=True):
        if line.startswith((b'{"is"', b'{"may"')) and line.endswith(b"\n"):
            workspace.ledger.hear(line.decode())


def _report(workspace: Workspace) -> Path:
    return workspace.folder / "moments.json"


def _command(workspace: Workspace, step: Step) -> list[str]:
    return [
        (workspace.folder / part[1:-1]).read_text(encoding="utf-8") if part.startswith("{") else part
        for part in step.command
    ]
