"""Import: everything comes in once, one bad thing stops nothing, and an interruption costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace.capture.import_files import BATCH_MESSAGES, Cancelled, ImportLimits, ImportRun, import_path
from commonplace.errors import InvalidInput
from commonplace.memory.conversations import find_session, latest_conversations, open_conversation
from commonplace.memory.draft import MAX_TEXT
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.model import Scope, SessionScope

from .chat_exports import THEN, as_bytes, chatgpt, claude, claude_message, node, zipped


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Writes a file to import."""

    def write(name: str, data: Any) -> Path:
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else as_bytes(data))
        return path

    return write


Put = Callable[[str, Any], Path]


def test_an_export_comes_in_and_can_be_found(memory: LocalMemory, put: Put) -> None:
    summary = import_path(memory, put("conversations.json", [chatgpt()]))
    assert (summary.conversations.added, summary.messages.added, summary.reasons) == (1, 2, {})
    session, messages = open_conversation(memory, "c1")
    assert (session.label, session.folder, session.source) == ("Rate limits", "/imports/chatgpt", "chatgpt")
    assert [message.body for message in messages] == ["How do we limit rates?", "With a token bucket in Redis."]
    assert [message.created_ms for message in messages] == [int(THEN * 1000), int(THEN * 1000) + 5250]
    assert [hit.item.id for hit in recall(memory, "token bucket", Scope(), limit=5).hits] == [messages[1].id]


def test_the_same_again_adds_nothing_and_a_newer_export_only_what_is_new(memory: LocalMemory, put: Put) -> None:
    path = put("conversations.json", [chatgpt(), chatgpt(key="c2")])
    import_path(memory, path)
    again = import_path(memory, path)
    assert (again.conversations.added, again.conversations.known, again.messages.known) == (0, 2, 4)
    grown = chatgpt(
        node("m1", "root", "user", "How do we limit rates?"),
        node("m2", "m1", "assistant", "With a token bucket in Redis."),
        node("m3", "m2", "user", "Thanks"),
    )
    newer = import_path(memory, put("conversations.json", [grown, chatgpt(key="c2"), chatgpt(key="c3")]))
    assert (newer.conversations.added, newer.messages.added, newer.messages.known) == (2, 3, 4)
    assert len(open_conversation(memory, "c1")[1]) == 3


def test_folder_and_project_can_be_named(memory: LocalMemory, put: Put) -> None:
    import_path(memory, put("conversations.json", [claude()]), folder="/work/ai", project="my-api")
    session = find_session(memory, "u1")
    assert (session.folder, session.project, session.source) == ("/work/ai", "my-api", "claude")


def test_many_conversations_come_in_batches(memory: LocalMemory, put: Put) -> None:
    count = BATCH_MESSAGES + 7
    lines: list[int] = []
    path = put("conversations.json", [chatgpt(key=f"c{n}") for n in range(count)])
    summary = import_path(memory, path, advance=lines.append)
    assert summary.conversations.added == count and sum(lines) == path.stat().st_size
    assert len(latest_conversations(memory, SessionScope(), limit=100).sessions) == 100


def test_what_was_kept_before_an_interruption_stays_and_the_rest_follows(memory: LocalMemory, put: Put) -> None:
    many = [chatgpt(key=f"c{n}", padding="x" * 5000) for n in range(BATCH_MESSAGES + 7)]
    path = put("conversations.json", many)

    def interrupt(_bytes: int) -> None:
        if importing.report.messages.added:
            raise KeyboardInterrupt

    importing = ImportRun(memory, advance=interrupt)
    with pytest.raises(KeyboardInterrupt):
        importing.add(path)
    stored = importing.report.conversations.added
    assert 0 < stored < len(many)
    rest = import_path(memory, path)
    assert (rest.conversations.known, rest.conversations.added) == (stored, len(many) - stored)


def test_one_refused_conversation_does_not_stop_its_batch(memory: LocalMemory, put: Put) -> None:
    bad = chatgpt(key="k" * 300)
    summary = import_path(memory, put("conversations.json", [chatgpt(key="c1"), bad, chatgpt(key="c2")]))
    assert (summary.conversations.added, summary.conversations.skipped) == (2, 1)
    assert "key has 300 characters" in summary.examples[0].why


def test_a_conversation_that_contradicts_another_does_not_stop_the_rest(memory: LocalMemory, put: Put) -> None:
    message = {"role": "user", "content": "Said once", "id": "01959a12-0000-7000-8000-0123456789ab"}
    other = {"role": "user", "content": "Said elsewhere"}
    copies = [{"key": key, "messages": [message]} for key in ("first", "copy")]
    path = put("own.json", {"conversations": [*copies, {"key": "last", "messages": [other]}]})
    summary = import_path(memory, path)
    assert (summary.conversations.added, summary.conversations.skipped) == (2, 1)
    assert "says something else" in summary.examples[0].why
    assert find_session(memory, "last").messages == 1


