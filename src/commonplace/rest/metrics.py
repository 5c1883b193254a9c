"""Metrics: what was called and how long it took, and how much the memory holds, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from commonplace.memory.book import Book
from commonplace.memory.status import status
from commonplace.rest.endpoint import Answer, Asked

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class Requests:
    """Those that one server answered, counted and timed. A route is its template, so that ids make no new series."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "commonplace_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "commonplace_request_seconds",
            "Time to an answer.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def count(self, method: str, route: str, status_: int, seconds: float) -> None:
        method = method if method in _METHODS else "other"
        self._requests.labels(method, route, str(status_)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _Held(Collector):
    """What a memory holds at this moment."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        self._held = held

    def collect(self) -> Iterable[GaugeMetricFamily]:
        counts = self._held["counts"]
        items = GaugeMetricFamily("commonplace_items", "Live items.", labels=("kind",))
        for kind, number in sorted(counts["items"].items()):
            items.add_metric([kind], number)
        yield items
        for name, what, number in (
            ("passages", "Passages that are searched.", counts["passages"]),
            ("vectors", "Passages that are found by meaning.", counts["vectors"]),
            ("pending_vectors", "Passages that wait for their vector.", self._held["pending"]),
            ("projects", "Projects.", counts["projects"]),
            ("sessions", "Sessions.", counts["sessions"]),
            ("forgotten_items", "Items that can be restored.", counts["forgotten"]),
            ("database_bytes", "Size of the database.", counts["bytes"]),
        ):
            yield GaugeMetricFamily(f"commonplace_{name}", what, value=number)


def metrics(book: Book, asked: Asked[None, None]) -> Answer:
    """Everything that is measured."""
    held = CollectorRegistry()
    held.register(_Held(status(book)))
    return Answer(content=asked.house.counted() + generate_latest(held))
