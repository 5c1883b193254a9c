"""Conversations over HTTP: everything that can be done with them, and that each reply is what the document says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .conftest import Site, conforms, refused, running, settings_in

ALL = "/api/v1/conversations"
ONE = f"{ALL}/{{id}}"
Talk = Callable[..., dict[str, Any]]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A memory of its own for each test: lists and counts are of the whole."""
    with running(settings_in(tmp_path)) as site:
        yield site


@pytest.fixture
def api(site: Site) -> Iterator[httpx2.Client]:
    with site.client() as client:
        yield client


@pytest.fixture
def talk(api: httpx2.Client) -> Talk:
    """Stores a conversation."""

    def store(label: str, *contents: str, **more: Any) -> dict[str, Any]:
        messages = [{"role": "user", "content": content} for content in contents or (f"About {label}",)]
        answer = api.post(ALL, json={"label": label, "messages": messages, **more})
        assert answer.status_code == 201, answer.text
        data: dict[str, Any] = answer.json()
        return data

    return store


def test_one_is_stored_and_read_with_what_was_given(api: httpx2.Client) -> None:
    messages = [
        {"role": "user", "content": "Which cache?", "timestamp": "2026-01-20T10:00:00Z", "metadata": {"by": "me"}},
        {"role": "assistant", "content": "Redis.", "timestamp": "2026-01-20T10:00:05.250+00:00"},
        {"role": "tool", "content": "exit 0", "timestamp": "2026-01-20 10:00:06"},
    ]
    given = {"label": "Cache", "folder": "/work/db", "importance_score": 8.5, "metadata": {"k": [1]}, "project": "api"}
    answer = api.post(ALL, json={**given, "messages": messages})
    conforms(answer, "POST", ALL)
    stored = answer.json()
    assert answer.status_code == 201 and answer.headers["location"] == f"{ALL}/{stored['id']}"
    assert stored["id"] == stored["conversation_id"] and stored["duplicate"] is False
    found = api.get(f"{ALL}/{stored['id']}")
    conforms(found, "GET", ONE)
    reply = found.json()
    assert {name: reply[name] for name in given} == given
    assert (reply["status"], reply["message_count"], reply["word_count"], reply["archived"]) == ("active", 3, 5, False)
    assert reply["created_at"] == "2026-01-20T10:00:00Z" and reply["timestamp"] == "2026-01-20T10:00:06Z"
    assert [(m["role"], m["content"], m["timestamp"]) for m in reply["messages"]] == [
        ("user", "Which cache?", "2026-01-20T10:00:00Z"),
        ("assistant", "Redis.", "2026-01-20T10:00:05.250Z"),
        ("tool", "exit 0", "2026-01-20T10:00:06Z"),
    ]
    assert reply["messages"][0]["metadata"] == {"by": "me"}


def test_the_same_again_is_found(api: httpx2.Client, talk: Talk) -> None:
    first = talk("Once", "only this")
    again = api.post(ALL, json={"label": "Once", "messages": [{"role": "user", "content": "only this"}]})
    conforms(again, "POST", ALL)
    assert (again.status_code, again.json()["id"], again.json()["duplicate"]) == (200, first["id"], True)
    assert api.get(f"{ALL}/count").json()["count"] == 1


def test_without_a_label_it_is_called_by_the_first_thing_said(api: httpx2.Client) -> None:
    messages = [{"role": "user", "content": "# Plans for May\n\nLet us begin."}]
    reply = api.post(ALL, json={"label": None, "folder": None, "messages": messages}).json()
    assert (reply["label"], reply["folder"]) == ("Plans for May", "/")


def test_reading_without_messages_does_not_count_as_opening(api: httpx2.Client, talk: Talk) -> None:
    id_ = talk("Quiet")["id"]
    plain = api.get(f"{ALL}/{id_}", params={"messages": "false"})
    conforms(plain, "GET", ONE)
    assert "messages" not in plain.json() and plain.json()["last_accessed"] is None
    api.get(f"{ALL}/{id_}")
    assert api.get(f"{ALL}/{id_}", params={"messages": "false"}).json()["last_accessed"] is not None


