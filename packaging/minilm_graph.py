"""all-MiniLM-L6-v2 as an ONNX graph, written node by node: token ids in, unit vectors out.

Which tokens are read and which of them make the vector are two inputs: a text can be read in its context, and still be
what its vector stands for.

The int8 form quantises each token's activations by their own maximum, so that the vector of a text does not depend on
what else is in its batch. A few channels of the layer norms are a hundred times larger than the rest and would leave
them no resolution; `smoothing` (see minilm_calibration.py) moves that size from the activations into the weights.
Attention is spelled out in plain operators: on CPUs that was faster than the fused one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Tensors = Mapping[str, NDArray[np.float32]]
FUSED = "com.microsoft"
LAYERS, HEADS, WIDTH = 6, 12, 384
HEAD_WIDTH = WIDTH // HEADS
MAX_TOKENS = 256
INPUTS = ("input_ids", "attention_mask", "pooled")
EPSILON = 1e-12
# The middle of uint8: activations are symmetric around zero.
MIDDLE = 128


def build(tensors: Tensors, smoothing: Tensors | None = None) -> onnx.ModelProto:
    """The graph with int8 weights where `smoothing` is given, else in fp32."""
    return Encoder(tensors, smoothing).model()


def inputs_of_norms() -> dict[str, str]:
    """Which node feeds each linear step whose input is a layer norm: what calibration has to watch."""
    watched: dict[str, str] = {}
    for layer in range(LAYERS):
        watched[f"{layer}.qkv"] = f"{layer - 1}.ffn.norm" if layer else "embedded"
        watched[f"{layer}.ffn.up"] = f"{layer}.attention.norm"
    return watched


def weight_of(tensors: Tensors, step: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weight (out, in) and bias of a linear step. Query, key and value are one; the query carries 1/sqrt(width)."""
    layer, _, part = step.partition(".")
    root = f"encoder.layer.{layer}."
    if part != "qkv":
        inner = {"attention.out": "attention.output", "ffn.up": "intermediate", "ffn.down": "output"}[part]
        return tensors[f"{root}{inner}.dense.weight"], tensors[f"{root}{inner}.dense.bias"]
    scale = np.float32(HEAD_WIDTH**-0.5)
    names = [f"{root}attention.self.{name}" for name in ("query", "key", "value")]
    weights, biases = ([tensors[f"{name}.{kind}"] for name in names] for kind in ("weight", "bias"))
    weights[0], biases[0] = weights[0] * scale, biases[0] * scale
    return np.concatenate(weights), np.concatenate(biases)


