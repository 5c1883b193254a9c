"""Projects and the names they answer to.

A name refers to the project that has it, or to the only one whose name ends in it (`my-api` is
`github.com/acme/my-api`). A longer name that arrives later becomes the canonical one.
"""

from __future__ import annotations

from collections.abc import Collection

from commonplace.errors import Conflict, NotFound
from commonplace.model import Project
from commonplace.store.damaged_values import list_of
from commonplace.store.sql.connection import Connection, Space, allow_replica
from commonplace.text.project_names import normalise_project

# The time is looked up for each kind: the index `items_place` ends there, and no index goes by project and time alone.
_LISTING = """
SELECT p.id, p.name,
       (SELECT json_group_array(alias) FROM project_aliases a WHERE a.space_id = p.space_id AND a.project_id = p.id),
       (SELECT CAST(coalesce(sum(items), 0) AS bigint) FROM tally t
         WHERE t.space_id = p.space_id AND t.project_id = p.id),
       (SELECT max((SELECT max(created_ms) FROM items i
                     WHERE i.space_id = t.space_id AND i.project_id = t.project_id AND i.kind = t.kind
                       AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL))
          FROM tally t WHERE t.space_id = p.space_id AND t.project_id = p.id) AS last
  FROM projects p WHERE p.space_id = ? ORDER BY last DESC NULLS LAST, p.id
"""
_NAMED = "FROM project_aliases a JOIN projects p ON p.space_id = a.space_id AND p.id = a.project_id"


class Projects(Space):
    """The projects of one space."""

    @allow_replica
    def projects(self) -> list[Project]:
        """Every project, the one used last first."""
        with self._database.read(self._query_timeout) as connection:
            rows = connection.rows(_LISTING, (self._space_id,))
        return [
            Project(i, name, _other_names(list_of(aliases), name), n, last if isinstance(last, int) else None)
            for i, name, aliases, n, last in rows
        ]

    def find_project(self, name: str) -> str | None:
        with self._database.read() as connection:
            return canonical_name(connection, self._space_id, name)

    def alias_project(self, name: str, alias: str) -> None:
        """Let a project answer to another name. A name that already means another project is a conflict."""
        with self._database.write() as connection:
            known = find(connection, self._space_id, name)
            if len(known) != 1:
                raise NotFound(f"There is no one project called {name!r}.", "`commonplace projects` lists them.")
            folded = normalise_project(alias).casefold()
            owner = _by_alias(connection, self._space_id, folded)
            if owner is not None and owner != known[0]:
                raise Conflict(f"{alias!r} is already the name of another project.", "Choose another alias.")
            _add_alias(connection, self._space_id, folded, known[0])


def find(connection: Connection, space_id: int, raw: str) -> tuple[int, ...]:
    """The ids a name may mean when reading: usually one, none if unknown, several if the short name is shared."""
    return connection.once(("project", space_id, raw), lambda: _find(connection, space_id, raw))


def _find(connection: Connection, space_id: int, raw: str) -> tuple[int, ...]:
    name = normalise_project(raw).casefold()
    exact = _by_alias(connection, space_id, name)
    if exact is not None:
        return (exact,)
    longer = _ending_in(connection, space_id, name)
    if longer:
        return longer
    shorter = _promotable(connection, space_id, name)
    return () if shorter is None else (shorter,)


def find_or_create(connection: Connection, space_id: int, raw: str, now_ms: int, apart: Collection[str] = ()) -> int:
    """The id to write under, making or promoting the project where needed; none of those that are known to be apart."""
    name = normalise_project(raw)
    folded = name.casefold()
    exact = _by_alias(connection, space_id, folded)
    if exact is not None:
        return exact
    longer = _ending_in(connection, space_id, folded, apart)
    if len(longer) == 1:
        _add_alias(connection, space_id, folded, longer[0])
        return longer[0]
    shorter = _promotable(connection, space_id, folded, apart)
    if shorter is not None:
        connection.run("UPDATE projects SET name = ? WHERE space_id = ? AND id = ?", (name, space_id, shorter))
        _add_alias(connection, space_id, folded, shorter)
        return shorter
    insert = "INSERT INTO projects (space_id, name, created_ms) VALUES (?, ?, ?)"
    project_id = connection.insert(insert, (space_id, name, now_ms))
    assert project_id is not None
    _add_alias(connection, space_id, folded, project_id)
    return project_id


def canonical_name(connection: Connection, space_id: int, raw: str) -> str | None:
    """The canonical name of the project that `raw` means, if exactly one is meant."""
    known = find(connection, space_id, raw)
    if len(known) != 1:
        return None
    row = connection.first("SELECT name FROM projects WHERE space_id = ? AND id = ?", (space_id, known[0]))
    return str(row[0]) if row else None


def _other_names(aliases: list[str], name: str) -> tuple[str, ...]:
    return tuple(sorted(alias for alias in aliases if alias != name.casefold()))


def _by_alias(connection: Connection, space_id: int, folded: str) -> int | None:
    select = "SELECT project_id FROM project_aliases WHERE space_id = ? AND alias = ?"
    row = connection.first(select, (space_id, folded))
    return int(row[0]) if row else None


def _ending_in(connection: Connection, space_id: int, folded: str, apart: Collection[str] = ()) -> tuple[int, ...]:
    end = f"/{folded}"
    rows = connection.rows(
        f"SELECT DISTINCT p.id, p.name {_NAMED} WHERE a.space_id = ? AND substr(a.alias, -{len(end)}) = ?",
        (space_id, end),
    )
    return tuple(sorted(int(id_) for id_, name in rows if name.casefold() not in apart))


def _promotable(connection: Connection, space_id: int, folded: str, apart: Collection[str] = ()) -> int | None:
    """A project whose canonical name is a tail of this longer name, so that both are the same."""
    tails = folded.split("/")
    for start in range(1, len(tails)):
        tail = "/".join(tails[start:])
        row = connection.first(
            f"SELECT a.project_id, p.name {_NAMED} WHERE a.space_id = ? AND a.alias = ?", (space_id, tail)
        )
        if row and str(row[1]).casefold() == tail and tail not in apart:
            return int(row[0])
    return None


def _add_alias(connection: Connection, space_id: int, folded: str, project_id: int) -> None:
    connection.run(
        "INSERT INTO project_aliases (space_id, alias, project_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (space_id, folded, project_id),
    )
