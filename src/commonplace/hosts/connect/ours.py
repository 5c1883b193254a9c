"""What of a config file is ours: found again, put in, and taken out, as changes of its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonplace.hosts.connect import splice, toml_text
from commonplace.hosts.connect.config_file import ConfigFile, Format, read_text
from commonplace.hosts.connect.editor import NAME, Entry
from commonplace.hosts.connect.hook_line import is_hook_line

Keys = tuple[str | int, ...]
_LINES = ("command", "powershell")


@dataclass(frozen=True, slots=True)
class Ours:
    """Our part of one file: a server under our name in `servers`, and hooks, each in the list at its path."""

    servers: str = ""
    entry: Mapping[str, Any] | None = None
    hooks: tuple[tuple[tuple[str, ...], Entry], ...] = ()
    # What the file has to say for the hooks to count.
    always: Mapping[str, Any] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return self.entry is None and not self.hooks


def our_hooks(value: Mapping[str, Any]) -> list[tuple[Keys, Entry]]:
    """Our hooks in a file, each with its path. Where somebody put other hooks beside one of ours, only ours."""
    hooks = value.get("hooks")
    lists: list[tuple[Keys, Any]] = [(("hooks",), hooks)]
    if isinstance(hooks, dict):
        lists = [(("hooks", event), items) for event, items in hooks.items()]
    return [found for path, items in lists for found in _among(items, path)]


def put_ours(text: str, format_: Format, ours: Ours) -> str:
    """The text with exactly our part in it. ValueError if what is there leaves no room for it."""
    value = read_text(text, format_)
    if ours.entry is not None and _at(value, (ours.servers, NAME)) != ours.entry:
        if format_ == "toml":
            text = toml_text.put(text, ours.servers, NAME, dict(ours.entry))
        else:
            text = splice.put(text, (ours.servers, NAME), dict(ours.entry))
    return text if format_ == "toml" else _put_hooks(text, ours)


def others(value: Mapping[str, Any], ours: Ours) -> dict[str, Any]:
    """All that is not ours, to see that none of it changed."""
    left = {key: inner for key, inner in value.items() if key not in ours.always}
    servers, hooks = left.get(ours.servers), left.get("hooks")
    if isinstance(servers, dict):
        left[ours.servers] = {name: entry for name, entry in servers.items() if name != NAME}
    if isinstance(hooks, dict):
        left["hooks"] = {event: kept for event, items in hooks.items() if (kept := _not_ours(items))}
    elif hooks:
        left["hooks"] = _not_ours(hooks)
    return {key: inner for key, inner in left.items() if inner not in ({}, [])}


def take_ours(config: ConfigFile, ours: Ours, before: ConfigFile | None) -> str | None:
    """The text without our part; None if the file has nothing to say any more and was made by us.

    `before` is what the file was before we came. If our part is all that changed since, that comes back, byte for byte.
    """
    if before is not None and (before.bom, _or_none(before, ours)) == (config.bom, config.text):
        return before.text
    text = config.text
    removed = [path for path, _item in our_hooks(config.value)] if ours.hooks else []
    if ours.entry is not None:
        removed.append((ours.servers, NAME))
    for path in reversed(removed):
        text = _removed(text, config.format, path)
    was = {} if before is None else before.value
    text = _without_empty(text, config.format, removed, was)
    value = read_text(text, config.format)
    for key, needed in ours.always.items():
        if ours.hooks and "hooks" not in value and value.get(key) == needed and key not in was:
            text = splice.remove(text, (key,))
    gone = before is None and not read_text(text, config.format) and not _says_more(text)
    return None if gone else text


def _put_hooks(text: str, ours: Ours) -> str:
    wanted = list(ours.hooks)
    stale = []
    for path, item in our_hooks(read_text(text, "jsonc")):
        if (list_of(path), item) in wanted:
            wanted.remove((list_of(path), item))
        else:
            stale.append(path)
    for path in reversed(stale):
        text = splice.remove(text, path)
    text = _without_empty(
        text, "jsonc", [path for path in stale if list_of(path) not in {where for where, _item in wanted}], {}
    )
    value = read_text(text, "jsonc")
    for key, needed in ours.always.items():
        if ours.hooks and key not in value:
            text = splice.put(text, (key,), needed)
    for list_path, item in wanted:
        text = splice.append(text, list_path, item)
    return text


def _without_empty(text: str, format_: Format, removed: Sequence[Keys], before: Mapping[str, Any]) -> str:
    """The text without what held the things that were removed, where that is empty now and was not there before."""
    around = {path[:depth] for path in removed for depth in range(1, len(path))}
    for path in sorted(around, key=len, reverse=True):
        if _at(read_text(text, format_), path) in ({}, []) and _at(before, path) is None:
            text = _removed(text, format_, path)
    return text


def _or_none(before: ConfigFile, ours: Ours) -> str | None:
    try:
        return put_ours(before.text, before.format, ours)
    except ValueError:
        return None


def _removed(text: str, format_: Format, path: Keys) -> str:
    if format_ == "toml":
        return toml_text.remove(text, tuple(str(key) for key in path))
    return splice.remove(text, path)


def _among(items: Any, path: Keys) -> Iterator[tuple[Keys, Entry]]:
    for place, item in enumerate(items if isinstance(items, list) else ()):
        if _is_ours(item):
            yield (*path, place), item
        elif isinstance(item, dict):
            yield from _among(item.get("hooks"), (*path, place, "hooks"))


def _not_ours(items: Any) -> Any:
    """A list of hooks without ours."""
    if not isinstance(items, list):
        return items
    return [
        {**item, "hooks": _not_ours(item["hooks"])} if isinstance(item, dict) and "hooks" in item else item
        for item in items
        if not _is_ours(item)
    ]


def _is_ours(item: Any) -> bool:
    lines = list(_command_lines(item))
    return bool(lines) and all(is_hook_line(line) for line in lines)


def _command_lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _LINES and isinstance(inner, str):
                yield inner
            else:
                yield from _command_lines(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _command_lines(inner)


def list_of(path: Keys) -> tuple[str, ...]:
    """The list that a hook is in, by its names."""
    return tuple(key for key in path[:-1] if isinstance(key, str))


def _at(value: Any, path: Keys) -> Any:
    """What is at a path; None if nothing."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _says_more(text: str) -> bool:
    """Whether anything is in a text without settings: a comment."""
    return bool(text.strip().strip("{}").strip())
