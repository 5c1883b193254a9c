"""Everything of a space over HTTP: out as a zip for whoever may have all of it, and in again elsewhere."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.capture.full_memory import archived, fill, lines, records
from tests.conftest import Clock

from commonplace.memory import api_keys
from commonplace.rest.import_export import ARCHIVE_MEDIA

from .conftest import Site, running, settings_in

ZIP = {"Content-Type": ARCHIVE_MEDIA}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_in(tmp_path_factory.mktemp("full"))) as site:
        fill(site.memory, Clock())
        yield site


def fetched(site: Site) -> httpx2.Response:
    with site.client() as client:
        return client.get("/api/v1/archive")


def test_everything_goes_out_and_comes_in_elsewhere(full: Site, tmp_path: Path) -> None:
    answer = fetched(full)
    assert (answer.status_code, answer.headers["content-type"]) == (200, ARCHIVE_MEDIA)
    assert answer.headers["content-disposition"] == 'attachment; filename="memory.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        files = {name: archive.read(name) for name in archive.namelist()}
    assert records(files) == records(archived(full.memory))
    with running(settings_in(tmp_path)) as there, there.client("admin") as client:
        reply = client.post("/api/v1/import", content=answer.content, headers=ZIP)
        assert reply.status_code == 200, reply.text
        assert (reply.json()["items"]["added"], reply.json()["conflicts"]) == (9, {"count": 0, "named": []})
        assert records(archived(there.memory)) == records(files)
        again = client.post("/api/v1/import", content=answer.content, headers=ZIP)
        assert (again.json()["items"]["added"], again.json()["items"]["known"]) == (0, 9)
        broken = client.post("/api/v1/import", content=answer.content[:-200], headers=ZIP)
        assert (broken.status_code, broken.json()["error"]["code"]) == (422, "VALIDATION_ERROR")


def test_what_a_member_brings_names_them_as_its_author(full: Site, tmp_path: Path) -> None:
    content = fetched(full).content
    with running(settings_in(tmp_path)) as there, there.client("write") as client:
        assert client.post("/api/v1/import", content=content, headers=ZIP).json()["items"]["added"] == 9
        items = lines(archived(there.memory), "items.jsonl")
        assert {one["fields"]["author"].partition(" (as ")[0] for one in items} == {"write via sync"}
        assert {one["fields"]["origin"] for one in items} == {"person"}
        mark = there.memory.store.last_change()
        assert client.post("/api/v1/import", content=content, headers=ZIP).json()["items"]["known"] == 9
        assert there.memory.store.last_change() == mark


def test_it_takes_a_key_for_all_of_the_space(full: Site) -> None:
    for scope in ("read", "write"):
        with full.client(scope) as client:
            assert client.get("/api/v1/archive").status_code == 403
    _key, secret = api_keys.create_key(full.memory, "one project", "admin", project="web")
    full.secrets["one project"] = secret
    with full.client("one project") as client:
        refused = client.get("/api/v1/archive")
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
        before = records(archived(full.memory))
        taken = client.post("/api/v1/import", content=fetched(full).content, headers=ZIP)
        assert (taken.status_code, records(archived(full.memory))) == (403, before)
