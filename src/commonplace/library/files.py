"""Files that a program asks for: written beside their place and put there when they are complete."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from commonplace.errors import Conflict, InvalidInput


@contextlib.contextmanager
def written_file(path: Path, *, overwrite: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to, readable by its owner only. What goes wrong leaves nothing behind."""
    if path.exists() and not overwrite:
        raise Conflict(f"{path} exists.", "Choose another name, or give overwrite=True.")
    partial = path.with_name(f".{os.getpid()}-{path.name}.part")
    try:
        with os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from error
    finally:
        partial.unlink(missing_ok=True)
