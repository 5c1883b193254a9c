"""Runs sentence models in ONNX files (model_files.py): splits texts into tokens, and makes vectors of them.

Texts are run in small batches of similar length. Small, because the tensors of one batch then stay in the processor's
cache: 256 tokens at once are twice as fast as 4,096, and keep the memory of the process low. Several batches run side
by side instead of several threads sharing one, which at this size mostly wait for each other.

A graph may also make a short vector for each token, to compare a question with a passage word by word. The vector of a
passage says what it is about as a whole; these say whether it holds what each word of the question asks for. They are
stored in four bits a number, which ranks as well as more would: 24 bytes a token.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from string import punctuation
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace import malloc
from commonplace.embed import NOT_LOADED, READY, ModelCost, failed_state
from commonplace.errors import EmbedderUnavailable
from commonplace.text.tokens import without_surrogates

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

# Padding included. See the module's docstring.
BATCH_TOKENS = 256
# Texts tokenised at a time: bounds what a long list costs, and is enough to find neighbours of similar length.
WINDOW = 512
# No text needs more for its first tokens, unless it is mostly white space.
MAX_CHARS = 16_384
# Tokens of the text before, its last ones, that are read as context.
CONTEXT_TOKENS = 64
# Which tokens become the vector: all of them, the first or the last one.
MEAN, CLS, LAST = "mean", "cls", "last"
# Unrelated texts whose mean cosine is above this are too near each other.
NARROW_CONE = 0.2
# Fewer of them say nothing.
FEWEST_TEXTS = 4
# What a graph may call a vector for each token, and a vector for the text.
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
TEXT_OUTPUTS = ("sentence_embedding", "sentence_embeddings", "embedding", "embeddings")
# A graph with this input pools by itself, the tokens that are marked in it.
POOLED_INPUT = "pooled"
# What a graph may have beside: short vectors of the tokens, and how much each matters in a question.
TOKEN_VECTOR_OUTPUTS = ("token_vectors", "token_weights")

# The tokens of so many questions are remembered: they are compared just after the question was embedded.
REMEMBERED = 256

Tokens = tuple[list[int], int, int]
"""The tokens that are read, and which of them the vector represents."""


class ReadTexts(NamedTuple):
    """What a model makes of texts: a unit vector of each, and what it says of their tokens, if it does."""

    vectors: NDArray[float32]
    tokens: tuple[NDArray[float32], NDArray[float32]] | None = None


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model and how it wants to be used. `title` and `advice` are for messages."""

    title: str
    advice: str
    model: Path
    tokenizer: Path
    max_tokens: int
    # Numbers per vector, where they are known; else the model is tried.
    dim: int | None = None
    # One of the three above; None if nothing says it.
    pooling: str | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    pad_id: int = 0
    # Layers after pooling that only a graph with a vector for the whole text has applied.
    needs_text_output: bool = False

    def unavailable(self, why: str) -> EmbedderUnavailable:
        """An error about this model. It may reach callers of a server, so it names no path of this machine."""
        for path in (self.model, self.tokenizer):
            why = why.replace(str(path), path.name)
        return EmbedderUnavailable(f"{self.title} {why}", self.advice)


