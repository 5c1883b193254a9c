"""Metrics: what was called and how long it took, and how much the memory holds, as Prometheus reads it.

METRICS describes them all, and docs/conf.py lists them on the site. Labels are routes, tools, codes and kinds: never
what somebody wrote.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from commonplace.dialects.reply_schema import Json
from commonplace.errors import CommonplaceError
from commonplace.http_responses import JSON, from_sekha_sdk
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status_and_stats import status
from commonplace.rest.endpoint import Answer, ApiRequest

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
# Counting the rows of a large memory takes a while: it is done this often at most.
CACHE_SECONDS = 5.0
_MAX_CACHED = 100
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_NO_ERROR = "ok"


@dataclass(frozen=True, slots=True)
class MetricDescription:
    """One of our metrics, as `/metrics` and the documentation describe it."""

    name: str
    kind: str
    meaning: str
    labels: tuple[str, ...] = ()

    @property
    def sample_name(self) -> str:
        return self.name + ("_total" if self.kind == "counter" else "")

    def family(self, value: float | None = None) -> Any:
        """Itself with a value, or without one if each combination of its labels has its own."""
        made = CounterMetricFamily if self.kind == "counter" else GaugeMetricFamily
        return made(self.name, self.meaning, value=value, labels=self.labels or None)


_OF_REQUEST = ("method", "route", "status")
METRICS = {
    name: MetricDescription(f"commonplace_{name}", kind, meaning, tuple(labels))
    for name, kind, meaning, *labels in (
        ("requests", "counter", "Requests answered.", *_OF_REQUEST),
        ("request_seconds", "histogram", "Time until the answer began.", *_OF_REQUEST),
        ("requests_in_progress", "gauge", "Requests being answered."),
        ("tool_calls", "counter", "MCP tool calls, by error code or `ok`.", "tool", "code"),
        ("tool_call_seconds", "histogram", "Time until a tool's answer began.", "tool"),
        ("errors", "counter", "Errors by code.", "code"),
        ("store_up", "gauge", "1 if the store answers."),
        ("items", "gauge", "Live items.", "kind"),
        ("passages", "gauge", "Passages that are searched."),
        ("vectors", "gauge", "Passages that are found by meaning."),
        ("pending_vectors", "gauge", "Passages that wait for their vector."),
        ("projects", "gauge", "Projects."),
        ("sessions", "gauge", "Sessions."),
        ("forgotten_items", "gauge", "Items that can be restored."),
        ("database_bytes", "gauge", "Size of the whole database."),
        ("embedded_passages", "counter", "Vectors made by this server."),
        ("embedding_failures", "counter", "Passages for which making a vector failed."),
        ("embedding_lag_seconds", "gauge", "Time since no passage was waiting for its vector."),
        ("database_connections", "gauge", "PostgreSQL: connections to the primary, `in_use` and `idle`.", "state"),
        ("database_connections_limit", "gauge", "PostgreSQL: the setting `database_connections`."),
        ("database_waiting", "gauge", "PostgreSQL: calls that wait for a connection."),
        ("replica_fallbacks", "counter", "PostgreSQL: reads that the primary took over from a replica."),
    )
}


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """A request whose answer began after so many seconds; the tool and the code of the error if there was one."""

    method: str
    route: str
    status: int
    seconds: float
    tool: str | None = None
    error: str | None = None


class RequestMetrics:
    """Those that one server answered, counted and timed. A route is its template, so that ids make no new series."""

    # Where several workers count together (http_server/workers.py). The library reads the same when it is imported.
    workers_folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()

        def described(name: str) -> tuple[str, str, tuple[str, ...]]:
            one = METRICS[name]
            return one.name, one.meaning, one.labels

        self._requests = Counter(*described("requests"), registry=registry)
        self._seconds = Histogram(*described("request_seconds"), buckets=_SECONDS, registry=registry)
        self._now = Gauge(*described("requests_in_progress"), registry=registry, multiprocess_mode="livesum")
        self._calls = Counter(*described("tool_calls"), registry=registry)
        self._call_seconds = Histogram(*described("tool_call_seconds"), buckets=_SECONDS, registry=registry)
        self._errors = Counter(*described("errors"), registry=registry)
        if self.workers_folder:
            # What all workers have counted; of each process alone nothing is shown.
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry, self.workers_folder)  # type: ignore[no-untyped-call]
        else:
            for collector in (ProcessCollector, PlatformCollector, GCCollector):
                collector(registry=registry)
        # Finding the series of some labels takes longer than counting.
        self._answered = functools.cache(lambda *which: (self._requests.labels(*which), self._seconds.labels(*which)))
        self._held: dict[int, tuple[float, LocalMemory, bytes]] = {}

    def begin(self) -> None:
        """A request has arrived."""
        self._now.inc()

    def end(self) -> None:
        """It has been dealt with, whatever came of it."""
        self._now.dec()

    def count(self, seen: AnsweredRequest) -> None:
        requests, seconds = self._answered(seen.method, seen.route, str(seen.status))
        requests.inc()
        seconds.observe(seen.seconds)
        if seen.tool is not None:
            self._calls.labels(seen.tool, seen.error or _NO_ERROR).inc()
            self._call_seconds.labels(seen.tool).observe(seen.seconds)
        if seen.error is not None:
            self._errors.labels(seen.error).inc()

    def text(self, memory: LocalMemory) -> bytes:
        """Everything, for a caller who may use this memory."""
        return generate_latest(self._registry) + self._holds(memory)

    def _holds(self, memory: LocalMemory) -> bytes:
        # The memory is stored with it, so that no other one can have its identity.
        known = self._held.get(id(memory))
        if known is not None and time.monotonic() < known[0]:
            return known[2]
        registry = CollectorRegistry()
        registry.register(_StoreMetrics(memory))
        made = generate_latest(registry)
        if len(self._held) >= _MAX_CACHED:
            self._held.clear()
        self._held[id(memory)] = time.monotonic() + CACHE_SECONDS, memory, made
        return made


def forget_worker(pid: int) -> None:
    """A worker has ended: nothing is in progress there."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call]


