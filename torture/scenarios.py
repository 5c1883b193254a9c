"""Every scenario: its name, what it says, how it is played, and how much of it is usual."""

from __future__ import annotations

from torture import bit_flips, database_faults, disk_and_clock, file_swaps, hostile_callers, many_processes
from torture.crash_step_table import STEPS
from torture.crash_steps import broken, dying
from torture.workspace import Scenario

SCENARIOS: dict[str, Scenario] = {
    one.name: one
    for one in (
        Scenario(
            "killed", "writers and readers at every door, killed with -9 at random moments", many_processes.killed, 3
        ),
        Scenario("at-once", "1,000 processes start at once on a missing file", many_processes.at_once, 1, True),
        Scenario(
            "twenty", "20 processes on one file for so many seconds; nobody is refused", many_processes.twenty, 20
        ),
        Scenario(
            "resident", "the process that six editors share is killed with -9 so many times", many_processes.resident, 6
        ),
        Scenario("editors", "10 editors on one store for so many seconds", many_processes.editors, 20),
        Scenario("dying", "writers die at moments of the disk, again and again on one store", dying, 20),
        *(
            Scenario(name, f"{says}, broken at moments of the disk", broken(step), 4)
            for name, (says, step) in STEPS.items()
        ),
        Scenario("full", "the disk of the store is full, and then has room again", disk_and_clock.full, 3),
        Scenario("read-only", "the folder cannot be written, and then can", disk_and_clock.read_only, 3),
        Scenario("quota", "several processes fill a space that may hold so many items", disk_and_clock.quota, 12),
        Scenario("clock", "the clock jumps years ahead and back", disk_and_clock.wrong_clock, 60),
        Scenario("bit-flips", "one bit of the file is flipped; check, repair, compare", bit_flips.bit_flips, 25),
        Scenario("newer", "a newer version has migrated the file", disk_and_clock.newer, 3),
        Scenario(
            "swapped",
            "the files are renamed over, removed, moved, overwritten under everybody",
            file_swaps.swapped,
            2,
            True,
        ),
        Scenario(
            "postgres", "PostgreSQL is killed, its connections end, the network is cut", database_faults.database, 2
        ),
        Scenario("hostile", "hostile callers at a server, while others read and write", hostile_callers.hostile, 1),
        Scenario(
            "forked", "a process with an open store forks while its threads write", many_processes.forked, 2, True
        ),
    )
}
