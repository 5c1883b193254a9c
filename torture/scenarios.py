"""Every scenario: its name, what it says, how it is played, and how much of it is usual."""

from __future__ import annotations

from torture import bit_flips, database_faults, disk_and_clock, file_swaps, hostile_callers, many_processes
from torture.crash_step_table import STEPS
from torture.crash_steps import broken, dying
from torture.workspace import Scenario

SCENARIOS: dict[str, Scenario] = {
    one.name: one
    for one in (
        Scenario("killed", "eight processes use every interface and are killed at random", many_processes.killed, 3),
        Scenario("at-once", "1,000 processes start at once on a missing file", many_processes.at_once, 1, True),
        Scenario("twenty", "20 processes use one file; none is refused", many_processes.twenty, 20),
        Scenario(
            "resident", "the process that six editors share is killed again and again", many_processes.resident, 6
        ),
        Scenario("editors", "10 editors use one store", many_processes.editors, 20),
        Scenario("dying", "writers die during a disk operation, again and again on one store", dying, 20),
        *(
            Scenario(name, f"{says}, interrupted at a disk operation and run again", broken(step), 4)
            for name, (says, step) in STEPS.items()
        ),
        Scenario("full", "the disk is full, then has room again", disk_and_clock.full, 3),
        Scenario("read-only", "the disk is read-only, then writable again", disk_and_clock.read_only, 3),
        Scenario("quota", "several processes fill a space to its limit", disk_and_clock.quota, 12),
        Scenario("clock", "the clock jumps years ahead and back", disk_and_clock.wrong_clock, 60),
        Scenario(
            "bit-flips",
            "one bit of the file is flipped; every row SQLite can still read must survive",
            bit_flips.bit_flips,
            25,
        ),
        Scenario("newer", "a newer version migrates the file while an older one has it open", disk_and_clock.newer, 3),
        Scenario(
            "swapped",
            "the database file is replaced, removed, moved or overwritten while others write",
            file_swaps.swapped,
            2,
            True,
        ),
        Scenario(
            "postgres",
            "the database server or its writers are killed, or the network is cut",
            database_faults.database,
            2,
        ),
        Scenario(
            "hostile",
            "slow uploads, silent connections, wrong keys and bombs, while others work",
            hostile_callers.hostile,
            1,
        ),
        Scenario(
            "forked", "a process with an open store forks while its threads write", many_processes.forked, 2, True
        ),
    )
}
