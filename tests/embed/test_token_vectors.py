"""Token vectors: how they are made, stored and compared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from commonplace.embed.model_files import MiniLM
from commonplace.embed.onnx_embedder import Question, QuestionTokens, compare_tokens, pack_tokens
from commonplace.errors import EmbedderUnavailable

QUESTION = "Which database holds the sessions?"
ANSWER = "We decided that Redis holds all sessions, for thirty days."
OTHERS = ("The office has a new coffee machine.", "Sam's birthday is in May.", "Deploys happen on Tuesdays.")


def test_what_holds_what_is_asked_for_is_most_similar(model: MiniLM) -> None:
    _, packed = model.embed_with_tokens([ANSWER, *OTHERS])
    answer, *others = model.compare_tokens(QUESTION, packed)
    assert answer > max(others) + 0.1


def test_they_come_with_the_vectors_that_are_made_without_them(model: MiniLM) -> None:
    vectors, packed = model.embed_with_tokens([ANSWER, *OTHERS])
    assert np.allclose(vectors, model.embed([ANSWER, *OTHERS]))
    assert all(packed)


def test_a_question_that_was_embedded_long_ago_is_compared_too(model: MiniLM) -> None:
    _, packed = model.embed_with_tokens([ANSWER])
    now = model.compare_tokens(QUESTION, packed)
    for number in range(300):
        model.embed_query(f"question {number}")
    assert model.compare_tokens(QUESTION, packed) == pytest.approx(now)


def test_threads_that_ask_many_questions_at_once_do_not_disturb_each_other(model: MiniLM) -> None:
    _, packed = model.embed_with_tokens([ANSWER])
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: model.compare_tokens(f"question {n}", packed), range(600)))
    assert all(len(scores) == 1 for scores in found)


def test_what_was_prepared_is_what_is_compared(model: MiniLM) -> None:
    _, packed = model.embed_with_tokens([ANSWER, *OTHERS])
    expected = model.compare_tokens(QUESTION, packed)
    fresh = MiniLM()
    fresh.prepare_to_compare(QUESTION)
    assert fresh.state() == "not loaded", "a question that was not embedded is not prepared"
    fresh.embed_query(QUESTION)
    with ThreadPoolExecutor(4) as pool:
        prepared = [pool.submit(fresh.prepare_to_compare, QUESTION) for _ in range(4)]
        assert fresh.compare_tokens(QUESTION, packed) == expected
    assert [one.result() for one in prepared] == [None] * 4


def test_tokens_are_made_once_and_by_one_of_those_who_wait() -> None:
    made = []
    tokens = QuestionTokens(np.zeros((1, 48), np.float32), np.ones(1, np.float32))

    def make() -> QuestionTokens:
        made.append(threading.get_ident())
        return tokens

    question = Question(make)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: question.tokens(), range(100)))
    assert len(made) == 1 and all(one is tokens for one in found)


def test_tokens_that_could_not_be_made_are_tried_again() -> None:
    tokens = QuestionTokens(np.zeros((1, 48), np.float32), np.ones(1, np.float32))
    outcomes: Iterator[Exception | QuestionTokens] = iter([EmbedderUnavailable("out of memory", "Try again."), tokens])

    def make() -> QuestionTokens:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    question = Question(make)
    with pytest.raises(EmbedderUnavailable):
        question.tokens()
    assert question.tokens() is tokens


def test_punctuation_takes_no_room(model: MiniLM) -> None:
    plain, marked = model.embed_with_tokens(["one two three", "one, two: three!!!"])[1]
    assert len(plain) == len(marked)
    assert model.embed_with_tokens(["!!!"])[1][0]


def test_the_text_before_changes_them_and_is_not_among_them(model: MiniLM) -> None:
    (alone,), (after,) = (model.embed_with_tokens(["yes, on Monday"], [before])[1] for before in ("", "Shall we meet?"))
    # The two marks at the ends of a text belong to it only if nothing stands before it.
    assert len(alone) - len(after) == 2 * 24


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "日本語", "word " * 5_000])
def test_any_text_is_accepted(model: MiniLM, text: str) -> None:
    _, packed = model.embed_with_tokens([text])
    assert np.isfinite(model.compare_tokens(text, packed)).all()


def test_four_bits_say_nearly_the_same() -> None:
    chance = np.random.default_rng(0)
    vectors = chance.normal(size=(30, 48)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    question = QuestionTokens(vectors[:5], np.full(5, 0.2, np.float32))
    same, other = compare_tokens(question, [pack_tokens(vectors[:10]), pack_tokens(vectors[10:])])
    assert same == pytest.approx(1.0, abs=0.05)
    assert other == pytest.approx(float((vectors[:5] @ vectors[10:].T).max(axis=1).mean()), abs=0.05)


@pytest.mark.parametrize("damaged", [b"", b"x", bytes(25)])
def test_damaged_ones_are_refused(damaged: bytes) -> None:
    question = QuestionTokens(np.zeros((1, 48), np.float32), np.ones(1, np.float32))
    with pytest.raises(ValueError, match="24 bytes each"):
        compare_tokens(question, [bytes(24), damaged])


def test_quantised_the_model_says_nearly_the_same(model: MiniLM, fp32: MiniLM) -> None:
    texts = [ANSWER, *OTHERS]
    expected = fp32.compare_tokens(QUESTION, fp32.embed_with_tokens(texts)[1])
    assert model.compare_tokens(QUESTION, model.embed_with_tokens(texts)[1]) == pytest.approx(expected, abs=0.05)
