"""Replies that depend on nothing but the version and the profile, kept in files, so that a window has them at once.

A file holds the replies of one profile in one version of the protocol: a line `METHOD<tab>RESULT` for each. The
resident process writes them; the front of a window reads them while that process starts.
"""

from __future__ import annotations

import os

from commonplace.resident_client.find_or_start import identity, is_private, resident_file, resident_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

ENDING = ".replies"
HANDSHAKE = "initialize"
# What a request of the newest protocol says of itself, and what it may say besides.
_VERSION = "io.modelcontextprotocol/protocolVersion"
_HARMLESS = (
    *(_VERSION, "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"),
    "progressToken",
)


def prepared_file(data: str, profile: str, version: str) -> str:
    return resident_file(data, f"{profile}.{version}{ENDING}")


class PreparedReplies:
    """The replies for one window. Its handshake decides which version of the protocol it speaks."""

    def __init__(self, data: str, profile: str) -> None:
        self._data, self._profile = data, profile
        self._version = ""
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
            self._results[version] = self._read(version)
        return self._results[version].get(method.encode())

    def _read(self, version: str) -> dict[bytes, bytes]:
        if not is_private(resident_folder(self._data)):
            return {}
        try:
            with open(prepared_file(self._data, self._profile, version), "rb") as file:
                lines = [line.partition(b"\t") for line in file.read().split(b"\n")]
        except OSError:
            return {}
        # The last line is whole only if the file is.
        return {method: result for method, tab, result in lines if tab} if lines[-1] == (b"", b"", b"") else {}


def write_replies(data: str, profile: str, replies: Mapping[str, Sequence[tuple[str, bytes]]]) -> None:
    """Write the files of a profile, and remove those that other versions of the program wrote."""
    folder = resident_folder(data)
    for name in os.listdir(folder):
        if name.endswith(ENDING) and not name.startswith(f"{identity()}."):
            os.unlink(os.path.join(folder, name))
    for version, results in replies.items():
        path = prepared_file(data, profile, version)
        partial = f"{path}.{os.getpid()}"
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(b"".join(b"%s\t%s\n" % (method.encode(), result) for method, result in results))
        os.replace(partial, path)
