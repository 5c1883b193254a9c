"""Embeddings: vectors of questions at once, vectors of what was written a moment later.

If the embedder cannot work, search by words goes on, and `state` says why.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from math import inf, isfinite
from typing import TYPE_CHECKING

from commonplace.embed import READY, Embedder, embed_with_tokens
from commonplace.errors import CommonplaceError, EmbedderUnavailable, StoreError
from commonplace.text.dates import MINUTE_MS

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from numpy import float32
    from numpy.typing import NDArray

    from commonplace.store.protocol import Store
    from commonplace.store.types import Job

BATCH, BACKGROUND_BATCH = 16, 4
LEASE_MS = MINUTE_MS
# How often a living process looks for what others wrote without embedding it: vectors are to follow within a second.
POLL_SECONDS = 0.5
CACHED_QUERIES = 256
CACHED_TEXTS = 2_000
# Threads that make the vectors of questions.
QUESTION_THREADS = 4
# A question does not wait for whoever writes.
NO_WAIT = 0.0
# What is embedded before a question is answered, if it has no vector yet: so many passages, for about so many seconds,
# in batches of a few. At least one batch is, however slow the embedder.
EMBED_FIRST_PASSAGES, EMBED_FIRST_SECONDS, EMBED_FIRST_BATCH = 64, 0.15, 4
# How long storing those vectors may wait for whoever writes.
EMBED_FIRST_WRITE_WAIT = 0.1
# How long the batch that is under way is waited for at the end.
STOP_SECONDS = 5.0
OWNER_ENDED = "the process that had it ended"
MODEL_REPLACED = "another process made this store use a different model"
# A pause in the background after each request: this long without one, but no longer than this in all.
IDLE_SECONDS, MAX_IDLE_WAIT_SECONDS = 0.2, 1.0


@lru_cache(maxsize=1)
def _question_threads(_process: int) -> ThreadPoolExecutor:
    """The threads of this process: they are not there after a fork."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(QUESTION_THREADS, thread_name_prefix="commonplace-question")


class IdleWait:
    """When somebody asked last, in whichever space: work in the background pauses for a moment then.

    All memories of a process share one.
    """

    def __init__(self) -> None:
        self._last_request = float("-inf")

    def note_request(self) -> None:
        self._last_request = time.monotonic()

    def wait(self, stop: threading.Event) -> None:
        """Wait until nobody asked for a moment, but not for ever, and not when it is time to stop."""
        latest = time.monotonic() + MAX_IDLE_WAIT_SECONDS
        while (left := min(latest, self._last_request + IDLE_SECONDS) - time.monotonic()) > 0 and not stop.is_set():
            stop.wait(left)


