"""`models` shows what could make vectors, what does, and what it costs; loading is left to --measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.tiny_model import write_model

from .conftest import Outcome, Run
from .test_lightness import modules_of


def rows(done: Outcome) -> dict[str, Any]:
    return {row["embedder"]: row for row in done.data["models"]}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny")


def test_what_is_there_is_listed_and_what_is_in_use_is_marked(run: Run) -> None:
    run("add", "Something to embed")
    listed = rows(run("models", "--json"))
    assert list(listed) == ["builtin", "off"]
    assert [name for name, row in listed.items() if row["in_use"]] == ["off"]
    builtin = listed["builtin"]
    assert builtin["bytes"] > 1_000_000 and builtin["dimension"] == 384 and builtin["max_tokens"] == 256
    assert (builtin["waiting"], listed["off"]["waiting"], builtin["ms_per_text"]) == (1, 0, None)


def test_nothing_is_loaded_without_measure(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", str(tiny))
    assert not modules_of("models", "--json") & {"onnxruntime", "tokenizers", "numpy"}


def test_a_folder_in_use(run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", str(tiny))
    run("add", "dog garden")
    before = rows(run("models", "--json"))[str(tiny)]
    assert before["in_use"] and before["name"].startswith("tiny/") and before["waiting"] == 1
    assert [hit["content"] for hit in run("search", "Hund", "--json").data["results"]] == ["dog garden"]
    after = rows(run("models", str(tiny), "--measure", "--json"))[str(tiny)]
    assert (after["waiting"], after["dimension"], after["problem"]) == (0, 24, None)
    assert after["ms_per_text"] > 0 and after["load_seconds"] is not None
    assert run("status", "--json").data["model"]["embedder"] == "folder"


def test_a_folder_can_be_tried_before_it_is_used(run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny.parent)
    done = run("models", "tiny", "--measure")
    assert done.code == 0 and f"{tiny}\ttiny/" in done.out and "ms_per_text" in done.out.splitlines()[0]
    (tiny / "tokenizer.json").unlink()
    refused = run("models", "tiny")
    assert refused.code == 7 and "does not work" in refused.out and "has no tokenizer.json" in refused.err
    assert rows(run("models", "tiny", "--json"))[str(tiny)]["suggestion"]


def test_an_endpoint_is_listed_where_it_is_configured_and_called_by_measure_only(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_ENDPOINT_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("COMMONPLACE_ENDPOINT_MODEL", "some-model")
    endpoint = rows(run("models", "--json"))["endpoint"]
    assert endpoint["name"] == "some-model@127.0.0.1:9" and endpoint["problem"] is None
    done = run("models", "--measure", "--json")
    assert done.code == 0 and "not usable" in rows(done)["endpoint"]["problem"]


@pytest.mark.parametrize("folder", ["models/tiny", "./tiny", "..\\tiny"])
def test_a_folder_has_to_be_named_in_full(run: Run, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", folder)
    refused = run("status", "--json")
    assert refused.code == 2 and "absolute path" in refused.error["suggestion"]


def test_the_doctor_tries_it(run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", str(tiny))
    assert "makes vectors of 24 numbers" in run("doctor", "model").out
    (tiny / "model.onnx").write_bytes(b"nonsense")
    broken = run("doctor", "model")
    assert broken.code == 1 and "cannot be loaded" in broken.out and "Correct the folder" in broken.out
