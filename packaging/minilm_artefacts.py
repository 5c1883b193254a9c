"""Puts the built-in model into the package, and knows when it is already there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

# Stored beside every vector. Raise it whenever vectors of the new model cannot be compared with those of the old.
NAME = "commonplace-memory-3/int8"
MODEL, TOKEN_VECTORS = "model.onnx", "token_vectors.onnx"
GATE = "contradiction_gate.npy"
FILES = (MODEL, TOKEN_VECTORS, "cross_encoder.onnx", "contradictions.onnx", GATE, "tokenizer.json")
RECORD = "build.json"


def ensure(folder: Path) -> bool:
    """Build what is missing or outdated in `folder`. True when something was built.

    The heavy imports wait until then: a build that finds everything in place needs none of them.
    """
    if up_to_date(folder):
        return False
    import minilm_adapted_graph
    import minilm_adapter
    import minilm_calibration
    import minilm_cross_graph
    import minilm_source
    import minilm_token_graph

    source = minilm_source.fetch()
    tensors = minilm_adapter.merged(source.tensors, minilm_adapter.read(minilm_adapter.ENCODER))
    smoothing = minilm_calibration.smoothing(tensors)
    tokens = minilm_adapter.read(minilm_adapter.TOKEN_VECTORS)
    model = minilm_token_graph.build_encoder(tensors, smoothing, tokens).SerializeToString(deterministic=True)
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / MODEL, model)
    adapted = {TOKEN_VECTORS: minilm_token_graph.build(tensors, smoothing, tokens)}
    for name, adapter in minilm_adapter.CROSS_ENCODERS.items():
        adapted[name] = minilm_cross_graph.build(tensors, smoothing, minilm_adapter.read(adapter))
    for name, graph in adapted.items():
        shared = minilm_adapted_graph.share(graph, model, MODEL)
        _replace(folder / name, shared.SerializeToString(deterministic=True))
    _replace(folder / GATE, minilm_adapter.gate_file())
    _replace(folder / "tokenizer.json", source.tokenizer)
    record = {"name": NAME, "recipe": recipe(), "files": {name: _digest(folder / name) for name in FILES}}
    _replace(folder / RECORD, (json.dumps(record, indent=2) + "\n").encode())
    return True


def up_to_date(folder: Path) -> bool:
    """Whether the files are those that this recipe recorded."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        files = {name: _digest(folder / name) for name in FILES}
    except (OSError, ValueError):
        return False
    return bool(record == {"name": NAME, "recipe": recipe(), "files": files})


def recipe() -> str:
    """A digest of what makes the model, code and adapters: when it changes, the model is made again."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.safetensors")):
        digest.update(path.read_bytes())
    for path in sorted(Path(__file__).parent.glob("minilm_*.py")):
        # Git may check out other line ends; they are not another recipe.
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    """Whole or not at all: an interrupted build must not leave half a model."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)
