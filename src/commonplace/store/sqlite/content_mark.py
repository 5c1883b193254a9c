"""What the file holds, in one word that changes with it: asked by hooks, which have no time to load the engine."""

from __future__ import annotations

import apsw

WIPED = "wiped"
# Rows never lose their numbers, and whatever is changed leaves one in a history; names are only added. The random part
# of the last item, and the time of the last change, tell a file apart from a copy that went another way.
_MARK = """
SELECT (SELECT uid FROM items ORDER BY id DESC LIMIT 1),
       (SELECT id || '@' || at_ms FROM history ORDER BY id DESC LIMIT 1),
       (SELECT id || '@' || at_ms FROM session_history ORDER BY id DESC LIMIT 1),
       (SELECT max(id) FROM projects),
       (SELECT count(*) FROM project_aliases),
       (SELECT value FROM meta WHERE key = ?)
"""


def content_mark(path: str, key: str = "") -> str | None:
    """The same for as long as no item and no name of a project changes; None if that cannot be told at this moment.

    Vectors, links and topics do not matter. Nobody is waited for, and nothing is written.
    """
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error:
        return None
    try:
        if key:
            connection.pragma("key", f"raw:{key}")
        row = connection.execute(_MARK, (WIPED,)).fetchall()[0]
        return " ".join("-" if part is None else str(part) for part in row)
    except apsw.Error:
        return None
    finally:
        connection.close()