class Encoder:
    """Writes the graph; a subclass may read, add or end otherwise."""

    inputs: tuple[str, ...] = INPUTS
    outputs: Mapping[str, list[str | int]] = {"embedding": ["batch", WIDTH]}
    layers = range(LAYERS)

    def __init__(self, tensors: Tensors, smoothing: Tensors | None) -> None:
        self.tensors, self.smoothing = tensors, smoothing
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def model(self) -> onnx.ModelProto:
        shape = self.node("Shape", ["attention_mask"], "shape")
        mask = self.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
        if self.smoothing is not None:
            tokens = self.node("ReduceProd", [shape], "tokens", keepdims=1)
            self.node("Expand", [self.constant([MIDDLE], np.uint8), tokens], "middles")
        # 0 where there is a token, -10000 where there is padding: added before the softmax.
        hidden = self.node("Sub", [mask, self.constant(1, np.float32)], "mask.hidden")
        hidden = self.node("Mul", [hidden, self.constant(1e4, np.float32)], "mask.penalty")
        hidden = self.node("Unsqueeze", [hidden, self.constant([1, 2])], "mask.scores")
        heads = self.node("Concat", [shape, self.constant([3, HEADS, HEAD_WIDTH])], "shape.heads", axis=0)
        x = self.embedding()
        for layer in self.layers:
            self.before_layer(layer, x)
            x = self.feed_forward(self.attention(x, f"{layer}", hidden, heads), f"{layer}")
        pooled = (
            mask if "pooled" not in self.inputs else self.node("Cast", ["pooled"], "pooled.float", to=TensorProto.FLOAT)
        )
        self.pool(x, pooled, shape)
        return self.assembled()

    def before_layer(self, layer: int, x: str) -> None:
        """A subclass may tell here what the layer reads."""

    def embedding(self) -> str:
        words = self.tensors["embeddings.word_embeddings.weight"]
        if self.smoothing is None:
            word = self.node("Gather", [self.weights("words", words), "input_ids"], "words.picked")
        else:
            rows, scale = _int8(words)
            picked = self.node("Gather", [self.weights("words", rows), "input_ids"], "words.int8")
            picked = self.node("Cast", [picked], "words.float", to=TensorProto.FLOAT)
            scales = self.node("Gather", [self.weights("words.scale", scale[:, None]), "input_ids"], "words.scales")
            word = self.node("Mul", [picked, scales], "words.picked")
        both = self.node("Add", [word, self.places()], "embedded.sum")
        flat = self.node("Reshape", [both, self.constant([-1, WIDTH])], "embedded.flat")
        return self.norm(flat, "embeddings.LayerNorm", "embedded")

    def places(self) -> str:
        """The positions of the tokens. One text at a time means one token type: its row is part of every position."""
        places = self.tensors["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        places = places + self.tensors["embeddings.token_type_embeddings.weight"][0]
        length = self.node("Shape", ["input_ids"], "length", start=1, end=2)
        return self.node("Slice", [self.weights("places", places), self.constant([0]), length], "places.used")

    def attention(self, x: str, layer: str, hidden: str, heads: str) -> str:
        root = f"{layer}.attention"
        qkv = self.node("Reshape", [self.linear(x, f"{layer}.qkv"), heads], f"{root}.heads")
        qkv = self.node("Transpose", [qkv], f"{root}.turned", perm=[2, 0, 3, 1, 4])
        parts = [f"{root}.{name}" for name in ("q4", "k4", "v4")]
        self.nodes.append(helper.make_node("Split", [qkv], parts, name=f"{root}.split", axis=0, num_outputs=3))
        query, key, value = (self.node("Squeeze", [part, self.constant([0])], part[:-1]) for part in parts)
        key = self.node("Transpose", [key], f"{root}.k.turned", perm=[0, 1, 3, 2])
        scores = self.node("MatMul", [query, key], f"{root}.scores")
        scores = self.node("Add", [scores, hidden], f"{root}.masked")
        shares = self.node("Softmax", [scores], f"{root}.shares", axis=-1)
        mixed = self.node("MatMul", [shares, value], f"{root}.mixed")
        mixed = self.node("Transpose", [mixed], f"{root}.joined", perm=[0, 2, 1, 3])
        mixed = self.node("Reshape", [mixed, self.constant([-1, WIDTH])], f"{root}.flat")
        added = self.node("Add", [self.linear(mixed, f"{root}.out"), x], f"{root}.sum")
        return self.norm(added, f"encoder.layer.{layer}.attention.output.LayerNorm", f"{root}.norm")

    def feed_forward(self, x: str, layer: str) -> str:
        wide = self.node("Gelu", [self.linear(x, f"{layer}.ffn.up")], f"{layer}.ffn.gelu", domain=FUSED)
        added = self.node("Add", [self.linear(wide, f"{layer}.ffn.down"), x], f"{layer}.ffn.sum")
        return self.norm(added, f"encoder.layer.{layer}.output.LayerNorm", f"{layer}.ffn.norm")

    def pool(self, x: str, pooled: str, shape: str) -> None:
        """The masked sum points where the masked mean points, and only the direction is kept."""
        full = self.node("Concat", [shape, self.constant([WIDTH])], "shape.full", axis=0)
        tokens = self.node("Reshape", [x, full], "pool.tokens")
        row = self.node("Unsqueeze", [pooled, self.constant([1])], "pool.mask")
        total = self.node("MatMul", [row, tokens], "pool.sum")
        total = self.node("Squeeze", [total, self.constant([1])], "pool.flat")
        self.node("LpNormalization", [total], "embedding", axis=-1, p=2)

    def linear(self, x: str, step: str) -> str:
        weight, bias = weight_of(self.tensors, step)
        if self.smoothing is None:
            product = self.node("MatMul", [x, self.weight(step, weight)], f"{step}.product")
            return self.node("Add", [product, self.weights(f"{step}.bias", bias)], step)
        if step in self.smoothing:
            factor = self.smoothing[step]
            x = self.node("Mul", [x, self.weights(f"{step}.smoothing", 1 / factor)], f"{step}.smoothed")
            weight = weight * factor
        size = self.node("Abs", [x], f"{step}.size")
        top = self.node("ReduceMax", [size, self.constant([-1])], f"{step}.top", keepdims=0)
        scale = self.node("Mul", [top, self.constant(1 / 127, np.float32)], f"{step}.scale")
        whole = self.node("QuantizeLinear", [x, scale, "middles"], f"{step}.uint8", axis=0)
        columns, column_scale = self.int8_weight(step, weight)
        operands = [whole, columns, self.constant(1, np.float32), column_scale, self.constant(MIDDLE, np.uint8)]
        operands += [self.weights(f"{step}.weight.zero", np.zeros(len(weight), np.int8))]
        product = self.node("MatMulIntegerToFloat", operands, f"{step}.product", domain=FUSED)
        column = self.node("Unsqueeze", [scale, self.constant([1])], f"{step}.scale.column")
        scaled = self.node("Mul", [product, column], f"{step}.scaled")
        return self.node("Add", [scaled, self.weights(f"{step}.bias", bias)], step)

    def weight(self, step: str, weight: NDArray[np.float32]) -> str:
        """The weight of a step in fp32, turned to (in, out)."""
        return self.weights(f"{step}.weight", weight.T)

    def int8_weight(self, step: str, weight: NDArray[np.float32]) -> tuple[str, str]:
        """The weight of a step in int8, turned to (in, out), and the scale of each of its columns."""
        rows, scale = _int8(weight)
        return self.weights(f"{step}.weight", rows.T), self.weights(f"{step}.weight.scale", scale)

    def norm(self, x: str, source: str, name: str) -> str:
        gain = self.weights(f"{name}.gain", self.tensors[f"{source}.weight"])
        shift = self.weights(f"{name}.shift", self.tensors[f"{source}.bias"])
        return self.node("LayerNormalization", [x, gain, shift], name, axis=-1, epsilon=EPSILON)

    def node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def weights(self, name: str, values: NDArray[np.generic]) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def constant(self, value: float | list[int], kind: type[np.generic] = np.int64) -> str:
        return self.weights(f"{kind.__name__}:{value}", np.array(value, kind))

    def described_input(self, name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])

    def assembled(self) -> onnx.ModelProto:
        inputs = [self.described_input(name) for name in self.inputs]
        outputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in self.outputs.items()
        ]
        graph = helper.make_graph(self.nodes, "all-MiniLM-L6-v2", inputs, outputs, list(self.constants.values()))
        versions = [helper.make_opsetid("", 18), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=8, producer_name="commonplace")


def _int8(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as whole numbers from -127 to 127, and the scale of each row.

    x86 processors without VNNI add two neighbouring products in 16 bits, which overflow when both weights are large and
    of one sign. The scale keeps the sum of such a pair within 128 and so every product exact: 255 * 128 < 2**15.
    """
    pairs = weight.reshape(len(weight), -1, 2).sum(axis=2)
    largest = np.maximum(np.abs(weight).max(axis=1), np.abs(pairs).max(axis=1))
    scale = (np.maximum(largest, np.float32(1e-12)) / np.float32(127)).astype(np.float32)
    return np.rint(weight / scale[:, None]).astype(np.int8), scale
