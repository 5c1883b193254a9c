"""The way from the front of a window to its server: lines in both directions, without waiting."""

from __future__ import annotations

import _socket
import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Lines between a window and the resident process that are not the protocol's: no JSON begins so.
PING, PONG, RECEIVED = b"\1ping\n", b"\1pong\n", b"\1received\n"
CHUNK = 1 << 16
# Bytes that a pipe which is ready takes without waiting.
PIPE_BYTES = 4096
# What Linux calls the size of a pipe, and how many bytes are in it.
_F_GETPIPE_SZ, _FIONREAD = 1032, 0x541B


class EditorOutput:
    """What the editor is told, written without waiting until it reads: meanwhile it may have more to ask."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.waiting = descriptor, bytearray()
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:
            # It is closed, which is noticed by writing.
            mode = 0
        self._is_pipe = sys.platform == "linux" and stat.S_ISFIFO(mode)
        self._socket = None
        if hasattr(_socket, "MSG_DONTWAIT") and stat.S_ISSOCK(mode):
            # Most editors connect us by a socket.
            self._socket = _socket.socket(fileno=os.dup(descriptor))

    def send(self, *, ready: bool) -> None:
        """Write what is taken without waiting; `ready` if the system said that something is."""
        if self._socket is None:
            room = len(self.waiting) if sys.platform == "win32" else self._room() or (PIPE_BYTES if ready else 0)
            if room:
                del self.waiting[: os.write(self.descriptor, self.waiting[:room])]
            return
        try:
            while self.waiting:
                del self.waiting[: self._socket.send(self.waiting[:CHUNK], _socket.MSG_DONTWAIT)]
        except BlockingIOError:
            return

    def _room(self) -> int:
        """What an empty pipe takes; 0 if something is in it, or the system does not tell."""
        if not self._is_pipe:
            return 0
        # Only POSIX has it.
        import fcntl

        unread = fcntl.ioctl(self.descriptor, _FIONREAD, bytes(4))
        return 0 if any(unread) else fcntl.fcntl(self.descriptor, _F_GETPIPE_SZ)


class Link:
    """A connection to a server. `confirms` tells whether the server says which lines it took."""

    def __init__(
        self,
        reads: int,
        writes: int,
        read: Callable[[int], bytes],
        write: Callable[[bytes], int],
        close_writing: Callable[[], object],
        close: Callable[[], object],
        *,
        confirms: bool,
    ) -> None:
        self.reads, self.writes, self.confirms = reads, writes, confirms
        self._read, self._write, self._close_writing, self._close = read, write, close_writing, close
        self._incoming, self.outgoing = bytearray(), bytearray()
        self.is_greeted, self.is_pinged, self.is_writing = not confirms, False, True
        self.heard = time.monotonic()

    @classmethod
    def over_socket(cls, connection: _socket.socket, first: bytes = b"", *, confirms: bool = True) -> Link:
        connection.setblocking(False)
        number = connection.fileno()
        link = cls(
            *(number, number, connection.recv, connection.send, lambda: connection.shutdown(1), connection.close),
            confirms=confirms,
        )
        link.outgoing += first
        link.send()
        return link

    @classmethod
    def over_pipes(cls, reads: int, writes: int) -> Link:
        os.set_blocking(writes, False)
        return cls(
            *(reads, writes, lambda size: os.read(reads, size), lambda data: os.write(writes, data)),
            *(lambda: os.close(writes), lambda: os.close(reads)),
            confirms=False,
        )

    def send(self) -> None:
        """Send as much as the other end takes now. That it is gone is noticed by reading."""
        try:
            while self.outgoing:
                del self.outgoing[: self._write(bytes(self.outgoing[:CHUNK]))]
        except BlockingIOError:
            return
        except OSError:
            self.outgoing.clear()

    def receive(self) -> list[bytes] | None:
        """The whole lines that came; None at the end."""
        try:
            chunk = self._read(CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not chunk:
            return None
        self.heard, self.is_pinged = time.monotonic(), False
        self._incoming += chunk
        if b"\n" not in chunk:
            return []
        *lines, rest = bytes(self._incoming).split(b"\n")
        self._incoming[:] = rest
        return [line + b"\n" for line in lines]

    def close_writing(self) -> None:
        """Say that nothing more comes."""
        if self.is_writing:
            self.is_writing = False
            try:
                self._close_writing()
            except OSError:
                return

    def close(self) -> None:
        self.close_writing()
        try:
            self._close()
        except OSError:
            return


def readable_stdin() -> int:
    """Standard input as something that can be waited for, on Windows, where only sockets can."""
    # Only Windows needs these.
    import socket
    from threading import Thread

    ours, theirs = socket.socketpair()

    def copy() -> None:
        while chunk := os.read(0, CHUNK):
            theirs.sendall(chunk)
        theirs.close()

    Thread(target=copy, daemon=True).start()
    return ours.detach()