class OnnxEmbedder(ABC):
    """An embedder that runs one ONNX model. `threads` batches run at once; it is loaded by the first `embed`."""

    is_local = True
    # Texts whose mean vector is subtracted from all others; see `OnnxModel.centre_on`.
    reference_texts: tuple[str, ...] = ()

    def __init__(self, threads: int = 2) -> None:
        self._threads = max(1, threads)
        self._loading = threading.Lock()
        self._model: OnnxModel | None = None
        self._failure: EmbedderUnavailable | None = None
        self._questions: dict[str, QuestionTokens] = {}

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    def dim(self) -> int:
        return self._loaded().dim

    @abstractmethod
    def files(self) -> ModelFiles:
        """The files of the model. EmbedderUnavailable if they are not there or make no sense."""

    @abstractmethod
    def cost(self) -> ModelCost: ...

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        return self.embed_with_tokens(texts, before)[0]

    def embed_query(self, text: str) -> NDArray[float32]:
        """The vector of a question, which some models read with another prefix than what answers it."""
        return self._read_question(text)[0]

    def _read_question(self, text: str) -> tuple[NDArray[float32], QuestionTokens | None]:
        """The vector of a question and its tokens, which are remembered."""
        model = self._loaded()
        prefix = model.files.query_prefix
        read = model.read([model.tokens(text, "", prefix)], prefix)
        if read.tokens is None:
            return read.vectors[0], None
        vectors, weights = read.tokens
        question = QuestionTokens(vectors[0], weights[0] / weights[0].sum())
        with self._loading:
            while len(self._questions) >= REMEMBERED:
                del self._questions[next(iter(self._questions))]
            self._questions[text] = question
        return read.vectors[0], question

    def state(self) -> str:
        if self._failure is not None:
            return failed_state(self._failure.message)
        return NOT_LOADED if self._model is None else READY

    def compare_tokens(self, text: str, passages: Sequence[bytes]) -> list[float]:
        """How well passages hold what each word of a question asks for. ValueError for what is no token vectors."""
        question = self._questions.get(text) or self._read_question(text)[1]
        if question is None:
            raise ValueError("this model makes no token vectors")
        return compare_tokens(question, passages)

    def embed_with_tokens(
        self, texts: Sequence[str], before: Sequence[str] = ()
    ) -> tuple[NDArray[float32], list[bytes]]:
        """The vector of each text, and its token vectors as they are stored; empty if the model makes none."""
        import numpy as np

        model = self._loaded()
        prefix = model.files.passage_prefix
        vectors = np.empty((len(texts), model.dim), dtype=np.float32)
        packed = [b""] * len(texts)
        contexts = before or [""] * len(texts)
        for start in range(0, len(texts), WINDOW):
            stop = start + WINDOW
            pairs = zip(texts[start:stop], contexts[start:stop], strict=True)
            window = [model.tokens(text, context, prefix) for text, context in pairs]
            batches = list(_batches(window))
            for batch, read in zip(batches, self._run(model, window, batches, prefix), strict=True):
                vectors[[start + place for place in batch]] = read.vectors
                for row, place in enumerate(batch):
                    packed[start + place] = model.packed_tokens(read, row, window[place])
        return vectors, packed

    def _run(self, model: OnnxModel, window: list[Tokens], batches: list[list[int]], prefix: str) -> list[ReadTexts]:
        work = [[window[place] for place in batch] for batch in batches]
        threads = min(self._threads, len(work))
        if threads <= 1:
            return [model.read(batch, prefix) for batch in work]
        with ThreadPoolExecutor(threads, thread_name_prefix="commonplace-embed") as pool:
            return list(pool.map(lambda batch: model.read(batch, prefix), work))

    def _loaded(self) -> OnnxModel:
        """The model, loaded once. A failure is final for this process: files do not appear while it runs."""
        if self._model is not None:
            return self._model
        with self._loading:
            if self._failure is not None:
                raise EmbedderUnavailable(self._failure.message, self._failure.hint)
            if self._model is None:
                try:
                    self._model = self._load()
                except EmbedderUnavailable as error:
                    self._failure = error
                    raise
            return self._model

    def _load(self) -> OnnxModel:
        model = OnnxModel(self.files())
        model.centre_on(self.reference_texts)
        # Some of its weights were computed in several steps.
        malloc.release()
        return model


