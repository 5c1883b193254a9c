"""Token vectors as an ONNX graph: the last layers of the built-in model, with an adapter of their own.

They read what the layer before them made of a text: the graph of its vector gives that out beside the vector. Two
graphs, because a search needs the vector at once, and the token vectors a moment later.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import TensorProto, helper

from minilm_adapted_graph import AdaptedEncoder
from minilm_graph import LAYERS, WIDTH, Encoder, Tensors

STATES = "states"


def build_encoder(tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> onnx.ModelProto:
    """The built-in model that makes the vector of a text, and what the graph of token vectors reads."""
    return _EncoderWithStates(tensors, smoothing, _first_layer(adapter)).model()


def build(tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> onnx.ModelProto:
    """The graph of token vectors with all its weights; in int8 where `smoothing` is given, else in fp32."""
    return _TokenEncoder(tensors, smoothing, adapter).model()


def _first_layer(adapter: Tensors) -> int:
    """The first layer that the adapter knows."""
    return min(int(name.split(".")[2]) for name in adapter if name.startswith("encoder.layer."))


class _EncoderWithStates(Encoder):
    outputs: Mapping[str, list[str | int]] = {**Encoder.outputs, STATES: ["tokens", WIDTH]}

    def __init__(self, tensors: Tensors, smoothing: Tensors | None, first: int) -> None:
        super().__init__(tensors, smoothing)
        self.first = first

    def before_layer(self, layer: int, x: str) -> None:
        if layer == self.first:
            self.node("Identity", [x], STATES)


class _TokenEncoder(AdaptedEncoder):
    inputs = (STATES, "attention_mask")

    def __init__(self, tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> None:
        super().__init__(tensors, smoothing, adapter)
        self.layers = range(_first_layer(adapter), LAYERS)
        self.token_dim = len(adapter["project.weight"])
        self.outputs: Mapping[str, list[str | int]] = {
            "token_vectors": ["batch", "sequence", self.token_dim],
            "token_weights": ["batch", "sequence"],
        }

    def described_input(self, name: str) -> onnx.ValueInfoProto:
        if name == STATES:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["tokens", WIDTH])
        return super().described_input(name)

    def embedding(self) -> str:
        return STATES

    def pool(self, x: str, pooled: str, shape: str) -> None:
        vectors = self.node("MatMul", [x, self.half("project", self.adapter["project.weight"].T)], "projected")
        vectors = self.node("LpNormalization", [vectors], "projected.unit", axis=-1, p=2)
        full = self.node("Concat", [shape, self.constant([self.token_dim])], "shape.tokens", axis=0)
        self.node("Reshape", [vectors, full], "token_vectors")
        weights = self.node("MatMul", [x, self.half("weigh", self.adapter["weigh.weight"].T)], "weighed")
        weights = self.node("Add", [weights, self.weights("weigh.bias", self.adapter["weigh.bias"])], "weighed.sum")
        weights = self.node("Softplus", [weights], "weighed.positive")
        self.node("Reshape", [weights, shape], "token_weights")
