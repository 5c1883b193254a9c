"""An archive says truly what is in it, holds what it was asked for and no secrets, and can be read without us."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

import pytest
from tests.capture.full_memory import archived, fill, lines, records
from tests.conftest import Clock

from commonplace.errors import TooLarge
from commonplace.memory import sync_and_archive
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.sync_and_archive import MANIFEST, Archive, SyncScope, sync_position
from commonplace.text import redact as redacting

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def manifest(files: dict[str, bytes]) -> Any:
    return json.loads(files[MANIFEST])


def test_the_manifest_says_what_is_there(memory: LocalMemory, clock: Clock) -> None:
    fill(memory, clock)
    files = archived(memory)
    assert [*files] == ["items.jsonl", "sessions.jsonl", "projects.jsonl", MANIFEST]
    result = manifest(files)
    assert (result["format"], result["version"], result["space"]) == ("commonplace-archive", 1, "default")
    assert (result["store"], result["projects"], result["since"]) == (sync_position(memory)[0], None, None)
    assert result["files"] == [
        {"name": name, "lines": data.count(b"\n"), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in records(files).items()
    ]
    items = lines(files, "items.jsonl")
    assert result["counts"] == {
        "projects": len(lines(files, "projects.jsonl")),
        "sessions": len(lines(files, "sessions.jsonl")),
        "items": len(items),
        "forgotten": sum(one["fields"]["forgotten_ms"] is not None for one in items),
        "superseded": 2,
        "history": sum(len(one["history"]) for name in records(files) for one in lines(files, name)),
        "kinds": {"observation": 1, "memory": 6, "message": 5, "summary": 1, "checkpoint": 1},
    }
    assert result["counts"]["forgotten"] >= 1 and result["counts"]["history"] > 5


def test_lines_are_in_order_and_say_the_same_every_time(memory: LocalMemory, clock: Clock) -> None:
    fill(memory, clock)
    files = archived(memory)
    for name in ("items.jsonl", "sessions.jsonl"):
        names = [one["name"] for one in lines(files, name)]
        assert names == sorted(set(names))
    for name, data in records(files).items():
        for line in data.split(b"\n")[:-1]:
            one = json.loads(line)
            assert [*one] == ["what", "name", "version", "fields", "history"], name
            assert [*one["fields"]] == sorted(one["fields"])
    assert records(archived(memory)) == records(files)
    with zipfile.ZipFile(io.BytesIO(b"".join(Archive(memory).zipped()))) as packed:
        assert {name: packed.read(name) for name in packed.namelist()} == files


def test_a_part_of_it(memory: LocalMemory, clock: Clock) -> None:
    fill(memory, clock)
    web = archived(memory, extent=SyncScope(("web",)))
    assert manifest(web)["projects"] == ["web"]
    assert [one["name"] for one in lines(web, "projects.jsonl")] == ["web"]
    assert {one["fields"]["project"] for one in lines(web, "items.jsonl")} == {"web"}
    since = clock.forward(days=1)
    uid = lines(web, "items.jsonl")[0]["name"]
    edit_item(memory, uid, Changes(content="Said later"))
    later = archived(memory, since_ms=since)
    assert [one["name"] for one in lines(later, "items.jsonl")] == [uid]
    assert len(lines(later, "sessions.jsonl")) == len(lines(archived(memory), "sessions.jsonl"))
    assert manifest(later)["since"] == "2025-03-16T14:33:00.030Z"


def test_an_empty_memory_has_one_too(memory: LocalMemory) -> None:
    files = archived(memory)
    assert records(files) == dict.fromkeys(("items.jsonl", "sessions.jsonl", "projects.jsonl"), b"")
    assert manifest(files)["counts"]["items"] == 0


def test_secrets_that_were_kept_do_not_leave(memory: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as unknown:
        # A store from before this kind of secret was known.
        unknown.setattr("commonplace.memory.draft.redact", lambda text: text)
        stored = remember(memory, NewItem(f"The token is {SECRET}", meta={"token": SECRET}))
        edit_item(memory, stored.id, Changes(content=f"The token was {SECRET}"))
    assert SECRET in memory.store.get([stored.id])[stored.id].body
    assert SECRET not in redacting.redact(SECRET)
    assert SECRET.encode() not in b"".join(archived(memory).values())


def test_a_record_that_no_reader_would_take_is_told(memory: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = remember(memory, NewItem("x" * 5_000))
    monkeypatch.setattr(sync_and_archive, "MAX_ARCHIVE_LINE", 5_000)
    with pytest.raises(TooLarge, match=stored.uid):
        archived(memory)
