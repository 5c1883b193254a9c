"""The cap: any mix of chunks at any size of reply fits as serialised, gives an answer, and counts truly."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import THEN, Clock
from tests.dialects.conftest import TOOLS
from tests.memory.past_work import local, settle, work

from commonplace.config import Settings, load
from commonplace.dialects.tool import Reply
from commonplace.errors import NoResults
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember_all

TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["word ", 'a "quoted" \\ path\n', "字 ", "\t{}\n", "🦓🦓 ", "\x01\x02 "]), st.integers(0, 400)
    ),
    min_size=1,
    max_size=14,
)


# One project for each example, so that none sees another's.
NUMBERS = count()


def ask(memory: LocalMemory, name: str, **arguments: Any) -> Reply[Any]:
    reply = TOOLS[name].run(memory, arguments)
    assert json.loads(reply.text) == reply.data
    return reply


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMemory]:
    memory = open_memory(load({"data_dir": str(tmp_path_factory.mktemp("cap")), "embedder": "off"}, env={}), Clock())
    yield memory
    memory.close()


@given(texts=TEXTS, cap=st.integers(500, 50_000) | st.just(500), limit=st.integers(1, 100))
@settings(max_examples=60)
@pytest.mark.promise("ecm:tokens:cap", "ecm:decided:one-at-least", "ecm:tokens:counts")
def test_any_mix_fits_any_cap(empty: LocalMemory, texts: list[tuple[str, int]], cap: int, limit: int) -> None:
    topic = f"okapi{next(NUMBERS):04}"
    messages = [
        NewMessage("assistant" if n % 2 else "user", f"{topic} {n}: {part * times}", at_ms=THEN + n * 60_000)
        for n, (part, times) in enumerate(texts)
    ]
    store_conversation(empty, NewConversation(topic, messages, key=topic, project=topic))
    settle(empty)
    memory = replace(empty, settings=replace(empty.settings, mcp_max_response=cap))
    recalled = ask(memory, "recall", query=topic, limit=limit, minScore=0)
    explained = ask(memory, "explain", topic=topic)
    for reply, name in ((recalled, "results"), (explained, "keyChunks")):
        result = reply.data
        assert len(reply.text) <= 4 * cap
        assert 1 <= len(result[name]) == result["returnedCount"] <= result["totalCount"]
        assert result["truncated"] or result["returnedCount"] == result["totalCount"]
    assert recalled.data["totalCount"] <= len(texts) and len(recalled.data["results"]) <= limit
    assert explained.data["timeline"] and explained.data["summary"]
    with contextlib.suppress(NoResults):
        # What says nothing new is not suggested.
        predicted = ask(memory, "predict", context=f"what of {topic}, and of the zebra beside it?")
        assert len(predicted.text) <= 4 * cap and predicted.data["suggestions"]


@pytest.mark.promise("ecm:tokens:truncated", "ecm:tokens:counts")
def test_a_long_reply_says_that_it_was_cut(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem(content=f"walrus {n} " + f"fact{n} " * 250, project="zoo") for n in range(50)])
    reply = ask(memory, "recall", query="walrus", minScore=0, limit=50)
    result = reply.data
    assert (result["truncated"], result["totalCount"]) == (True, 50)
    assert 10 < result["returnedCount"] == len(result["results"]) < 50
    assert 6000 < len(reply.text) <= 8000, "the room is used"
    ten = ask(memory, "recall", query="walrus", minScore=0).data
    lengths = [len(one["content"]) for one in ten["results"]]
    assert (ten["truncated"], ten["returnedCount"]) == (True, 10), "a long answer keeps no other from being told"
    assert max(lengths) - min(lengths) < 20 and all(one["content"].endswith("…") for one in ten["results"])
    few = ask(
        replace(memory, settings=replace(memory.settings, mcp_max_response=50_000)),
        "recall",
        query="walrus",
        minScore=0,
    )
    assert (few.data["truncated"], few.data["totalCount"], few.data["returnedCount"]) == (True, 50, 10)
    whole = ask(
        replace(memory, settings=replace(memory.settings, mcp_max_response=50_000)), "recall", query="fact7", minScore=0
    )
    assert (whole.data["truncated"], whole.data["totalCount"], whole.data["returnedCount"]) == (False, 1, 1)


@pytest.mark.promise("ecm:tokens:truncated")
def test_what_is_cut_is_marked(memory: LocalMemory) -> None:
    memory = replace(memory, settings=replace(memory.settings, mcp_max_response=500))
    remember_all(memory, [NewItem(content="walrus " + "fact " * 380, project="zoo")])
    reply = ask(memory, "recall", query="walrus", minScore=0).data
    assert (reply["truncated"], reply["totalCount"], reply["returnedCount"]) == (True, 1, 1)
    assert reply["results"][0]["content"].startswith("walrus fact") and reply["results"][0]["content"].endswith("…")


@pytest.mark.promise("ecm:decided:graph-share")
def test_neighbours_are_told_briefly_where_there_is_little_room(memory: LocalMemory) -> None:
    messages = [
        NewMessage("assistant", f"{name} " + f"{name}word " * 150)
        for name in ("alpha", "beta", "gamma", "delta", "eps")
    ]
    store_conversation(memory, NewConversation("Greek", messages, key="g", project="greek"))
    settle(memory)
    small = replace(memory, settings=replace(memory.settings, mcp_max_response=1000))
    reply = ask(small, "recall", query="gamma", minScore=0).data
    assert reply["returnedCount"] == 1 and not reply["results"][0]["content"].endswith("…")
    assert len(reply["graphContext"]) == 3 and reply["truncated"]
    assert any(one["content"].endswith("…") for one in reply["graphContext"])
    roomy = ask(memory, "recall", query="gamma", minScore=0).data
    assert len(roomy["graphContext"]) == 4


@pytest.mark.promise("ecm:decided:timeline-ends")
def test_a_long_timeline_keeps_how_it_began_and_where_it_stands(memory: LocalMemory) -> None:
    notes = [
        NewItem(
            kind="observation",
            content=f"The turnstile number {n} is being looked at by the people of the station again",
            session=f"s{n}",
            created_ms=local("2025-01-01T12:00") + n * 86_400_000,
        )
        for n in range(55)
    ]
    remember_all(memory, notes)
    memory = replace(memory, settings=replace(memory.settings, mcp_max_response=600))
    reply = ask(memory, "explain", topic="turnstile").data
    dates = [entry["date"] for entry in reply["timeline"]]
    assert (dates[0], dates[-1]) == ("2025-01-01", "2025-02-24") and dates == sorted(dates)
    assert 2 < len(dates) < 55 and reply["truncated"] and reply["keyChunks"]


@pytest.mark.promise("ecm:tokens:default", "ecm:tokens:setting")
def test_the_setting_and_its_default(tmp_path: Path) -> None:
    assert Settings(data_dir=tmp_path).mcp_max_response == 2000
    (tmp_path / "config.toml").write_text("[tokens]\nmcpMaxResponse = 700\n", encoding="utf-8")
    chosen = load({"data_dir": str(tmp_path), "embedder": "off"}, env={})
    assert chosen.mcp_max_response == 700
    assert load({"data_dir": str(tmp_path)}, env={"COMMONPLACE_MCP_MAX_RESPONSE": "900"}).mcp_max_response == 900
    memory = open_memory(chosen, Clock())
    work(memory)
    reply = ask(memory, "recall", query="login", minScore=0)
    memory.close()
    assert 1000 < len(reply.text) <= 2800


def test_the_notice_that_meaning_fails_fits_too(tmp_path: Path) -> None:
    given = {"data_dir": str(tmp_path), "embedder": "endpoint", "endpoint_url": "http://127.0.0.1:9/" + "x" * 900,
             "endpoint_model": "m", "mcp_max_response": 500}  # fmt: skip
    memory = open_memory(load(given, env={}), Clock())
    remember_all(memory, [NewItem(content="walrus " + "fact " * 500)])
    reply = ask(memory, "recall", query="walrus", minScore=0)
    memory.close()
    assert "Keyword search only" in reply.data["notice"]
    assert reply.data["results"] and len(reply.text) <= 2000
