"""Bring a database to this version's schema: numbered SQL files, all that are missing in one transaction.

Servers that start at once wait for the one that migrates. An interrupted migration leaves nothing behind. Beside one
that calls itself additive, servers that do not know it go on.
"""

from __future__ import annotations

import functools
import re
import time

from psycopg import errors

from commonplace.errors import StoreBusy, StoreError, StoreReadOnly, StoreTooNew
from commonplace.store.postgres.database import MEMBER, Database
from commonplace.store.postgres.pool_and_replicas import Connection
from commonplace.store.sql.connection import migration_scripts

OLDEST_SERVER = 150000
OLDEST_VECTOR = (0, 8)
# The first line of a file with such a migration; docs/reference/postgresql.md has what it has to keep to.
ADDITIVE = "-- additive\n"
# By these it is known whether the role was let in.
_LET_IN = ("spaces", "items", "searched_words")
# A change of a table waits for whoever reads it, and all who come later wait behind it: not for longer than this.
HOLDING_UP_MS, PAUSE_SECONDS = 1000, 0.2


# (number, name, SQL) of every step, in order.
migrations = functools.partial(migration_scripts, "commonplace.store.postgres")


def migrate(database: Database) -> int:
    """Apply what is missing and return the schema's version. Any number of servers may do this at once."""
    with database.admin_read() as connection:
        _check_server(connection)
        version = _known(connection, database.place)
    until = time.monotonic() + database.busy_timeout
    while version < migrations()[-1][0]:
        try:
            with database.admin_write() as connection:
                version = _apply_missing(connection, database.place)
        except StoreBusy:
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE_SECONDS)
    _let_late_member_in(database)
    return version


def check(database: Database) -> int:
    """The schema's version, if this version can work with it; nothing is applied."""
    with database.admin_read() as connection:
        version = _known(connection, database.place)
    if version < migrations()[-1][0]:
        raise StoreReadOnly(
            f"{database.place} has schema {version} and needs to be migrated.", "Run `commonplace status` once."
        )
    return version


def confined(connection: Connection) -> bool:
    """Whether transactions can run as the role that sees one space only: it is ours to take, and was let in."""
    question = "SELECT bool_and(has_table_privilege(?, to_regclass(name), 'SELECT')) FROM unnest(?::text[]) name"
    return _has_member(connection) and bool(connection.value(question, (MEMBER, [*_LET_IN])))


def _has_member(connection: Connection) -> bool:
    question = "SELECT coalesce((SELECT pg_has_role(oid, 'MEMBER') FROM pg_roles WHERE rolname = ?), false)"
    return bool(connection.value(question, (MEMBER,)))


def _apply_missing(connection: Connection, place: str) -> int:
    version = _known(connection, place)
    if not version:
        _add_extension(connection)
        _add_member(connection)
    connection.run(f"SET LOCAL lock_timeout = {HOLDING_UP_MS}")
    for number, name, script in migrations():
        if number > version:
            connection.execute(script.encode())
            connection.run("INSERT INTO schema_versions (number, name) VALUES (?, ?)", (number, name))
            if script.startswith(ADDITIVE):
                connection.run("UPDATE schema_versions SET additive = true WHERE number = ?", (number,))
    _let_member_in(connection)
    return max(version, migrations()[-1][0])


def _known(connection: Connection, place: str) -> int:
    """The schema's version; an error if it went on in a way that this version of Commonplace cannot work with."""
    # Who waited for another server's migration may still believe that there is no such table: opening any table makes
    # the server look again.
    if connection.value("SELECT to_regclass('schema_versions') FROM pg_class LIMIT 1") is None:
        return 0
    version, newest = connection.value("SELECT coalesce(max(number), 0) FROM schema_versions"), migrations()[-1][0]
    strange = "SELECT count(*) FROM schema_versions WHERE number > ? AND NOT additive"
    if version > newest and connection.value(strange, (newest,)):
        raise StoreTooNew(
            f"{place} has schema {version}; this version of Commonplace knows up to {newest}.",
            "Upgrade Commonplace on this machine. The database was not touched.",
        )
    return int(version)


def _check_server(connection: Connection) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        raise StoreError(
            f"The server is PostgreSQL {connection.info.server_version // 10000}, which is too old.",
            f"Upgrade it to PostgreSQL {OLDEST_SERVER // 10000} or newer.",
        )
    found = connection.first(
        "SELECT coalesce(installed_version, default_version) FROM pg_available_extensions WHERE name = 'vector'",
    )
    if found is None:
        raise StoreError(
            "The server does not have the extension pgvector.",
            "Install pgvector 0.8 or newer on the server (the package postgresql-NN-pgvector, or as its README says).",
        )
    if tuple(map(int, re.findall(r"\d+", found[0])[:2])) < OLDEST_VECTOR:
        raise StoreError(
            f"The server has pgvector {found[0]}, which is too old.",
            "Install pgvector 0.8 or newer, and run ALTER EXTENSION vector UPDATE.",
        )


def _add_extension(connection: Connection) -> None:
    if connection.value("SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector')"):
        return
    try:
        connection.execute("CREATE EXTENSION vector")
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            "The database user is not allowed to add the extension pgvector.",
            "Have an administrator run CREATE EXTENSION vector in the database once.",
        ) from error


def _add_member(connection: Connection) -> None:
    """The role for row-level security; the owner of a table is above it. Without the right to make one it stays off."""
    connection.execute(
        f"""
        DO $$ BEGIN
            IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{MEMBER}') THEN
                CREATE ROLE {MEMBER} NOLOGIN NOINHERIT;
            END IF;
            EXECUTE format('GRANT {MEMBER} TO %I', current_user);
        EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN NULL;
        END $$
        """.encode()
    )


def _let_late_member_in(database: Database) -> None:
    """The role may have been made, or granted to us, when the tables were there already."""
    with database.admin_read() as connection:
        late = _has_member(connection) and not confined(connection)
    if late:
        with database.admin_write() as connection:
            _let_member_in(connection)


def _let_member_in(connection: Connection) -> None:
    if _has_member(connection):
        schema = connection.value("SELECT quote_ident(current_schema())")
        for rights in (
            f"GRANT USAGE ON SCHEMA {schema} TO {MEMBER}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {MEMBER}",
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {MEMBER}",
            f"REVOKE INSERT, UPDATE, DELETE ON schema_versions, spaces FROM {MEMBER}",
        ):
            connection.execute(rights.encode())
