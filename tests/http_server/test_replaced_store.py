"""A running server whose database file is replaced or removed: it says so, loses nothing, and goes on by itself."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import httpx2
import pytest
from tests.http_server.conftest import memory_of
from tests.mcp.conftest import Served, environment
from tests.polling import until

from commonplace.model import Scope

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")

Serve = Callable[..., Served]


class Door:
    """Requests to a server."""

    def __init__(self, server: Served) -> None:
        self.client = httpx2.Client(base_url=server.url, headers=server.headers, timeout=60)

    def add(self, text: str) -> httpx2.Response:
        return self.client.post("/api/v1/items", json={"content": text})

    def bodies(self) -> set[str]:
        return {item["content"] for item in self.client.get("/api/v1/items?limit=100").json()["items"]}

    def ready(self) -> tuple[int, str]:
        answer = self.client.get("/ready")
        return answer.status_code, answer.json().get("error", {}).get("code", "")


@pytest.fixture
def server(serve: Serve) -> Served:
    return serve()


@pytest.fixture
def door(server: Served) -> Iterator[Door]:
    made = Door(server)
    assert made.add("kept before").status_code == 201
    yield made
    made.client.close()


@pytest.fixture
def database(server: Served) -> Path:
    return server.folder / "data" / "commonplace.db"


def copied(server: Served, database: Path) -> Path:
    """A copy of the store as it is, made while the server runs."""
    copy = server.folder / "copy.db"
    memory = memory_of(server)
    memory.maintenance.backup(copy)
    memory.close()
    assert database.exists()
    return copy


def test_writes_after_a_rename_are_in_the_new_file(door: Door, server: Served, database: Path) -> None:
    copied(server, database).replace(database)
    texts = {f"written after the swap, number {number}" for number in range(20)}
    assert {door.add(text).status_code for text in texts} == {201}
    assert door.ready() == (200, "")
    server.end()
    memory = memory_of(server)
    assert {item.body for item in memory.store.newest(Scope(), 100)} == {"kept before", *texts}
    memory.close()


def test_a_removed_store_is_told_and_the_server_goes_on_when_it_is_back(
    door: Door, server: Served, database: Path
) -> None:
    for file in database.parent.glob("commonplace.db*"):
        file.unlink()
    refused = door.add("nowhere to go")
    assert refused.status_code == 503
    reply = refused.json()["error"]
    assert reply["code"] == "DB_MISSING" and "backup" in reply["details"]
    assert door.ready() == (503, "DB_MISSING")
    assert door.client.get("/api/v1/items").status_code == 503
    assert not database.exists()
    (stored,) = (database.parent / "backups").glob("*-replaced-*.db")
    stored.rename(database)
    assert door.ready() == (200, "")
    assert door.add("written again").status_code == 201
    assert door.bodies() == {"kept before", "written again"}


def bodies_without_log(database: Path) -> list[str]:
    """What is in the database itself, in a copy that has no log."""
    bare = database.parent.parent / "bare.db"
    shutil.copyfile(database, bare)
    try:
        with contextlib.closing(apsw.Connection(str(bare), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            return [str(body) for (body,) in connection.execute("SELECT body FROM items")]
    except apsw.Error:
        # It was being written.
        return []


def test_an_idle_server_folds_a_removed_log_in_by_itself(door: Door, server: Served, database: Path) -> None:
    for end in ("-wal", "-shm"):
        database.with_name(f"commonplace.db{end}").unlink()
    until(lambda: bodies_without_log(database) == ["kept before"])
    assert door.add("written after").status_code == 201


def test_a_file_overwritten_with_nonsense_is_told_until_a_sound_one_is_there(serve: Serve) -> None:
    first = serve()
    writing = Door(first)
    assert writing.add("kept before").status_code == 201
    writing.client.close()
    # When it ends, all that is in the log is folded into the database.
    first.end()
    server = serve()
    door, database = Door(server), server.folder / "data" / "commonplace.db"
    copy = copied(server, database)
    database.write_bytes(b"nonsense" * 4096)
    assert door.add("nowhere to go").status_code == 503
    assert door.ready() == (503, "DB_REPLACED")
    copy.replace(database)
    assert door.ready() == (200, "")
    assert door.add("written again").status_code == 201
    assert door.bodies() == {"kept before", "written again"}
    door.client.close()


def test_a_backup_can_be_restored_while_a_server_waits_for_its_store(
    door: Door, server: Served, database: Path
) -> None:
    copy = copied(server, database)
    for file in database.parent.glob("commonplace.db*"):
        file.unlink()
    assert door.ready() == (503, "DB_MISSING")
    restore = [sys.executable, "-m", "commonplace", "backups", "restore", str(copy)]
    done = subprocess.run(restore, env=environment(server.folder), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert door.ready() == (200, "")
    assert door.add("written after").status_code == 201
    assert door.bodies() == {"kept before", "written after"}
