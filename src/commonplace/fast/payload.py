"""What a host writes to standard input of a hook, read without waiting for long."""

from __future__ import annotations

import os
import sys
import time

# More of a payload is read and dropped: a host that cannot write may fail.
MAX_PAYLOAD_BYTES = 1 << 20
_CHUNK = 1 << 16
# Seconds without another byte after which the payload is checked for completeness.
_PAUSE = 0.02


class Payload:
    """A payload as far as it came: some hosts leave standard input open and write nothing.

    `content` is limited in length, `size` is the whole length, and `ended` is `whole`, `cut` at the limit, `stalled` in
    the middle, or `silent` if nothing came at all.
    """

    __slots__ = ("_all_bytes_seconds", "_deadline", "content", "ended", "size")

    def __init__(self, first_byte_seconds: float, all_bytes_seconds: float) -> None:
        self.content, self.size, self.ended = b"", 0, "whole"
        self._all_bytes_seconds = all_bytes_seconds
        self._deadline = time.monotonic() + first_byte_seconds

    def read(self, descriptor: int = 0) -> Payload:
        """Read up to the end or a deadline. A terminal is not read."""
        try:
            if not os.isatty(descriptor):
                _read(self, descriptor) if sys.platform != "win32" else _read_in_thread(self, descriptor)
        except OSError:
            # It was closed before this process started.
            return self
        return self

    def read_on(self, descriptor: int, seconds: float) -> None:
        """Read the rest of what was not complete in time."""
        self.ended = "whole"
        self._all_bytes_seconds = seconds
        self._deadline = time.monotonic() + seconds
        self.read(descriptor)
        if not self.size:
            self.ended = "silent"

    def add(self, chunk: bytes) -> None:
        if not self.size:
            self._deadline = time.monotonic() + self._all_bytes_seconds
        self.size += len(chunk)
        self.content += chunk[: MAX_PAYLOAD_BYTES - len(self.content)]
        if self.size > len(self.content):
            self.ended = "cut"

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    @property
    def is_complete(self) -> bool:
        """Whether it is a whole JSON object: some hosts leave their end open after it."""
        if self.size > len(self.content) or not self.content.rstrip().endswith(b"}"):
            return False
        # Only for a host that pauses before it closes its end.
        from commonplace.fast.json_text import parse_json

        try:
            parse_json(self.content.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return False
        return True

    @property
    def came_in_time(self) -> bool:
        return self.ended not in ("silent", "stalled")

    def stall(self) -> None:
        if self.ended == "whole":
            self.ended = "stalled" if self.size else "silent"


def _read(payload: Payload, descriptor: int) -> None:
    # Windows reads in another way.
    from select import select

    while select([descriptor], [], [], payload.seconds_left)[0]:
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            return
        payload.add(chunk)
        if not select([descriptor], [], [], _PAUSE)[0] and payload.is_complete:
            return
    payload.stall()


def _read_in_thread(payload: Payload, descriptor: int) -> None:
    """Windows cannot wait for a pipe: a thread reads, and is abandoned at the deadline."""
    # Nothing but Windows needs these.
    from queue import Empty, SimpleQueue
    from threading import Thread

    chunks: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        chunk = b"?"
        while chunk:
            try:
                chunk = os.read(descriptor, _CHUNK)
            except OSError:
                chunk = b""
            chunks.put(chunk)

    Thread(target=read, daemon=True).start()
    pause = payload.seconds_left
    while payload.seconds_left:
        try:
            chunk = chunks.get(timeout=pause)
        except Empty:
            if payload.is_complete:
                return
            pause = payload.seconds_left
            continue
        if not chunk:
            return
        payload.add(chunk)
        pause = _PAUSE
    payload.stall()
