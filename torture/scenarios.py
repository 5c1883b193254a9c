"""Every scenario: its name, what it says, how it is played, and how much of it is usual."""

from __future__ import annotations

from torture import bit_flips, crowds, hostile_callers, places, servers, swaps
from torture.arena import Scenario
from torture.named_steps import STEPS
from torture.steps import broken, dying

SCENARIOS: dict[str, Scenario] = {
    one.name: one
    for one in (
        Scenario("killed", "writers and readers at every door, killed with -9 at random moments", crowds.killed, 3),
        Scenario("at-once", "1,000 processes start at once on a missing file", crowds.at_once, 1, True),
        Scenario("twenty", "20 processes on one file for so many seconds; nobody is refused", crowds.twenty, 20),
        Scenario("editors", "10 editors on one store for so many seconds", crowds.editors, 20),
        Scenario("dying", "writers die at moments of the disk, again and again on one store", dying, 20),
        *(
            Scenario(name, f"{says}, broken at moments of the disk", broken(step), 4)
            for name, (says, step) in STEPS.items()
        ),
        Scenario("full", "the disk of the store is full, and then has room again", places.full, 3),
        Scenario("read-only", "the folder cannot be written, and then can", places.read_only, 3),
        Scenario("quota", "several processes fill a space that may hold so many items", places.quota, 12),
        Scenario("clock", "the clock jumps years ahead and back", places.wrong_clock, 60),
        Scenario("bit-flips", "one bit of the file is flipped; check, repair, compare", bit_flips.bit_flips, 25),
        Scenario("newer", "a newer version has migrated the file", places.newer, 3),
        Scenario(
            "swapped", "the files are renamed over, removed, moved, overwritten under everybody", swaps.swapped, 2, True
        ),
        Scenario("postgres", "PostgreSQL is killed, its connections end, the network is cut", servers.database, 2),
        Scenario("hostile", "hostile callers at a server, while others read and write", hostile_callers.hostile, 1),
        Scenario("forked", "a process with an open store forks while its threads write", crowds.forked, 2, True),
    )
}
