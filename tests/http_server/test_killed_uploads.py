"""What is uploaded lies in the data folder only, and is removed even if the server is killed meanwhile."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.mcp.conftest import Served
from tests.polling import until

SAID = b"a sentence that nobody else may read"
Serve = Callable[..., Served]


@contextlib.contextmanager
def uploading(server: Served, media: str) -> Iterator[None]:
    """An import that is never finished."""
    address = urlsplit(server.url)
    body = b'[{"title": "' + SAID * 3000
    if media.startswith("multipart"):
        part = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.json"\r\n\r\n'
        body = part + b"[]" + b" " * 2_000_000 + SAID * 3000
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=60) as connection:
        head = f"POST /api/v1/import HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {server.key}\r\n"
        connection.sendall(f"{head}Content-Type: {media}\r\nContent-Length: 9000000\r\n\r\n".encode() + body)
        yield


def holding(folder: Path) -> list[Path]:
    """Files in a folder that hold what is uploaded."""
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and SAID in path.read_bytes():
                found.append(path)
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="nobody is killed like this there")
@pytest.mark.parametrize("media", ["application/json", "multipart/form-data; boundary=x"])
def test_a_killed_server_leaves_no_upload_behind(serve: Serve, tmp_path: Path, media: str) -> None:
    system = tmp_path / "system"
    system.mkdir()
    first, second = Served(tmp_path, "--port", "0", TMPDIR=str(system)), None
    data = first.folder / "data"
    with uploading(first, media):
        if media == "application/json":
            until(lambda: holding(data / "temporary"))
            (stored,) = holding(data)
            assert oct(stored.stat().st_mode & 0o777) == "0o600"
            assert oct((data / "temporary").stat().st_mode & 0o777) == "0o700"
            # Another server that starts leaves what a living one holds alone.
            second = serve()
            assert stored.exists()
        assert first.process.poll() is None
        first.end(signal.SIGKILL)
    third = serve()
    assert holding(tmp_path) == []
    for server in filter(None, (second, third)):
        server.end()
    assert not (data / "temporary").exists()
