"""The model that reads two statements together, and the map that finds which ones are worth reading.

Both are part of the built-in model (docs/inside/model.md). Reading costs a run of the model for each pair, and most
statements that are near a new one have nothing to do with it. The map turns the vector of a new statement toward what
it may change, so that the same index finds that (training/tune_gate.py).
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.embed.cross_encoder import CONTRADICTIONS, CrossEncoder
from commonplace.embed.model_files import MODEL
from commonplace.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

GATE = "contradiction_gate.npy"
# What merely being near counts beside what the map has learned.
NEARNESS = 0.25


class ContradictionModel(CrossEncoder):
    """Scores how likely a later statement leaves an earlier one untrue: above 0 rather than not."""

    def __init__(self, threads: int = 2, folder: Path = MODEL) -> None:
        super().__init__(threads, folder, CONTRADICTIONS)

    def toward_changes(self, vector: NDArray[float32]) -> NDArray[float32]:
        """The vector of a new statement, turned toward those of statements that it may change.

        Its product with the vector of an earlier statement says how much that is worth reading. It is not of length 1.
        Raises EmbedderUnavailable.
        """
        import numpy as np

        down, up = self._gate
        turned = vector + up @ (down @ vector)
        result: NDArray[float32] = turned / max(float(np.linalg.norm(turned)), 1e-6) + NEARNESS * vector
        return result

    @cached_property
    def _gate(self) -> tuple[NDArray[float32], NDArray[float32]]:
        """Two factors of the map: from a vector to a few numbers, and back."""
        import numpy as np

        try:
            stored = np.load(self._folder / GATE, allow_pickle=False).astype(np.float32)
        except (OSError, ValueError) as error:
            raise EmbedderUnavailable(f"The map of the contradiction model cannot be loaded: {error}") from error
        down, up = stored
        return down, up.T