def test_any_spelling_of_its_id_and_the_id_of_a_message_mean_it(api: httpx2.Client, talk: Talk) -> None:
    stored = talk("Spelled")
    message = api.get(f"{ALL}/{stored['id']}").json()["messages"][0]["id"]
    for id_ in (stored["id"].upper(), stored["short_id"], message):
        assert api.get(f"{ALL}/{id_}").json()["id"] == stored["id"]
    for id_ in ("nobody", "999", "%20", "0" * 12, "..%2f", "\u202e"):
        refused(api.get(f"{ALL}/{id_}"), 404, "NOT_FOUND")


def test_lists_are_paged_by_number_by_skipping_and_by_cursor(api: httpx2.Client, talk: Talk) -> None:
    for number in range(7):
        at = f"2026-01-0{number + 1}T00:00:00Z"
        messages = [{"role": "user", "content": f"say {number}", "timestamp": at}]
        assert api.post(ALL, json={"label": f"n{number}", "messages": messages}).status_code == 201
    newest = [f"n{number}" for number in reversed(range(7))]
    page = api.get(ALL, params={"page_size": 3})
    conforms(page, "GET", ALL)
    assert page.json()["conversations"] == page.json()["results"]
    assert (page.json()["total"], page.json()["page"], page.json()["page_size"]) == (7, 1, 3)
    by_number, by_skip, by_cursor = [], [], []
    for number in (1, 2, 3, 4):
        rows = api.get(ALL, params={"page": number, "page_size": 3}).json()["results"]
        by_number += [row["label"] for row in rows]
    for offset in (0, 3, 6):
        by_skip += [row["label"] for row in api.get(ALL, params={"limit": 3, "offset": offset}).json()["results"]]
    cursor = None
    while True:
        reply = api.get(ALL, params={"page_size": 3} | ({"cursor": cursor} if cursor else {})).json()
        by_cursor += [row["label"] for row in reply["results"]]
        assert reply["total"] == 7
        cursor = reply["next_cursor"]
        if cursor is None:
            break
    assert by_number == by_skip == by_cursor == newest


def test_lists_are_filtered(api: httpx2.Client, talk: Talk) -> None:
    talk("A", folder="/work")
    talk("B", folder="/work/my notes", status="archived")
    talk("C/Deep", folder="/workshop", status="pinned")
    talk("D", folder="/働く", project="zoo")

    def labels(**params: str) -> set[str]:
        counted = api.get(f"{ALL}/count", params=params)
        conforms(counted, "GET", f"{ALL}/count")
        rows = api.get(ALL, params=params).json()
        assert counted.json()["count"] == rows["total"] == len(rows["results"])
        return {row["label"] for row in rows["results"]}

    assert labels() == {"A", "B", "C/Deep", "D"}
    assert labels(folder="/work") == {"A", "B"} and labels(folder="/work/my notes") == {"B"}
    assert labels(folder="/働く") == labels(project="zoo") == {"D"}
    assert labels(label="deep") == labels(pinned="true") == labels(status="pinned") == {"C/Deep"}
    assert labels(archived="true") == {"B"} and labels(archived="false") == {"A", "C/Deep", "D"}
    assert labels(pinned="false") == {"A", "B", "D"} and labels(pinned="true", archived="true") == set()
    assert labels(folder="/work", label="A") == {"A"} and labels(status="active", archived="true") == set()


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_what_is_named_changes_and_the_rest_stays(api: httpx2.Client, talk: Talk, method: str) -> None:
    id_ = talk("Old", folder="/a", importance_score=4, metadata={"kept": 1})["id"]
    answer = api.request(method, f"{ALL}/{id_}", json={"label": "New", "importance_score": 7.5})
    conforms(answer, method, ONE)
    reply = answer.json()
    assert (reply["label"], reply["folder"], reply["importance_score"]) == ("New", "/a", 7.5)
    assert reply["metadata"] == {"kept": 1}
    reply = api.request(method, f"{ALL}/{id_}", json={"folder": "/b c", "metadata": {"new": 2}, "label": None}).json()
    assert (reply["label"], reply["folder"], reply["metadata"]) == ("New", "/b c", {"new": 2})
    same = api.request(method, f"{ALL}/{id_}", json={})
    assert same.status_code == 200 and same.json()["rev"] == reply["rev"], "nothing was changed"


