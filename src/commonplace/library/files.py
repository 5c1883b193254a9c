"""Files that a user asks for: complete or not there at all, and readable by their owner only."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from commonplace.errors import CommonplaceError, Conflict

OVERWRITE = "Choose another name, or give overwrite=True."


@contextlib.contextmanager
def written_file(path: Path, *, overwrite: bool = False, hint: str = OVERWRITE) -> Iterator[IO[bytes]]:
    """Write to a temporary file next to `path` and rename it at the end; a failure leaves nothing behind."""
    _refuse_existing(path, overwrite, hint)
    partial = path.with_name(f".{os.getpid()}-{path.name.encode()[:80].decode('utf-8', 'ignore')}.part")
    try:
        descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _refuse_existing(path, overwrite, hint)
        partial.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommonplaceError(f"{path} could not be written: {reason}.", "Solve that, then try again.") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _refuse_existing(path: Path, overwrite: bool, hint: str) -> None:
    if path.exists() and not overwrite:
        raise Conflict(f"{path} exists.", hint)
