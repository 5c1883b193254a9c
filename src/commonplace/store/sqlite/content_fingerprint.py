"""What the file holds, in one word that changes with it: asked by hooks, which have no time to load the engine."""

from __future__ import annotations

import time

import apsw

WIPED = "wiped"
# Rows never lose their numbers, and whatever is changed leaves one in a history; names are only added. The random part
# of the last item, and the time of the last change, tell a file apart from a copy that went another way. What does not
# hold now changes with time alone.
_MARK = """
SELECT (SELECT uid FROM items ORDER BY id DESC LIMIT 1),
       (SELECT id || '@' || at_ms FROM history ORDER BY id DESC LIMIT 1),
       (SELECT id || '@' || at_ms FROM session_history ORDER BY id DESC LIMIT 1),
       (SELECT max(id) FROM projects),
       (SELECT count(*) FROM project_aliases),
       (SELECT value FROM meta WHERE key = :wiped),
       (SELECT count(*) || '/' || sum(id) FROM items INDEXED BY items_validity
         WHERE forgotten_ms IS NULL AND superseded_by IS NULL
           AND (valid_from_ms IS NOT NULL OR valid_until_ms IS NOT NULL OR expires_ms IS NOT NULL)
           AND (valid_from_ms > :now OR valid_until_ms <= :now OR expires_ms <= :now))
"""


def content_fingerprint(path: str, key: str = "") -> str | None:
    """The same for as long as nothing changes that is remembered or holds; None if that cannot be told at this moment.

    Vectors, links and topics do not matter. Nobody is waited for, and nothing is written.
    """
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error:
        return None
    try:
        if key:
            connection.pragma("key", f"raw:{key}")
        row = connection.execute(_MARK, {"wiped": WIPED, "now": int(time.time() * 1000)}).fetchall()[0]
        return " ".join("-" if part is None else str(part) for part in row)
    except apsw.Error:
        return None
    finally:
        connection.close()
