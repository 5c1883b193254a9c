"""A model of one's own: any folder with an ONNX sentence model is understood, and one that cannot be is named."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.utils
import pytest
from benchmarks.embedding import varied_texts
from onnx import TensorProto
from tests.tiny_model import CLS, SEP, VOCABULARY, table, unit, write_json, write_model, write_tokenizer

from commonplace.embed import Embedder
from commonplace.embed.model_files import DEFAULT_TOKENS, MODEL, MOST_TOKENS, FolderEmbedder, MiniLM
from commonplace.errors import EmbedderUnavailable

ODD = ["", " ", "\x00" * 500, "🎉👩‍👩‍👧", "\ud800", "日本語", "x" * 100_000, "dog " * 30_000, "\n" * 50_000]
OLD = "1_Pooling/config.json"
# The sum of the tokens of "dog", and what is in the first and in the last of them when they are mixed by half.
DOG = table()[[CLS, VOCABULARY["dog"], SEP]].sum(axis=0)
FIRST, FINAL = table()[CLS] + DOG / 2, table()[SEP] + DOG / 2
PROMPTS = {"prompts": {"query": "query: ", "passage": "passage: "}}


def near(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, atol=1e-5))


def test_a_text_is_the_mean_of_its_tokens(tmp_path: Path) -> None:
    model: Embedder = FolderEmbedder(write_model(tmp_path / "tiny"))
    assert (model.state(), model.is_local) == ("not loaded", True)
    rows = model.embed(["Hund", "dog garden", "Fahrrad"])
    assert near(rows, [unit("hund"), unit("dog", "garden"), unit("fahrrad")])
    assert (model.dim, model.state()) == (24, "ready") and rows.dtype == np.float32
    assert model.embed([]).shape == (0, 24)


@pytest.mark.parametrize("dim", [3, 100, 1024])
def test_vectors_have_any_length(tmp_path: Path, dim: int) -> None:
    model = FolderEmbedder(write_model(tmp_path, dim=dim))
    assert model.dim == dim and near(model.embed(["dog"])[0], unit("dog", dim=dim))


@pytest.mark.parametrize(
    "inputs",
    [
        ("input_ids", "attention_mask"),
        ("input_ids", "attention_mask", "token_type_ids"),
        ("input_ids", "attention_mask", "position_ids"),
    ],
)
@pytest.mark.parametrize("whole", [TensorProto.INT64, TensorProto.INT32])
def test_graphs_get_the_inputs_that_they_take(tmp_path: Path, inputs: tuple[str, ...], whole: int) -> None:
    assert near(FolderEmbedder(write_model(tmp_path, inputs=inputs, whole=whole)).embed(["dog"])[0], unit("dog"))


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "onnx/model_O2.onnx"])
def test_the_file_is_found_where_hubs_have_it(tmp_path: Path, name: str) -> None:
    assert near(FolderEmbedder(write_model(tmp_path, name=name)).embed(["dog"])[0], unit("dog"))


def test_of_several_files_the_exact_one_is_taken(tmp_path: Path) -> None:
    write_model(tmp_path, name="onnx/model_quantized.onnx", seed=6)
    write_model(tmp_path, name="onnx/model.onnx")
    assert near(FolderEmbedder(tmp_path).embed(["dog"])[0], unit("dog"))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, FIRST),
        ({"pooling_mode_lasttoken": True}, FINAL),
        ({"pooling_mode": "cls"}, FIRST),
        ({"pooling_mode": "lasttoken"}, FINAL),
        ({"pooling_mode_mean_tokens": True}, DOG),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, DOG),
        ({"word_embedding_dimension": 24}, DOG),
    ],
)
def test_tokens_are_pooled_as_the_folder_says(tmp_path: Path, config: dict[str, object], expected: Any) -> None:
    write_json(write_model(tmp_path, mix=0.5), OLD, config)
    # Next to a longer text, so that there is padding.
    row = FolderEmbedder(tmp_path).embed(["dog", "dog dog dog garden"])[0]
    assert near(row, expected / np.linalg.norm(expected))


def test_the_list_of_modules_says_where_pooling_is_described(tmp_path: Path) -> None:
    write_json(write_model(tmp_path, mix=0.5), "2_Pooling/config.json", {"pooling_mode_cls_token": True})
    kinds = {"": "Transformer", "2_Pooling": "Pooling", "3_Normalize": "Normalize"}
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds.items()]
    write_json(tmp_path, "modules.json", modules)
    assert near(FolderEmbedder(tmp_path).embed(["dog"])[0], FIRST / np.linalg.norm(FIRST))


@pytest.mark.parametrize(
    "outputs",
    [
        ("sentence_embedding",),
        ("token_embeddings",),
        ("token_embeddings", "sentence_embedding"),
        ("anything",),
        ("my_embedding",),
    ],
)
def test_outputs_of_every_kind_are_understood(tmp_path: Path, outputs: tuple[str, ...]) -> None:
    assert near(FolderEmbedder(write_model(tmp_path, outputs=outputs)).embed(["dog"])[0], unit("dog"))


def test_what_stands_before_a_text_is_read_and_is_not_part_of_its_vector(tmp_path: Path) -> None:
    model = FolderEmbedder(write_model(tmp_path))
    assert near(model.embed(["dog"], ["garden"])[0], unit("dog", special=False))
    assert near(model.embed(["dog", ""], ["", "garden"]), [unit("dog"), unit()])
    mixing = FolderEmbedder(write_model(tmp_path / "mixing", mix=0.1))
    garden, alone, together = mixing.embed(["garden", "dog", "dog"], ["", "", "garden"])
    assert garden @ together > garden @ alone + 0.05


@pytest.mark.parametrize("mode", ["cls", "lasttoken"])
def test_what_stands_before_is_left_out_where_the_vector_could_not_do_without(tmp_path: Path, mode: str) -> None:
    write_json(write_model(tmp_path, mix=0.5), OLD, {"pooling_mode": mode})
    model = FolderEmbedder(tmp_path)
    assert np.array_equal(model.embed(["dog"], ["garden"]), model.embed(["dog"]))
    text = FolderEmbedder(write_model(tmp_path / "other", outputs=["sentence_embedding"]))
    assert near(text.embed(["dog"], ["garden"])[0], unit("dog"))


def test_pooling_that_is_said_to_be_the_mean_is_done_here_so_that_context_can_be_read(tmp_path: Path) -> None:
    write_model(tmp_path, outputs=("token_embeddings", "sentence_embedding"))
    write_json(tmp_path, OLD, {"pooling_mode_mean_tokens": True})
    assert near(FolderEmbedder(tmp_path).embed(["dog"], ["garden"])[0], unit("dog", special=False))


def test_questions_and_passages_have_their_prefixes(tmp_path: Path) -> None:
    write_json(write_model(tmp_path), "config_sentence_transformers.json", PROMPTS)
    model = FolderEmbedder(tmp_path)
    assert near(model.embed_query("dog"), unit("query", ":", "dog"))
    assert near(model.embed(["dog"])[0], unit("passage", ":", "dog"))
    assert near(model.embed(["dog"], ["garden"])[0], unit("dog", special=False)), "the prefix comes before the context"


def test_a_default_prompt_is_for_both(tmp_path: Path) -> None:
    fields = {"prompts": {"all": "query: "}, "default_prompt_name": "all"}
    write_json(write_model(tmp_path), "config_sentence_transformers.json", fields)
    model = FolderEmbedder(tmp_path)
    assert near(model.embed_query("dog"), model.embed(["dog"])[0])
    assert near(model.embed_query("dog"), unit("query", ":", "dog"))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, DEFAULT_TOKENS),
        ({"sentence_bert_config.json": {"max_seq_length": 7}}, 7),
        ({"sentence_bert_config.json": {"max_seq_length": None}, "config.json": {"max_position_embeddings": 128}}, 128),
        ({"config.json": {"max_position_embeddings": 514}}, 512),
        ({"tokenizer_config.json": {"model_max_length": 10**30}, "config.json": {"max_position_embeddings": 99}}, 99),
        ({"tokenizer_config.json": {"model_max_length": 64}, "config.json": {"max_position_embeddings": 512}}, 64),
        ({"config.json": {"max_position_embeddings": 8194}}, MOST_TOKENS),
    ],
)
def test_texts_are_read_as_far_as_the_model_reads(tmp_path: Path, files: dict[str, Any], expected: int) -> None:
    write_model(tmp_path)
    for name, content in files.items():
        write_json(tmp_path, name, content)
    model = FolderEmbedder(tmp_path)
    assert model.cost().max_tokens == expected
    fits = "dog " * (expected - 2)
    assert near(model.embed([fits]), model.embed([fits + "garden"]))
    assert not near(model.embed([fits]), model.embed([fits.removesuffix("dog ") + "garden"]))


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_any_text_is_accepted(tmp_path: Path, text: str) -> None:
    model = FolderEmbedder(write_model(tmp_path))
    for row in (model.embed([text])[0], model.embed(["dog"], [text])[0], model.embed([text], ["dog"])[0]):
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_a_model_whose_vectors_all_point_one_way_is_centred(tmp_path: Path) -> None:
    narrow = FolderEmbedder(write_model(tmp_path / "narrow", shift=3.0))
    dog, hund, garden, invoice = narrow.embed(["dog", "hund", "garden", "invoice"])
    assert dog @ hund == pytest.approx(1, abs=1e-4)
    assert max(dog @ garden, dog @ invoice, garden @ invoice) < 0.7
    one, other = (table(shift=3.0)[[CLS, VOCABULARY[word], SEP]].sum(axis=0) for word in ("dog", "garden"))
    assert one @ other / np.linalg.norm(one) / np.linalg.norm(other) > 0.9, "as they come out of the model"


def test_the_built_in_model_in_a_folder_is_the_same_model(tmp_path: Path, model: MiniLM) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(MODEL / name, tmp_path)
    own = FolderEmbedder(tmp_path)
    texts, before = ["login fails", "The one downtown."], ["", "Which agency?"]
    assert np.array_equal(own.embed(texts, before), model.embed(texts, before))
    tokens = (MODEL / "token_vectors.onnx").stat().st_size
    assert own.name != model.name and own.cost().bytes + tokens == model.cost().bytes


def test_a_transformer_is_pooled_here_as_the_built_in_one_pools_itself(tmp_path: Path, model: MiniLM) -> None:
    """The built-in graph without its last steps, as hubs have models: a vector for each token."""
    graph = onnx.load(str(MODEL / "model.onnx"))
    graph.graph.node.append(onnx.helper.make_node("Identity", ["pool.tokens"], ["last_hidden_state"]))
    hidden = onnx.helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", "width"])
    graph.graph.output.append(hidden)
    onnx.save(graph, str(tmp_path / "whole"))
    names = ["input_ids", "attention_mask"], ["last_hidden_state"]
    onnx.utils.extract_model(str(tmp_path / "whole"), str(tmp_path / "model.onnx"), *names, check_model=False)
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    own = FolderEmbedder(tmp_path)
    texts = varied_texts(40)
    before = ["", *texts[:-1]]
    assert (own.embed(texts, before) * model.embed(texts, before)).sum(axis=1).min() > 0.9999
    assert near(own.embed_query("login fails"), model.embed_query("login fails"))


def name_of(folder: Path) -> str:
    return FolderEmbedder(folder).name


def test_the_name_is_that_of_the_folder_and_of_all_that_makes_a_vector(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "here" / "tiny")
    first = name_of(folder)
    assert first.startswith("tiny/") and len(first) == len("tiny/") + 12
    assert name_of(Path(shutil.copytree(folder, tmp_path / "there" / "tiny"))) == first
    (folder / "README.md").write_text("Nothing that a vector depends on", encoding="utf-8")
    assert name_of(folder) == first
    names = {first}
    for change in (
        lambda: write_json(folder, OLD, {"pooling_mode": "cls"}),
        lambda: write_json(folder, "sentence_bert_config.json", {"max_seq_length": 9}),
        lambda: write_json(folder, "config_sentence_transformers.json", PROMPTS),
        lambda: write_model(folder, seed=6),
        lambda: (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes() + b"\n"),
    ):
        change()
        assert name_of(folder) not in names
        names.add(name_of(folder))


def test_weights_in_a_file_of_their_own_are_part_of_the_name(tmp_path: Path) -> None:
    names = set()
    for seed in (5, 6):
        folder = write_model(tmp_path / str(seed) / "tiny", external="model.onnx_data", seed=seed)
        names.add(name_of(folder))
        assert FolderEmbedder(folder).cost().bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert near(FolderEmbedder(tmp_path / "5" / "tiny").embed(["dog"])[0], unit("dog"))
    assert len(names) == 2


def test_in_the_cache_of_a_hub_a_model_is_called_by_its_own_name(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "models--acme--tiny" / "snapshots" / "0123456789abcdef")
    assert name_of(folder).startswith("acme/tiny/")


def test_a_model_that_is_replaced_before_it_is_loaded_is_not_used_under_the_old_name(tmp_path: Path) -> None:
    model = FolderEmbedder(write_model(tmp_path / "tiny"))
    assert model.name.startswith("tiny/")
    write_model(tmp_path / "tiny", seed=6, dim=30)
    with pytest.raises(EmbedderUnavailable, match="was changed"):
        model.embed(["dog"])


def nothing(folder: Path) -> None:
    shutil.rmtree(folder)


def dense(folder: Path) -> None:
    write_json(folder, "modules.json", [{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])


def two(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "model_a.onnx")
    shutil.copy(folder / "model_a.onnx", folder / "model_b.onnx")


BROKEN: dict[str, Any] = {
    "its folder does not exist": nothing,
    "no ONNX file": lambda folder: (folder / "model.onnx").unlink(),
    "several ONNX files: model_a.onnx, model_b.onnx": two,
    "no tokenizer.json": lambda folder: (folder / "tokenizer.json").unlink(),
    "pointer of Git LFS": lambda folder: (folder / "model.onnx").write_text("version https://git-lfs.github.com/spec"),
    "cannot be loaded: .*model.onnx": lambda folder: (folder / "model.onnx").write_bytes(b"not a model"),
    "cannot be loaded": lambda folder: (folder / "tokenizer.json").write_text("{}"),
    "takes the inputs input_ids, attention_mask, pixel_values": lambda folder: write_model(
        folder, inputs=("input_ids", "attention_mask", "pixel_values")
    ),
    "one fixed size only": lambda folder: write_model(folder, shape=(1, 128)),
    "has the outputs start_logits, end_logits": lambda folder: write_model(
        folder, outputs=("start_logits", "end_logits")
    ),
    "layers after pooling": dense,
    "pools its tokens by pooling_mode_max_tokens": lambda folder: write_json(
        folder, OLD, {"pooling_mode_max_tokens": True}
    ),
    "config.json that is not valid JSON": lambda folder: (folder / "config.json").write_text("{"),
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_folder_that_cannot_be_used_says_what_is_wrong_and_what_to_do(tmp_path: Path, text: str) -> None:
    folder = write_model(tmp_path / "tiny")
    BROKEN[text](folder)
    model = FolderEmbedder(folder)
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match=text) as refused:
            model.embed(["dog"])
    assert refused.value.code == "EMBEDDER_UNAVAILABLE" and refused.value.hint
    assert refused.value.message.startswith("The model tiny ") and str(tmp_path) not in refused.value.message
    assert model.state() == f"failed: {refused.value.message}" and model.name.startswith("tiny/")


def test_layers_after_pooling_are_fine_where_the_graph_has_them(tmp_path: Path) -> None:
    dense(write_model(tmp_path, outputs=("token_embeddings", "sentence_embedding")))
    write_json(tmp_path, OLD, {"pooling_mode_mean_tokens": True})
    model = FolderEmbedder(tmp_path)
    assert near(model.embed(["dog"], ["garden"])[0], unit("dog")) and model.cost().dim == 24


def test_the_cost_is_told_without_loading(tmp_path: Path) -> None:
    write_json(write_model(tmp_path, external="weights.bin"), "config.json", {"hidden_size": 24, "pad_token_id": 0})
    model = FolderEmbedder(tmp_path)
    cost = model.cost()
    assert (cost.dim, cost.max_tokens, model.state()) == (24, DEFAULT_TOKENS, "not loaded")
    write_tokenizer(tmp_path)
