"""Runs sentence models in ONNX files (model_files.py): splits texts into tokens, and makes vectors of them.

Texts are run in small batches of similar length. Small, because the tensors of one batch then stay in the processor's
cache: 256 tokens at once are twice as fast as 4,096, and keep the memory of the process low. Several batches run side
by side instead of several threads sharing one, which at this size mostly wait for each other.

A model may have a second graph, which makes a short vector for each token, to compare a question with a passage word by
word. The vector of a passage says what it is about as a whole; these say whether it holds what each word of the
question asks for. They are stored in four bits a number, which ranks as well as more would: 24 bytes a token. The graph
reads what the last layers of the model read, so that the vector of a question is there before its token vectors.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import takewhile
from string import punctuation
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from commonplace import malloc
from commonplace.embed import NOT_LOADED, READY, ModelCost, failed_state
from commonplace.embed.onnx_graph import (
    CLS,
    LAST,
    MEAN,
    POOLED_INPUT,
    TOKEN_OUTPUTS,
    ModelFiles,
    checked_inputs,
    chosen_output,
    first_line,
    open_session,
)
from commonplace.errors import EmbedderUnavailable
from commonplace.text.tokens import without_surrogates

if TYPE_CHECKING:
    import numpy as np
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
# Unrelated texts whose mean cosine is above this are too near each other.
NARROW_CONE = 0.2
# Fewer of them say nothing.
FEWEST_TEXTS = 4
# What the graph of a text's vector gives out for the graph of its token vectors.
STATES_OUTPUT = "states"
# Short vectors of the tokens, and how much each matters in a question.
TOKEN_VECTOR_OUTPUTS = ("token_vectors", "token_weights")
# A number is stored in steps of this size, from -7 to 7: few are larger.
TOKEN_STEP = 1 / 16
MOST_STEPS, ZERO = 7, 8
# Tokens that are compared at a time: of more, BLAS makes work for several threads, which wait for each other.
UNPACKED = 256
# The tokens of so many questions are remembered: they are compared just after the question was embedded.
REMEMBERED = 256

Made = TypeVar("Made")
Tokens = tuple[list[int], int, int]
"""The tokens that are read, and which of them the vector represents."""


class ReadTexts(NamedTuple):
    """What a model makes of texts: a unit vector of each, and what its second graph reads, if it has one."""

    vectors: NDArray[float32]
    mask: NDArray[Any]
    states: NDArray[float32] | None = None


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
        self._questions = LatestQuestions()

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
        return self._embedded(texts, before, with_tokens=False)[0]

    def embed_with_tokens(
        self, texts: Sequence[str], before: Sequence[str] = ()
    ) -> tuple[NDArray[float32], list[bytes]]:
        """The vector of each text, and its token vectors as they are stored; empty if the model makes none."""
        return self._embedded(texts, before, with_tokens=True)

    def embed_query(self, text: str) -> NDArray[float32]:
        """The vector of a question, which some models read with another prefix than what answers it."""
        return self._read_question(text)[0]

    def prepare_to_compare(self, text: str) -> None:
        """Make the token vectors of a question that was just embedded, before `compare_tokens` needs them."""
        if (question := self._questions.get(text)) is not None:
            question.tokens()

    def compare_tokens(self, text: str, passages: Sequence[bytes]) -> list[float]:
        """How well passages hold what each word of a question asks for. ValueError for what is no token vectors."""
        question = self._questions.get(text) or self._read_question(text)[1]
        return compare_tokens(question.tokens(), passages)

    def _read_question(self, text: str) -> tuple[NDArray[float32], Question]:
        """The vector of a question, and what its token vectors can be made of, which is remembered."""
        model = self._loaded()
        prefix = model.files.query_prefix
        read = model.read([model.tokens(text, "", prefix)], prefix)
        question = Question(lambda: model.question_tokens(read))
        self._questions.add(text, question)
        return read.vectors[0], question

    def state(self) -> str:
        if self._failure is not None:
            return failed_state(self._failure.message)
        return NOT_LOADED if self._model is None else READY

    def _embedded(
        self, texts: Sequence[str], before: Sequence[str], *, with_tokens: bool
    ) -> tuple[NDArray[float32], list[bytes]]:
        import numpy as np

        model = self._loaded()
        prefix = model.files.passage_prefix
        vectors = np.empty((len(texts), model.dim), dtype=np.float32)
        packed = [b""] * len(texts)
        contexts = before or [""] * len(texts)

        def embed_batch(batch: list[Tokens]) -> tuple[NDArray[float32], list[bytes]]:
            read = model.read(batch, prefix)
            return read.vectors, model.packed_tokens(read, batch) if with_tokens else [b""] * len(batch)

        for start in range(0, len(texts), WINDOW):
            stop = start + WINDOW
            pairs = zip(texts[start:stop], contexts[start:stop], strict=True)
            window = [model.tokens(text, context, prefix) for text, context in pairs]
            batches = list(_batches(window))
            made = self._run(embed_batch, [[window[place] for place in batch] for batch in batches])
            for batch, (rows, tokens) in zip(batches, made, strict=True):
                vectors[[start + place for place in batch]] = rows
                for place, some in zip(batch, tokens, strict=True):
                    packed[start + place] = some
        return vectors, packed

    def _run(self, read: Callable[[list[Tokens]], Made], work: list[list[Tokens]]) -> list[Made]:
        threads = min(self._threads, len(work))
        if threads <= 1:
            return [read(batch) for batch in work]
        with ThreadPoolExecutor(threads, thread_name_prefix="commonplace-embed") as pool:
            return list(pool.map(read, work))

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
            self._token_session = None if files.token_model is None else open_session(files.token_model)
        # Both libraries raise kinds of their own, some of them bare, when a file or a shared library is bad.
        except Exception as error:
            raise files.unavailable(f"cannot be loaded: {first_line(error)}") from error
        # Special tokens before and after each text.
        self._lead = mask.index(0) if 0 in mask else 0
        self._trail = mask[::-1].index(0) if 0 in mask else 0
        self._inputs = checked_inputs(self._session, files)
        self._output = chosen_output(self._session, files)
        self._pools = POOLED_INPUT in self._inputs
        self._outputs = [self._output, *([STATES_OUTPUT] if self._token_session else [])]
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

    def packed_tokens(self, read: ReadTexts, batch: list[Tokens]) -> list[bytes]:
        """The token vectors of texts that were read; empty if the model makes none."""
        if read.states is None:
            return [b""] * len(batch)
        vectors, _weights = self._token_vectors(read)
        packed = []
        for row, (ids, start, stop) in enumerate(batch):
            places = [place for place in range(start, stop) if ids[place] not in self._punctuation]
            packed.append(pack_tokens(vectors[row, places or range(start, stop)]))
        return packed

    def question_tokens(self, read: ReadTexts) -> QuestionTokens:
        """The token vectors of a question that was read. ValueError if the model makes none."""
        vectors, weights = self._token_vectors(read)
        return QuestionTokens(vectors[0], weights[0] / weights[0].sum())

    def _token_vectors(self, read: ReadTexts) -> tuple[NDArray[float32], NDArray[float32]]:
        if self._token_session is None:
            raise ValueError("this model makes no token vectors")
        feeds = {STATES_OUTPUT: read.states, "attention_mask": read.mask}
        try:
            vectors, weights = self._token_session.run(TOKEN_VECTOR_OUTPUTS, feeds)
        except Exception as error:
            raise self.files.unavailable(f"failed: {first_line(error)}") from error
        return vectors, weights

    def vectors(self, batch: list[Tokens], prefix: str) -> NDArray[float32]:
        """A unit vector for each of these texts, which were all read with this prefix."""
        return self.read(batch, prefix).vectors

    def read(self, batch: list[Tokens], prefix: str) -> ReadTexts:
        """A unit vector for each of these texts, which were all read with this prefix, and what its tokens became."""
        ids, mask, pooled = _padded(batch, self.files.pad_id)
        try:
            rows, *states = self._session.run(self._outputs, self._feeds(ids, mask, pooled))
        except Exception as error:
            raise self.files.unavailable(f"failed: {first_line(error)}") from error
        offset = self._offsets.get(prefix)
        if not self._pools or offset is not None:
            rows = self._unit(self._pooled(rows, mask, pooled), offset)
        return ReadTexts(rows, mask, *states)

    def _feeds(
        self, ids: NDArray[np.int64], mask: NDArray[np.int64], pooled: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        """The inputs of the graph."""
        import numpy as np

        made: dict[str, NDArray[Any]] = {"input_ids": ids, "attention_mask": mask, POOLED_INPUT: pooled}
        if "token_type_ids" in self._inputs:
            made["token_type_ids"] = np.zeros_like(ids)
        if "position_ids" in self._inputs:
            made["position_ids"] = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        return {name: made[name].astype(kind, copy=False) for name, kind in self._inputs.items()}

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


def _padded(batch: list[Tokens], pad_id: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Texts as rows of the same length: their tokens, which of these are read, and which the vector represents."""
    import numpy as np

    if len(batch) == 1 and batch[0][1:] == (0, len(batch[0][0])):
        # A question.
        ids = np.array([batch[0][0]], np.int64)
        return ids, (all_of_it := np.ones_like(ids)), all_of_it
    ids = np.full((len(batch), max(len(tokens) for tokens, _, _ in batch)), pad_id, dtype=np.int64)
    mask, pooled = np.zeros_like(ids), np.zeros_like(ids)
    for row, (tokens, start, stop) in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
        pooled[row, start:stop] = 1
    return ids, mask, pooled


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


class QuestionTokens(NamedTuple):
    """The tokens of a question: their vectors, and how much each matters, which is 1 together."""

    vectors: NDArray[float32]
    weights: NDArray[float32]


class Question:
    """The tokens of a question, made by the first who needs them, while others wait."""

    def __init__(self, make: Callable[[], QuestionTokens]) -> None:
        self._lock = threading.Lock()
        self._make: Callable[[], QuestionTokens] | None = make
        self._made: QuestionTokens | None = None

    def tokens(self) -> QuestionTokens:
        with self._lock:
            if self._made is None:
                assert self._make is not None
                # What they are made of is not kept.
                self._made, self._make = self._make(), None
            return self._made


class LatestQuestions:
    """The latest questions by their texts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._questions: dict[str, Question] = {}

    def add(self, text: str, question: Question) -> None:
        with self._lock:
            while len(self._questions) >= REMEMBERED:
                del self._questions[next(iter(self._questions))]
            self._questions[text] = question

    def get(self, text: str) -> Question | None:
        return self._questions.get(text)


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
