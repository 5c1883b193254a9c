"""The cross-encoder: a question and a memory in, one number out, for as many memories as may be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import minilm_adapter
import minilm_cross_graph
import minilm_source
from commonplace.embed.cross_encoder import RUN_TOKENS, CrossEncoder, _batches, _shares
from commonplace.embed.model_files import MODEL
from commonplace.errors import EmbedderUnavailable

QUESTION = "Which evening does Maya take ceramics lessons?"
ANSWER = ("Maya: finally signed up for the pottery class on Thursdays, the one behind the old cinema", "")
OTHERS = [
    ("Jonas: my swimming lessons are on Tuesday evenings now", ""),
    ("Maya: the old cinema is closing, they show the last film in May", ""),
    ("Jonas: which evening is your ceramics lesson again?", ""),
]


@pytest.fixture(scope="session")
def cross_encoder() -> CrossEncoder:
    return CrossEncoder()


def test_an_answer_scores_above_what_only_resembles_the_question(cross_encoder: CrossEncoder) -> None:
    answer, *others = cross_encoder.score(QUESTION, [ANSWER, *OTHERS])
    assert answer > max(others)


def test_what_was_said_before_helps_to_understand_a_few_words(cross_encoder: CrossEncoder) -> None:
    question = "Which colour did we choose for the kitchen door?"
    after, alone = cross_encoder.score(
        question,
        [("Ann: the dark green one", "Bo: so which colour for the kitchen door?"), ("Ann: the dark green one", "")],
    )
    assert after > alone


def test_a_score_does_not_depend_on_what_else_is_read(cross_encoder: CrossEncoder) -> None:
    passages = [ANSWER, *OTHERS, ("user: " + "a long plan for the garden and the house " * 20, "")]
    together = cross_encoder.score(QUESTION, passages)
    # Another one, because the first remembers what it said.
    other = CrossEncoder()
    alone = [other.score(QUESTION, [passage])[0] for passage in passages]
    assert together == pytest.approx(alone, abs=1e-3)


def test_as_many_are_read_as_fit_and_at_least_one(cross_encoder: CrossEncoder) -> None:
    passages = [ANSWER] * 10
    assert len(cross_encoder.score(QUESTION, passages, tokens=1_000)) == 10
    assert len(cross_encoder.score(QUESTION, passages, tokens=100)) == 3
    assert len(cross_encoder.score(QUESTION, passages, tokens=1)) == 1
    assert cross_encoder.score(QUESTION, []) == []


def test_what_was_read_is_not_read_again_unless_a_word_of_it_changes() -> None:
    cross_encoder = CrossEncoder()
    first = cross_encoder.score(QUESTION, [ANSWER, *OTHERS])
    tokenizer, _session = cross_encoder._loaded()
    # From here on nothing can be read.
    cross_encoder._model = tokenizer, None
    assert cross_encoder.score(QUESTION, [*OTHERS, ANSWER]) == [*first[1:], first[0]]
    assert len(cross_encoder.score(QUESTION, [ANSWER, *OTHERS], tokens=60)) == 2
    for question, passage in (
        (QUESTION + "!", ANSWER),
        (QUESTION, (ANSWER[0] + "!", "")),
        (QUESTION, (ANSWER[0], "Jonas: hello")),
    ):
        with pytest.raises(EmbedderUnavailable):
            cross_encoder.score(question, [passage])


def test_only_so_much_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.embed.cross_encoder.REMEMBERED", 3)
    cross_encoder = CrossEncoder()
    first = cross_encoder.score(QUESTION, [ANSWER, *OTHERS])
    assert len(cross_encoder._known) == 3
    assert cross_encoder.score(QUESTION, [ANSWER, *OTHERS]) == pytest.approx(first, abs=1e-3)


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "日本語", "word " * 5_000])
def test_any_text_is_accepted(cross_encoder: CrossEncoder, text: str) -> None:
    assert np.isfinite(cross_encoder.score(text, [(text, text), ANSWER])).all()


def test_threads_read_about_as_many_tokens() -> None:
    assert _shares([10] * 8, 2) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert _shares([10, 10, 10, 100], 2) == [[3], [0, 1, 2]]
    assert _shares([10], 4) == [[0]]


def test_only_rows_of_similar_length_are_read_in_one_run() -> None:
    lengths = [100, 100 - RUN_TOKENS, 99 - RUN_TOKENS, 20]
    assert _batches([0, 1, 2, 3], lengths) == [[0, 1], [2], [3]]
    assert _batches([0], lengths) == [[0]]


def test_quantised_it_says_nearly_the_same(cross_encoder: CrossEncoder, tmp_path: Path) -> None:
    source = minilm_source.fetch()
    tensors = minilm_adapter.merged(source.tensors, minilm_adapter.read(minilm_adapter.ENCODER))
    exact = minilm_cross_graph.build(
        tensors, None, minilm_adapter.read(minilm_adapter.CROSS_ENCODERS["cross_encoder.onnx"])
    )
    (tmp_path / "cross_encoder.onnx").write_bytes(exact.SerializeToString())
    (tmp_path / "tokenizer.json").write_bytes(source.tokenizer)
    passages = [ANSWER, *OTHERS]
    precise = CrossEncoder(folder=tmp_path).score(QUESTION, passages)
    assert cross_encoder.score(QUESTION, passages) == pytest.approx(precise, abs=0.8)


def test_it_shares_the_weights_of_the_built_in_model() -> None:
    assert (MODEL / "cross_encoder.onnx").stat().st_size < 4_000_000 < (MODEL / "model.onnx").stat().st_size


def test_without_its_files_it_says_so(tmp_path: Path) -> None:
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    with pytest.raises(EmbedderUnavailable, match="cross-encoder cannot be loaded"):
        CrossEncoder(folder=tmp_path).score(QUESTION, [ANSWER])
