"""Graphs with a second adapter: the weights of the built-in model, with what else was learned added to them.

The large weights are not stored again: the graph adds what was learned to the built-in ones and quantises the sum. All
of that is constant, so the runtime does it once, when it loads the graph. So a graph takes the room of its adapter:
`share` lets it name the bytes of the built-in model where they are.
"""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from minilm_adapter import SCALE
from minilm_graph import HEAD_WIDTH, WIDTH, Encoder, Tensors

# Smaller tensors are stored with the graph.
SHARED_BYTES = 4096


def share(graph: onnx.ModelProto, model: bytes, name: str) -> onnx.ModelProto:
    """The graph without the weights that stand in the file `name`, whose content is `model`."""
    for tensor in graph.graph.initializer:
        place = model.find(tensor.raw_data) if len(tensor.raw_data) >= SHARED_BYTES else -1
        if place < 0:
            continue
        length = len(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", name), ("offset", place), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
    return graph


class AdaptedEncoder(Encoder):
    """The encoder with an adapter on its steps."""

    def __init__(self, tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> None:
        super().__init__(tensors, smoothing)
        self.adapter, self.scale = adapter, np.float32(SCALE)

    def weight(self, step: str, weight: NDArray[np.float32]) -> str:
        return self.node("Add", [super().weight(step, weight), self.addition(step)], f"{step}.weight.adapted")

    def int8_weight(self, step: str, weight: NDArray[np.float32]) -> tuple[str, str]:
        """As `_int8` of minilm_graph.py, computed by the graph."""
        columns, scale = super().int8_weight(step, weight)
        root = f"{step}.weight"
        known = self.node("Cast", [columns], f"{root}.float", to=TensorProto.FLOAT)
        known = self.node("Mul", [known, scale], f"{root}.known")
        adapted = self.node("Add", [known, self.addition(step)], f"{root}.adapted")
        pairs = self.node(
            "Reshape", [adapted, self.constant([weight.shape[1] // 2, 2, weight.shape[0]])], f"{root}.pairs"
        )
        pairs = self.node("ReduceSum", [pairs, self.constant([1])], f"{root}.pairs.sum", keepdims=0)
        tops = []
        for name, values in (("single", adapted), ("pair", pairs)):
            size = self.node("Abs", [values], f"{root}.{name}.size")
            tops.append(self.node("ReduceMax", [size, self.constant([0])], f"{root}.{name}.top", keepdims=0))
        top = self.node("Max", [*tops, self.constant(1e-12, np.float32)], f"{root}.top")
        adapted_scale = self.node("Mul", [top, self.constant(1 / 127, np.float32)], f"{root}.adapted.scale")
        whole = self.node("Round", [self.node("Div", [adapted, adapted_scale], f"{root}.scaled")], f"{root}.rounded")
        return self.node("Cast", [whole], f"{root}.int8", to=TensorProto.INT8), adapted_scale

    def addition(self, step: str) -> str:
        """What was learned for a step, in the size of its weight."""
        down, up = self.learned(step)
        if self.smoothing is not None and step in self.smoothing:
            down = self.smoothing[step][:, None] * down
        parts = [self.half(f"{step}.learned.down", down), self.half(f"{step}.learned.up", up)]
        return self.node("MatMul", parts, f"{step}.learned")

    def half(self, name: str, values: NDArray[np.float32]) -> str:
        """Weights that are stored in fp16 and read in fp32."""
        return self.node("Cast", [self.weights(name, values.astype(np.float16))], f"{name}.float", to=TensorProto.FLOAT)

    def learned(self, step: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What a step reads and what it adds: (in, rank) and (rank, out)."""
        layer, _, part = step.partition(".")
        root = f"encoder.layer.{layer}."
        if part != "qkv":
            inner = {"attention.out": "attention.output", "ffn.up": "intermediate", "ffn.down": "output"}[part]
            name = f"{root}{inner}.dense"
            return self.adapter[f"{name}.down"].T, self.scale * self.adapter[f"{name}.up"].T
        names = [f"{root}attention.self.{name}" for name in ("query", "key", "value")]
        down = np.concatenate([self.adapter[f"{name}.down"] for name in names]).T
        rank = len(self.adapter[f"{names[0]}.down"])
        up = np.zeros((3 * rank, 3 * WIDTH), np.float32)
        for place, name in enumerate(names):
            # The query carries 1/sqrt(width) as in the encoder.
            factor = self.scale * (np.float32(HEAD_WIDTH**-0.5) if place == 0 else np.float32(1))
            rows, columns = slice(place * rank, (place + 1) * rank), slice(place * WIDTH, (place + 1) * WIDTH)
            up[rows, columns] = factor * self.adapter[f"{name}.up"].T
        return down, up
