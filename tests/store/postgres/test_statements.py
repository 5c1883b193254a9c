"""Every statement carries the space: told by the server itself, which notes all that each method of the store asks."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
from tests.contract.conftest import THEN
from tests.postgres_process import running
from tests.store.postgres.statements import loose, tokens
from tests.store.test_project_view import MORE_REFUSED, READING, REFUSED, VECTOR, filled

from commonplace.errors import CommonplaceError
from commonplace.store.postgres.migrate import migrations
from commonplace.store.postgres.store import PostgresStore
from commonplace.store.types import RequestClaim, SavedReply

# Tables of the database as a whole, and why they have no space.
OF_ALL: Mapping[str, str] = {
    "spaces": "are the spaces",
    "schema_versions": "tells which migrations there were",
    "models": "names models, which spaces share",
}
# Statements about several spaces, by how they begin: asked by the owner of the tables alone, never for a caller's data.
CROSSING: Mapping[str, str] = {
    "select s . name , s . created_ms , u . items": "how much each space holds, for an administrator",
    "select distinct s . name from keys": "to which space a key belongs",
    "select s . name from spaces s where": "in which spaces work waits",
}
INSIDE = """
SELECT 1 FROM items i WHERE i.space_id = $1
   AND EXISTS (SELECT 1 FROM passages p WHERE p.space_id = i.space_id AND p.item_id = i.id)
"""
LOUD = ("log_statement=all", "log_line_prefix=~%a~", "log_parameter_max_length=0", "fsync=off")


def made_tables() -> dict[str, str]:
    """The tables that migrations make, each with its columns."""
    found: dict[str, str] = {}
    for _number, _name, script in migrations():
        found |= dict(re.findall(r"^CREATE TABLE (\w+) \((.*?)^\)", script, re.MULTILINE | re.DOTALL))
    return found


def test_every_table_has_the_space_in_front_of_its_key() -> None:
    for table, columns in made_tables().items():
        if table not in OF_ALL:
            assert re.match(r"\s*space_id\s+integer", columns), table
            assert re.search(r"PRIMARY KEY \(space_id\b|space_id\s+integer PRIMARY KEY", columns), table


@pytest.fixture(scope="module")
def statements() -> Iterator[list[str]]:
    """All that a server was asked while every method of the store was called, each once."""
    with running(LOUD) as server:
        with contextlib.closing(PostgresStore(server.url, space="ours", now_ms=THEN)) as store:
            everything(store)
        output = (server.folder / "log").read_text(encoding="utf-8")
        yield sorted(set(spoken(output)))


def everything(store: PostgresStore) -> None:
    """What a caller with a key for the whole store can do, well and badly."""
    world = replace(filled(store, store), maintenance=store)
    name = RequestClaim("key 1", "name", b"f", "a")
    store.claim_reply(name, THEN, 0, 0)
    store.store_reply(name, SavedReply(200, "{}", b""))
    store.release_claim(name)
    for tried in (READING, REFUSED, MORE_REFUSED):
        for method, call in tried.items():
            if method != "close":
                with contextlib.suppress(CommonplaceError):
                    call(world)
    store.use_model("another", 8)
    jobs = store.claim_jobs("w", 100, THEN, 1000)
    store.finish_jobs(jobs, np.stack([VECTOR] * len(jobs)), "w", None, [b"x"] * len(jobs))


def spoken(log: str) -> Iterator[str]:
    """The statements of our connections in a server's log."""
    for entry in log.split("~commonplace~")[1:]:
        result = re.match(r"LOG:\s+(?:statement|execute [^:]*):\s(.*?)(?=~\w*~|\Z)", entry, re.DOTALL)
        if result:
            # The log begins each further line of a statement with a tab.
            yield result[1].strip().replace("\n\t", "\n")


def test_the_server_was_asked_much(statements: list[str]) -> None:
    named = {table for statement in statements for table in made_tables() if table in tokens(statement)}
    assert named == made_tables().keys() and len(statements) > 200


def test_every_statement_binds_each_of_its_tables_to_the_space(statements: list[str]) -> None:
    ours = made_tables().keys() - OF_ALL.keys()
    scripts = {script.strip() for _number, _name, script in migrations()}
    lost = {}
    for statement in statements:
        if statement in scripts or statement.startswith(("CREATE ", "GRANT ", "REVOKE ", "VACUUM ", "DO $$")):
            continue
        if " ".join(tokens(statement)).startswith(tuple(CROSSING)):
            continue
        if found := loose(statement, ours | {"searched_words"}):
            lost[statement] = found
    assert lost == {}


def test_the_statements_about_several_spaces_are_those_and_no_others(statements: list[str]) -> None:
    requested = [" ".join(tokens(statement)) for statement in statements]
    assert [begin for begin in CROSSING if not any(one.startswith(begin) for one in requested)] == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT 1 FROM items WHERE space_id = $1", []),
        ("SELECT 1 FROM items WHERE id = $1", ["items"]),
        ("SELECT space_id FROM items WHERE id = $1", ["items"]),
        ("SELECT 1 FROM items i JOIN passages p ON p.space_id = i.space_id AND p.item_id = i.id WHERE i.id = 1",
         ["items", "passages"]),
        ("SELECT 1 FROM items i JOIN passages p ON p.item_id = i.id WHERE i.space_id = $1", ["passages"]),
        ("SELECT 1 FROM items i, passages p WHERE p.space_id = i.space_id AND i.space_id = $1", []),
        ("SELECT 1 FROM items WHERE space_id = $1 AND id IN (SELECT item_id FROM passages)", ["passages"]),
        (INSIDE, []),
        ("SELECT 1 FROM items WHERE space_id = $1 UNION ALL SELECT 1 FROM items WHERE id = $2", ["items"]),
        ("INSERT INTO meta (space_id, key) VALUES ($1, $2)", []),
        ("INSERT INTO meta (key, value) VALUES ($1, 'space_id = 1')", ["meta"]),
        ("DELETE FROM words", ["words"]),
        ("UPDATE items SET title = $1 WHERE space_id = $2 AND id = $3", []),
        ("WITH x AS (SELECT id FROM items) SELECT 1 FROM x", ["items"]),
    ],
)  # fmt: skip
def test_what_carries_no_space_is_seen(statement: str, expected: list[str]) -> None:
    assert loose(statement, made_tables().keys() - OF_ALL.keys()) == expected


def test_what_the_server_does_by_itself_carries_the_space_too() -> None:
    """Triggers and functions of the migrations, whose statements the log does not tell."""
    ours = made_tables().keys() - OF_ALL.keys()
    bodies = [
        body
        for _number, _name, script in migrations()
        for body in re.findall(r"CREATE (?:OR REPLACE )?FUNCTION.*?\$\$(.*?)\$\$", script, re.DOTALL)
    ]
    assert bodies
    # A function's own argument for the space.
    spoken = (re.sub(r"\bspace_id = space\b", "space_id = $1", part) for body in bodies for part in body.split(";"))
    assert {part: found for part in spoken if (found := loose(part, ours))} == {}
