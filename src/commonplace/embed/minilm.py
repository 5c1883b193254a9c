"""The built-in model: all-MiniLM-L6-v2, taught to find memories, in int8. It is part of this package, no download."""

from __future__ import annotations

from pathlib import Path

from commonplace.embed import ModelCost
from commonplace.embed.onnx_embedder import ModelFiles, OnnxEmbedder
from commonplace.errors import EmbedderUnavailable

NAME = "commonplace-memory-3/int8"
DIM = 384
MAX_TOKENS = 256
MODEL = Path(__file__).with_name("model")


class MiniLM(OnnxEmbedder):
    """The built-in embedder. Its graph pools and normalises by itself (packaging/minilm_graph.py)."""

    name = NAME
    dim = DIM

    def __init__(self, threads: int = 2, folder: Path = MODEL) -> None:
        super().__init__(threads)
        self._folder = folder

    def files(self) -> ModelFiles:
        missing = [name for name in ("model.onnx", "tokenizer.json") if not (self._folder / name).is_file()]
        advice = "Install Commonplace again from its wheel, or run `make install` in a source checkout."
        if missing:
            raise EmbedderUnavailable(
                f"The built-in model is incomplete: {' and '.join(missing)} not found in the package.", advice
            )
        model, tokenizer = self._folder / "model.onnx", self._folder / "tokenizer.json"
        return ModelFiles("The built-in model", advice, model, tokenizer, MAX_TOKENS, DIM)

    def cost(self) -> ModelCost:
        files = self.files()
        return ModelCost(files.model.stat().st_size + files.tokenizer.stat().st_size, DIM, MAX_TOKENS)
