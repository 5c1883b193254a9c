"""The built-in model, all-MiniLM-L6-v2 in int8, run by onnxruntime. It is a file of this package, never a download.

Texts are run in small batches of similar length. Small, because the tensors of one batch then stay in the processor's
cache: 256 tokens at once are twice as fast as 4,096, and keep the memory of the process low. Several batches run side
by side instead of several threads sharing one, which at this size mostly wait for each other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.embed import NOT_LOADED, READY, failed_state, without_surrogates
from commonplace.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2/int8-2"
DIM = 384
MAX_TOKENS = 256
MODEL = Path(__file__).with_name("model")

# Padding included. See the module's docstring.
BATCH_TOKENS = 256
# Texts tokenised at a time: bounds what a long list costs, and is enough to find neighbours of similar length.
WINDOW = 512
# No text needs more for its first 256 tokens, unless it is mostly white space.
MAX_CHARS = 16_384
# Tokens of the text before, its last ones, that are read as context.
CONTEXT_TOKENS = 64

Tokens = tuple[list[int], int, int]
"""The tokens that are read, and which of them the vector represents."""


class MiniLM:
    """The built-in embedder. `threads` batches run at once; the model is loaded by the first `embed`."""

    name = NAME
    dim = DIM
    is_local = True

    def __init__(self, threads: int = 2, folder: Path = MODEL) -> None:
        self._threads = max(1, threads)
        self._folder = folder
        self._loading = threading.Lock()
        self._model: _Model | None = None
        self._failure: EmbedderUnavailable | None = None

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        model = self._loaded()
        import numpy as np

        vectors = np.empty((len(texts), DIM), dtype=np.float32)
        contexts = before or [""] * len(texts)
        for start in range(0, len(texts), WINDOW):
            stop = start + WINDOW
            window = [model.tokens(*pair) for pair in zip(texts[start:stop], contexts[start:stop], strict=True)]
            batches = list(_batches(window))
            for batch, rows in zip(batches, self._run(model, window, batches), strict=True):
                vectors[[start + place for place in batch]] = rows
        return vectors

    def state(self) -> str:
        if self._failure is not None:
            return failed_state(self._failure.message)
        return NOT_LOADED if self._model is None else READY

    def _run(self, model: _Model, window: list[Tokens], batches: list[list[int]]) -> list[NDArray[float32]]:
        work = [[window[place] for place in batch] for batch in batches]
        threads = min(self._threads, len(work))
        if threads <= 1:
            return [model.vectors(batch) for batch in work]
        with ThreadPoolExecutor(threads, thread_name_prefix="commonplace-embed") as pool:
            return list(pool.map(model.vectors, work))

    def _loaded(self) -> _Model:
        """The model, loaded once. A failure is final for this process: files do not appear while it runs."""
        if self._model is not None:
            return self._model
        with self._loading:
            if self._failure is not None:
                raise EmbedderUnavailable(self._failure.message, self._failure.hint)
            if self._model is None:
                try:
                    self._model = _Model(self._folder)
                except EmbedderUnavailable as error:
                    self._failure = error
                    raise
            return self._model


class _Model:
    """A loaded tokenizer and session; both may be used by several threads at once."""

    def __init__(self, folder: Path) -> None:
        missing = [name for name in ("model.onnx", "tokenizer.json") if not (folder / name).is_file()]
        if missing:
            raise EmbedderUnavailable(
                f"The built-in model is incomplete: {' and '.join(missing)} not found in the package.",
                "Install Commonplace again from its wheel, or run `make install` in a source checkout.",
            )
        try:
            from tokenizers import Tokenizer

            self._tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session: InferenceSession = _session(folder / "model.onnx")
        # Both libraries raise kinds of their own, some of them bare, when a file or a shared library is bad.
        except Exception as error:
            raise EmbedderUnavailable(f"The built-in model cannot be loaded: {_first_line(error)}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def tokens(self, text: str, before: str) -> Tokens:
        """A text's tokens, after the last ones of its context if there is room for them."""
        first, *own, last = self._ids(text)
        context = self._ids(before)[1:-1][-min(CONTEXT_TOKENS, MAX_TOKENS - 2 - len(own)) :] if before else []
        if not context or len(own) + 2 >= MAX_TOKENS:
            return [first, *own, last], 0, len(own) + 2
        return [first, *context, *own, last], 1 + len(context), 1 + len(context) + len(own)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(without_surrogates(text[:MAX_CHARS])).ids
        return ids

    def vectors(self, batch: list[Tokens]) -> NDArray[float32]:
        import numpy as np

        longest = max(len(tokens) for tokens, _, _ in batch)
        ids = np.zeros((len(batch), longest), dtype=np.int64)
        mask, pooled = np.zeros_like(ids), np.zeros_like(ids)
        for row, (tokens, start, stop) in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
            pooled[row, start:stop] = 1
        try:
            (rows,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask, "pooled": pooled})
        except Exception as error:
            raise EmbedderUnavailable(f"The built-in model failed: {_first_line(error)}") from error
        result: NDArray[float32] = rows
        return result


def _session(path: Path) -> InferenceSession:
    # The library sends telemetry unless this is set before its import; two names, of two versions.
    os.environ.update(ORT_DISABLE_TELEMETRY="1", ORT_TELEMETRY_DISABLED="1")
    from onnxruntime import InferenceSession, SessionOptions, disable_telemetry_events

    # The same for the systems where it does not look at the environment.
    disable_telemetry_events()
    options = SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Errors only: a warning of the library must not reach a terminal or a protocol stream.
    options.log_severity_level = 3
    return InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _batches(window: list[Tokens]) -> Iterator[list[int]]:
    """Places in the window, shortest text first, cut so that no batch is larger than BATCH_TOKENS."""
    batch: list[int] = []
    for place in sorted(range(len(window)), key=lambda place: len(window[place][0])):
        if batch and (len(batch) + 1) * len(window[place][0]) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
