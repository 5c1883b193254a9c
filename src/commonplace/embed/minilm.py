"""The built-in model: all-MiniLM-L6-v2, taught to find memories, in int8. It is part of this package, no download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.embed import ModelCost, token_vectors
from commonplace.embed.onnx_embedder import ModelFiles, OnnxEmbedder
from commonplace.embed.token_vectors import AskedTokens
from commonplace.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

NAME = "commonplace-memory-3/int8"
DIM = 384
MAX_TOKENS = 256
MODEL = Path(__file__).with_name("model")
# The tokens of so many questions are remembered: they are compared just after the question was embedded.
REMEMBERED = 256


class MiniLM(OnnxEmbedder):
    """The built-in embedder. Its graph pools and normalises by itself (packaging/minilm_graph.py)."""

    name = NAME
    dim = DIM

    def __init__(self, threads: int = 2, folder: Path = MODEL) -> None:
        super().__init__(threads)
        self._folder = folder
        self._asked: dict[str, AskedTokens] = {}

    def embed_query(self, text: str) -> NDArray[float32]:
        model = self._loaded()
        read = model.read([model.tokens(text, "", "")], "")
        if read.tokens is not None:
            while len(self._asked) >= REMEMBERED:
                self._asked.pop(next(iter(self._asked)), None)
            vectors, weights = read.tokens
            self._asked[text] = AskedTokens(vectors[0], weights[0] / weights[0].sum())
        vector: NDArray[float32] = read.vectors[0]
        return vector

    def embed_with_tokens(
        self, texts: Sequence[str], before: Sequence[str] = ()
    ) -> tuple[NDArray[float32], list[bytes]]:
        """The vector of each text, and its token vectors as they are stored."""
        return self.read_all(texts, before)

    def compare_tokens(self, text: str, passages: Sequence[bytes]) -> list[float]:
        """How well passages hold what each word of a question asks for. ValueError for what is no token vectors."""
        if text not in self._asked:
            self.embed_query(text)
        asked = self._asked.get(text)
        return token_vectors.compare(asked, passages) if asked is not None else []

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