def test_each_change_has_its_own_address(api: httpx2.Client, talk: Talk) -> None:
    one = f"{ALL}/{talk('Old')['id']}"
    assert api.put(f"{one}/label", json={"label": "New", "folder": None}).json()["label"] == "New"
    reply = api.put(f"{one}/label", json={"label": "Newer", "folder": "/x"}).json()
    assert (reply["label"], reply["folder"]) == ("Newer", "/x")
    assert api.put(f"{one}/folder", json={"folder": "/y/z"}).json()["folder"] == "/y/z"
    pinned = api.put(f"{one}/pin").json()
    assert (pinned["status"], pinned["importance_score"]) == ("pinned", 10)
    unpinned = api.put(f"{one}/pin", json={"pinned": False}).json()
    assert (unpinned["status"], unpinned["importance_score"]) == ("active", 5)
    assert api.put(f"{one}/archive").json()["archived"] is True
    assert api.put(f"{one}/archive", json={"archived": False}).json()["status"] == "active"
    assert api.put(f"{one}/status", json={"status": "archived"}).json()["status"] == "archived"
    refused(api.put(f"{one}/status", json={"status": "lost"}), 400, "VALIDATION_ERROR")
    for name in ("label", "folder", "pin", "archive", "status"):
        body = {"label": {"label": "x"}, "folder": {"folder": "/x"}, "status": {"status": "active"}}.get(name)
        refused(api.put(f"{ALL}/nobody/{name}", json=body or {}), 404, "NOT_FOUND")


def test_what_it_was_is_told(api: httpx2.Client, talk: Talk) -> None:
    one = f"{ALL}/{talk('First')['id']}"
    api.patch(one, json={"label": "Second"})
    api.delete(one)
    answer = api.get(f"{one}/history")
    conforms(answer, "GET", f"{ONE}/history")
    assert [(change["op"], change["before"]["label"]) for change in answer.json()["changes"]] == [
        ("edit", "First"),
        ("forget", "Second"),
    ]


def test_what_is_forgotten_can_be_restored(api: httpx2.Client, talk: Talk) -> None:
    id_ = talk("Gone", "a walrus was here")["id"]
    forgotten = api.delete(f"{ALL}/{id_}")
    conforms(forgotten, "DELETE", ONE)
    assert forgotten.json()["forgotten_at"] is not None
    assert "restore" in api.get(f"{ALL}/{id_}").json()["details"]
    assert api.get(f"{ALL}/{id_}", params={"forgotten": "true"}).json()["label"] == "Gone"
    assert api.post("/api/v1/query", json={"query": "walrus"}).json()["total"] == 0
    assert api.delete(f"{ALL}/{id_}").status_code == 200, "twice is once"
    restored = api.post(f"{ALL}/{id_}/restore")
    conforms(restored, "POST", f"{ONE}/restore")
    assert restored.json()["forgotten_at"] is None
    assert [m["content"] for m in api.get(f"{ALL}/{id_}").json()["messages"]] == ["a walrus was here"]
    refused(api.delete(f"{ALL}/00000000-0000-0000-0000-000000000000"), 404, "NOT_FOUND")
    refused(api.post(f"{ALL}/nobody/restore"), 404, "NOT_FOUND")


def test_messages_are_added_and_read_page_by_page(api: httpx2.Client, talk: Talk) -> None:
    one = f"{ALL}/{talk('Growing', 'zero')['id']}"
    for number in range(1, 4):
        answer = api.post(f"{one}/messages", json={"messages": [{"role": "assistant", "content": f"say {number}"}]})
        conforms(answer, "POST", f"{ONE}/messages")
        assert (answer.status_code, answer.json()["added"], answer.json()["message_count"]) == (201, 1, number + 1)
    again = api.post(f"{one}/messages", json={"messages": [{"role": "assistant", "content": "say 3"}]})
    assert again.json()["message_count"] == 5, "saying it again is saying it twice"
    seen: list[str] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = api.get(f"{one}/messages", params={"limit": 2, "cursor": cursor})
        conforms(page, "GET", f"{ONE}/messages")
        seen += [message["content"] for message in page.json()["messages"]]
        cursor = page.json()["next_cursor"]
    assert seen == ["zero", "say 1", "say 2", "say 3", "say 3"]
    refused(api.get(f"{ALL}/nobody/messages"), 404, "NOT_FOUND")
    refused(api.post(f"{one}/messages", json={"messages": []}), 400, "VALIDATION_ERROR")


