"""Uploads that hold far more than they seem to: a real server reads them in bounded memory, or says why not."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import httpx2
import pytest
from tests.mcp.conftest import DEADLINE, Served
from tests.peak_memory import bounded_memory

from commonplace.memory.conversations import MAX_MESSAGES
from commonplace.memory.sync_and_archive import ARCHIVE_FILES, ARCHIVE_FORMAT, ARCHIVE_VERSION, MANIFEST

EMOJI = "\U0001f600".encode()
TINY = b"User: a\nAI: b\n"
Upload = Callable[..., httpx2.Response]


@pytest.fixture(scope="module")
def upload(served: Served) -> Iterator[Upload]:
    """Sends a file to a server that has imported before, and checks how much memory that took."""
    with httpx2.Client(base_url=served.url, headers=served.headers, timeout=DEADLINE) as client:

        def post(body: bytes, media: str = "application/zip", **query: str) -> httpx2.Response:
            return client.post("/api/v1/import", content=body, headers={"content-type": media}, params=query)

        assert post(b"User: hello\nAI: there\n", "text/plain").status_code == 200
        assert post(zipped("first.json", conversation([b"first"]))).status_code == 200

        def measured(body: bytes, media: str = "application/zip", **query: str) -> httpx2.Response:
            with bounded_memory(served.process.pid, len(body)):
                return post(body, media, **query)

        yield measured
    assert served.process.poll() is None


def zipped(name: str, *parts: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as file:
        for part in parts:
            file.write(part)
    return made.getvalue()


def conversation(texts: list[bytes], label: bytes = b"x") -> bytes:
    messages = b",".join(b'{"role":"user","content":"%s"}' % text for text in texts)
    return b'{"conversations":[{"label":"%s","messages":[%s]}]}' % (label, messages)


def directory_of(files: int) -> bytes:
    """A zip that is nothing but a list of its files."""
    record = struct.Struct("<4s4B4HL2L5H2L")
    numbers = (20, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0)
    listed = b"".join(record.pack(b"PK\x01\x02", *numbers) + b"%06d" % n for n in range(files))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, min(files, 65535), min(files, 65535), len(listed), 4, 0)
    return b"PK\x03\x04" + listed + end


def archive_of(projects: bytes) -> bytes:
    files = {ARCHIVE_FILES["project"]: projects, ARCHIVE_FILES["session"]: b"", ARCHIVE_FILES["item"]: b""}
    lines = [
        {"name": name, "lines": data.count(b"\n"), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
    ]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps({"format": ARCHIVE_FORMAT, "version": ARCHIVE_VERSION, "files": lines}))
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def project(number: int) -> bytes:
    return b'{"what":"project","name":"p%07d","version":1,"fields":{},"history":[]}\n' % number


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "tiny turns": (lambda: zipped("a.txt", *[TINY * 1000] * 2200), "a text of more than"),
    "tiny turns in Markdown": (
        lambda: zipped("a.md", b"## User\na\n## AI\nb\n" * 150_000),
        "more than 20,000 messages",
    ),
    "lines": (lambda: zipped("a.txt", b"ab\n" * 1_000_000), ""),
    "lines in a fence": (lambda: zipped("a.md", b"```\n" + b"ab\n" * 900_000 + b"```\n## User\na\n## AI\nb\n"), ""),
    "empty lines": (lambda: zipped("a.txt", b"a" + b"\n" * 3_000_000), "more than 2,000,000 lines"),
    "one wide text": (lambda: zipped("a.txt", EMOJI + b"ab " * 1_000_000), ""),
    "pages": (lambda: zipped("a.html", b"<p>ab<b>cd</b></p>" * 150_000), ""),
    "messages": (lambda: zipped("a.json", conversation([b"a"] * 1_000_000)), "has more than"),
    "lists": (lambda: zipped("a.json", b'{"messages":[' + b"[]," * 9_000_000 + b"[]]}"), "has more than"),
    "one value": (lambda: zipped("a.json", conversation([EMOJI + b"a" * 30_000_000])), "too long for an upload"),
    "wide value": (lambda: zipped("a.json", conversation([EMOJI + b"a" * 1_200_000])), ""),
    "one line": (
        lambda: zipped("a.jsonl", b'{"_meta":1}\n{"_type":"observation","a":"' + b"a" * 30_000_000 + b'"}\n'),
        "too long",
    ),
    "objects": (
        lambda: zipped("conversations.json", b'[{"name":"x","chat_messages":[' + b"{}," * 5_000_000 + b"{}]}]"),
        "has more than",
    ),
    "nothing to read": (
        lambda: zipped("conversations.json", b'[{"name":"x","chat_messages":[]}' + b',{"a":1}' * 300_000 + b"]"),
        "it has no messages",
    ),
    "files": (lambda: directory_of(400_000), "more files than can be read"),
    "projects": (lambda: archive_of(b"".join(map(project, range(200_000)))), "too many records"),
    "a long project": (lambda: archive_of(project(1)[:-2] + b" " * 9_000_000 + b"}\n"), "too many projects"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_an_upload_takes_no_more_memory_than_its_size_allows(upload: Upload, kind: str) -> None:
    made, says = BOMBS[kind]
    answer = upload(made(), dry_run="true")
    assert answer.status_code == (422 if says else 200), answer.text[:500]
    assert says in answer.text


@pytest.mark.parametrize("text", [TINY * 400_000, b"a: b\n" * 2_000_001], ids=["messages", "lines"])
def test_a_long_plain_text_of_tiny_lines_is_refused_at_once(upload: Upload, text: bytes) -> None:
    answer = upload(text, "text/plain")
    assert answer.status_code == 422 and "split it into several files" in answer.text


def test_as_many_turns_as_a_conversation_may_have_are_kept(upload: Upload) -> None:
    answer = upload(zipped("all.txt", TINY * (MAX_MESSAGES // 2)))
    assert answer.status_code == 200 and answer.json()["messages"]["added"] == MAX_MESSAGES


def test_what_is_left_of_a_long_upload_is_said(upload: Upload) -> None:
    one = b',{"label":"c%d","messages":[%s]}'
    text = b",".join([b'{"role":"user","content":"a"}'] * 6_000)
    many = b"".join(one % (n, text) for n in range(12))
    answer = upload(zipped("many.json", b'{"conversations":[' + many[1:] + b"]}"), dry_run="true")
    reply = answer.json()
    assert reply["conversations"]["added"] == 8 and "the rest of it" in reply["examples"][0]["what"]
    assert "commonplace import" in reply["examples"][0]["why"]


def test_cells_of_a_database_are_bounded(upload: Upload, tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    connection = apsw.Connection(str(path))
    connection.execute(
        "CREATE TABLE memories (id TEXT, content TEXT, type TEXT, created_at TEXT, scope TEXT, tags TEXT)"
    )
    connection.execute("INSERT INTO memories VALUES ('1', ?, 'rule', '2026-01-01', 'global', '')", ("a" * 40_000_000,))
    connection.close()
    answer = upload(zipped("theirs.db", path.read_bytes()))
    assert answer.status_code == 422 and "theirs.db" in answer.text
