"""Calls as JSON: every method that a server answers can be asked for, and what it returns arrives as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commonplace import CommonplaceError, InvalidInput, Memory, NewItem
from commonplace.errors import Forbidden
from commonplace.library.remote_calls import decode_result, encode, pack, unpack
from commonplace.library.verbs import VERBS
from commonplace.memory.authors import for_agent
from commonplace.memory.local_memory import LocalMemory


@pytest.fixture
def library(memory: LocalMemory) -> Memory:
    """With a clock that stands still, so that the same call returns the same."""
    library = Memory.over(memory)
    library.remember("Use tabs", type="rule", paths=["*.go"])
    library.remember("Never use tabs", type="rule", project="web")
    library.remember("Deploy on Mondays", type="rule", proposed=True)
    left = {"next_steps": "Write the docs\nShip it"}
    library.add(NewItem(kind="summary", session="s1", project="web", details=left))
    library.store_conversation("Chat", [("user", "How do we log in?"), ("assistant", "With JWT")], key="c1")
    return library


def call(library: Memory, name: str, *arguments: Any, **options: Any) -> Any:
    """As a remote memory and a server do it, with a wire between."""
    verb = VERBS[name]
    sent = json.loads(json.dumps(pack(verb, arguments, options)))
    given, named = unpack(verb, sent)
    return decode_result(verb, json.loads(json.dumps(encode(getattr(library, name)(*given, **named)))))


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "get": ((1,), {}),
    "proposals": ((), {"limit": 5}),
    "accept": ((3,), {"content": "Deploy on Tuesdays"}),
    "dismiss": ((3,), {}),
    "undo_review": ((3,), {}),
    "get_many": (([1, 2, 77],), {}),
    "history": ((1,), {}),
    "related": ((2,), {}),
    "contradictions": ((2,), {}),
    "open_contradictions": ((), {"twins": True}),
    "timeline": ((1,), {"after": 2}),
    "search": (("tabs",), {"type": "rule", "limit": 5}),
    "context": (("tabs",), {"project": "web"}),
    "session_context": (("web",), {}),
    "rules": (("web",), {"files": ["x.go"]}),
    "projects": ((), {}),
    "topics": ((), {}),
    "entities": ((), {"kind": "project"}),
    "about": (("web",), {}),
    "profile": (("web",), {}),
    "list": ((), {"kind": ["memory", "message"], "since": "1d"}),
    "recall": (("how do we log in",), {"min_score": 0}),
    "explain": (("log in",), {}),
    "predict": (("how do we log in?",), {}),
    "report": ((), {"since": "7d"}),
    "overview": (("web",), {}),
    "overviews": ((), {"limit": 3}),
    "close_step": (("Write the docs",), {"project": "web"}),
    "reconstruct": (("c1",), {}),
    "sessions": ((), {}),
    "conversation": (("c1",), {}),
    "conversations": ((), {"label": "Chat"}),
    "export_conversation": (("c1",), {"format": "markdown"}),
    "prune": ((), {"days": 0}),
    "stats": ((), {}),
    "remember": (("Use spaces",), {"tags": ["style"], "category": "style", "metadata": {"n": [1, None]}}),
    "add": ((NewItem("Use spaces", type="rule"),), {}),
    "add_many": (([NewItem("One"), NewItem("Two")],), {}),
    "edit": ((1,), {"content": "Use two tabs", "paths": ["*.go", "*.py"]}),
    "forget": ((1, 2), {}),
    "restore": ((1,), {}),
    "supersede": ((2,), {"by": 1}),
    "settle": ((1, 2), {"keep": "both"}),
    "reopen": ((1, 2), {}),
    "revert": ((1,), {}),
    "show_in_profile": ((1, "hidden"), {}),
    "store_conversation": (("New", [("user", "Hello"), {"role": "assistant", "content": "Hi"}]), {"folder": "/a"}),
    "append": (("c1", [("user", "And now?")]), {}),
    "update_conversation": (("c1",), {"status": "pinned"}),
    "forget_conversation": (("c1",), {}),
    "restore_conversation": (("c1",), {}),
}


ANSWERED = {name: verb for name, verb in VERBS.items() if verb.server == "verbs"}
READ = sorted(name for name, verb in ANSWERED.items() if verb.needs == "read")
WRITTEN = sorted(set(ANSWERED) - set(READ))


def test_every_method_is_a_verb_and_every_verb_is_tried() -> None:
    methods = {name for name in dir(Memory) if not name.startswith("_")}
    assert methods == {*VERBS, "close", "over", "local", "embedding_state"}
    assert set(CALLS) == set(ANSWERED)


@pytest.mark.parametrize("name", sorted(ANSWERED))
def test_an_agent_is_refused_what_needs_a_person_and_nothing_else(
    library: Memory, memory: LocalMemory, name: str
) -> None:
    if name == "undo_review":
        library.accept(3)
    if name == "reopen":
        library.settle(*CALLS[name][0], keep="both")
    agents = Memory.over(for_agent(memory, "claude-code"))
    arguments, options = CALLS[name]
    refused = ""
    try:
        getattr(agents, name)(*arguments, **options)
    except Forbidden as error:
        refused = error.message
    except CommonplaceError:
        pass
    assert ("Only a person can" in refused) is (VERBS[name].needs == "person")


@pytest.mark.parametrize("verb", READ)
def test_what_is_read_arrives_as_it_was(library: Memory, verb: str) -> None:
    arguments, options = CALLS[verb]
    # Reading a conversation notes that it was read.
    getattr(library, verb)(*arguments, **options)
    here = getattr(library, verb)(*arguments, **options)
    there = call(library, verb, *arguments, **options)
    assert type(there) is type(here)
    assert encode(there) == encode(here)


@pytest.mark.parametrize("verb", WRITTEN)
def test_what_is_written_arrives_with_its_type(library: Memory, verb: str) -> None:
    if verb == "revert":
        library.edit(1, content="Use more tabs")
    if verb == "undo_review":
        library.accept(3)
    if verb == "reopen":
        library.settle(*CALLS[verb][0], keep="both")
    arguments, options = CALLS[verb]
    made = call(library, verb, *arguments, **options)
    assert made is not None and encode(made)


@pytest.mark.parametrize("written", ["20261101", "2026", "2026-11-01 10:00", "1d", "1793491200000"])
def test_a_time_arrives_as_it_was_written(written: str) -> None:
    calls: list[tuple[str, tuple[str, ...], dict[str, str]]] = [
        ("list", (), {"since": written, "until": written}),
        ("remember", ("x",), {"expires": written, "at": written}),
    ]
    for name, arguments, options in calls:
        _given, named = unpack(VERBS[name], json.loads(json.dumps(pack(VERBS[name], arguments, options))))
        assert {key: named[key] for key in options} == options


@pytest.mark.parametrize(
    ("verb", "data"),
    [
        ("get", {}),
        ("get", {"id": 1, "colour": "red"}),
        ("get", {"id": [1]}),
        ("get", {"id": 1, "forgotten": "yes"}),
        ("get", {"self": 1, "id": 1}),
        ("search", {"query": 7}),
        ("search", {"query": "x", "limit": True}),
        ("list", {"kind": {"a": 1}}),
        ("add", {"new": {"content": "x", "colour": "red"}}),
        ("add", {"new": {"content": "x", "kind": "dream"}}),
        ("add", {"new": "text"}),
        ("forget", {"ids": 1}),
        ("forget", {"ids": [{}]}),
        ("remember", {"content": "x", "fields": {"category": 1}}),
        ("store_conversation", {"label": "x", "messages": [["user"]]}),
        ("remember", {"content": "x", "metadata": json.loads('{"a":' * 500 + "1" + "}" * 500)}),
    ],
)
def test_what_is_no_argument_is_refused(verb: str, data: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        unpack(VERBS[verb], data)


def test_half_a_character_is_taken_as_a_question_mark() -> None:
    """JSON can name one half of a pair; texts are stored as UTF-8, which cannot."""
    assert unpack(VERBS["search"], {"query": "caf\ud800"}) == unpack(VERBS["search"], {"query": "caf?"})
