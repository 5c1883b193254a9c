"""Events and metrics: what happens is told as it happens, and what was asked is counted."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.polling import until

from commonplace.memory import api_keys
from commonplace.memory.local_memory import open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.rest import metrics, status_and_events

from .conftest import Remembered, Site, refused, running, settings_in

EVENTS = "/api/v1/events"


class Listener:
    """Someone who listens to the events of a site."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines

    def next(self) -> dict[str, Any]:
        """The next event with its mark, or the mark alone that a stream begins with."""
        found_by_name: dict[str, Any] = {}
        for line in self._lines:
            name, _, value = line.partition(": ")
            if not line and "mark" in found_by_name:
                found_by_name |= json.loads(found_by_name.pop("data", "{}"))
                return found_by_name
            if line and name in ("id", "event", "data"):
                found_by_name["mark" if name == "id" else name] = value
        raise EOFError


@contextlib.contextmanager
def listening(client: httpx2.Client, after: str | None = None) -> Iterator[Listener]:
    headers = {} if after is None else {"Last-Event-ID": after}
    with client.stream("GET", EVENTS, headers=headers) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        yield Listener(stream.iter_lines())


def test_what_happens_is_heard(site: Site, api: httpx2.Client, remembered: Remembered) -> None:
    with site.client("read") as ear, listening(ear) as listener:
        listener.next()
        item = remembered(project="heard", type="fact")
        api.patch(f"/api/v1/items/{item['id']}", json={"title": "Louder"})
        api.delete(f"/api/v1/items/{item['id']}")
        api.post(f"/api/v1/items/{item['id']}/restore")
        lines = [listener.next() for _ in range(4)]
    assert [one["event"] for one in lines] == ["item.created", "item.edited", "item.forgotten", "item.restored"]
    # By the time it is told, an item may have been changed by somebody else: then who made it is in its history.
    assert {one["author"] for one in lines[1:]} == {item["author"]}
    for one in lines:
        assert (one["uid"], one["kind"], one["type"], one["project"]) == (item["uid"], "memory", "fact", "heard")


def test_another_process_is_heard_too(site: Site) -> None:
    other = open_memory(site.memory.settings)
    try:
        with site.client("read") as ear, listening(ear) as listener:
            listener.next()
            stored = remember(other, NewItem("Said elsewhere"))
            assert listener.next()["uid"] == stored.uid
    finally:
        other.close()


def test_one_goes_on_where_one_stopped(api: httpx2.Client, remembered: Remembered) -> None:
    with listening(api) as listener:
        mark = listener.next()["mark"]
    first, second = remembered(), remembered()
    with listening(api, mark) as listener:
        received = listener.next()
        assert received["uid"] == first["uid"]
    with listening(api, received["mark"]) as listener:
        assert listener.next()["uid"] == second["uid"]


def test_what_was_missed_can_be_read_and_no_more(api: httpx2.Client, remembered: Remembered) -> None:
    mark = api.get(EVENTS, params={"follow": "false"}).text.partition("id: ")[2].strip()
    ids = [remembered()["uid"] for _ in range(300)]
    text = api.get(EVENTS, params={"follow": "false"}, headers={"Last-Event-ID": mark}).text
    assert [json.loads(line[6:])["uid"] for line in text.splitlines() if line.startswith("data: ")] == ids


def test_who_hears_one_project_misses_nothing_behind_much_of_another(
    site: Site, api: httpx2.Client, remembered: Remembered
) -> None:
    mark = api.get(EVENTS, params={"follow": "false"}).text.partition("id: ")[2].strip()
    for _ in range(300):
        remembered(project="loud")
    quiet = remembered(project="quiet")["uid"]
    secret = api_keys.create_key(site.memory, "quiet", "read", "quiet")[1]
    headers = {"Authorization": f"Bearer {secret}", "Last-Event-ID": mark}
    text = api.get(EVENTS, params={"follow": "false"}, headers=headers).text
    assert [json.loads(line[6:])["uid"] for line in text.splitlines() if line.startswith("data: ")] == [quiet]


def test_a_mark_that_is_not_ours_is_refused(api: httpx2.Client) -> None:
    assert "event id" in refused(api.get(EVENTS, headers={"Last-Event-ID": "yesterday"}), 422, "VALIDATION_ERROR")


def test_a_quiet_stream_says_that_it_is_alive(
    site: Site, monkeypatch: pytest.MonkeyPatch, remembered: Remembered
) -> None:
    monkeypatch.setattr(status_and_events, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(status_and_events, "HEARTBEAT_SECONDS", 0.02)
    with site.client("read") as ear, ear.stream("GET", EVENTS) as stream:
        assert ": alive" in (line for line in stream.iter_lines())


def test_the_end_of_the_server_ends_the_stream(tmp_path: Path) -> None:
    with running(settings_in(tmp_path)) as site, site.client("read") as ear, listening(ear) as listener:
        listener.next()
        site.server.should_exit = True
        with pytest.raises(EOFError):
            listener.next()


def test_who_leaves_keeps_nobody_busy(tmp_path: Path) -> None:
    with running(settings_in(tmp_path)) as site:
        for _ in range(20):
            with site.client("read") as ear, listening(ear) as listener:
                listener.next()
        until(lambda: not site.server.server_state.tasks)


def metric(client: httpx2.Client, name: str, **labels: str) -> float:
    answer = client.get("/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    found = [
        sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return sum(found)


def test_requests_are_counted_by_their_templates(api: httpx2.Client, remembered: Remembered) -> None:
    route = {"method": "GET", "route": "/api/v1/items/{id}"}
    before = metric(api, "commonplace_requests_total", **route)
    api.get(f"/api/v1/items/{remembered()['id']}")
    api.get("/api/v1/items/0")
    assert metric(api, "commonplace_requests_total", **route) == before + 2
    assert metric(api, "commonplace_requests_total", **route, status="404") >= 1
    assert metric(api, "commonplace_request_seconds_count", **route) == before + 2
    assert "/api/v1/items/0" not in api.get("/metrics").text


def test_what_the_memory_holds_is_measured_every_few_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "CACHE_SECONDS", 3600.0)
    with running(settings_in(tmp_path)) as site, site.client("read") as client:
        assert metric(client, "commonplace_items", kind="memory") == 0
        remember(site.memory, NewItem("Counted a little later"))
        assert metric(client, "commonplace_items", kind="memory") == 0
    monkeypatch.setattr(metrics, "CACHE_SECONDS", 0.0)
    with running(settings_in(tmp_path / "another")) as site, site.client("read") as client:
        assert metric(client, "commonplace_items", kind="memory") == 0
        remember(site.memory, NewItem("Counted at once"))
        assert metric(client, "commonplace_items", kind="memory") == 1
        for name in ("passages", "database_bytes", "store_up"):
            assert metric(client, f"commonplace_{name}") > 0
