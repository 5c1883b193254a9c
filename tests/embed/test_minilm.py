"""The built-in model: any text in, unit vectors out, the same every time."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from benchmarks.embedding import varied_texts
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as some

from commonplace.embed import Embedder
from commonplace.embed.model_files import MODEL, MiniLM
from commonplace.errors import EmbedderUnavailable

ODD = ["", " ", "\x00", "\x00" * 500, "🎉👩‍👩‍👧", "\ud800", "a\udfffb", "日本語"]
ODD += ["x" * 100_000, "word " * 30_000, "\n" * 50_000]


def test_rows_are_unit_vectors_of_the_promised_size(model: MiniLM) -> None:
    vectors = model.embed(["one", "two of them", "three"])
    assert vectors.shape == (3, model.dim) == (3, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_rows(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, 384)


def test_the_same_text_gives_the_same_vector(model: MiniLM) -> None:
    assert np.array_equal(model.embed(["rate limiting"]), MiniLM().embed(["rate limiting"]))


def test_order_is_that_of_the_texts_whatever_their_length(model: MiniLM) -> None:
    texts = [f"{'long ' * (n * 7 % 60)}text {n}" for n in range(600)]
    together = model.embed(texts)
    assert np.allclose(
        together[[0, 299, 511, 512, 599]], model.embed([texts[n] for n in (0, 299, 511, 512, 599)]), atol=1e-4
    )


def test_a_vector_does_not_depend_on_its_company(model: MiniLM) -> None:
    texts = varied_texts(60)
    together = model.embed(texts)
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert (together * alone).sum(axis=1).min() > 0.9999


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_any_text_is_accepted(model: MiniLM, text: str) -> None:
    vector = model.embed([text])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@limits(max_examples=50)
@given(texts=some.lists(some.text(some.characters()), max_size=6))
def test_generated_texts_are_accepted(texts: list[str], model: MiniLM) -> None:
    vectors = model.embed(texts)
    assert vectors.shape == (len(texts), 384)
    assert np.isfinite(vectors).all()


def test_a_text_is_understood_by_what_stands_before_it(model: MiniLM) -> None:
    answer, question = "The one downtown, they were very kind.", "Which adoption agency did you choose?"
    prompt, alone, together = model.embed(["adoption agency", answer, answer], ["", "", question])
    assert prompt @ together > prompt @ alone + 0.1
    other = model.embed(["I bought new running shoes."], [question])[0]
    assert together @ alone > other @ alone, "it is still what it says itself"


def test_nothing_before_a_text_changes_nothing(model: MiniLM) -> None:
    assert np.array_equal(model.embed(["one", "two"], ["", ""]), model.embed(["one", "two"]))


def test_a_long_text_leaves_no_room_for_what_stands_before_it(model: MiniLM) -> None:
    long = "word " * 300
    assert np.array_equal(model.embed([long], ["something before"]), model.embed([long]))


@pytest.mark.parametrize("text", ["", "\x00", "\ud800"])
def test_a_text_without_a_word_has_no_use_for_what_stands_before_it(model: MiniLM, text: str) -> None:
    assert np.array_equal(model.embed([text], ["something before"]), model.embed([text]))


@pytest.mark.parametrize("before", ODD, ids=range(len(ODD)))
def test_anything_may_stand_before_a_text(model: MiniLM, before: str) -> None:
    assert np.linalg.norm(model.embed(["text"], [before])[0]) == pytest.approx(1, abs=1e-5)


def test_only_the_first_256_tokens_count(model: MiniLM) -> None:
    long = "memory " * 254
    assert np.allclose(model.embed([long]), model.embed([long + "and something else entirely"]), atol=1e-6)


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("postgres connection pool", "database connections are limited", "the cat sleeps"),
        ("How do we throttle clients?", "The API allows 100 requests per minute per key", "We moved the logo left"),
        ("login fails", "authentication error with an expired token", "bake the bread for an hour"),
    ],
)
def test_what_means_the_same_is_near(model: MiniLM, question: str, near: str, far: str) -> None:
    prompt, close, distant = model.embed([question, near, far])
    assert prompt @ close > prompt @ distant + 0.1


def test_int8_points_where_fp32_points(model: MiniLM, fp32: MiniLM) -> None:
    texts = varied_texts(150)
    cosines = (model.embed(texts) * fp32.embed(texts)).sum(axis=1)
    assert cosines.min() > 0.985
    assert cosines.mean() > 0.997


def test_threads_may_share_one_model(model: MiniLM) -> None:
    fresh, texts = MiniLM(threads=1), [f"note number {n}" for n in range(40)]
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: fresh.embed([text])[0], texts))
    assert np.allclose(rows, model.embed(texts), atol=1e-4)


def test_state_tells_what_happened_without_loading() -> None:
    embedder: Embedder = MiniLM()
    assert embedder.state() == "not loaded"
    embedder.embed(["x"])
    assert embedder.state() == "ready"


def test_a_package_without_its_model_says_so(tmp_path: Path) -> None:
    embedder = MiniLM(folder=tmp_path)
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match=r"model.onnx, token_vectors.onnx, tokenizer.json not found"):
            embedder.embed(["x"])
    assert embedder.state().startswith("failed: ")


@pytest.mark.parametrize("damaged", ["model.onnx", "token_vectors.onnx", "tokenizer.json"])
def test_a_damaged_model_is_an_embedder_failure(tmp_path: Path, damaged: str) -> None:
    for name in ("model.onnx", "token_vectors.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"not a model" if name == damaged else (MODEL / name).read_bytes())
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded") as refused:
        MiniLM(folder=tmp_path).embed(["x"])
    assert str(tmp_path) not in refused.value.message, "callers of a server may read it"


def test_importing_the_room_loads_no_library() -> None:
    script = (
        "import sys, commonplace.embed, commonplace.embed.model_files, commonplace.embed.openai_compatible;"
        "commonplace.embed.model_files.MiniLM();"
        "print([name for name in ('numpy', 'onnxruntime', 'tokenizers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


def test_the_library_below_leaves_nothing_in_the_home_and_reports_to_nobody(tmp_path: Path) -> None:
    # A bare environment: on build servers the library keeps silent by itself.
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "SYSTEMROOT": os.environ.get("SYSTEMROOT", "")}
    work = "from commonplace.embed.model_files import MiniLM; MiniLM().embed(['quiet'])"
    subprocess.run([sys.executable, "-c", work], check=True, env=home)
    assert list(tmp_path.rglob("*")) == []


def test_numpy_is_whole_before_the_runtime_asks_for_it() -> None:
    """The runtime imports a part of numpy: in the middle of another thread's import of numpy that fails."""
    code = """
import sys
from commonplace.embed.model_files import MiniLM
names = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        names.append(name)
sys.meta_path.insert(0, Finder())
MiniLM().embed_query("x")
print(names.index("numpy") < names.index("onnxruntime"))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "True"
