"""Changing one server in a TOML text. A new one goes to the end, so that every byte before it stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.hosts.connect.splice import line_end

if TYPE_CHECKING:
    from tomlkit.items import InlineTable


def put(text: str, servers: str, name: str, entry: dict[str, Any]) -> str:
    """The text with a server in it; ValueError if there is no place for one."""
    import tomlkit
    from tomlkit.items import InlineTable, Table

    document = tomlkit.parse(text)
    table = document.get(servers)
    if table is not None and not isinstance(table, dict):
        raise ValueError(f"{servers} is not a table")
    if table is not None and name in table:
        there = table[name]
        for key in [key for key in there if key not in entry]:
            del there[key]
        for key, value in entry.items():
            if there.get(key) != value:
                there[key] = _inline(value)
        return tomlkit.dumps(document)
    if isinstance(table, InlineTable):
        table[name] = _inline(entry)
        return tomlkit.dumps(document)
    made = tomlkit.document()
    made[servers] = tomlkit.table(is_super_table=True)
    body = made[servers]
    assert isinstance(body, Table)
    body[name] = {key: _inline(value) for key, value in entry.items()}
    return _on_a_new_line(text) + tomlkit.dumps(made).replace("\n", line_end(text))


def remove(text: str, path: tuple[str, ...]) -> str:
    """The text without the table at a path."""
    import tomlkit

    document = tomlkit.parse(text)
    parent: Any = document
    for key in path[:-1]:
        parent = parent[key]
    del parent[path[-1]]
    return tomlkit.dumps(document)


def _on_a_new_line(text: str) -> str:
    end = line_end(text)
    if not text.strip():
        return text
    return text + ("" if text.endswith("\n") else end) + ("" if text.endswith(end * 2) else end)


def _inline(value: Any) -> Any:
    """A table within a server's is written on one line."""
    import tomlkit

    if not isinstance(value, dict):
        return value
    table: InlineTable = tomlkit.inline_table()
    for key, inner in value.items():
        table[key] = _inline(inner)
    return table
