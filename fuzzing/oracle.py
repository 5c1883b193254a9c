"""Whether an input does harm: to be asked of every input, whoever made it."""

from __future__ import annotations

import tracemalloc

from commonplace.errors import CommonplaceError
from fuzzing.limits import counted, watched
from fuzzing.target import Broken, Target

# What is loaded and cached once, and what each byte of an input may take beside it.
MOST_MEMORY, MEMORY_PER_BYTE = 64 << 20, 4_096


def hold(target: Target, data: bytes) -> None:
    """Let a target take an input. Errors of our tree are an answer, except for the one that stands for a fault."""
    with watched():
        try:
            target.take(data)
        except CommonplaceError as error:
            if type(error) is CommonplaceError:
                raise


def hold_counted(target: Target, data: bytes) -> None:
    """The same within a number of steps."""
    with counted(target.calls + target.calls_per_byte * len(data)):
        hold(target, data)


def hold_in_memory(target: Target, data: bytes) -> None:
    """The same within so much memory."""
    tracemalloc.start()
    try:
        hold(target, data)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    most = MOST_MEMORY + MEMORY_PER_BYTE * len(data)
    if peak > most:
        raise Broken(f"{peak:,} bytes of memory, more than {most:,}")