class OnnxModel:
    """A loaded tokenizer and session; both may be used by several threads at once."""

    def __init__(self, files: ModelFiles) -> None:
        self.files = files
        try:
            from tokenizers import Tokenizer

            self._tokenizer: Tokenizer = Tokenizer.from_file(str(files.tokenizer))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(files.max_tokens)
            mask = self._encoding("a").special_tokens_mask
            self._session: InferenceSession = open_session(files.model)
        # Both libraries raise kinds of their own, some of them bare, when a file or a shared library is bad.
        except Exception as error:
            raise files.unavailable(f"cannot be loaded: {_first_line(error)}") from error
        # Special tokens before and after each text.
        self._lead = mask.index(0) if 0 in mask else 0
        self._trail = mask[::-1].index(0) if 0 in mask else 0
        self._inputs = _checked_inputs(self._session, files)
        self._output = _chosen_output(self._session, files)
        self._pools = POOLED_INPUT in self._inputs
        outputs = {one.name for one in self._session.get_outputs()}
        self._token_outputs = TOKEN_VECTOR_OUTPUTS if outputs.issuperset(TOKEN_VECTOR_OUTPUTS) else ()
        # Punctuation says nothing by itself, and is a third of the tokens.
        self._punctuation = frozenset(map(self._tokenizer.token_to_id, punctuation))
        self._offsets: dict[str, NDArray[float32]] = {}
        self.dim = files.dim or int(self.vectors([self.tokens("dimension", "", "")], "").shape[1])

    def centre_on(self, texts: Sequence[str]) -> None:
        """Subtract the mean vector of these unrelated texts from every vector, if they are near each other.

        Some models (E5's family) put all texts into a narrow cone, with cosines of 0.7 between unrelated ones. Search
        takes such a cosine for an answer, and the signs of such vectors, which it looks at first, hardly differ.
        """
        import numpy as np

        # Of those that the model knows no word of, which are all the same to it, one will do.
        distinct = {frozenset(self._ids(text)): text for text in texts}.values()
        if len(distinct) < FEWEST_TEXTS:
            return
        for prefix in {self.files.query_prefix, self.files.passage_prefix}:
            rows = np.concatenate([self.vectors([self.tokens(text, "", prefix)], prefix) for text in distinct])
            mean = rows.mean(axis=0)
            # The mean cosine of two different ones.
            likeness = (len(rows) * float(mean @ mean) - 1) / (len(rows) - 1)
            if likeness > NARROW_CONE:
                self._offsets[prefix] = mean

    def tokens(self, text: str, before: str, prefix: str) -> Tokens:
        """A text's tokens, after the last ones of its context if there is room and the vector can leave them out."""
        ids = self._ids(prefix + text)
        room = min(CONTEXT_TOKENS, self.files.max_tokens - len(ids))
        if not before or room <= 0 or not self._reads_context:
            return ids, 0, len(ids)
        context = self._own(self._ids(before))[-room:]
        start, stop = self._lead + self._shared_with_prefix(ids, prefix), len(ids) - self._trail
        if not context or start >= stop:
            return ids, 0, len(ids)
        return [*ids[:start], *context, *ids[start:]], start + len(context), stop + len(context)

    @property
    def _reads_context(self) -> bool:
        """Whether the vector can be that of some of the tokens only."""
        return self._pools or (self._output in TOKEN_OUTPUTS and self.files.pooling in (MEAN, None))

    def _shared_with_prefix(self, ids: list[int], prefix: str) -> int:
        """How many tokens of a text are those of its prefix."""
        if not prefix:
            return 0
        pairs = zip(self._own(self._ids(prefix.rstrip())), self._own(ids), strict=False)
        return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))

    def _own(self, ids: list[int]) -> list[int]:
        """Without the special tokens."""
        return ids[self._lead : len(ids) - self._trail]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._encoding(text).ids
        return ids or [self.files.pad_id]

    def _encoding(self, text: str) -> Encoding:
        return self._tokenizer.encode(without_surrogates(text[:MAX_CHARS]))

    def packed_tokens(self, read: ReadTexts, row: int, tokens: Tokens) -> bytes:
        """The token vectors of a text that was read; none if the model makes none."""
        if read.tokens is None:
            return b""
        ids, start, stop = tokens
        places = [place for place in range(start, stop) if ids[place] not in self._punctuation]
        return pack_tokens(read.tokens[0][row, places or range(start, stop)])

    def vectors(self, batch: list[Tokens], prefix: str) -> NDArray[float32]:
        """A unit vector for each of these texts, which were all read with this prefix."""
        return self.read(batch, prefix).vectors

    def read(self, batch: list[Tokens], prefix: str) -> ReadTexts:
        """A unit vector for each of these texts, which were all read with this prefix, and what is said of tokens."""
        import numpy as np

        longest = max(len(tokens) for tokens, _, _ in batch)
        ids = np.full((len(batch), longest), self.files.pad_id, dtype=np.int64)
        mask, pooled = np.zeros_like(ids), np.zeros_like(ids)
        for row, (tokens, start, stop) in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
            pooled[row, start:stop] = 1
        made = {"input_ids": ids, "attention_mask": mask, POOLED_INPUT: pooled}
        made["token_type_ids"] = np.zeros_like(ids)
        made["position_ids"] = np.broadcast_to(np.arange(longest), ids.shape)
        try:
            feeds = {name: made[name].astype(kind, copy=False) for name, kind in self._inputs.items()}
            rows, *read = self._session.run([self._output, *self._token_outputs], feeds)
        except Exception as error:
            raise self.files.unavailable(f"failed: {_first_line(error)}") from error
        offset = self._offsets.get(prefix)
        if not self._pools or offset is not None:
            rows = self._unit(self._pooled(rows, mask, pooled), offset)
        return ReadTexts(rows, (read[0], read[1]) if read else None)

    def _pooled(self, rows: NDArray[Any], mask: NDArray[Any], pooled: NDArray[Any]) -> NDArray[float32]:
        import numpy as np

        if rows.ndim not in (2, 3) or len(rows) != len(mask) or (rows.ndim == 3 and rows.shape[1] != mask.shape[1]):
            shape = " x ".join(map(str, rows.shape))
            raise self.files.unavailable(f"answers with {shape} numbers for {len(mask)} texts, which are no vectors.")
        rows = rows.astype(np.float32, copy=False)
        if rows.ndim == 2:
            return rows
        if self.files.pooling == CLS:
            first: NDArray[float32] = rows[:, 0]
            return first
        if self.files.pooling == LAST:
            last: NDArray[float32] = rows[np.arange(len(rows)), mask.sum(axis=1) - 1]
            return last
        # The sum points where the mean points, and only the direction is kept.
        total: NDArray[float32] = np.einsum("ts,tsd->td", pooled.astype(np.float32), rows)
        return total

    def _unit(self, rows: NDArray[float32], offset: NDArray[float32] | None) -> NDArray[float32]:
        import numpy as np

        for shift in (None, offset):
            if shift is not None:
                rows = rows - shift
            length = np.linalg.norm(rows, axis=1, keepdims=True)
            if not (np.isfinite(length).all() and length.all()):
                raise self.files.unavailable("made a vector without direction.")
            rows = rows / length
        return rows


