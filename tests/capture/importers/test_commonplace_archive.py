"""An archive comes back without loss, on either engine; one that is not whole is refused before anything is kept."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.capture.full_memory import Files, archived, fill, lines, records, written
from tests.conftest import ENGINES, Clock
from tests.postgres_server import PostgresServer

from commonplace import config
from commonplace.capture.import_files import ImportRun, import_path
from commonplace.capture.import_report import ImportReport
from commonplace.capture.importers import commonplace_export
from commonplace.errors import CommonplaceError
from commonplace.memory import conversations
from commonplace.memory.check_and_repair import check_store
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded, restore_items
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.sync_and_archive import MANIFEST, Archive, sync_position

Open = Callable[..., LocalMemory]
Action = Callable[[LocalMemory], object]


@pytest.fixture
def open_one(tmp_path: Path, clock: Clock, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens an empty memory on an engine."""
    with contextlib.ExitStack() as stack:

        def opener(name: str, engine: str = "sqlite") -> LocalMemory:
            folder, more = tmp_path / name, {}
            if engine == "postgres":
                server: PostgresServer = request.getfixturevalue("postgres")
                folder.mkdir()
                more["database_url"] = server.database(folder)
                stack.callback(server.leave, folder)
            own_settings = config.load({"data_dir": str(folder), "embedder": "off", **more})
            return stack.enter_context(contextlib.closing(open_memory(own_settings, clock)))

        yield opener


@pytest.fixture
def full(open_one: Open, clock: Clock) -> LocalMemory:
    memory = open_one("full")
    fill(memory, clock)
    return memory


@pytest.mark.parametrize("there", ENGINES)
@pytest.mark.parametrize("here", ENGINES)
def test_everything_comes_back(open_one: Open, clock: Clock, tmp_path: Path, here: str, there: str) -> None:
    first, second = open_one("first", here), open_one("second", there)
    fill(first, clock)
    files = archived(first)
    summary = import_path(second, written(files, tmp_path / "archive"))
    assert (summary.reasons, summary.conflicts, summary.files.added) == ({}, 0, 1)
    assert (summary.conversations.added, summary.messages.added, summary.items.added) == (4, 5, 9)
    assert records(archived(second)) == records(files)
    assert check_store(second) == []
    mark = sync_position(second)
    again = import_path(second, tmp_path / "archive")
    assert sync_position(second) == mark
    assert (again.items.added, again.items.known, again.messages.known, again.conversations.known) == (0, 9, 5, 4)


@pytest.mark.parametrize("there", ENGINES)
def test_what_was_settled_later_ended_in_every_store_when_the_other_was_said(
    open_one: Open, clock: Clock, tmp_path: Path, there: str
) -> None:
    first, second = open_one("first"), open_one("second", there)
    old = remember(first, NewItem("The port is 8080"))
    clock.forward(days=1)
    new = remember(first, NewItem("The port is 9090"))
    clock.forward(days=1)
    mark_superseded(first, old.id, new.id)
    files = archived(first)
    import_path(second, written(files, tmp_path / "archive"))
    assert records(archived(second)) == records(files)
    (ended,) = (one["fields"] for one in lines(files, "items.jsonl") if one["fields"]["superseded_by"])
    assert ended["valid_until_ms"] == clock() - 24 * 3_600_000


