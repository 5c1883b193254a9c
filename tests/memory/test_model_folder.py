"""A memory with a model of one's own: searched by it, changed to another one while search goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.mcp.conftest import connected, data_of, play
from tests.polling import until
from tests.tiny_model import write_json, write_model

from commonplace.config import Settings
from commonplace.memory.embedding_models import list_models
from commonplace.memory.local_memory import Clock, LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.status_and_stats import status
from commonplace.model import Scope

NOTES = (NewItem("dog garden"), NewItem("invoice password"), NewItem("bicycle"))
Opened = Callable[[Path], LocalMemory]


@pytest.fixture
def opened(settings: Settings, clock: Clock) -> Opened:
    return lambda folder: open_memory(replace(settings, embedder=str(folder)), clock)


def found(memory: LocalMemory, question: str) -> list[str]:
    return [hit.item.body for hit in recall(memory, question, Scope()).hits]


@pytest.mark.parametrize("question", ["perro jardín", "chien jardin", "Hund Garten", "犬 庭"])
def test_a_question_in_another_language_finds_what_it_means(tmp_path: Path, opened: Opened, question: str) -> None:
    with closing(opened(write_model(tmp_path / "tiny", dim=256))) as memory:
        remember_all(memory, NOTES)
        assert found(memory, question) == ["dog garden"]
        assert memory.store.pending() == 0 and memory.embeddings.state == "ready"


def test_models_that_point_one_way_and_want_prefixes_find_only_what_is_meant(tmp_path: Path, opened: Opened) -> None:
    folder = write_model(tmp_path / "narrow", dim=256, shift=2.0)
    write_json(folder, "config_sentence_transformers.json", {"prompts": {"query": "query: ", "document": "passage: "}})
    with closing(opened(folder)) as memory:
        remember_all(memory, NOTES)
        assert found(memory, "fahrrad") == ["bicycle"]


def test_with_another_model_all_vectors_are_made_again_while_search_goes_on(tmp_path: Path, opened: Opened) -> None:
    first, second = write_model(tmp_path / "first"), write_model(tmp_path / "second", dim=40, seed=9)
    with closing(opened(first)) as memory:
        remember_all(memory, [*NOTES, *(NewItem(f"remark {number}") for number in range(30))])
        assert memory.embeddings.catch_up() == 33
    with closing(opened(second)) as memory:
        (now,) = [one for one in list_models(memory) if one["in_use"]]
        assert now["waiting"] == 33, "known before anything is loaded"
        assert found(memory, "invoice password")[0] == "invoice password"
        memory.embeddings.start()
        until(lambda: memory.store.pending() == 0)
        assert memory.store.counts().vectors == 33
        assert found(memory, "rechnung passwort")[0] == "invoice password"
        assert str(status(memory)["model"]).count("second/") == 1
        assert {one["name"]: one["waiting"] for one in list_models(memory) if one["in_use"]}.popitem()[1] == 0


def test_the_same_files_elsewhere_are_the_same_model(tmp_path: Path, opened: Opened) -> None:
    with closing(opened(write_model(tmp_path / "a" / "tiny"))) as memory:
        remember_all(memory, NOTES)
        assert memory.embeddings.catch_up() == 3
    with closing(opened(write_model(tmp_path / "b" / "tiny"))) as memory:
        assert memory.embeddings.catch_up() == 0
        assert found(memory, "hund") == ["dog garden"]
    with closing(opened(write_model(tmp_path / "b" / "tiny", seed=8))) as memory:
        assert memory.embeddings.catch_up() == 3, "other weights under the same name"


def test_a_folder_that_is_gone_leaves_the_words_and_is_told_without_its_path(tmp_path: Path, opened: Opened) -> None:
    with closing(opened(tmp_path / "gone")) as memory:
        remember(memory, NewItem("dog garden"))

        async def story() -> None:
            async with connected(memory) as client:
                reply = data_of(await client.call_tool("search", {"query": "dog"}))
                assert "The model gone is not there" in reply["notice"] and str(tmp_path) not in str(reply)
                assert len(reply["observations"]) == 1

        play(story)
        report = status(memory)
        assert report["search"] == "keywords only" and report["pending"] == 1
        assert str(tmp_path) not in str(report["model"])


def test_an_agent_searches_with_it(tmp_path: Path, opened: Opened) -> None:
    with closing(opened(write_model(tmp_path / "tiny", dim=256))) as memory:

        async def story() -> None:
            async with connected(memory) as client:
                for note in NOTES:
                    await client.call_tool("add_memory", {"content": note.content})
                reply = data_of(await client.call_tool("search", {"query": "Fahrrad"}))
                assert [one["text"] for one in reply["observations"]] == ["bicycle"] and "notice" not in reply

        play(story)
