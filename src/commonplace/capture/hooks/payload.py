"""What a host says on standard input, read without ever waiting for long: some leave it open and say nothing."""

from __future__ import annotations

import os
import sys
import time

# What is kept of a payload; the rest is read and dropped, since a host that cannot write may fail.
MOST_BYTES = 1 << 20
# Seconds for the first byte, and from then on for all of it.
FIRST, ALL = 2.0, 3.0
# A host that may leave it open, and one that told the prompt in the environment already.
FIRST_IF_SILENT, FIRST_IF_TOLD = 0.5, 0.05
_PIECE = 1 << 16
# Seconds without another word after which it is looked at whether that was all.
_PAUSE = 0.02


class Payload:
    """The bytes that were kept, how many there were, and how it ended.

    `whole`, `cut` at the limit, `stalled` in the middle, or `silent`: left open, with nothing said.
    """

    __slots__ = ("_deadline", "ended", "kept", "size")

    def __init__(self, patience: float = FIRST) -> None:
        self.kept, self.size, self.ended = b"", 0, "whole"
        self._deadline = time.monotonic() + patience

    def read(self, descriptor: int = 0) -> Payload:
        """Everything up to the end, or up to a deadline. A terminal says nothing."""
        try:
            if not os.isatty(descriptor):
                _read(self, descriptor) if sys.platform != "win32" else _read_in_thread(self, descriptor)
        except OSError:
            # It was closed before we were started.
            return self
        return self

    def take(self, piece: bytes) -> None:
        if not self.size:
            self._deadline = time.monotonic() + ALL
        self.size += len(piece)
        self.kept += piece[: MOST_BYTES - len(self.kept)]
        if self.size > len(self.kept):
            self.ended = "cut"

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    @property
    def is_complete(self) -> bool:
        """Whether everything was said that an event has: some hosts leave their end open after it."""
        if self.size > len(self.kept) or not self.kept.rstrip().endswith(b"}"):
            return False
        from json import loads

        try:
            loads(self.kept)
        except (ValueError, RecursionError):
            return False
        return True

    def stall(self) -> None:
        if self.ended == "whole":
            self.ended = "stalled" if self.size else "silent"


def _read(payload: Payload, descriptor: int) -> None:
    from select import select

    while select([descriptor], [], [], payload.seconds_left)[0]:
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return
        payload.take(piece)
        if not select([descriptor], [], [], _PAUSE)[0] and payload.is_complete:
            return
    payload.stall()


def _read_in_thread(payload: Payload, descriptor: int) -> None:
    """Windows cannot wait for a pipe: a thread reads, and is left behind when its time is over."""
    from queue import Empty, SimpleQueue
    from threading import Thread

    pieces: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        piece = b"?"
        while piece:
            try:
                piece = os.read(descriptor, _PIECE)
            except OSError:
                piece = b""
            pieces.put(piece)

    Thread(target=read, daemon=True).start()
    pause = payload.seconds_left
    while payload.seconds_left:
        try:
            piece = pieces.get(timeout=pause)
        except Empty:
            if payload.is_complete:
                return
            pause = payload.seconds_left
            continue
        if not piece:
            return
        payload.take(piece)
        pause = _PAUSE
    payload.stall()
