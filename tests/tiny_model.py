"""A small sentence model, real ONNX with a real tokenizer: the vector of a text is the mean of its words' vectors.

Words of the same meaning in several languages have the same vector, so it understands them all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from commonplace.embed.model_files import REFERENCE_TEXTS

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
# They say little, as do the special tokens.
PREFIXES = ("query", "passage", ":")
PAD, UNKNOWN, CLS, SEP = range(4)
MEANINGS = (
    ("dog", "hund", "perro", "chien", "犬"),
    ("bicycle", "fahrrad", "bicicleta", "vélo", "自転車"),
    ("invoice", "rechnung", "factura", "facture", "請求書"),
    ("password", "passwort", "contraseña", "mot", "暗証"),
    ("garden", "garten", "jardín", "jardin", "庭"),
)
# Words that mean something to every model, each something else.
OTHERS = tuple(dict.fromkeys(re.findall(r"\w+", " ".join(REFERENCE_TEXTS).lower())))
WORDS = [*SPECIAL, *PREFIXES, *(word for same in MEANINGS for word in same), *OTHERS]
VOCABULARY = {word: number for number, word in enumerate(WORDS)}


def table(dim: int = 24, shift: float = 0.0, seed: int = 5) -> NDArray[np.float32]:
    """The vector of each word; `shift` moves all of them in one direction."""
    chance = np.random.default_rng(seed)
    rows = [chance.normal(size=dim) * 0.05 for _ in (*SPECIAL, *PREFIXES)]
    for same in MEANINGS:
        rows += [chance.normal(size=dim)] * len(same)
    rows += [chance.normal(size=dim) for _ in OTHERS]
    return (np.array(rows) + shift).astype(np.float32)


def write_model(
    folder: Path,
    *,
    name: str = "model.onnx",
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    outputs: Sequence[str] = ("last_hidden_state",),
    whole: int = TensorProto.INT64,
    shape: Sequence[str | int] = ("batch", "sequence"),
    dim: int = 24,
    shift: float = 0.0,
    seed: int = 5,
    mix: float = 0.0,
    external: str = "",
) -> Path:
    """Write the model and its tokenizer. An output whose name ends in `embedding` is a vector for the text.

    `mix` is how much of all the others there is in the vector of each token.
    """
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["word.vectors"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "one"], ["mask.row"]),
        helper.make_node("MatMul", ["mask.row", "word.vectors"], ["text.row"]),
        helper.make_node("Squeeze", ["text.row", "one"], ["text.vector"]),
        helper.make_node("Mul", ["text.row", "mix"], ["text.share"]),
        helper.make_node("Add", ["word.vectors", "text.share"], ["token.vectors"]),
    ]
    made = []
    for output in outputs:
        of_text = output.endswith("embedding")
        nodes.append(helper.make_node("Identity", ["text.vector" if of_text else "token.vectors"], [output]))
        sizes: list[str | int | None] = ["batch", dim] if of_text else ["batch", "sequence", "width"]
        made.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, sizes))
    taken = [helper.make_tensor_value_info(input_, whole, list(shape)) for input_ in inputs]
    weights = [
        numpy_helper.from_array(table(dim, shift, seed), "words"),
        numpy_helper.from_array(np.array([1], np.int64), "one"),
        numpy_helper.from_array(np.array(mix, np.float32), "mix"),
    ]
    graph = helper.make_graph(nodes, "tiny", taken, made, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    path = folder / name
    if external:
        onnx.save(model, str(path), save_as_external_data=True, location=external, size_threshold=1024)
    else:
        path.write_bytes(model.SerializeToString())
    write_tokenizer(folder)
    return folder


def write_tokenizer(folder: Path) -> None:
    tokenizer = Tokenizer(WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)])
    tokenizer.save(str(folder / "tokenizer.json"))


def write_json(folder: Path, name: str, content: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def unit(*words: str, dim: int = 24, special: bool = True) -> NDArray[np.float32]:
    """What the model should make of these words."""
    ids = [VOCABULARY.get(word, UNKNOWN) for word in (("[CLS]", *words, "[SEP]") if special else words)]
    total = table(dim)[ids].sum(axis=0)
    vector: NDArray[np.float32] = total / np.linalg.norm(total)
    return vector
