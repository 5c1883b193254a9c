"""The reference's table of errors over HTTP, and bad input: each is told as what it is, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import httpx2
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from .conftest import DEADLINE, Site, conforms, refused, running, settings_in

ALL = "/api/v1/conversations"
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
SAID = [{"role": "user", "content": "hello"}]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Site]:
    """A site that nobody else writes to."""
    with running(replace(settings_in(tmp_path), busy_timeout=0.2)) as site:
        yield site


def counted(api: httpx2.Client) -> int:
    return int(api.get(f"{ALL}/count").json()["count"])


@pytest.mark.promise("sekha:errors:unauthorized")
@pytest.mark.parametrize("path", [ALL, f"{ALL}/1", "/api/v1/stats", "/api/v1/export", "/mcp/tools"])
def test_without_a_key_that_works_it_is_unauthorized(site: Site, path: str) -> None:
    with site.client("") as nobody:
        for headers in ({}, {"Authorization": "Bearer sk-sekha-" + "0" * 48}, {"Authorization": "Basic abc"}):
            answer = nobody.get(path, headers=headers)
            refused(answer, 401, "UNAUTHORIZED")
            assert answer.headers["www-authenticate"].startswith('Bearer realm="commonplace"')


@pytest.mark.promise("sekha:errors:rate-limit")
@pytest.mark.parametrize(("path", "body"), [("/api/v1/query", {"query": "x"}), ("/mcp", LIST)])
def test_too_many_requests_are_told_how_long_to_wait(tmp_path: Path, path: str, body: dict[str, Any]) -> None:
    with running(replace(settings_in(tmp_path), rate_limit=0.01, rate_burst=3)) as site, site.client() as api:
        accept = {"accept": "application/json, text/event-stream"}
        answers = [api.post(path, json=body, headers=accept) for _ in range(5)]
        assert [answer.status_code for answer in answers[:3]] == [200] * 3
        for answer in answers[3:]:
            refused(answer, 429, "RATE_LIMIT_EXCEEDED")
            assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.promise("sekha:errors:not-found")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("PATCH", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("PUT", "/pin"),
        ("PUT", "/archive"),
        ("POST", "/restore"),
        ("GET", "/history"),
        ("GET", "/messages"),
        ("POST", "/summary"),
        ("POST", "/suggest-labels"),
    ],
)
def test_a_conversation_that_does_not_exist_is_not_found(api: httpx2.Client, method: str, path: str) -> None:
    for id_ in ("00000000-0000-0000-0000-000000000000", "nobody", "18446744073709551616"):
        body = {"label": "x"} if method in ("PATCH", "PUT") and not path else None
        refused(api.request(method, f"{ALL}/{id_}{path}", json=body), 404, "NOT_FOUND")


@pytest.mark.promise("sekha:errors:not-found")
@pytest.mark.parametrize("tool", ["memory_get_context", "memory_update", "memory_export"])
def test_a_tool_hints_at_the_id_that_nothing_has(api: httpx2.Client, tool: str) -> None:
    wanted = {"conversation_id": "nobody"} | ({"label": "x"} if tool == "memory_update" else {})
    answer = api.post(f"/mcp/tools/{tool}", json=wanted)
    refused(answer, 404, "NOT_FOUND")
    assert answer.json()["details"].startswith("Verify conversation_id.")


@pytest.mark.promise("sekha:errors:validation", "sekha:bad-input:no-messages", "sekha:bad-input:folder")
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": " \u200b\n"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": "x", "timestamp": "yesterday"}]}, "messages[0].timestamp"),
        ({"messages": [{"role": "user", "content": "x", "timestamp": "2026-02-30T00:00:00Z"}]}, "timestamp"),
        ({"messages": [{"role": "user", "content": "x", "mood": "glad"}]}, "messages[0].mood"),
        ({"label": ""}, "label"),
        ({"label": "x" * 501}, "label"),
        ({"folder": ""}, "folder"),
        ({"folder": "/a/../b"}, "folder"),
        ({"folder": "/a\n/b"}, "folder"),
        ({"importance_score": 10.5}, "importance_score"),
        ({"importance_score": "high"}, "importance_score"),
        ({"status": "lost"}, "status"),
        ({"metadata": [1]}, "metadata"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_wrong_value_is_told_with_its_place(own: Site, wrong: dict[str, Any], expected: str) -> None:
    with own.client() as api:
        answer = api.post(ALL, json={"label": "A", "messages": SAID, **wrong})
        assert expected in refused(answer, 400, "VALIDATION_ERROR")
        assert counted(api) == 0


@pytest.mark.promise("sekha:errors:service-unavailable")
def test_a_store_that_is_locked_is_unavailable_and_loses_nothing(own: Site) -> None:
    with own.client() as api:
        id_ = api.post(ALL, json={"label": "Kept", "messages": SAID}).json()["id"]
        other = apsw.Connection(str(own.memory.settings.database))
        try:
            other.execute("BEGIN IMMEDIATE")
            for answer in (
                api.post(ALL, json={"label": "Another", "messages": SAID}),
                api.patch(f"{ALL}/{id_}", json={"label": "x"}),
                api.post("/mcp/tools/memory_store", json={"label": "a", "folder": "/", "messages": SAID}),
                api.post("/api/v1/import", content=b"User: a\nAI: b", headers={"Content-Type": "text/plain"}),
            ):
                refused(answer, 503, "SERVICE_UNAVAILABLE")
                assert int(answer.headers["retry-after"]) >= 1
            assert api.get(f"{ALL}/{id_}").json()["label"] == "Kept", "reading goes on"
        finally:
            other.close()
        assert api.post(ALL, json={"label": "Another", "messages": SAID}).status_code == 201
        assert counted(api) == 2


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b'{"label": "A", "messages": [', "application/json", 400, "VALIDATION_ERROR"),
        (b'{"label": "\xff\xfe"}', "application/json", 400, "VALIDATION_ERROR"),
        (b'{"label": NaN}', "application/json", 400, "VALIDATION_ERROR"),
        (b"", "application/json", 400, "VALIDATION_ERROR"),
        (b"[]", "application/json", 400, "VALIDATION_ERROR"),
        (b"[" * 100_000, "application/json", 400, "VALIDATION_ERROR"),
        (b"label=A", "application/x-www-form-urlencoded", 415, "UNSUPPORTED_MEDIA"),
    ],
)
def test_a_body_that_is_no_json_is_told(own: Site, body: bytes, kind: str, status: int, code: str) -> None:
    with own.client() as api:
        refused(api.post(ALL, content=body, headers={"Content-Type": kind}), status, code)
        assert counted(api) == 0


@pytest.mark.promise("sekha:bad-input:huge")
def test_a_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    with running(settings_in(tmp_path, max_body_mb=1)) as site, site.client() as api:
        large = {"label": "Large", "messages": [{"role": "user", "content": "x" * 600_000}] * 2}
        refused(api.post(ALL, json=large), 413, "TOO_LARGE")
        assert counted(api) == 0


ALPHABET = st.sampled_from([*"aé漢🎉שع'\"\\% \n\t\u202e\u2066\u0301\u200d", "👩‍👩‍👧", "\U0001f1e9"])


@pytest.mark.promise("sekha:decided:text-equal")
@hypothesis_settings(max_examples=30)
@given(st.lists(ALPHABET, min_size=1, max_size=300).map("".join), st.integers(1, 120))
def test_any_text_comes_back_equal(api: httpx2.Client, text: str, padding: int) -> None:
    # Whatever lies at any byte: upstream cut texts in the middle of a letter.
    content = "x" * padding + text
    answer = api.post(ALL, json={"label": "Any", "messages": [{"role": "user", "content": content}]})
    assert answer.status_code in (200, 201), answer.text
    reply = api.get(f"{ALL}/{answer.json()['id']}")
    conforms(reply, "GET", f"{ALL}/{{id}}")
    assert reply.json()["messages"][0]["content"] == content
    assert api.post("/api/v1/summarize", json={"conversation_id": reply.json()["id"]}).status_code == 200
    assert api.post("/api/v1/labels/suggest", json={"conversation_id": reply.json()["id"]}).status_code == 200


@pytest.mark.promise("sekha:decided:folder-unicode", "sekha:bad-input:timestamps")
def test_folders_with_spaces_and_times_in_the_future_are_kept(own: Site) -> None:
    with own.client() as api:
        messages = [{"role": "user", "content": "later", "timestamp": "2999-12-31T23:59:59Z"}]
        reply = api.post(ALL, json={"label": "🎉", "folder": "/my notes/עברית/(draft)", "messages": messages}).json()
        assert (reply["folder"], reply["timestamp"]) == ("/my notes/עברית/(draft)", "2999-12-31T23:59:59Z")
        for folder in ("/my notes", "/my notes/עברית", "my notes/"):
            assert api.get(ALL, params={"folder": folder}).json()["total"] == 1
        assert api.get("/api/v1/stats", params={"folder": "/my notes"}).json()["total_messages"] == 1


@pytest.mark.promise("sekha:decided:racing")
def test_of_edits_that_race_one_wins_and_all_are_told(own: Site) -> None:
    with own.client() as api:
        answer = api.post(ALL, json={"label": "Raced", "messages": SAID})
        one, tag = f"{ALL}/{answer.json()['id']}", answer.headers["etag"]
        gate, results = threading.Barrier(8), []

        def edit(number: int) -> None:
            with own.client() as mine:
                gate.wait(DEADLINE)
                results.append(mine.patch(one, json={"label": f"By {number}"}, headers={"If-Match": tag}))

        threads = [threading.Thread(target=edit, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        won = [answer for answer in results if answer.status_code == 200]
        assert len(results) == 8 and len(won) == 1
        for answer in results:
            if answer is not won[0]:
                refused(answer, 409, "CONFLICT")
        assert api.get(one).json()["label"] == won[0].json()["label"]
        history = api.get(f"{one}/history").json()["changes"]
        assert [change["before"]["label"] for change in history] == ["Raced"]


def test_messages_that_are_added_at_once_are_all_kept(own: Site) -> None:
    with own.client() as api:
        one = f"{ALL}/{api.post(ALL, json={'label': 'Busy', 'messages': SAID}).json()['id']}"
        statuses: list[int] = []

        def add(number: int) -> None:
            with own.client() as mine:
                for place in range(5):
                    message = {"role": "user", "content": f"{number}-{place}"}
                    statuses.append(mine.post(f"{one}/messages", json={"messages": [message]}).status_code)

        threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        stored = {message["content"] for message in api.get(one).json()["messages"]}
        acknowledged = statuses.count(201)
        assert len(statuses) == 20 and len(stored) == acknowledged + 1


def test_secrets_do_not_come_back(own: Site) -> None:
    secret = "sk-ant-api03-" + "a1B2c3D4" * 11 + "AA"
    with own.client() as api:
        messages = [{"role": "user", "content": f"the key is {secret}", "metadata": {"key": secret}}]
        id_ = api.post(ALL, json={"label": f"Key {secret}", "messages": messages}).json()["id"]
        for answer in (
            api.get(f"{ALL}/{id_}"),
            api.get(ALL),
            api.get("/api/v1/export"),
            api.post("/api/v1/query", json={"query": "key"}),
            api.post("/api/v1/context/assemble", json={"query": "key"}),
            api.post("/api/v1/summarize", json={"conversation_id": id_}),
        ):
            assert answer.status_code == 200 and secret not in answer.text and "a1B2c3D4a1B2c3D4" not in answer.text