def _checked_inputs(session: InferenceSession, files: ModelFiles) -> dict[str, str]:
    """The inputs of the graph and the numpy types that they take."""
    known = ("input_ids", "attention_mask", "token_type_ids", "position_ids", POOLED_INPUT)
    inputs = session.get_inputs()
    strange = [one.name for one in inputs if one.name not in known]
    if strange or not any(one.name == "input_ids" for one in inputs):
        raise files.unavailable(
            f"takes the inputs {', '.join(one.name for one in inputs)}; a sentence model takes input_ids,"
            " attention_mask, and perhaps token_type_ids or position_ids."
        )
    fixed = [one.name for one in inputs if any(isinstance(size, int) for size in one.shape or ())]
    if fixed:
        raise files.unavailable(f"takes texts of one fixed size only (its input {fixed[0]} is {inputs[0].shape}).")
    types = {one.name: one.type.removeprefix("tensor(").removesuffix(")") for one in inputs}
    return {name: "float32" if kind == "float" else kind for name, kind in types.items()}


def _chosen_output(session: InferenceSession, files: ModelFiles) -> str:
    names = [one.name for one in session.get_outputs()]
    tokens = next((name for name in TOKEN_OUTPUTS if name in names), None)
    text = next((name for name in TEXT_OUTPUTS if name in names), None)
    if files.needs_text_output and text is None:
        raise files.unavailable(
            "has layers after pooling that its ONNX file does not contain (modules.json names them; the file has no"
            " output sentence_embedding)."
        )
    # With a vector for each token, the text before can be read and left out of the vector.
    if tokens and files.pooling == MEAN and not files.needs_text_output:
        return tokens
    chosen = text or tokens or (names[0] if len(names) == 1 else None)
    if chosen is None:
        raise files.unavailable(
            f"has the outputs {', '.join(names)}; one of {', '.join((*TOKEN_OUTPUTS, TEXT_OUTPUTS[0]))} is needed."
        )
    return chosen