def test_a_message_too_long_for_one_item_is_kept_in_parts(memory: LocalMemory, put: Put) -> None:
    line = "word " * 19 + "end.\n"
    text = line * (2_000_000 // len(line) + 1)
    path = put("conversations.json", [chatgpt(node("m", "root", "user", text))])
    assert import_path(memory, path).messages.added == 3
    assert import_path(memory, path).messages.known == 3
    messages = open_conversation(memory, "c1")[1]
    assert "".join(message.body for message in messages) == text
    assert all(len(message.body) <= MAX_TEXT for message in messages)
    assert [message.meta["part"] for message in messages] == [1, 2, 3] and messages[0].meta["parts"] == 3


def test_two_million_characters_without_a_border_lose_nothing(memory: LocalMemory, put: Put) -> None:
    text = "é" * 2_000_001
    import_path(memory, put("conversations.json", [claude(claude_message("m", "human", text))]))
    assert "".join(message.body for message in open_conversation(memory, "u1")[1]) == text


def test_emoji_right_to_left_and_what_no_database_can_hold(memory: LocalMemory, put: Put) -> None:
    raw = as_bytes([chatgpt(node("m", "root", "user", "שלום 👩‍🚀 مرحبا HALF"))]).replace(b"HALF", b"\\ud83d \\u0000")
    import_path(memory, put("conversations.json", raw))
    assert open_conversation(memory, "c1")[1][0].body == "שלום 👩‍🚀 مرحبا \ufffd \ufffd"


def test_secrets_are_blacked_out(memory: LocalMemory, put: Put) -> None:
    key = "AKIA" + "Q3EGRZ7MNPLXWT5V"
    import_path(memory, put("conversations.json", [claude(claude_message("m", "human", f"My key is {key}"))]))
    assert key not in open_conversation(memory, "u1")[1][0].body


def test_times_in_the_future_and_out_of_order_are_kept_as_told(memory: LocalMemory, put: Put) -> None:
    nodes = (node("a", "root", "user", "One", create_time=THEN + 1e8), node("b", "a", "assistant", "Two"))
    import_path(memory, put("conversations.json", [chatgpt(*nodes)]))
    assert [message.body for message in open_conversation(memory, "c1")[1]] == ["One", "Two"]


def test_a_dry_run_reads_everything_and_keeps_nothing(memory: LocalMemory, put: Put) -> None:
    importing = ImportRun(None)
    importing.add(put("conversations.json", [chatgpt(), None]))
    summary = importing.finish()
    assert (summary.conversations.added, summary.conversations.skipped, summary.messages.added) == (1, 1, 2)
    assert not latest_conversations(memory, SessionScope()).sessions


def test_a_zip_is_read_where_it_is(memory: LocalMemory, tmp_path: Path) -> None:
    files = {
        "export/conversations.json": as_bytes([chatgpt()]),
        "export/user.json": b'{"email": "a@b.c"}',
        "export/chat.html": b"<html>",
        "__MACOSX/export/._conversations.json": b"\0",
    }
    summary = import_path(memory, zipped(tmp_path / "export.zip", files))
    assert (summary.conversations.added, summary.files.added, summary.files.skipped) == (1, 1, 0)


def test_numbered_files_of_an_export_are_all_read(memory: LocalMemory, tmp_path: Path) -> None:
    files = {f"conversations-{n:03}.json": as_bytes([chatgpt(key=f"c{n}")]) for n in range(3)}
    assert import_path(memory, zipped(tmp_path / "export.zip", files)).conversations.added == 3


def test_a_folder_is_read_with_what_is_below_it(memory: LocalMemory, put: Put) -> None:
    put("notes/a.md", b"## User\nHi\n## Assistant\nHello\n")
    put("notes/deep/b.txt", b"User: Hi\nAI: Hello\n")
    put("notes/c.png", b"\x89PNG")
    zipped(put("notes/d.zip", b""), {"conversations.json": as_bytes([chatgpt()])})
    summary = import_path(memory, put("notes/.hidden.txt", b"x").parent)
    assert (summary.conversations.added, summary.files.added) == (3, 3)
    assert {session.folder for session in latest_conversations(memory, SessionScope()).sessions} == {
        "/imports/markdown",
        "/imports/text",
        "/imports/chatgpt",
    }


def test_of_an_unpacked_export_only_the_conversations_are_read(memory: LocalMemory, put: Put) -> None:
    put("export/user.json", {"email": "a@b.c"})
    summary = import_path(memory, put("export/conversations.json", [claude()]).parent)
    assert (summary.conversations.added, summary.files.skipped) == (1, 0)


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("empty.json", b"", "it is empty"),
        ("user.json", b'{"email": "a@b.c"}', "its JSON is in none of the formats that can be imported"),
        ("photo.jpg", b"\xff\xd8\0", "it is not text"),
        ("latin.txt", "Grüße".encode("latin-1"), "not UTF-8 text: see byte 2"),
        ("broken.zip", b"PK\x03\x04 nonsense", "a damaged zip"),
    ],
)
def test_what_cannot_be_read_is_told(memory: LocalMemory, put: Put, name: str, data: bytes, why: str) -> None:
    summary = import_path(memory, put(name, data))
    assert summary.nothing_read and why in summary.examples[0].why and summary.files.skipped == 1


