"""The rows of fast/host_events.py, made from the hosts.

Run `python -m commonplace.hosts.event_table` after a change of a host's events: it writes the rows of all built-in
hosts into that file.
"""

from __future__ import annotations

from pathlib import Path

from commonplace.fast import host_events
from commonplace.fast.host_events import HostEvents, normalised_name
from commonplace.hosts.host import BUILT_IN, Hooks, hooks_of

_MARK = "# Written by `python -m commonplace.hosts.event_table`.\n"
_FIELDS = ("starts", "ends", "hints", "replies", "prompt_variable")


def row_of(hooks: Hooks) -> HostEvents:
    """What a hook has to know of a host."""
    return HostEvents(
        starts=tuple(normalised_name(event) for event in hooks.starts),
        ends=tuple(normalised_name(event) for event in hooks.ends),
        hints={normalised_name(event): moment for event, moment in hooks.hints.items()},
        replies={normalised_name(event): reply for event, reply in hooks.replies.items()},
        prompt_variable=hooks.prompt_variable,
        output=hooks.output,
    )


def table_of_hosts() -> str:
    """The source of the rows. The shape of an output is named: a hook loads it only if it has something to say."""
    lines = ["HOSTS = {"]
    for name in BUILT_IN:
        hooks = hooks_of(name)
        if hooks is None:
            continue
        row = row_of(hooks)
        lines.append(f"    {_quoted(name)}: HostEvents(")
        lines += [f"        {field}={_source(getattr(row, field))}," for field in _FIELDS]
        lines.append(f"        output={_quoted(hooks.output.__name__)},")
        lines.append("    ),")
    return "\n".join([*lines, "}\n"])


def with_table(source: str) -> str:
    """The source of the module with the rows as the hosts say them."""
    before, mark, _rows = source.partition(_MARK)
    return before + mark + table_of_hosts()


def _source(value: object) -> str:
    """A value of a row, as the formatter writes it."""
    if isinstance(value, dict):
        entries = "".join(f"            {_source(key)}: {_source(entry)},\n" for key, entry in value.items())
        return "{\n" + entries + "        }" if value else "{}"
    if isinstance(value, tuple):
        entries = ", ".join(_source(entry) for entry in value)
        return f"({entries},)" if len(value) == 1 else f"({entries})"
    return _quoted(str(value))


def _quoted(text: str) -> str:
    written = repr(text)
    return written if '"' in text else f'"{written[1:-1]}"'


if __name__ == "__main__":
    path = Path(host_events.__file__)
    path.write_text(with_table(path.read_text(encoding="utf-8")), encoding="utf-8")