def test_sessions_of_coding_agents_are_listed_too(api: httpx2.Client, talk: Talk) -> None:
    talk("Talked")
    api.post("/api/v1/items", json={"kind": "observation", "title": "Fixed it", "session": "work-1", "project": "api"})
    assert [row["label"] for row in api.get(ALL).json()["results"]] == ["Talked"]
    answer = api.get("/api/v1/sessions")
    conforms(answer, "GET", "/api/v1/sessions")
    assert {row["key"] for row in answer.json()["results"]} >= {"work-1"} and answer.json()["total"] == 2
    assert [row["key"] for row in api.get("/api/v1/sessions", params={"project": "api"}).json()["results"]] == [
        "work-1"
    ]


def test_the_tag_of_a_conversation_changes_with_a_message_of_it(api: httpx2.Client, talk: Talk) -> None:
    one = f"{ALL}/{talk('Tagged', 'before')['id']}"
    api.get(one)
    first = api.get(one)
    api.patch(f"/api/v1/items/{first.json()['messages'][0]['id']}", json={"content": "after"})
    again = api.get(one, headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 200 and again.json()["messages"][0]["content"] == "after"


def test_a_conversation_that_was_only_read_since_is_not_sent_again(api: httpx2.Client, talk: Talk) -> None:
    one = f"{ALL}/{talk('Read twice')['id']}"
    known = {"If-None-Match": api.get(one).headers["etag"]}
    assert [api.get(one, headers=known).status_code for _ in range(2)] == [304, 304]


@pytest.mark.promise("sekha:decided:racing")
def test_of_two_edits_of_the_same_revision_one_is_refused(api: httpx2.Client, talk: Talk) -> None:
    one = f"{ALL}/{talk('Raced')['id']}"
    tags = {api.get(one).headers["etag"], api.get(one, params={"messages": "false"}).headers["etag"]}
    for tag in tags:
        mine = api.patch(one, json={"label": f"Mine {tag[:3]}"}, headers={"If-Match": tag})
        yours = api.patch(one, json={"label": "Yours"}, headers={"If-Match": tag})
        if mine.status_code == 200:
            assert "revision" in refused(yours, 409, "CONFLICT")
    late = {"If-Match": '"r1"'}
    message = {"messages": [{"role": "user", "content": "x"}]}
    for answer in (
        api.put(f"{one}/label", json={"label": "Late"}, headers=late),
        api.put(f"{one}/pin", json={"pinned": False}, headers=late),
        api.patch(one, json={"label": "Late", "rev": 1}),
        api.delete(one, headers=late),
        api.post(f"{one}/messages", json=message, headers=late),
    ):
        assert refused(answer, 409, "CONFLICT").startswith("Conversation ")
    assert api.get(one).json()["label"].startswith("Mine")


def test_a_key_for_reading_only_reads(site: Site, talk: Talk) -> None:
    one = f"{ALL}/{talk('Read')['id']}"
    with site.client("read") as reader:
        assert reader.get(one).status_code == reader.get(ALL).status_code == 200
        assert reader.post("/api/v1/query", json={"query": "read"}).status_code == 200
        for refusal in (reader.patch(one, json={"label": "x"}), reader.delete(one), reader.put(f"{one}/pin")):
            refused(refusal, 403, "FORBIDDEN")
        refused(reader.post("/api/v1/prune/execute", json={"conversation_ids": []}), 403, "FORBIDDEN")
    with site.client("write") as writer:
        refused(writer.post("/api/v1/rebuild-embeddings"), 403, "FORBIDDEN")