def open_session(path: Path) -> InferenceSession:
    """An ONNX file as onnxruntime runs it here: on one thread of the processor, silent, calling nobody."""
    # The library sends telemetry unless this is set before its import; two names, of two versions.
    os.environ.update(ORT_DISABLE_TELEMETRY="1", ORT_TELEMETRY_DISABLED="1")
    # It imports a part of numpy, which fails while another thread is in the middle of importing numpy.
    import numpy  # noqa: F401, ICN001
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


# A number is stored in steps of this size, from -7 to 7: few are larger.
TOKEN_STEP = 1 / 16
MOST_STEPS, ZERO = 7, 8
# Tokens that are compared at a time: of more, BLAS makes work for several threads, which wait for each other.
UNPACKED = 256


class QuestionTokens(NamedTuple):
    """The tokens of a question: their vectors, and how much each matters, which is 1 together."""

    vectors: NDArray[float32]
    weights: NDArray[float32]


def pack_tokens(vectors: NDArray[float32]) -> bytes:
    """Token vectors as they are stored, two numbers a byte."""
    import numpy as np

    numbers = (np.clip(np.rint(vectors / TOKEN_STEP), -MOST_STEPS, MOST_STEPS) + ZERO).astype(np.uint8)
    packed: bytes = (numbers[:, 0::2] | numbers[:, 1::2] << 4).tobytes()
    return packed


def compare_tokens(question: QuestionTokens, passages: Sequence[bytes]) -> list[float]:
    """How well each passage holds what the question asks for, up to 1. ValueError for what is no token vectors.

    Each token of the question counts for the most similar one of the passage, as far as it matters.
    """
    import numpy as np

    size = question.vectors.shape[1] // 2
    if any(not packed or len(packed) % size for packed in passages):
        raise ValueError(f"token vectors take {size} bytes each")
    if not passages:
        return []
    packed = np.frombuffer(b"".join(passages), np.uint8).reshape(-1, size)
    similar = np.empty((len(packed), len(question.weights)), np.float32)
    # A few at a time, in the same place: the system clears the memory of large arrays each time they are made.
    numbers = np.empty((min(UNPACKED, len(packed)), size, 2), np.float32)
    for start in range(0, len(packed), UNPACKED):
        some = packed[start : start + UNPACKED]
        unpacked = _numbers().take(some, axis=0, out=numbers[: len(some)], mode="clip").reshape(len(some), 2 * size)
        np.matmul(unpacked, question.vectors.T, out=similar[start : start + UNPACKED])
    starts = np.cumsum([0, *(len(passage) // size for passage in passages[:-1])])
    # The rows are tokens of passages: the most similar one of each passage is a maximum over neighbouring rows.
    scores: list[float] = (np.maximum.reduceat(similar, starts, axis=0) @ question.weights).tolist()
    return scores


@cache
def _numbers() -> NDArray[float32]:
    """The two numbers of each byte."""
    import numpy as np

    halves = np.arange(256)
    pairs = np.stack([halves & 15, halves >> 4], axis=1)
    return ((pairs - ZERO) * TOKEN_STEP).astype(np.float32)
