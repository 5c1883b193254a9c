"""A database of another product, sent over HTTP, moves in like one that lies here."""

from __future__ import annotations

from pathlib import Path

import httpx2
from tests.capture.importers.databases import MEMORIES, make, memory_row

from .conftest import conforms


def test_a_database_is_uploaded_in_a_form(api: httpx2.Client, tmp_path: Path) -> None:
    path = make(tmp_path / "local.db", MEMORIES, {"memories": [memory_row("a", "Marmalade from Dundee", tags="food")]})
    files = [("file", ("local.db", path.read_bytes(), "application/octet-stream"))]
    answer = api.post("/api/v1/import", files=files)
    conforms(answer, "POST", "/api/v1/import")
    assert answer.json()["items"] == {"added": 1, "known": 0, "skipped": 0}
    found = api.post("/api/v1/query", json={"query": "marmalade"}).json()
    assert "Dundee" in str(found)
