"""The built-in model in PyTorch, with a low-rank adapter that can be trained and written to a small file.

Its tensors have the names of the weights that the package is built from, and it computes what the graph of
packaging/minilm_graph.py computes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
# What is learned is added twice over, as is usual for adapters of small rank.
SCALE = 2.0
# The linear steps of a layer, and what the weights call them.
STEPS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}


class AdaptedLinear(nn.Module):
    """A frozen linear step with a learned addition of low rank."""

    down: Tensor
    up: Tensor

    def __init__(self, weight: Tensor, bias: Tensor, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)
        outputs, inputs = weight.shape
        self.down = nn.Parameter(torch.randn(rank, inputs, generator=generator) / inputs**0.5)
        self.up = nn.Parameter(torch.zeros(outputs, rank))

    def forward(self, x: Tensor) -> Tensor:
        learned = functional.linear(functional.linear(x, self.down), self.up)
        return functional.linear(x, self.weight, self.bias) + SCALE * learned


class Layer(nn.Module):
    """One layer of the encoder."""

    def __init__(self, tensors: Mapping[str, Tensor], root: str, rank: int, generator: torch.Generator) -> None:
        super().__init__()

        def step(name: str) -> AdaptedLinear:
            return AdaptedLinear(tensors[f"{root}.{name}.weight"], tensors[f"{root}.{name}.bias"], rank, generator)

        self.query, self.key, self.value = (step(f"attention.self.{name}") for name in ("query", "key", "value"))
        self.out, self.up, self.down = (
            step(name) for name in ("attention.output.dense", "intermediate.dense", "output.dense")
        )
        for name in ("attention.output", "output"):
            for kind in ("weight", "bias"):
                self.register_buffer(f"{name.replace('.', '_')}_{kind}", tensors[f"{root}.{name}.LayerNorm.{kind}"])

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = [
            step(x).view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for step in (self.query, self.key, self.value)
        ]
        mixed = functional.scaled_dot_product_attention(*heads, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, WIDTH)
        x = self._norm(x + self.out(mixed), "attention_output")
        return self._norm(x + self.down(functional.gelu(self.up(x))), "output")

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias")
        return functional.layer_norm(x, (WIDTH,), weight, bias, EPSILON)


class Encoder(nn.Module):
    """Token ids to one vector for each token."""

    def __init__(self, tensors: Mapping[str, Tensor], rank: int, seed: int = 0, layers: int = LAYERS) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        for name in ("word", "position", "token_type"):
            self.register_buffer(name, tensors[f"embeddings.{name}_embeddings.weight"])
        self.register_buffer("norm_weight", tensors["embeddings.LayerNorm.weight"])
        self.register_buffer("norm_bias", tensors["embeddings.LayerNorm.bias"])
        self.layers = nn.ModuleList(
            Layer(tensors, f"encoder.layer.{number}", rank, generator) for number in range(layers)
        )

    def embedded(self, ids: Tensor, types: Tensor | None = None) -> Tensor:
        """What the first layer reads."""
        x = self.word[ids] + self.position[: ids.shape[1]]
        x = x + (self.token_type[0] if types is None else self.token_type[types])
        return functional.layer_norm(x, (WIDTH,), self.norm_weight, self.norm_bias, EPSILON)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        x = self.embedded(ids, types)
        readable = mask.bool()[:, None, None, :]
        for layer in self.layers:
            x = layer(x, readable)
        return x

    def adapter(self) -> dict[str, np.ndarray[Any, Any]]:
        """What was learned, by the names of the weights that it is added to: (out, rank) and (rank, in)."""
        learned = {}
        for number, layer in enumerate(self.layers):
            for own, name in STEPS.items():
                step = getattr(layer, own)
                for part, tensor in (("up", step.up), ("down", step.down)):
                    learned[f"encoder.layer.{number}.{name}.{part}"] = (
                        tensor.detach().float().cpu().numpy().astype(np.float16)
                    )
        return learned


def pad(rows: Sequence[Sequence[int]], device: str) -> tuple[Tensor, Tensor]:
    """Rows of ids as one tensor, and which of them are there."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    there = np.arange(lengths.max())[None, :] < lengths[:, None]
    ids = np.zeros(there.shape, dtype=np.int64)
    ids[there] = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    return torch.from_numpy(ids).to(device), torch.from_numpy(there.astype(np.int64)).to(device)


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """All floating-point tensors of a file, in fp32."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    table = json.loads(content[8:start])
    kinds = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
    tensors = {}
    for name, entry in table.items():
        if name == "__metadata__" or entry["dtype"] not in kinds:
            continue
        first, last = entry["data_offsets"]
        numbers = np.frombuffer(content[start + first : start + last], dtype=kinds[entry["dtype"]])
        tensors[name] = torch.from_numpy(numbers.reshape(entry["shape"]).astype(np.float32))
    return tensors


def merged(tensors: Mapping[str, Tensor], adapter: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights with what an adapter learned added to them."""
    result = dict(tensors)
    for name, up in adapter.items():
        if name.endswith(".up"):
            weight = name.removesuffix(".up") + ".weight"
            result[weight] = tensors[weight] + SCALE * (up @ adapter[name.removesuffix(".up") + ".down"])
    return result


def learned_parameters(module: nn.Module) -> Iterable[nn.Parameter]:
    return (parameter for parameter in module.parameters() if parameter.requires_grad)
