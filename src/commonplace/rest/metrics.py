"""Metrics: what was called and how long it took, and how much the memory holds, as Prometheus reads it.

docs/reference/metrics.md has the table of them. Labels are routes, tools, codes and kinds: never what somebody wrote.
"""

from __future__ import annotations

import contextlib
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
from commonplace.http.errors import JSON, from_sekha_sdk
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status import status
from commonplace.rest.endpoint import Answer, ApiRequest

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
# Counting the rows of a large memory takes a while: it is done this often at most.
CACHE_SECONDS = 5.0
_MAX_CACHED = 100
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_NO_ERROR = "ok"


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

    # Where several workers count together (site/workers.py). The library reads the same when it is imported.
    workers_folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()
        of_request, of_tool = ("method", "route", "status"), ("tool", "code")
        self._requests = Counter("commonplace_requests", "Requests answered.", of_request, registry=registry)
        self._seconds = Histogram(
            *("commonplace_request_seconds", "Time until the answer began.", of_request),
            buckets=_SECONDS,
            registry=registry,
        )
        self._now = Gauge(
            *("commonplace_requests_in_progress", "Requests being answered."),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._calls = Counter("commonplace_tool_calls", "Calls of tools over MCP.", of_tool, registry=registry)
        self._call_seconds = Histogram(
            *("commonplace_tool_call_seconds", "Time until a tool's answer began.", ("tool",)),
            buckets=_SECONDS,
            registry=registry,
        )
        self._errors = Counter("commonplace_errors", "Refusals and faults.", ("code",), registry=registry)
        if self.workers_folder:
            # What all workers have counted; of each process alone nothing is shown.
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry, self.workers_folder)  # type: ignore[no-untyped-call]
        else:
            for collector in (ProcessCollector, PlatformCollector, GCCollector):
                collector(registry=registry)
        self._held: dict[int, tuple[float, LocalMemory, bytes]] = {}

    def in_progress(self) -> contextlib.AbstractContextManager[None]:
        return self._now.track_inprogress()

    def count(self, seen: AnsweredRequest) -> None:
        which = (seen.method, seen.route, str(seen.status))
        self._requests.labels(*which).inc()
        self._seconds.labels(*which).observe(seen.seconds)
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
        yield GaugeMetricFamily("commonplace_store_up", "Whether the store answers.", value=held is not None)
        if held is not None:
            yield from _counts(held)
            yield from _connections(held["store"])
        if not RequestMetrics.workers_folder:
            yield from self._embedding()

    def _embedding(self) -> Iterator[Metric]:
        embeddings = self._memory.embeddings
        for name, what, number in (
            ("embedded_passages", "Passages whose vectors this server made.", embeddings.embedded),
            ("embedding_failures", "Passages of which it could make none, and gave them back.", embeddings.failed),
        ):
            yield CounterMetricFamily(f"commonplace_{name}", what, value=number)
        yield GaugeMetricFamily(
            "commonplace_embedding_lag_seconds", "Time since nothing waited for its vector.", value=embeddings.lag()
        )


def _counts(held: Mapping[str, Any]) -> Iterator[Metric]:
    counts = held["counts"]
    items = GaugeMetricFamily("commonplace_items", "Live items.", labels=("kind",))
    for kind, number in sorted(counts["items"].items()):
        items.add_metric([kind], number)
    yield items
    for name, what, number in (
        ("passages", "Passages that are searched.", counts["passages"]),
        ("vectors", "Passages that are found by meaning.", counts["vectors"]),
        ("pending_vectors", "Passages that wait for their vector.", held["pending"]),
        ("projects", "Projects.", counts["projects"]),
        ("sessions", "Sessions.", counts["sessions"]),
        ("forgotten_items", "Items that can be restored.", counts["forgotten"]),
        ("database_bytes", "Size of the database.", counts["bytes"]),
    ):
        yield GaugeMetricFamily(f"commonplace_{name}", what, value=number)


def _connections(store: Mapping[str, Any]) -> Iterator[Metric]:
    """Of a store on a server: those of this process to it."""
    pool = store.get("connections")
    if pool is None:
        return
    connections = GaugeMetricFamily("commonplace_database_connections", "Connections by state.", labels=("state",))
    for state in ("in_use", "idle"):
        connections.add_metric([state], pool[state])
    yield connections
    yield GaugeMetricFamily("commonplace_database_waiting", "Calls that wait for a connection.", value=pool["waiting"])
    yield GaugeMetricFamily("commonplace_database_connections_limit", "Connections at most.", value=pool["most"])
    yield CounterMetricFamily(
        "commonplace_replica_fallbacks", "Questions that no replica answered.", value=pool["replica_fallbacks"]
    )


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