# A memory of any kind: words that mean something to JSON, to names and to lines, and whatever can be done with it.
odd = st.sampled_from(("\0", "\ud800", "a\r\n\u2028\x85b", '"}\n{', "api", "a/api", "ghp_x", "-", "İß", "\U0001f993"))
words = odd | st.text(min_size=1, max_size=12).filter(str.strip)
names = st.none() | st.sampled_from(("api", "a/api", "b/api", "host.org/a/api", "Web", "zoo", "ÄRGER"))
which = st.integers(0, 9)
metas = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
ITEM = "item"
TALK = "session"
births = st.one_of(
    st.builds(
        lambda **note: lambda memory: remember(memory, NewItem(**note)),
        content=words,
        kind=st.sampled_from(("memory", "observation", "checkpoint")),
        title=st.just("") | words,
        project=names,
        session=st.none() | words,
        tags=st.lists(words, max_size=2),
        importance=st.none() | st.floats(0, 10),
        meta=st.dictionaries(words, metas, max_size=2),
        created_ms=st.none() | st.integers(-(10**13), 10**13),
    ),
    st.builds(
        lambda label, text, more: (
            lambda memory: store_conversation(
                memory, NewConversation(label, [NewMessage("user", t) for t in text], **more)
            )
        ),
        words,
        st.lists(words, min_size=1, max_size=2),
        st.fixed_dictionaries({}, optional={"project": names, "folder": words.map("/{}".format), "key": words}),
    ),
)
changes = st.one_of(
    st.builds(
        lambda n, text: lambda memory: edit_item(memory, chosen(memory, ITEM, n), Changes(content=text)), which, words
    ),
    st.builds(
        lambda n, to: lambda memory: edit_item(memory, chosen(memory, ITEM, n), Changes(project=to)), which, names
    ),
    st.builds(lambda n: lambda memory: forget_items(memory, [chosen(memory, ITEM, n)]), which),
    st.builds(lambda n: lambda memory: restore_items(memory, [chosen(memory, ITEM, n)]), which),
    st.builds(
        lambda n, m: lambda memory: mark_superseded(memory, *(chosen(memory, ITEM, i) for i in (n, m))), which, which
    ),
    st.builds(
        lambda n, more: (
            lambda memory: conversations.update_conversation(
                memory, chosen(memory, TALK, n), conversations.ConversationChanges(**more)
            )
        ),
        which,
        st.fixed_dictionaries(
            {"label": words},
            optional={"status": st.sampled_from(("active", "archived", "pinned")), "project": words},
        ),
    ),
    st.builds(lambda n: lambda memory: conversations.forget_session(memory, chosen(memory, TALK, n)), which),
    st.builds(lambda n: lambda memory: conversations.restore_session(memory, chosen(memory, TALK, n)), which),
    st.builds(
        lambda name, other: lambda memory: memory.maintenance.alias_project(name, other), names.filter(bool), words
    ),
)


def chosen(memory: LocalMemory, what: Any, number: int) -> str:
    found = memory.store.records_of(what, "", 100)[0]
    return found[number % len(found)].name if found else "nothing"


def in_time(action: st.SearchStrategy[Action], least: int) -> st.SearchStrategy[list[tuple[Action, int]]]:
    """Some deeds, each with the time until the next: now and then a clock is set back."""
    return st.lists(st.tuples(action, st.integers(-40, 90)), min_size=least, max_size=15)


@settings(max_examples=30)
@given(first=in_time(births, 4), then=in_time(changes | births, 6))
def test_whatever_is_remembered_comes_back(first: list[tuple[Action, int]], then: list[tuple[Action, int]]) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        here, there = (
            stack.enter_context(contextlib.closing(open_memory(loaded, clock)))
            for loaded in (
                config.load({"data_dir": f"{folder}/{name}", "embedder": "off", "durability": "normal"})
                for name in ("first", "second")
            )
        )
        for action, ms in (*first, *then):
            with contextlib.suppress(CommonplaceError):
                action(here)
            clock.forward(ms=ms)
        clock.forward(days=1)
        files = archived(here)
        summary = import_path(there, written(files, Path(folder) / "archive"))
        assert (summary.reasons, summary.conflicts) == ({}, 0)
        assert records(archived(there)) == records(files)
        mark = sync_position(there)
        import_path(there, Path(folder) / "archive")
        assert sync_position(there) == mark


def test_what_both_have_is_joined_and_conflicts_are_told(
    full: LocalMemory, open_one: Open, clock: Clock, tmp_path: Path
) -> None:
    there = open_one("there")
    import_path(there, written(archived(full), tmp_path / "before"))
    stored = remember(there, NewItem("Only there"))
    uid = lines(archived(full), "items.jsonl")[0]["name"]
    clock.forward(minutes=1)
    edit_item(full, uid, Changes(content="Said here, earlier"))
    clock.forward(minutes=1)
    edit_item(there, uid, Changes(content="Said there, later"))
    summary = import_path(there, written(archived(full), tmp_path / "after"))
    assert (summary.conflicts, summary.items.added) == (1, 1)
    assert summary.as_json(dry_run=False)["conflicts"] == {
        "count": 1,
        "named": [{"what": "item", "name": uid, "stands": "here"}],
    }
    found = {one["name"]: one for one in lines(archived(there), "items.jsonl")}
    assert found[uid]["fields"]["body"] == "Said there, later" and stored.uid in found
    assert "Said here, earlier" in [line["before"]["body"] for line in found[uid]["history"]]