class _StoreMetrics(Collector):
    """What a memory holds at this moment; of one that does not answer, only that it does not."""

    def __init__(self, memory: LocalMemory) -> None:
        self._memory = memory

    def collect(self) -> Iterable[Metric]:
        held: Mapping[str, Any] | None = None
        with contextlib.suppress(CommonplaceError):
            held = status(self._memory)
        yield METRICS["store_up"].family(held is not None)
        if held is not None:
            yield from _counts(held)
            yield from _connections(held["store"])
        if not RequestMetrics.workers_folder:
            yield from self._embedding()

    def _embedding(self) -> Iterator[Metric]:
        embeddings = self._memory.embeddings
        yield METRICS["embedded_passages"].family(embeddings.embedded)
        yield METRICS["embedding_failures"].family(embeddings.failed)
        yield METRICS["embedding_lag_seconds"].family(embeddings.lag())


def _counts(held: Mapping[str, Any]) -> Iterator[Metric]:
    counts = held["counts"]
    items = METRICS["items"].family()
    for kind, number in sorted(counts["items"].items()):
        items.add_metric([kind], number)
    yield items
    for name in ("passages", "vectors", "projects", "sessions"):
        yield METRICS[name].family(counts[name])
    yield METRICS["pending_vectors"].family(held["pending"])
    yield METRICS["forgotten_items"].family(counts["forgotten"])
    yield METRICS["database_bytes"].family(counts["bytes"])


def _connections(store: Mapping[str, Any]) -> Iterator[Metric]:
    """Of a store on a server: those of this process to it."""
    pool = store.get("connections")
    if pool is None:
        return
    connections = METRICS["database_connections"].family()
    for state in ("in_use", "idle"):
        connections.add_metric([state], pool[state])
    yield connections
    yield METRICS["database_waiting"].family(pool["waiting"])
    yield METRICS["database_connections_limit"].family(pool["most"])
    yield METRICS["replica_fallbacks"].family(pool["replica_fallbacks"])


class MetricsReply(TypedDict):
    """The metrics for callers that want JSON."""

    metrics: Annotated[str, Json(description="The same text that Prometheus gets.")]


def metrics(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[None]:
    """Everything that is measured, as Prometheus reads it; the same text inside JSON to those who ask for JSON."""
    text = request.server.counted(memory)
    accepts = request.headers.get("accept", "")
    vary = {"Vary": "Accept, User-Agent"}
    if from_sekha_sdk(request.headers) or (JSON in accepts and "text/plain" not in accepts):
        reply: Any = MetricsReply(metrics=text.decode())
        return Answer(reply, headers=vary, trusted=True, media=JSON)
    return Answer(content=text, headers=vary)
