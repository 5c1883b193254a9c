"""The command line, run in this process or as its own, on a store and a folder that belong to the test."""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
from tests.store_template import write_new_store

from commonplace.cli import main
from commonplace.config import Settings


@dataclass(frozen=True)
class Outcome:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return self.data["error"]


Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Where commands run: outside any repository, with a store of its own that is searched by words only."""
    if request.node.get_closest_marker("no_store") is None:
        write_new_store(settings)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.setenv("COMMONPLACE_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "off")
    monkeypatch.setenv("NO_COLOR", "1")
    # A relative one would mean another folder from here.
    path = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(str(Path(part).absolute()) for part in path.split(os.pathsep) if part)
    )
    monkeypatch.chdir(here)
    return here


def write_chats(folder: Path) -> None:
    """What the examples of `import` and `ingest` read: a product's zip, a folder with a chat, an agent's session."""
    answer = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Name a colour"]}}
    exported = [{"id": "c1", "title": "Colours", "mapping": {"m1": {"message": answer}}, "current_node": "m1"}]
    with zipfile.ZipFile(folder / "chatgpt-export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(exported))
    (folder / "chats").mkdir()
    (folder / "chats" / "colours.txt").write_text("User: Name a colour\nAI: Blue\n", encoding="utf-8")
    request = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s1", "cwd": "/work/my-api"}
    line = {**request, "timestamp": "2025-03-15T14:30:00.000Z", "message": {"role": "user", "content": "Name a colour"}}
    (folder / "session.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    write_graph(Path.home() / ".npm" / "_npx" / "1" / "node_modules" / "@modelcontextprotocol" / "server-memory")


def write_graph(package: Path) -> None:
    """What the reference memory server keeps, where npx put it."""
    (package / "dist").mkdir(parents=True)
    entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Likes blue"]}
    (package / "dist" / "memory.jsonl").write_text(json.dumps(entity), encoding="utf-8")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line in this process."""

    def call(*arguments: str, stdin: str | bytes = b"") -> Outcome:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        capfd.readouterr()
        code = main.run(arguments)
        out, err = capfd.readouterr()
        return Outcome(code, out, err)

    return call


@pytest.fixture
def spawn() -> Run:
    """Runs a command line as its own process."""

    def call(*arguments: str, stdin: str | bytes = b"", **env: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "commonplace", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env={**os.environ, **env},
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture
def story(run: Run) -> list[int]:
    """Five things about my-api, a minute apart, and one that holds everywhere; their ids, oldest first."""
    lines: list[dict[str, Any]] = [
        {"content": "Use JWT for API authentication", "type": "decision"},
        {
            "kind": "observation",
            "type": "file-write",
            "title": "Modified auth.ts",
            "narrative": "Added a middleware that checks tokens",
            "concepts": ["security", "api"],
            "files_modified": "src/auth.ts",
        },
        {"kind": "observation", "type": "command", "title": "npm test", "narrative": "Ran npm test: 47 passed"},
        {"kind": "summary", "session": "s1", "request": "Add authentication", "completed": "Modified auth.ts"},
        {"kind": "checkpoint", "session": "s1", "task": "Rate limiting", "progress": "half done"},
        {"content": "Never log request bodies", "type": "rule", "project": None},
    ]
    for number, line in enumerate(lines):
        line.setdefault("project", "github.com/acme/my-api")
        line["created_at_epoch"] = 1_742_049_000_000 + number * 60_000
    text = "\n".join(json.dumps(line) for line in lines)
    assert run("add", "--jsonl", "-", stdin=text).code == 0
    return [1, 2, 3, 4, 5, 6]


@pytest.fixture
def full_disk() -> Callable[[], list[str]]:
    """The start of a command line that may not make any file larger than 300 kB."""
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000));"
        "from commonplace.cli.main import main; main()"
    )
    return lambda: [sys.executable, "-c", script]


@pytest.fixture
def spawn_in_terminal() -> Run:
    """Runs a command line as its own process in a pseudo terminal. An empty variable is an absent one."""

    def call(*arguments: str, typed: str = "", **env: str) -> Outcome:
        import pty

        leader, follower = pty.openpty()
        # The terminal keeps what is typed ahead until it is read.
        os.write(leader, typed.encode())
        process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", *arguments],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={name: value for name, value in {**os.environ, "COLUMNS": "80", **env}.items() if value},
        )
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        os.close(leader)
        return Outcome(process.wait(timeout=60), shown.decode("utf-8", errors="replace"), "")

    return call


def wait_for_output(stream: IO[bytes], *texts: bytes) -> None:
    """Read what a process says until it has said these, one after the other; nothing waits longer than a minute."""
    seen, told = b"", 0
    for text in texts:
        while (place := seen.find(text, told)) < 0:
            ready, _, _ = select.select([stream], [], [], 60)
            assert ready, seen
            part = os.read(stream.fileno(), 65536)
            assert part, seen
            seen += part
        told = place + len(text)
