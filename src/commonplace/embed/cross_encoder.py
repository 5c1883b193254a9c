"""The cross-encoder: reads a question and a memory together, and says whether the memory answers it.

It is the built-in model with a second adapter (docs/inside/model.md), and part of this package. Reading together tells
an answer from what only resembles the question, and costs a run of the model for each memory: so it reads the best few
candidates of a search, as many as fit a fixed number of tokens. What it said of a text stays known for a while: a
question is often put again, or by another tool, and the same text then means the same. With a third adapter it reads
two statements, and says whether the one contradicts the other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace import malloc
from commonplace.embed.model_files import MODEL
from commonplace.embed.onnx_embedder import MAX_CHARS
from commonplace.embed.onnx_graph import open_session
from commonplace.errors import EmbedderUnavailable
from commonplace.text.tokens import without_surrogates

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

# Whether a memory answers a question, and whether a statement contradicts another one: two graphs of the same kind.
ANSWERS, CONTRADICTIONS = "cross_encoder.onnx", "contradictions.onnx"
# What is read of the question, of the memory, and of what was said before it; as in training/tune_cross_encoder.py.
QUESTION_TOKENS, PASSAGE_TOKENS, BEFORE_TOKENS = 48, 128, 32
# What is read of the later of two statements, which may tell a change in passing (training/tune_contradictions.py).
STATEMENT_TOKENS = 96
# What is read of all candidates together.
TOTAL_TOKENS = 400
# A run of the model costs as much as so many tokens more.
RUN_TOKENS = 11
# A word of at most so many pieces is one that it has learned something about.
KNOWN_PIECES = 1
# So many scores are remembered, each by a digest of what was read.
REMEMBERED = 4096

Tokens = tuple[list[int], int]
"""The tokens of a question and of a memory, and where the memory begins."""


class CrossEncoder:
    """Scores memories for a question, each by itself: above 0 it answers rather than not. Loaded by the first call."""

    def __init__(self, threads: int = 2, folder: Path = MODEL, graph: str = ANSWERS) -> None:
        self._threads = max(1, threads)
        self._folder, self._graph = folder, graph
        self._question_tokens = STATEMENT_TOKENS if graph == CONTRADICTIONS else QUESTION_TOKENS
        self._loading = threading.Lock()
        self._model: tuple[Tokenizer, InferenceSession] | None = None
        # With the process that made them: threads are not there after a fork.
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        # The score of what was read lately, and how many tokens that was, the oldest first.
        self._known: dict[bytes, tuple[float, int]] = {}

    @property
    def is_loaded(self) -> bool:
        """Whether it scores without reading its model from the disk first."""
        return self._model is not None

    def score(self, question: str, passages: Sequence[tuple[str, str]], tokens: int = TOTAL_TOKENS) -> list[float]:
        """The score of each passage, best candidates first, for as many as fit so many tokens.

        A passage is a text and what was said before it. Raises EmbedderUnavailable.
        """
        tokenizer, session = self._loaded()
        question_ids: list[int] | None = None
        scores: list[float] = []
        # What has to be read, by its place among the scores.
        unread: dict[int, tuple[bytes, Tokens]] = {}
        for text, before in passages:
            key, row = _digest(question, text, before), None
            known = self._known.get(key)
            if known is None:
                if question_ids is None:
                    question_ids = _ids(tokenizer, question)[: self._question_tokens]
                row = _read_together(tokenizer, question_ids, text, before)
            score, length = known or (0.0, len(row[0]) if row else 0)
            tokens -= length
            if tokens < 0 and scores:
                break
            if row is not None:
                unread[len(scores)] = key, row
            scores.append(score)
        if unread:
            read = self._run(session, [row for _key, row in unread.values()])
            for (place, (key, row)), score in zip(unread.items(), read, strict=True):
                scores[place] = score
                self._remember(key, score, len(row[0]))
        return scores

    def knows_a_word(self, text: str) -> bool:
        """Whether it has learned a word of the text, rather than spelling all of them from many pieces.

        Loads the model; if that fails, it knows none.
        """
        try:
            tokenizer, _session = self._loaded()
        except EmbedderUnavailable:
            return False
        return any(len(_ids(tokenizer, word)) <= KNOWN_PIECES for word in text.split())

    def _remember(self, key: bytes, score: float, length: int) -> None:
        with self._loading:
            while len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = score, length

    def _run(self, session: InferenceSession, rows: Sequence[Tokens]) -> list[float]:
        """Each thread reads a share of the rows, those of similar length together."""
        lengths = [len(tokens) for tokens, _ in rows]
        scores = [0.0] * len(rows)

        def read(share: Sequence[int]) -> None:
            for batch in _batches(share, lengths):
                for place, value in zip(batch, _scores(session, [rows[place] for place in batch]), strict=True):
                    scores[place] = float(value)

        mine, *others = _shares(lengths, self._threads)
        try:
            reading = [self._others().submit(read, share) for share in others]
            read(mine)
            for other in reading:
                other.result()
        except Exception as error:
            raise EmbedderUnavailable(f"The cross-encoder failed: {error}") from error
        return scores

    def _others(self) -> ThreadPoolExecutor:
        """Threads besides that of the caller. They stay: starting them takes as long as reading a short memory."""
        with self._loading:
            if self._pool is None or self._pool[0] != os.getpid():
                pool = ThreadPoolExecutor(self._threads - 1, thread_name_prefix="commonplace-cross-encoder")
                self._pool = os.getpid(), pool
            return self._pool[1]

    def _loaded(self) -> tuple[Tokenizer, InferenceSession]:
        with self._loading:
            if self._model is None:
                try:
                    from tokenizers import Tokenizer

                    tokenizer: Tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
                    tokenizer.no_padding()
                    tokenizer.enable_truncation(PASSAGE_TOKENS + 2)
                    self._model = tokenizer, open_session(self._folder / self._graph)
                # Both libraries raise kinds of their own, some of them bare, when a file or a shared library is bad.
                except Exception as error:
                    raise EmbedderUnavailable(f"The cross-encoder cannot be loaded: {error}") from error
                # Its weights were computed in several steps.
                malloc.release()
            return self._model


def _read_together(tokenizer: Tokenizer, question: list[int], text: str, before: str) -> Tokens:
    first, *own, last = tokenizer.encode(without_surrogates(text[:MAX_CHARS])).ids
    context = _ids(tokenizer, before)[-BEFORE_TOKENS:] if before else []
    return [first, *question, last, *context, *own, last], len(question) + 2


def _digest(*texts: str) -> bytes:
    """What tells texts that were read together from others, however long they are."""
    digest = blake2b(digest_size=16)
    for text in texts:
        written = text.encode("utf-8", "surrogatepass")
        digest.update(len(written).to_bytes(8, "little"))
        digest.update(written)
    return digest.digest()


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(without_surrogates(text[:MAX_CHARS])).ids
    return ids[1:-1]


def _shares(lengths: Sequence[int], count: int) -> list[list[int]]:
    """Places of rows in up to `count` shares of about as many tokens, the longest row first in each."""
    shares: list[list[int]] = [[] for _ in range(min(count, len(lengths)))]
    tokens = [0] * len(shares)
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        least = tokens.index(min(tokens))
        shares[least].append(place)
        tokens[least] += lengths[place]
    return shares


def _batches(share: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """A share, the longest row first, in batches: what is shorter by more than a run costs is not padded for one."""
    batches: list[list[int]] = []
    for place in share:
        if not batches or lengths[batches[-1][0]] - lengths[place] > RUN_TOKENS:
            batches.append([])
        batches[-1].append(place)
    return batches


def _scores(session: InferenceSession, rows: Sequence[Tokens]) -> NDArray[float32]:
    import numpy as np

    longest = max(len(tokens) for tokens, _ in rows)
    ids = np.zeros((len(rows), longest), dtype=np.int64)
    mask, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, (tokens, start) in enumerate(rows):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
        types[row, start : len(tokens)] = 1
    (scores,) = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_types": types})
    result: NDArray[float32] = scores
    return result
