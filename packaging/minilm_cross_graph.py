"""The cross-encoder as an ONNX graph: the built-in model with a second adapter, a question and a memory to a number.

Its large weights are those of the built-in model. They are not stored again: the graph names the bytes of `model.onnx`
where they are, so it takes the room of its adapter. The graph adds what was learned to these weights and quantises the
sum. All of that is constant, so the runtime does it once, when it loads the graph.
"""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from minilm_adapter import SCALE
from minilm_graph import HEAD_WIDTH, MAX_TOKENS, WIDTH, Encoder, Tensors

INPUTS = ("input_ids", "attention_mask", "token_types")
# Smaller tensors are stored with the graph.
SHARED_BYTES = 4096


def build(tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> onnx.ModelProto:
    """The graph with all its weights; `share` takes out those that another file has."""
    return _CrossEncoder(tensors, smoothing, adapter).model()


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


class _CrossEncoder(Encoder):
    inputs = INPUTS
    output = ("score", ["batch"])

    def __init__(self, tensors: Tensors, smoothing: Tensors | None, adapter: Tensors) -> None:
        super().__init__(tensors, smoothing)
        self.adapter, self.scale = adapter, np.float32(SCALE)
        # It may have fewer layers than the encoder: those that its adapter knows.
        self.layers = len({name.split(".")[2] for name in adapter if name.startswith("encoder.layer.")})

    def places(self) -> str:
        """Positions, and which of the two texts a token belongs to."""
        table = self.tensors["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        length = self.node("Shape", ["input_ids"], "length", start=1, end=2)
        place = self.node("Slice", [self.half("positions", table), self.constant([0]), length], "places.used")
        kinds = self.weights("types", self.tensors["embeddings.token_type_embeddings.weight"])
        kind = self.node("Gather", [kinds, "token_types"], "types.picked")
        return self.node("Add", [place, kind], "places.typed")

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
