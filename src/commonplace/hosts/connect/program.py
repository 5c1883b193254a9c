"""The command that editors are to start: its absolute path, since they often know no PATH."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from commonplace.hosts.connect.editor import NAME


def our_program() -> tuple[str, ...]:
    """The command that was called, else the one beside the interpreter, else on the PATH, else the module."""
    called = Path(sys.argv[0])
    if called.stem == NAME and called.is_file():
        return (str(called.absolute()),)
    beside = Path(sys.executable).parent / (f"{NAME}.exe" if sys.platform == "win32" else NAME)
    if beside.is_file():
        return (str(beside),)
    known = shutil.which(NAME)
    return (str(Path(known).absolute()),) if known else (sys.executable, "-m", NAME)