def test_a_dry_run_reads_all_of_it_and_keeps_nothing(full: LocalMemory, tmp_path: Path) -> None:
    dry = ImportRun(None)
    dry.add(written(archived(full), tmp_path / "archive"))
    result = dry.finish().as_json(dry_run=True)
    assert [result[name]["added"] for name in ("conversations", "messages", "items")] == [4, 5, 9]


def test_a_zip_is_the_same_as_a_folder(full: LocalMemory, open_one: Open, tmp_path: Path) -> None:
    pieces = [*Archive(full).zipped()]
    (tmp_path / "memory.zip").write_bytes(b"".join(pieces))
    there = open_one("there")
    (tmp_path / "inbox").mkdir()
    (tmp_path / "memory.zip").rename(tmp_path / "inbox" / "memory.zip")
    assert import_path(there, tmp_path / "inbox").items.added == 9
    assert records(archived(there)) == records(archived(full))


def test_records_that_cannot_be_taken_in_are_told_and_the_rest_is_kept(
    full: LocalMemory, open_one: Open, tmp_path: Path
) -> None:
    files = archived(full)
    result = lines(files, "items.jsonl")
    result[0]["fields"]["importance"] = 99
    there = open_one("there")
    summary = import_path(there, written(sealed({**files, "items.jsonl": jsonl(result)}), tmp_path / "archive"))
    assert (summary.items.added, summary.items.skipped) == (8, 1)
    assert [(one.what, one.why) for one in summary.examples] == [
        (f"item {result[0]['name']}", "Invalid importance. Must be between 0.0 and 10.0.")
    ]


# Archives that somebody broke, or made to break something. Each keeps its manifest true where it can.


def jsonl(texts: list[Any]) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in texts)


