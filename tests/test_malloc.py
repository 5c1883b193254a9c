"""Large blocks are given back to the system when they are freed, and garbage is looked for seldom."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# By itself the C library keeps blocks of 2 MB once one of 4 MB was freed.
MAPPED = """
import ctypes
from commonplace.malloc import trim
if {given_back}:
    trim()
class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]
c = ctypes.CDLL(None)
c.mallinfo2.restype, c.malloc.restype = Info, ctypes.c_void_p
c.free.argtypes = [ctypes.c_void_p]
c.free(c.malloc(4 << 20))
before = c.mallinfo2().hblks
c.malloc(2 << 20)
print(c.mallinfo2().hblks - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only this C library has to be told")
@pytest.mark.parametrize("given_back", [True, False])
def test_a_large_block_is_one_of_the_system(given_back: bool) -> None:
    script = MAPPED.format(given_back=given_back)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert int(run.stdout) == int(given_back)


SELDOM = """
import gc
from commonplace.malloc import MADE_BEFORE_COLLECTION, collect_seldom
collect_seldom()
print(gc.get_freeze_count() > 0, gc.get_threshold()[0] == MADE_BEFORE_COLLECTION, gc.isenabled())
"""


def test_what_is_there_at_the_start_is_never_looked_at_again() -> None:
    run = subprocess.run([sys.executable, "-c", SELDOM], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.split() == ["True"] * 3
