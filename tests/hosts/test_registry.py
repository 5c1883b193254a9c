"""The table of hosts, and what the light path of hooks repeats of it."""

from __future__ import annotations

import pytest

from commonplace.capture.hooks.context_cache import OUTPUT_SHAPES
from commonplace.capture.hooks.hook_command import _ENDS, _HINTS, _STARTS, HOSTS
from commonplace.hosts.hook_event import normalised_name
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


def test_a_hook_knows_the_hosts_without_importing_them() -> None:
    assert set(HOSTS) == {name for name in BUILT_IN if host_named(name).hooks}


@pytest.mark.parametrize("name", HOSTS)
def test_a_hook_knows_where_sessions_start_and_turns_end(name: str) -> None:
    hooks = host_named(name).hooks
    assert hooks is not None
    assert set(map(normalised_name, hooks.starts)) == {event for event, hosts in _STARTS.items() if name in hosts}
    assert set(map(normalised_name, hooks.ends)) <= set(_ENDS)
    # Whatever is written into its settings and ends something is known to end it.
    assert {event for event in hooks.events if normalised_name(event) in _ENDS} <= set(hooks.ends)
    assert bool(hooks.starts) == (name in OUTPUT_SHAPES)


@pytest.mark.parametrize("name", HOSTS)
def test_a_hook_knows_where_memories_can_be_shown(name: str) -> None:
    hooks = host_named(name).hooks
    assert hooks is not None
    known = {event: moment for event, (moment, hosts) in _HINTS.items() if name in hosts}
    assert {normalised_name(event): moment for event, moment in hooks.hints.items()} == known
    assert not hooks.hints or name in OUTPUT_SHAPES
    # Whatever is shown somewhere is written into its settings, in one of its spellings.
    assert set(hooks.hints.values()) == {hooks.hints[event] for event in hooks.events if event in hooks.hints}
