"""`export`: conversations that can be imported again, or read without Commonplace."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace import config
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversations
from commonplace.memory.local_memory import open_memory

from .conftest import Run
from .test_conversations import keep

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def three(run: Run) -> list[str]:
    return [
        keep(run, "Colours", "--folder", "/work/design", day=1),
        keep(run, "Cache", "--folder", "/work", "--project", "my-api", day=2),
        keep(run, 'Tomatoes: "red"/green?', "--folder", "/home", "--status", "archived", day=3),
    ]


def test_one_is_one_object(run: Run, three: list[str]) -> None:
    data = run("export", three[0]).data
    assert (data["label"], data["folder"], data["message_count"]) == ("Colours", "/work/design", 2)
    assert run("export", three[0], "--json").data["label"] == "Colours"
    bare = run("export", three[0], "--no-metadata").data
    assert bare.keys() == {"id", "label", "folder", "messages"}


def test_many_are_one_document(run: Run, three: list[str], folder: Path) -> None:
    done = run("export", "--all", "--output", "all.json")
    assert done.out == "Exported 3 conversations, 6 messages to all.json\n"
    data = json.loads((folder / "all.json").read_text(encoding="utf-8"))
    assert (data["format"], data["version"]) == ("commonplace-conversations", 1)
    assert data["exported_at"].endswith("Z")
    assert [one["label"] for one in data["conversations"]] == ['Tomatoes: "red"/green?', "Cache", "Colours"]
    assert [one["label"] for one in run("export", "--folder", "/work").data["conversations"]] == ["Cache", "Colours"]
    assert [one["label"] for one in run("export", *three[:2]).data["conversations"]] == ["Colours", "Cache"]
    assert len(run("export", "1", three[0], "1").data["conversations"]) == 1
    assert run("export", "--folder", "/nowhere").data["conversations"] == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes")
def test_files_are_for_their_owner_only(run: Run, three: list[str], folder: Path) -> None:
    run("export", "--all", "--output", "all.json")
    run("export", "--all", "--format", "markdown", "--output", "chats")
    files = [folder / "all.json", *(folder / "chats").iterdir()]
    assert len(files) == 4 and {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_what_was_exported_is_imported_without_loss(run: Run, three: list[str], tmp_path: Path) -> None:
    run("export", "--all", "--output", "all.json")
    elsewhere = ("--data-dir", str(tmp_path / "elsewhere"))
    assert run("import", "all.json", *elsewhere).code == 0
    before, after = (run("export", "--all", *where).data["conversations"] for where in ((), elsewhere))
    assert after == before
    assert run("import", "all.json", "--json").data["messages"] == {"added": 0, "known": 6, "skipped": 0}


def test_many_as_markdown_are_files_with_names_of_their_own(run: Run, three: list[str], folder: Path) -> None:
    twin = keep(run, "CACHE", day=4)
    keep(run, "con", day=5)
    done = run("export", "--all", "--format", "markdown", "--output", "deep/chats", "--json")
    assert done.data == {"conversations": 5, "messages": 10, "format": "markdown", "path": str(Path("deep/chats"))}
    names = sorted(path.name for path in (folder / "deep" / "chats").iterdir())
    cache = run("conversations", "--label", "cache", "--json").data["conversations"]
    assert {one["short_id"] for one in cache} >= {twin, three[1]}
    assert names == sorted(["CACHE.md", f"Cache {three[1]}.md", "Colours.md", "Tomatoes red green.md", "_con.md"])
    text = (folder / "deep" / "chats" / "Colours.md").read_text(encoding="utf-8")
    assert text.startswith("# Colours\n\n**Folder:** /work/design") and "An answer to Colours" in text


def test_one_as_markdown_goes_anywhere(run: Run, three: list[str], folder: Path) -> None:
    text = run("export", three[0], "--format", "markdown", "--no-metadata").out
    assert text.startswith("# Colours\n\n## Conversation\n") and "**Folder:**" not in text
    assert run("export", three[0], "--format", "markdown", "--json").data["content"].startswith("# Colours\n")
    run("export", three[0], "--format", "markdown", "--no-metadata", "--output", "one.md")
    assert (folder / "one.md").read_bytes().decode() == text


def test_nothing_is_written_over_without_force(run: Run, three: list[str], folder: Path) -> None:
    (folder / "taken").mkdir()
    for path in (folder / "taken.json", folder / "taken" / "mine.txt"):
        path.write_text("mine", encoding="utf-8")
    many = ("export", "--all", "--output", "taken.json")
    files = ("export", "--all", "--format", "markdown", "--output", "taken")
    for command in (many, files):
        done = run(*command, "--json")
        assert (done.code, done.error["code"]) == (4, "CONFLICT") and "--force" in done.error["suggestion"]
    assert [path.name for path in (folder / "taken").iterdir()] == ["mine.txt"]
    assert (folder / "taken.json").read_text(encoding="utf-8") == "mine"
    assert run(*many, "--force").code == 0 and run(*files, "--force").code == 0
    assert len(json.loads((folder / "taken.json").read_text(encoding="utf-8"))["conversations"]) == 3
    assert len(list((folder / "taken").iterdir())) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("1", "--all"),
        ("--all", "--folder", "/work"),
        ("--all", "--format", "markdown"),
        ("--all", "--output", "no/such/folder/x.json"),
        ("--all", "--output", "."),
        ("--all", "--format", "markdown", "--output", "file.txt"),
    ],
)
def test_what_cannot_be_done_is_told(run: Run, three: list[str], folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "file.txt").write_text("", encoding="utf-8")
    done = run("export", *arguments, "--json")
    assert (done.code, done.error["code"]) == (2, "VALIDATION_ERROR") and done.error["suggestion"]
    assert [path.name for path in folder.iterdir()] == ["file.txt"]


def test_an_unknown_id_writes_nothing(run: Run, three: list[str], folder: Path) -> None:
    assert run("export", three[0], "0123456789ab", "--output", "two.json").code == 3
    assert list(folder.iterdir()) == []


def test_secrets_that_were_kept_are_taken_out_and_it_stays_json(run: Run, data_dir: Path, folder: Path) -> None:
    id_ = keep(run, "Keys", words='Say "PLACEHOLDER" and go on\nwith more')
    # As an older version might have kept it.
    import apsw

    connection = apsw.Connection(str(data_dir / "commonplace.db"))
    connection.execute("UPDATE items SET body = replace(body, 'PLACEHOLDER', ?)", (f'token = "{SECRET}"',))
    connection.close()
    run("export", "--all", "--output", "all.json")
    run("export", "--all", "--format", "markdown", "--output", "chats")
    data = json.loads((folder / "all.json").read_text(encoding="utf-8"))
    text = data["conversations"][0]["messages"][0]["content"]
    assert "[REDACTED:" in text and text.endswith("and go on\nwith more")
    texts = [path.read_text(encoding="utf-8") for path in (folder / "chats").iterdir()]
    outs = [run("export", id_).out, run("export", id_, "--format", "markdown").out, json.dumps(data), *texts]
    assert all(SECRET not in out and "[REDACTED:" in out for out in outs)


@pytest.mark.skipif(sys.platform == "win32", reason="limits")
def test_a_full_disk_leaves_nothing_behind(data_dir: Path, folder: Path, full_disk: Callable[[], list[str]]) -> None:
    memory = open_memory(config.load({"data_dir": str(data_dir), "embedder": "off"}))
    messages = [NewMessage("user", f"{n} " + "words " * 1000) for n in range(100)]
    store_conversations(memory, [NewConversation("Long", messages)])
    memory.close()
    command = [*full_disk(), "export", "--all", "--output", str(folder / "all.json"), "--json"]
    done = subprocess.run(command, capture_output=True, env=os.environ, timeout=60, check=False)
    assert done.returncode == 1 and "could not be written" in json.loads(done.stdout)["error"]["message"]
    assert list(folder.iterdir()) == []
