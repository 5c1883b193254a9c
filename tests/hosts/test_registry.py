"""The table of hosts, and the table that hooks have of their events."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.fast import host_events
from commonplace.fast.host_events import HOSTS, normalised_name
from commonplace.fast.output_shapes import SHAPES
from commonplace.hosts.event_table import row_of, with_table
from commonplace.hosts.host import (
    BUILT_IN,
    EDITOR_NAMES,
    NO_MCP,
    SOURCE_NAMES,
    TARGET_NAMES,
    Host,
    editors,
    find_host,
    rule_targets,
    transcript_sources,
)


def host_named(name: str) -> Host:
    host = find_host(name)
    assert host is not None
    return host


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_host_is_called_as_its_row(name: str) -> None:
    assert host_named(name).name == name


def test_the_tables_of_names_say_what_the_hosts_have() -> None:
    hosts = [host_named(name) for name in BUILT_IN]
    assert {host.name for host in hosts if host.mcp is not NO_MCP} == set(EDITOR_NAMES)
    assert {host.rule_files.name for host in hosts if host.rule_files} == set(TARGET_NAMES)
    assert {host.name for host in hosts if host.transcripts} == set(SOURCE_NAMES)
    assert tuple(host.name for host in editors()) == EDITOR_NAMES
    assert tuple(target.name for target in rule_targets()) == TARGET_NAMES
    assert tuple(transcript_sources()) == SOURCE_NAMES


def test_the_table_of_hooks_is_what_the_hosts_say() -> None:
    source = Path(host_events.__file__).read_text(encoding="utf-8")
    assert source == with_table(source), "run `python -m commonplace.hosts.event_table`"
    assert {name for name in BUILT_IN if host_named(name).hooks} == set(HOSTS)


@pytest.mark.parametrize("name", HOSTS)
def test_a_row_of_the_table_is_that_of_the_host(name: str) -> None:
    hooks = host_named(name).hooks
    assert hooks is not None
    row, known = row_of(hooks), HOSTS[name]
    for field in ("starts", "ends", "hints", "replies", "prompt_variable"):
        assert getattr(row, field) == getattr(known, field)
    assert isinstance(known.output, str) and SHAPES[known.output] is row.output


@pytest.mark.parametrize("name", HOSTS)
def test_events_with_a_meaning_are_heard(name: str) -> None:
    hooks = host_named(name).hooks
    assert hooks is not None
    heard = {normalised_name(event) for event in hooks.events}
    row = HOSTS[name]
    assert heard & set(row.ends) and (not row.starts or heard & set(row.starts))
    # What is shown somewhere is written into its settings, in one of its spellings.
    assert set(row.hints.values()) == {row.hints[event] for event in heard & row.hints.keys()}
