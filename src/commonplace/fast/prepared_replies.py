"""Replies that depend on nothing but the version, the profile and the window's project, kept so that they come at once.

A file holds the replies of one profile in one version of the protocol: a line `METHOD<tab>RESULT` for each. The answer
to the handshake names the project of the window: a file for each folder that windows were opened in has a line
`VERSION<tab>RESULT` for each version. The resident process writes them; the front of a window reads them while that
process starts.
"""

from __future__ import annotations

import os
from zlib import crc32

from commonplace.fast.find_or_start import identity, is_private, resident_file, resident_folder
from commonplace.fast.json_text import write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

ENDING, WINDOW_ENDING = ".replies", ".handshakes"
HANDSHAKE, DISCOVER = "initialize", "server/discover"
# The first line of a window's file: of which window it is.
_WINDOW = b"window"
# What a request of the newest protocol says of itself, and what it may say besides.
_VERSION = "io.modelcontextprotocol/protocolVersion"
_HARMLESS = (
    *(_VERSION, "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"),
    "progressToken",
)


def prepared_file(data: str, profile: str, version: str) -> str:
    return resident_file(data, f"{profile}.{version}{ENDING}")


def window_name(cwd: str, env: Mapping[str, str]) -> str:
    """What decides about the project of a window, on one line."""
    return write_json([cwd, env.get("COMMONPLACE_PROJECT", "")])


def window_file(data: str, profile: str, window: str) -> str:
    return resident_file(data, f"{profile}.{crc32(window.encode()):08x}{WINDOW_ENDING}")


class PreparedReplies:
    """The replies for one window. Its handshake decides which version of the protocol it speaks."""

    def __init__(self, data: str, profile: str, window: str = "") -> None:
        self._data, self._profile, self._window = data, profile, window
        self._version = ""
        self._handshakes: dict[bytes, bytes] | None = None
        self._results: dict[str, dict[bytes, bytes]] = {}

    def result(self, message: dict[str, Any]) -> bytes | None:
        """The result for a request, as JSON; None if it has to be asked for."""
        method, params = message.get("method"), message.get("params")
        params = {} if params is None else params
        if not isinstance(method, str) or not isinstance(params, dict):
            return None
        if method == HANDSHAKE:
            version = params.get("protocolVersion")
            self._version = version if isinstance(version, str) else ""
            return self._look_up(self._version, method)
        meta = params.get("_meta", {})
        if set(params) - {"_meta"} or not isinstance(meta, dict) or any(name not in _HARMLESS for name in meta):
            return None
        version = meta.get(_VERSION, self._version)
        return self._look_up(version if isinstance(version, str) else "", method)

    def _look_up(self, version: str, method: str) -> bytes | None:
        # It becomes part of a path.
        if not version or not version.replace("-", "").isalnum():
            return None
        if version not in self._results:
            self._results[version] = self._read(prepared_file(self._data, self._profile, version))
        result = self._results[version].get(method.encode())
        if method in (HANDSHAKE, DISCOVER) and result is not None:
            return self._of_this_window().get(version.encode(), result)
        return result

    def _of_this_window(self) -> dict[bytes, bytes]:
        """The answers to handshakes by their versions, if there was a window in this folder before."""
        if self._handshakes is None:
            found = self._read(window_file(self._data, self._profile, self._window))
            self._handshakes = found if found.get(_WINDOW) == self._window.encode() else {}
        return self._handshakes

    def _read(self, path: str) -> dict[bytes, bytes]:
        if not is_private(resident_folder(self._data)):
            return {}
        try:
            with open(path, "rb") as file:
                lines = [line.partition(b"\t") for line in file.read().split(b"\n")]
        except OSError:
            return {}
        # The last line is whole only if the file is.
        return {name: result for name, tab, result in lines if tab} if lines[-1] == (b"", b"", b"") else {}


def write_replies(data: str, profile: str, replies: Mapping[str, Sequence[tuple[str, bytes]]]) -> None:
    """Write the files of a profile, and remove those that other versions of the program wrote."""
    folder = resident_folder(data)
    for name in os.listdir(folder):
        if name.endswith((ENDING, WINDOW_ENDING)) and not name.startswith(f"{identity()}."):
            os.unlink(os.path.join(folder, name))
    for version, results in replies.items():
        _write(prepared_file(data, profile, version), [(method.encode(), result) for method, result in results])


def write_handshakes(data: str, profile: str, window: str, replies: Mapping[str, Sequence[tuple[str, bytes]]]) -> None:
    """Write what a window like this one is told first, by the version of the protocol."""
    handshakes = [
        (version.encode(), result)
        for version, results in replies.items()
        for method, result in results
        if method in (HANDSHAKE, DISCOVER)
    ]
    _write(window_file(data, profile, window), [(_WINDOW, window.encode()), *handshakes])


def _write(path: str, lines: Sequence[tuple[bytes, bytes]]) -> None:
    partial = f"{path}.{os.getpid()}"
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(b"".join(b"%s\t%s\n" % line for line in lines))
    os.replace(partial, path)