def test_empty_zips_and_folders_are_told(memory: LocalMemory, tmp_path: Path) -> None:
    for path in (zipped(tmp_path / "a.zip", {}), zipped(tmp_path / "b.zip", {"photo.png": b"x"})):
        assert "no file in it" in import_path(memory, path).examples[0].why
    (tmp_path / "empty").mkdir()
    assert "no file in it" in import_path(memory, tmp_path / "empty").examples[0].why


def test_a_member_without_a_name_is_passed_over(memory: LocalMemory, tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"ZZZZZZ": b"", "chat.txt": b"User: hello\nAI: hi\n"})
    path.write_bytes(path.read_bytes().replace(b"ZZZZZZ", b"\0ZZZZZ"))
    assert import_path(memory, path).conversations.added == 1


def test_a_zip_bomb_is_refused_without_unpacking_it(memory: LocalMemory, tmp_path: Path) -> None:
    # 80 MB of spaces in 80 kB.
    bomb = zipped(tmp_path / "bomb.zip", {"conversations.json": b'[{"mapping": {' + b" " * 80_000_000})
    summary = import_path(memory, bomb)
    assert summary.nothing_read and any("zip bomb" in one.why for one in summary.examples)


def test_a_zip_in_a_zip_is_told(memory: LocalMemory, tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"conversations.json": as_bytes([chatgpt()])}).read_bytes()
    summary = import_path(memory, zipped(tmp_path / "outer.zip", {"conversations.json": inner}))
    assert "a zip inside another" in summary.examples[0].why


def test_a_damaged_member_keeps_what_came_before(memory: LocalMemory, tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "export.zip", {"conversations.json": as_bytes([chatgpt(key=f"c{n}") for n in range(3000)])}
    )
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    path.write_bytes(raw)
    summary = import_path(memory, path)
    assert any("cannot be read further" in one.why or "character" in one.why for one in summary.examples)


def test_a_file_cut_off_keeps_what_came_before(memory: LocalMemory, put: Put) -> None:
    raw = as_bytes([chatgpt(key=f"c{n}") for n in range(10)])
    summary = import_path(memory, put("conversations.json", raw[: len(raw) * 2 // 3]))
    assert summary.conversations.added == 6 and "the file ends in the middle" in summary.examples[0].why


def test_half_a_character_in_a_title_can_be_told(memory: LocalMemory, put: Put) -> None:
    raw = as_bytes([chatgpt(title="Half HALF", mapping={})]).replace(b"HALF", b"\\ud83d")
    summary = import_path(memory, put("conversations.json", raw))
    assert "Half \ufffd" in summary.examples[0].what


def test_a_folder_or_project_that_cannot_be_is_refused_at_once(memory: LocalMemory, put: Put) -> None:
    path = put("conversations.json", [chatgpt()])
    with pytest.raises(InvalidInput):
        import_path(memory, path, folder="/a/../b")
    with pytest.raises(InvalidInput):
        import_path(memory, path, project="a/../b")


def test_an_import_ends_when_it_is_cancelled_and_what_was_kept_stays(memory: LocalMemory, put: Put) -> None:
    path = put("conversations.json", [chatgpt(key=f"c{n}") for n in range(3 * BATCH_MESSAGES)])
    importing = ImportRun(memory, cancelled=lambda: importing.report.conversations.added > 0)
    with pytest.raises(Cancelled):
        importing.add(path)
    stored = importing.report.conversations.added
    assert (
        0 < stored < 3 * BATCH_MESSAGES
        and len(latest_conversations(memory, SessionScope(), limit=1000).sessions) == stored
    )
    assert import_path(memory, path).conversations.known == stored


def test_what_is_beyond_the_limit_of_an_import_is_said(memory: LocalMemory, put: Put) -> None:
    importing = ImportRun(memory, limits=ImportLimits(max_entries=5))
    for name in ("one.json", "two.json"):
        importing.add(put(name, [chatgpt(key=f"{name} {n}") for n in range(4)]))
    summary = importing.finish()
    assert summary.messages.added == 4 and summary.files.skipped == 2
    assert [one.what for one in summary.examples] == ["one.json: the rest of it", "two.json"]
    assert all("more than 5 messages or items" in one.why for one in summary.examples)
