"""The cross-encoder as an ONNX graph: the built-in model with a second adapter, a question and a memory to a number."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from minilm_adapted_graph import AdaptedEncoder
from minilm_graph import MAX_TOKENS, WIDTH, Tensors

INPUTS = ("input_ids", "attention_mask", "token_types")


def build(tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> onnx.ModelProto:
    """The graph with all its weights."""
    return _CrossEncoder(tensors, smoothing, adapter).model()


class _CrossEncoder(AdaptedEncoder):
    inputs = INPUTS
    outputs: Mapping[str, list[str | int]] = {"score": ["batch"]}

    def __init__(self, tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> None:
        super().__init__(tensors, smoothing, adapter)
        # It may have fewer layers than the encoder: those that its adapter knows.
        self.layers = range(len({name.split(".")[2] for name in adapter if name.startswith("encoder.layer.")}))

    def places(self) -> str:
        """Positions, and which of the two texts a token belongs to."""
        table = self.tensors["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        length = self.node("Shape", ["input_ids"], "length", start=1, end=2)
        place = self.node("Slice", [self.half("positions", table), self.constant([0]), length], "places.used")
        kinds = self.weights("types", self.tensors["embeddings.token_type_embeddings.weight"])
        kind = self.node("Gather", [kinds, "token_types"], "types.picked")
        return self.node("Add", [place, kind], "places.typed")

    def pool(self, x: str, mask: str, shape: str) -> None:
        full = self.node("Concat", [shape, self.constant([WIDTH])], "shape.full", axis=0)
        tokens = self.node("Reshape", [x, full], "pool.tokens")
        row = self.node("Unsqueeze", [mask, self.constant([1])], "pool.mask")
        total = self.node("MatMul", [row, tokens], "pool.sum")
        count = self.node("ReduceSum", [row, self.constant([2])], "pool.count", keepdims=1)
        mean = self.node("Div", [total, count], "pool.mean")
        head = self.weights("head.weight", self.adapter["head.weight"].T)
        score = self.node("MatMul", [mean, head], "head.product")
        score = self.node("Add", [score, self.weights("head.bias", self.adapter["head.bias"])], "head.sum")
        self.node("Squeeze", [score, self.constant([1, 2])], "score")