class Embeddings:
    """Turns text into vectors for one store. `start` runs the background worker; without it, `catch_up` does."""

    def __init__(
        self, store: Store, embedder: Embedder | None, clock: Callable[[], int], idle: IdleWait | None = None
    ) -> None:
        self._store, self._embedder, self._clock = store, embedder, clock
        # Whoever asks comes first: before each batch the worker waits until nobody asked for a moment.
        self._idle = idle or IdleWait()
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._questions: dict[str, NDArray[float32]] = {}
        self._texts: dict[str, NDArray[float32]] = {}
        self._adopted = self._model_replaced = False
        self._failure, self._reported = "", False
        self._wake, self._stop = threading.Event(), threading.Event()
        self._worker: threading.Thread | None = None
        self._lock, self._before_answering = threading.Lock(), threading.Lock()
        self._leased: dict[int, Job] = {}
        self._caught_up = time.monotonic()
        self.embedded = self.failed = 0
        """Passages whose vectors were made here, and those of which none could be made."""

    def for_space(self, store: Store) -> Embeddings:
        """The same model for another space."""
        return Embeddings(store, self._embedder, self._clock, self._idle)

    def lag(self) -> float:
        """Seconds since nothing waited; 0 if no vectors are made."""
        return 0.0 if self._embedder is None else time.monotonic() - self._caught_up

    @property
    def state(self) -> str:
        """ "off", "not loaded", "ready", or "failed: " and why."""
        if self._embedder is None:
            return "off"
        if self._failure or self._model_replaced:
            return f"failed: {self._failure or MODEL_REPLACED}"
        return self._embedder.state()

    def new_failure(self) -> str | None:
        """Why vectors cannot be made, said once until they can again; None if there is nothing new to say."""
        state = self.state
        reported, self._reported = self._reported, state.startswith("failed")
        return state if self._reported and not reported else None

    @property
    def model(self) -> str | None:
        return None if self._embedder is None else self._embedder.name

    def note_request(self) -> None:
        """Somebody waits for an answer: work in the background pauses."""
        self._idle.note_request()

    def wait_until_idle(self, stop: threading.Event) -> None:
        """Wait until nobody asked for a moment, but not for ever, and not when it is time to stop."""
        self._idle.wait(stop)

    @property
    def is_ready(self) -> bool:
        """Whether the vector of a question is there in a moment, and nothing has to be written for it."""
        embedder = self._embedder
        return embedder is None or (self._adopted and embedder.is_local and embedder.state() == READY)

    def embed_query(self, text: str) -> NDArray[float32] | None:
        """The vector of a question that is compared with vectors only, or None if none can be made."""
        return self.begin_query(text, with_tokens=False)()

    def begin_query(self, text: str, *, with_tokens: bool = True) -> Callable[[], NDArray[float32] | None]:
        """Have another thread make the vector of a question, and scan with it; what this returns waits for it, once.

        That thread goes on with what comparing token vectors needs. Unless the model is ready, the vector is made at
        once: then it has to be loaded, and the store told of it.
        """
        from concurrent.futures import Future

        embedder = self._embedder
        if embedder is None or not text.strip():
            return lambda: None
        self.note_request()
        if (known := self._questions.get(text)) is not None:
            _question_threads(os.getpid()).submit(self._store.scan_ahead, known)
            return lambda: known
        # By its own method, if it reads questions differently from what answers them.
        own: Callable[[str], NDArray[float32]] = getattr(
            embedder, "embed_query", lambda text: embedder.embed([text])[0]
        )
        if not self.is_ready:
            vector = self._made(text, lambda: own(text))
            return lambda: vector

        making: Future[NDArray[float32]] = Future()
        prepare: Callable[[str], None] | None = getattr(embedder, "prepare_to_compare", None) if with_tokens else None

        def make() -> None:
            try:
                vector = own(text)
                self._store.scan_ahead(vector)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the vector gets it
                making.set_exception(error)
                return
            making.set_result(vector)
            if prepare is not None:
                # What fails here fails again where it is needed.
                with contextlib.suppress(EmbedderUnavailable, ValueError):
                    prepare(text)

        _question_threads(os.getpid()).submit(make)
        return cache(lambda: self._made(text, making.result))

    def _made(self, text: str, make: Callable[[], NDArray[float32]]) -> NDArray[float32] | None:
        try:
            vector = make()
            self._adopt(NO_WAIT)
        except EmbedderUnavailable as error:
            self._failure = error.message
            return None
        except StoreError:
            # The store holds no vector of this model yet, and cannot be told of it now: words have to do.
            return None
        self._failure = ""
        if len(self._questions) >= CACHED_QUERIES:
            self._questions.clear()
        self._questions[text] = vector
        return vector

    @property
    def compares_tokens(self) -> bool:
        """Whether the model compares questions with passages word by word."""
        return hasattr(self._embedder, "compare_tokens")

    def compare_tokens(self, text: str, tokens: Mapping[int, bytes]) -> dict[int, float]:
        """How well passages answer a question, word by word, of their token vectors; none if the model cannot tell."""
        compare = getattr(self._embedder, "compare_tokens", None)
        if compare is None or not tokens:
            return {}
        self.note_request()
        try:
            scores = _compare_tokens(compare, text, [*tokens.items()])
        except EmbedderUnavailable as error:
            self._failure = error.message
            return {}
        self._failure = ""
        return scores

    def embed_texts(self, texts: Sequence[str]) -> NDArray[float32]:
        """Vectors of texts that are not stored, such as what an item said before; those made last are kept."""
        import numpy as np

        if self._embedder is None:
            raise EmbedderUnavailable("There is no model that makes vectors.", "Set embedder to builtin.")
        missing = [text for text in dict.fromkeys(texts) if text not in self._texts]
        if len(self._texts) + len(missing) > CACHED_TEXTS:
            self._texts.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            self._texts.update(zip(missing, self._embedder.embed(missing), strict=True))
        return (
            np.stack([self._texts[text] for text in texts]) if texts else np.zeros((0, self._embedder.dim), np.float32)
        )

    def catch_up(
        self, limit: int | None = None, batch: int = BATCH, seconds: float = inf, patience: float | None = None
    ) -> int:
        """Embed what waits, newest first, up to `limit` passages or for about so long. Returns how many were done.

        `patience` is how many seconds each write may wait for its turn, before it is given up as StoreBusy.
        """
        end = time.monotonic() + seconds
        if self._embedder is None or not self._anything_waits(self._embedder, patience):
            self._caught_up = time.monotonic()
            return 0
        done = 0
        while (limit is None or done < limit) and time.monotonic() < end and not self._stop.is_set():
            step = batch if limit is None else min(batch, limit - done)
            jobs = self._store.claim_jobs(self._owner, step, self._clock(), LEASE_MS, patience)
            self._model_replaced = self._adopted and not self._store.uses_model(self._embedder.name)
            if not jobs:
                break
            self._leased |= {job.id: job for job in jobs}
            try:
                finished = self._do(jobs, patience)
            except EmbedderUnavailable as error:
                self._failure = error.message
                self.failed += len(jobs)
                self._store.release_jobs(jobs, self._owner, error.message, patience)
                break
            finally:
                for job in jobs:
                    self._leased.pop(job.id, None)
            self._failure = ""
            self.embedded += finished
            if not finished and not self._store.uses_model(self._embedder.name):
                self._store.release_jobs(jobs, self._owner, MODEL_REPLACED, patience)
            done += finished
        return done

    def embed_now(self, waiting: Callable[[], Sequence[Job]], seconds: float = EMBED_FIRST_SECONDS) -> int:
        """Embed and store what `waiting` finds, in its order, for about so long. Returns how many were done.

        Others may hold the same jobs under a lease: whoever is done first has done them. Of several questions at once
        one embeds, and the others wait for it no longer than they may.
        """
        if self._embedder is None or not self._before_answering.acquire(timeout=seconds):
            return 0
        try:
            return self._embed_now(waiting(), time.monotonic() + seconds)
        except EmbedderUnavailable as error:
            self._failure = error.message
        except StoreError:
            # Somebody writes, or nobody can: what has no vector is judged by its words.
            pass
        finally:
            self._before_answering.release()
        return 0

    def _embed_now(self, jobs: Sequence[Job], end: float) -> int:
        import numpy as np

        done: list[Job] = []
        vectors: list[NDArray[float32]] = []
        tokens: list[bytes] = []
        for start in range(0, len(jobs), EMBED_FIRST_BATCH):
            if done and time.monotonic() >= end:
                break
            self.note_request()
            batch = jobs[start : start + EMBED_FIRST_BATCH]
            made, made_tokens = self._embed(batch, NO_WAIT)
            vectors.append(made)
            tokens += made_tokens
            done += batch
        if not done:
            return 0
        finished = self._store.finish_jobs(done, np.concatenate(vectors), None, EMBED_FIRST_WRITE_WAIT, tokens)
        self.embedded += finished
        return finished

    def _anything_waits(self, embedder: Embedder, patience: float | None) -> bool:
        """Looking takes no lock: most often nothing waits, and a store that is only read must answer too."""
        if self._store.pending():
            return True
        if self._adopted or self._store.uses_model(embedder.name):
            return False
        try:
            # What another model made waits as soon as this one is the store's.
            self._adopt(patience)
        except EmbedderUnavailable as error:
            self._failure = error.message
        return self._store.pending() > 0

    def _do(self, jobs: Sequence[Job], patience: float | None) -> int:
        """Embed and store. If the embedder is well but refuses a text, the others are done without it."""
        assert self._embedder is not None
        try:
            vectors, tokens = self._embed(jobs, patience)
        except EmbedderUnavailable:
            if self._embedder.state().startswith("failed"):
                raise
            # The refused one keeps its lease: tried again when that ends, and given up after a few times.
            return sum(self._do([job], patience) for job in jobs) if len(jobs) > 1 else 0
        return self._store.finish_jobs(jobs, vectors, self._owner, patience, tokens)

    def start(self) -> None:
        """Embed in the background from now on, for as long as the process lives."""
        if self._embedder is None or self._worker is not None:
            return
        self._worker = threading.Thread(target=self._work, name="commonplace-embeddings", daemon=True)
        self._worker.start()

    def wake(self) -> None:
        """Something was written: embed it soon."""
        self._wake.set()

    def stop(self) -> None:
        """After the batch that is under way; one that takes too long is left to other processes at once."""
        self._stop.set()
        self._wake.set()
        if self._worker is not None:
            self._worker.join(timeout=STOP_SECONDS)
        if leased := list(self._leased.values()):
            with contextlib.suppress(CommonplaceError):
                self._store.release_jobs(leased, self._owner, OWNER_ENDED, NO_WAIT)

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                # First of all: vectors of another model have to be made again.
                self._adopt()
                while self.catch_up(limit=BACKGROUND_BATCH, batch=BACKGROUND_BATCH):
                    self.wait_until_idle(self._stop)
            except CommonplaceError as error:
                self._failure = error.message
            except Exception as error:  # noqa: BLE001 - without its worker the store would silently fall behind
                self._failure = f"{type(error).__name__}: {error}"
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()

    def _embed(self, jobs: Sequence[Job], patience: float | None) -> tuple[NDArray[float32], Sequence[bytes]]:
        """The vectors of what waits, and their token vectors."""
        assert self._embedder is not None
        made = embed_with_tokens(self._embedder, [job.passage.text for job in jobs], [job.before for job in jobs])
        self._adopt(patience)
        return made

    def _adopt(self, patience: float | None = None) -> None:
        """Make the store compare vectors of this model, once."""
        with self._lock:
            if self._embedder is not None and not self._adopted:
                self._store.use_model(self._embedder.name, self._embedder.dim, patience)
                self._adopted = True


def _compare_tokens(
    compare: Callable[[str, list[bytes]], Sequence[float]], text: str, tokens: Sequence[tuple[int, bytes]]
) -> dict[int, float]:
    """The score of each passage, but of none whose token vectors cannot be read: found by halves, for they are few."""
    try:
        scores = compare(text, [value for _id, value in tokens])
    except ValueError:
        if len(tokens) == 1:
            return {}
        middle = len(tokens) // 2
        return _compare_tokens(compare, text, tokens[:middle]) | _compare_tokens(compare, text, tokens[middle:])
    pairs = zip(tokens, map(float, scores), strict=True)
    return {passage_id: score for (passage_id, _value), score in pairs if isfinite(score)}
