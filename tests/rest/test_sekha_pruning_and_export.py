"""Keeping over HTTP: pruning, statistics, export, import, and making vectors again."""

from __future__ import annotations

import asyncio
import io
import json
import stat
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

from commonplace.rest.endpoint_table import ENDPOINTS
from commonplace.rest.request_parsing import receive_body
from commonplace.worker_threads import Workers

from .conftest import Site, conforms, refused, running, settings_in

ALL = "/api/v1/conversations"
OLD = "2025-01-01T00:00:00Z"
FIELD = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n'


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running(settings_in(tmp_path)) as site:
        yield site


@pytest.fixture
def api(site: Site) -> Iterator[httpx2.Client]:
    with site.client() as client:
        yield client


def store(api: httpx2.Client, label: str, *contents: str, at: str = OLD, **more: Any) -> str:
    messages = [{"role": "user", "content": content, "timestamp": at} for content in contents or (f"About {label}",)]
    answer = api.post(ALL, json={"label": label, "messages": messages, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_what_could_go_is_told_and_nothing_changes(api: httpx2.Client) -> None:
    low = store(api, "Low", importance_score=2)
    store(api, "High", importance_score=9)
    store(api, "Pinned", status="pinned")
    dry = api.post("/api/v1/prune/dry-run", json={"threshold_days": 30})
    conforms(dry, "POST", "/api/v1/prune/dry-run")
    got = api.get("/api/v1/prune/suggestions", params={"threshold_days": 30})
    conforms(got, "GET", "/api/v1/prune/suggestions")
    assert dry.json() == api.post("/api/v1/prune/dry-run").json() and dry.json()["suggestions"] == got.json()
    reply = dry.json()
    (one,) = reply["suggestions"]
    assert (one["conversation_id"], one["conversation_label"], one["recommendation"]) == (low, "Low", "archive")
    assert (reply["total"], reply["total_reviewed"], reply["recommended_archive"], reply["recommended_keep"]) == (
        1,
        3,
        1,
        2,
    )
    assert one["days_since_access"] > 300 and one["reason"].startswith("Low importance")
    assert api.get(ALL, params={"archived": "true"}).json()["total"] == 0
    all_ = api.post("/api/v1/prune/dry-run", json={"threshold_days": 30, "importance_threshold": 10}).json()
    assert {row["label"] for row in all_["suggestions"]} == {"Low", "High"}
    refused(api.post("/api/v1/prune/dry-run", json={"threshold_days": -1}), 400, "VALIDATION_ERROR")


def test_what_was_chosen_is_archived_and_nothing_else(api: httpx2.Client) -> None:
    first, second = store(api, "First"), store(api, "Second")
    refused(api.post("/api/v1/prune/execute", json={"conversation_ids": [first, "nobody"]}), 404, "NOT_FOUND")
    assert api.get(ALL, params={"archived": "true"}).json()["total"] == 0, "all or nothing"
    done = api.post("/api/v1/prune/execute", json={"conversation_ids": [first, first]})
    conforms(done, "POST", "/api/v1/prune/execute")
    assert done.json()["count"] == 1
    assert [row["id"] for row in api.get(ALL, params={"archived": "true"}).json()["results"]] == [first]
    assert api.get(f"{ALL}/{second}").json()["status"] == "active"
    assert api.post("/api/v1/prune/execute", json={"conversation_ids": []}).json()["count"] == 0


def test_figures_are_flat_and_in_an_envelope(api: httpx2.Client) -> None:
    store(api, "A", "one two three", folder="/work/a", importance_score=4)
    store(api, "B", "four", folder="/work", importance_score=7)
    store(api, "C", folder="/home")
    answer = api.get("/api/v1/stats", params={"folder": "/work"})
    conforms(answer, "GET", "/api/v1/stats")
    reply = answer.json()
    assert (reply["total_conversations"], reply["total_words"], reply["average_importance"]) == (2, 4, 5.5)
    assert reply["success"] is True and reply["data"]["folders"] == {"/work": 1, "/work/a": 1}
    assert {name: reply[name] for name in reply["data"]} == reply["data"]
    assert api.get("/api/v1/stats").json()["total_conversations"] == 3
    assert api.get("/api/v1/stats", params={"label": "B"}).json()["total_words"] == 1
    by_body = api.post("/mcp/memory/stats", json={"filters": {"labels": ["A", "C"]}})
    conforms(by_body, "POST", "/mcp/memory/stats")
    assert by_body.json()["total_conversations"] == 2 and by_body.json()["total_tokens"] > 0


def test_vectors_are_truly_made_again(tmp_path: Path) -> None:
    with running(replace(settings_in(tmp_path), embedder="builtin")) as site, site.client() as api:
        api.post(ALL, json={"label": "A", "messages": [{"role": "user", "content": "one"}] * 3})
        site.memory.embeddings.catch_up()
        assert api.get("/api/v1/status").json()["pending"] == 0
        answer = api.post("/api/v1/rebuild-embeddings")
        conforms(answer, "POST", "/api/v1/rebuild-embeddings")
        assert (answer.status_code, answer.json()["queued"], answer.json()["status"]) == (202, 3, "started")
        assert api.get("/api/v1/status").json()["pending"] == 3
        assert site.memory.embeddings.catch_up() == 3


def exported(api: httpx2.Client, **params: str) -> dict[str, Any]:
    answer = api.get("/api/v1/export", params=params)
    conforms(answer, "GET", "/api/v1/export")
    data: dict[str, Any] = answer.json()
    return data


def conversations_in(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """The conversations of an export, but for when they were last written."""
    conversations: list[dict[str, Any]] = json.loads(payload["content"])["conversations"]
    return sorted(({**one, "updated_at": None} for one in conversations), key=lambda one: str(one["label"]))


@pytest.mark.promise("sekha:memory_export:backup")
def test_an_export_is_imported_elsewhere_without_loss(api: httpx2.Client, tmp_path: Path) -> None:
    store(api, "Emoji 🎉", 'quotes " and \\ and \n lines \u2028', "שלום עולם", folder="/a b", metadata={"k": "v"})
    store(api, "Other", importance_score=9.5, status="archived")
    reply = exported(api)
    assert (reply["format"], reply["conversation_count"]) == ("json", 2)
    with running(settings_in(tmp_path / "elsewhere")) as other, other.client() as there:
        url, kind = "/api/v1/import", {"Content-Type": "application/json"}
        dry = there.post(url, params={"dry_run": "true"}, content=reply["content"], headers=kind)
        conforms(dry, "POST", url)
        assert dry.json()["conversations"]["added"] == 2 and there.get(f"{ALL}/count").json()["count"] == 0
        answer = there.post(url, content=reply["content"], headers=kind)
        conforms(answer, "POST", url)
        assert answer.json()["messages"] == {"added": 3, "known": 0, "skipped": 0}
        assert conversations_in(exported(there)) == conversations_in(reply)
        assert there.post(url, content=reply["content"], headers=kind).json()["conversations"]["known"] == 2


def test_an_export_is_narrowed_and_may_be_markdown(api: httpx2.Client) -> None:
    store(api, "A", folder="/work/x")
    store(api, "B", folder="/home")
    assert exported(api, folder="/work")["conversation_count"] == exported(api, label="B")["conversation_count"] == 1
    text = exported(api, format="markdown")["content"]
    assert text.count("## Conversation") == 2 and "# A\n" in text and "# B\n" in text
    assert exported(api, folder="/nowhere") == {
        "format": "json",
        "content": '{"format": "commonplace-conversations", "version": 1, "conversations": [\n]}\n',
        "conversation_count": 0,
    }
    refused(api.get("/api/v1/export", params={"format": "pdf"}), 400, "VALIDATION_ERROR")


def test_a_large_export_arrives_in_pieces_and_whole(api: httpx2.Client) -> None:
    for number in range(5):
        store(api, f"n{number}", *(f"{number} {place} " + "word " * 4000 for place in range(4)))
    with api.stream("GET", "/api/v1/export", headers={"Accept-Encoding": "identity"}) as answer:
        pieces = list(answer.iter_raw())
    assert len(pieces) > 1 and len(json.loads(json.loads(b"".join(pieces))["content"])["conversations"]) == 5


def test_files_of_other_products_are_imported_as_a_form(api: httpx2.Client) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("chat.md", "## User\n\nWhich colour?\n\n## Assistant\n\nTeal.\n")
    files = [
        ("file", ("talk.txt", b"User: hello\nAI: hi\n", "text/plain")),
        ("file", ("../../talk.txt", b"User: another\nAI: one\n", "text/plain")),
        ("file", ("chats.zip", packed.getvalue(), "application/zip")),
    ]
    answer = api.post("/api/v1/import", files=files, params={"folder": "/in"})
    conforms(answer, "POST", "/api/v1/import")
    assert answer.json()["conversations"]["added"] == 3 and answer.json()["files"] == {"read": 3, "skipped": 0}
    assert api.get(f"{ALL}/count", params={"folder": "/in"}).json()["count"] == 3


FORM = b'--x\r\nContent-Disposition: form-data; name="a"; filename="a.md"\r\n\r\n# T\r\n--x--\r\n'


@pytest.mark.parametrize(("kind", "body"), [("text/plain", b"User: a"), ("multipart/form-data; boundary=x", FORM)])
def test_what_is_uploaded_is_for_us_alone_and_gone_afterwards(kind: str, body: bytes) -> None:
    (endpoint,) = (one for one in ENDPOINTS if one.takes)
    workers = Workers()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def story() -> Path:
        request = Request({"type": "http", "method": "POST", "headers": [(b"content-type", kind.encode())]}, receive)
        async with receive_body(request, endpoint, workers) as upload:
            (path,) = upload.files
            assert path.read_bytes() in body and path.stat().st_size
            assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o600
        return path

    try:
        assert not asyncio.run(story()).exists()
    finally:
        workers.close()


@pytest.mark.parametrize(
    ("kind", "body", "status", "code"),
    [
        ("application/json", b'{"nothing": 1}', 422, "VALIDATION_ERROR"),
        ("application/json", b"", 422, "VALIDATION_ERROR"),
        ("application/zip", b"PK\x03\x04 and no more", 422, "VALIDATION_ERROR"),
        ("multipart/form-data; boundary=x", b"--x\r\nnonsense", 422, "VALIDATION_ERROR"),
        ("multipart/form-data", b"no boundary", 422, "VALIDATION_ERROR"),
        ("multipart/form-data; boundary=x", FIELD, 422, "VALIDATION_ERROR"),
        ("application/pdf", b"%PDF", 415, "UNSUPPORTED_MEDIA"),
        ("", b"text", 415, "UNSUPPORTED_MEDIA"),
    ],
)
def test_what_cannot_be_imported_is_told(api: httpx2.Client, kind: str, body: bytes, status: int, code: str) -> None:
    refused(api.post("/api/v1/import", content=body, headers={"Content-Type": kind}), status, code)
    assert api.get(f"{ALL}/count").json()["count"] == 0


def test_an_import_that_is_too_large_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with running(settings_in(tmp_path, max_import_mb=1)) as site, site.client() as api:
        for kind in ({"content": b"x" * 1_100_000}, {"content": iter([b"x" * 600_000] * 3)}):
            answer = api.post("/api/v1/import", headers={"Content-Type": "text/plain"}, **kind)
            refused(answer, 413, "TOO_LARGE")
        assert api.get(f"{ALL}/count").json()["count"] == 0
