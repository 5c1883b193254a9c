"""The built-in model as it is shipped: beside the vector of a text, a short vector for each of its tokens.

The last layers are taken a second time, with an adapter of their own; the vector of the text does not change.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from minilm_adapted_graph import AdaptedEncoder
from minilm_graph import Tensors, plain

BRANCH = "tokens/"


def build(tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> onnx.ModelProto:
    """The graph with int8 weights where `smoothing` is given, else in fp32."""
    return _TokenEncoder(tensors, smoothing, adapter).model()


class _TokenEncoder(AdaptedEncoder):
    def __init__(self, tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> None:
        super().__init__(tensors, smoothing, adapter)
        numbers = {int(name.split(".")[2]) for name in adapter if name.startswith("encoder.layer.")}
        self.first, self.branch = min(numbers), ""
        self.token_dim = len(adapter["project.weight"])
        self.outputs: Mapping[str, list[str | int]] = {
            **self.outputs,
            "token_vectors": ["batch", "sequence", self.token_dim],
            "token_weights": ["batch", "sequence"],
        }

    def is_adapted(self, step: str) -> bool:
        return plain(step) != step

    def before_layer(self, layer: int, x: str, hidden: str, heads: str) -> None:
        if layer >= self.first:
            self.branch = self.layer(self.branch or x, f"{BRANCH}{layer}", hidden, heads)

    def pool(self, x: str, pooled: str, shape: str) -> None:
        super().pool(x, pooled, shape)
        # The branch is one layer behind the encoder until the last.
        vectors = self.node(
            "MatMul", [self.branch, self.half("project", self.adapter["project.weight"].T)], "projected"
        )
        vectors = self.node("LpNormalization", [vectors], "projected.unit", axis=-1, p=2)
        full = self.node("Concat", [shape, self.constant([self.token_dim])], "shape.tokens", axis=0)
        self.node("Reshape", [vectors, full], "token_vectors")
        weights = self.node("MatMul", [self.branch, self.half("weigh", self.adapter["weigh.weight"].T)], "weighed")
        weights = self.node("Add", [weights, self.weights("weigh.bias", self.adapter["weigh.bias"])], "weighed.sum")
        weights = self.node("Softplus", [weights], "weighed.positive")
        self.node("Reshape", [weights, shape], "token_weights")
