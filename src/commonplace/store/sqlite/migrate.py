"""Bring a file to this version's schema: numbered SQL files, each in a transaction, with a backup before."""

from __future__ import annotations

import re
import time
from importlib import resources

import apsw

from commonplace.errors import StoreTooNew
from commonplace.store.sqlite.database import Database

# "CmPl": tells our files from other SQLite files.
APPLICATION_ID = 0x436D506C


def migrations() -> list[tuple[int, str, str]]:
    """(number, name, SQL) of every step, in order."""
    folder = resources.files("commonplace.store.sqlite") / "migrations"
    steps = []
    for entry in folder.iterdir():
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name)
        if match:
            steps.append((int(match[1]), match[2], entry.read_text(encoding="utf-8")))
    return sorted(steps)


def migrate(database: Database) -> int:
    """Apply what is missing and return the schema's version. Any number of processes may do this at once."""
    steps = migrations()
    newest = steps[-1][0]
    while True:
        with database.read() as connection:
            version = _version(connection)
        if version > newest:
            raise StoreTooNew(
                f"The store {database.path} has schema {version}; this version of Commonplace knows up to {newest}."
            )
        if version == newest:
            return version
        if version:
            _back_up(database, version)
        with database.write() as connection:
            if _version(connection) != version:
                continue
            number, _name, sql = next(step for step in steps if step[0] > version)
            # Drained: apsw stops a script at its first row otherwise.
            connection.execute(sql).fetchall()
            connection.pragma("user_version", number)
            connection.pragma("application_id", APPLICATION_ID)


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def _back_up(database: Database, version: int) -> None:
    folder = database.path.parent / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    database.backup(folder / f"{database.path.stem}-schema{version}-{stamp}.db")
