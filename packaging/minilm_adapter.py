"""What was learned for memories: small files added to the weights of the original model (docs/inside/model.md)."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ENCODER = Path(__file__).with_name("encoder.safetensors")
TOKEN_VECTORS = ENCODER.with_name("token_vectors.safetensors")
# What turns the vector of a new statement toward what it may change (training/tune_gate.py).
CONTRADICTION_GATE = ENCODER.with_name("contradiction_gate.safetensors")
# What reads two texts together, by the name of its graph in the package.
CROSS_ENCODERS = {
    f"{name}.onnx": ENCODER.with_name(f"{name}.safetensors") for name in ("cross_encoder", "contradictions")
}
# What is learned is added twice over, as in training/encoder.py.
SCALE = 2.0

Tensors = Mapping[str, NDArray[np.float32]]


def read(path: Path) -> dict[str, NDArray[np.float32]]:
    """The tensors of an adapter, which are stored in fp16."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    tensors = {}
    for name, entry in json.loads(content[8:start]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            numbers = np.frombuffer(content[start + first : start + last], dtype="<f2")
            tensors[name] = numbers.reshape(entry["shape"]).astype(np.float32)
    return tensors


def merged(tensors: Tensors, adapter: Tensors) -> dict[str, NDArray[np.float32]]:
    """Weights with what an adapter learned added to them."""
    result = dict(tensors)
    for name, up in adapter.items():
        step, _, part = name.rpartition(".")
        if part == "up":
            result[f"{step}.weight"] = tensors[f"{step}.weight"] + np.float32(SCALE) * (up @ adapter[f"{step}.down"])
    return result


def gate_file() -> bytes:
    """The two factors of the gate's map, as the file that the package reads."""
    learned = read(CONTRADICTION_GATE)
    file = io.BytesIO()
    np.save(file, np.stack([learned["down"], learned["up"].T]).astype(np.float16), allow_pickle=False)
    return file.getvalue()