def sealed(files: Files, **changed: Any) -> Files:
    """The same with a manifest that says what is in it."""
    manifest = json.loads(files[MANIFEST])
    manifest["files"] = [
        {"name": name, "lines": data.count(b"\n"), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in records(files).items()
    ]
    return {**files, MANIFEST: json.dumps(manifest | changed).encode()}


def with_items(change: Callable[[bytes], bytes]) -> Callable[[Files], Files]:
    return lambda files: sealed({**files, "items.jsonl": change(files["items.jsonl"])})


def with_line(line: bytes) -> Callable[[Files], Files]:
    return with_items(lambda data: line + b"\n" + data)


def without(name: str) -> Callable[[Files], Files]:
    return lambda files: {one: data for one, data in files.items() if one != name}


def first_line(data: bytes) -> bytes:
    return data[: data.index(b"\n") + 1]


NO_JSON, NO_RECORD, NOT_TRUE = "not JSON in UTF-8", "not a record of this file", "is not what its manifest says"
HOSTILE: Mapping[str, tuple[Callable[[Files], Files], str]] = {
    "one letter is another": (lambda f: f | {"items.jsonl": f["items.jsonl"].replace(b"Use", b"USE", 1)}, NOT_TRUE),
    "cut off between lines": (lambda f: f | {"items.jsonl": first_line(f["items.jsonl"])}, NOT_TRUE),
    "cut off within a line": (lambda f: f | {"items.jsonl": f["items.jsonl"][:-9]}, NO_JSON),
    "more than it says": (lambda f: f | {"items.jsonl": f["items.jsonl"] * 2}, "longer than its manifest says"),
    "a file is missing": (without("sessions.jsonl"), "cannot be read"),
    "a file too many": (lambda f: f | {"evil.py": b"x"}, "'evil.py' is not part of an archive"),
    "a later version": (
        lambda f: sealed(f, version=2),
        "It has version 2; only 1 is known here. Upgrade Commonplace.",
    ),
    "no version": (lambda f: sealed(f, version="1"), "does not say what is in it"),
    "no files": (lambda f: sealed(f) | {MANIFEST: b'{"format":"commonplace-archive","version":1}'}, "does not say"),
    "files of other names": (lambda f: sealed(f | {"../../up": b"x"}) | {}, "not part of an archive|does not say"),
    "numbers that are none": (
        lambda f: f | {MANIFEST: f[MANIFEST].replace(b'"lines": ', b'"lines": "x", "l": ')},
        "say",
    ),
    "an item twice": (with_items(lambda data: first_line(data) + data), "a name comes twice"),
    "items out of order": (with_items(lambda data: b"".join(reversed(data.splitlines(True)))), "out of order"),
    "a session among items": (with_line(b'{"what":"session","name":"x","fields":{}}'), NO_RECORD),
    "a list": (with_line(b"[]"), NO_RECORD),
    "a name that is none": (with_line(b'{"what":"item","name":["x"]}'), NO_RECORD),
    "an empty line": (with_line(b""), NO_JSON),
    "no UTF-8": (with_line(b'"\xff\xfe"'), NO_JSON),
    "deep nesting": (with_line(b"[" * 100_000), "nested too deeply"),
    "a huge number": (with_line(b"9" * 100_000), NO_JSON),
}


@pytest.fixture
def mostly_empty(open_one: Open) -> LocalMemory:
    memory = open_one("there")
    remember(memory, NewItem("Was here before"))
    return memory


def refused(memory: LocalMemory, path: Path) -> ImportReport:
    """Nothing of it is kept."""
    mark, before = sync_position(memory), records(archived(memory))
    summary = import_path(memory, path)
    assert summary.nothing_read and summary.files.skipped >= 1
    assert (sync_position(memory), records(archived(memory))) == (mark, before)
    return summary


@pytest.mark.parametrize("how", HOSTILE)
def test_what_is_not_whole_is_refused_before_anything_is_kept(
    open_one: Open, mostly_empty: LocalMemory, tmp_path: Path, how: str
) -> None:
    memory = open_one("small")
    for words in ("Use JWT", "Use Redis"):
        remember(memory, NewItem(words, project="api", session="s"))
    change, why = HOSTILE[how]
    files = change(archived(memory))
    for packed in (False, True):
        path = zip_of(files, tmp_path / "bad.zip") if packed else loose(files, tmp_path / "bad")
        (reply,) = refused(mostly_empty, path).examples
        assert any(part in reply.why for part in why.split("|")), reply


def loose(files: Files, folder: Path) -> Path:
    return written({name.replace("../", ""): data for name, data in files.items()}, folder)


def zip_of(files: Files, path: Path, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def test_zips_that_are_broken_or_too_clever(full: LocalMemory, mostly_empty: LocalMemory, tmp_path: Path) -> None:
    files, path = archived(full), tmp_path / "bad.zip"
    whole = b"".join(Archive(full).zipped())
    path.write_bytes(whole[: len(whole) // 2])
    assert "damaged zip" in refused(mostly_empty, path).examples[0].why
    # A bit of what is packed: its checksum is wrong.
    stored = zip_of(files, path, zipfile.ZIP_STORED).read_bytes()
    path.write_bytes(stored.replace(b"Use JWT, both", b"Use JWT, neither"[:13], 1))
    assert "cannot be read" in refused(mostly_empty, path).examples[0].why
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(zip_of(files, path), "a") as archive:
        archive.writestr("items.jsonl", b"")
    assert "twice" in refused(mostly_empty, path).examples[0].why


def test_a_line_without_an_end_is_not_read_to_its_end(
    full: LocalMemory, mostly_empty: LocalMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A zip bomb, told truly."""
    monkeypatch.setattr(commonplace_export, "MAX_ARCHIVE_LINE", 1 << 20)
    files = {**archived(full), "items.jsonl": b" " * (1 << 26)}
    path = zip_of(sealed(files), tmp_path / "bomb.zip")
    assert path.stat().st_size < 1 << 18
    read: list[int] = []
    importing = ImportRun(mostly_empty, advance=read.append)
    importing.add(path)
    assert "a line without an end" in importing.finish().examples[0].why
    assert importing.report.nothing_read and sum(read) < path.stat().st_size


def test_a_part_of_an_archive_is_none(full: LocalMemory, mostly_empty: LocalMemory, tmp_path: Path) -> None:
    folder = written(records(archived(full)), tmp_path / "archive")
    for path in (folder, folder / "items.jsonl"):
        assert all("import its folder or zip as a whole" in one.why for one in refused(mostly_empty, path).examples)


def test_it_says_itself_where_things_belong(full: LocalMemory, mostly_empty: LocalMemory, tmp_path: Path) -> None:
    importing = ImportRun(mostly_empty, project="web")
    importing.add(written(archived(full), tmp_path / "archive"))
    assert "Leave out --folder and --project." in importing.finish().examples[0].why
