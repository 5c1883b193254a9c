"""Sessions of coding agents become conversations that follow their files: once, whole, and without secrets."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from commonplace.capture.following import Following
from commonplace.capture.ingest import Ingest, Ingested
from commonplace.memory.book import Book
from commonplace.memory.conversations import find, latest, messages_after
from commonplace.memory.edit import Changes, edit
from commonplace.memory.forget import forget
from commonplace.memory.graph import link_some, walk
from commonplace.memory.organise import Arrangement, arrange
from commonplace.memory.organise import forget as forget_session
from commonplace.memory.recall import recall
from commonplace.memory.sources import mark_of, note_mark
from commonplace.model import Item, Scope, Session, SessionScope

from .transcripts.corpus import SESSION, Claude, asked, codex_meta, item, jsonl, line, replied, write

KEY = f"claude-code:{SESSION}"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "projects" / "-srv-code-my-api" / f"{SESSION}.jsonl"


def ingest(book: Book, *paths: Path, **more: Any) -> Ingested:
    reading = Ingest(book, **more)
    reading.add(paths, named=True)
    return reading.summary


def session(book: Book, key: str = KEY) -> Session:
    return find(book, key, forgotten=True)


def messages(book: Book, key: str = KEY) -> list[Item]:
    return messages_after(book, key, 10_000)[0]


def talk() -> Claude:
    claude = Claude()
    claude.user("Why does the login test fail?")
    claude.calls("Bash", "t1", command="pytest tests/test_login.py")
    claude.answers("t1", "E   TimeoutError: no answer in 30 s\nexit code: 1", error=True)
    claude.calls("Edit", "t2", file_path="/srv/code/my-api/src/login.py", old_string="30", new_string="60")
    claude.answers("t2", "The file was changed.")
    claude.says("The token server is slow, so I doubled the time it gets.")
    claude.user("Thanks. Now write it down.")
    claude.says("It is in the changelog.")
    return claude


def test_a_session_becomes_a_conversation(book: Book, path: Path) -> None:
    summary = ingest(book, write(path, talk().records))
    assert (summary.conversations.added, summary.messages.added, summary.files.added) == (1, 4, 1)
    kept = session(book)
    assert kept.label == "Why does the login test fail?" and kept.source == "claude-code" and kept.messages == 4
    assert kept.project == "my-api" and kept.folder == "/sessions/claude-code"
    assert kept.started_ms == messages(book)[0].created_ms and kept.meta["branch"] == "main"
    question, answer, _thanks, _written = messages(book)
    assert question.details["role"] == "user" and answer.details["role"] == "assistant"
    assert answer.details["files"] == "/srv/code/my-api/src/login.py"
    assert answer.details["commands"] == "pytest tests/test_login.py"
    assert "TimeoutError" in answer.details["errors"]
    assert answer.meta["turn"] == question.meta["turn"] == "u000"
    assert "```\nE   TimeoutError: no answer in 30 s" in answer.body


def test_twice_changes_nothing_and_reads_nothing(book: Book, path: Path) -> None:
    write(path, talk().records)
    ingest(book, path)
    before = messages(book), session(book)
    summary = ingest(book, path)
    assert (summary.files.known, summary.files.added, summary.messages.added) == (1, 0, 0)
    assert (messages(book), session(book)) == before


def test_after_a_crash_before_the_mark_nothing_is_doubled(book: Book, path: Path) -> None:
    write(path, talk().records)
    ingest(book, path)
    before = messages(book), session(book)
    note_mark(book, str(path), {})
    summary = ingest(book, path)
    assert (summary.messages.added, summary.messages.known) == (0, 4)
    assert (messages(book), session(book)) == before


def test_a_mark_of_another_version_is_no_obstacle(book: Book, path: Path) -> None:
    write(path, talk().records)
    note_mark(book, str(path), {"shape": "unknown", "position": 3})
    assert ingest(book, path).messages.added == 4


def test_a_turn_that_grew_is_read_again_and_stays_the_same_message(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    before, label = messages(book), session(book).label
    claude.says("And in the release notes, as zebra-striped text.")
    summary = ingest(book, write(path, claude.records))
    after = messages(book)
    assert (summary.messages.added, summary.messages.known) == (0, 2)
    assert [item.id for item in after] == [item.id for item in before]
    assert after[-1].body.startswith(before[-1].body) and "zebra" in after[-1].body
    assert after[-1].created_ms > before[-1].created_ms
    kept = session(book)
    assert kept.messages == 4 and kept.label == label and kept.rev == 1
    assert kept.ended_ms == after[-1].created_ms
    assert [hit.item.id for hit in recall(book, "zebra", Scope(), 5).hits] == [after[-1].id]


def test_vectors_of_passages_that_did_not_change_are_kept(wise_book: Book, path: Path) -> None:
    claude = Claude()
    claude.user("Tell a long story")
    claude.says("\n\n".join(f"Chapter {n}. " + "The fox met the crow on the road and spoke. " * 30 for n in range(6)))
    ingest(wise_book, write(path, claude.records))
    wise_book.meaning.catch_up()
    vectors = wise_book.store.counts().vectors
    assert vectors > 4 and not wise_book.store.pending()
    claude.says("The end of the story.")
    ingest(wise_book, write(path, claude.records))
    assert 1 <= wise_book.store.pending() <= 2


def test_a_session_that_grows_while_it_is_read_is_read_on(book: Book, path: Path) -> None:
    """A last line in the making waits; the next time it is whole."""
    data = jsonl(talk().records)
    path.parent.mkdir(parents=True)
    for size in range(0, len(data) + 1, 97):
        path.write_bytes(data[:size])
        ingest(book, path)
    path.write_bytes(data)
    ingest(book, path)
    assert [item.body for item in messages(book)] == bodies_at_once(book, path)
    assert session(book).messages == 4 and not session(book).meta.get("malformed")


def bodies_at_once(book: Book, path: Path) -> list[str]:
    from commonplace.capture.transcripts.reading import read
    from commonplace.capture.transcripts.telling import told

    return [said.content for reading in read(path, "claude-code") for turn in reading for said in told(turn)]


def test_a_session_that_was_compressed_or_rewritten_changes_nothing(book: Book, path: Path) -> None:
    data = jsonl(talk().records)
    ingest(book, write(path, talk().records))
    before = messages(book)
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(data))
    path.unlink()
    assert ingest(book, packed).messages.added == 0
    packed.unlink()
    path.write_bytes(b"\n" + data)
    assert ingest(book, path).messages.added == 0
    assert messages(book) == before


def test_what_a_person_renamed_stays_renamed_and_still_grows(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    arrange(book, session(book).uid, Arrangement(label="Slow tokens"))
    claude.add("ai-title", aiTitle="Fix the login test")
    claude.user("One more thing")
    ingest(book, write(path, claude.records))
    assert session(book).label == "Slow tokens" and session(book).messages == 5


def test_what_a_person_forgot_stays_forgotten(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    first = messages(book)[0]
    forget(book, [first.uid])
    claude.says("More.")
    ingest(book, write(path, claude.records))
    assert first.id not in [item.id for item in messages(book)] and session(book).messages == 3
    forget_session(book, session(book).uid)
    claude.user("And more")
    summary = ingest(book, write(path, claude.records))
    assert summary.messages.added == 0 and session(book).forgotten_ms is not None
    assert not latest(book, SessionScope()).sessions


def test_what_a_person_changed_stays_as_it_is(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    edit(book, messages(book)[-1].uid, Changes(content="It is in CHANGES.md."))
    claude.says("More.")
    ingest(book, write(path, claude.records))
    assert messages(book)[-1].body == "It is in CHANGES.md."


def test_a_title_that_comes_later_is_learnt(book: Book, path: Path) -> None:
    claude = talk()
    ingest(book, write(path, claude.records))
    claude.add("ai-title", aiTitle="Fix the login test")
    ingest(book, write(path, claude.records))
    assert session(book).label == "Fix the login test"


def test_a_wall_of_text_is_no_label(book: Book, path: Path) -> None:
    claude = Claude()
    claude.user("Please look at this log of the build server. " + "It failed again at step seven of the run. " * 200)
    ingest(book, write(path, claude.records))
    assert session(book).label == "Please look at this log of the build server."


def test_a_sub_agent_knows_the_message_that_started_it(book: Book, path: Path) -> None:
    claude = talk()
    claude.user("Look through the docs")
    claude.calls("Task", "t9", prompt="Search the docs", subagent_type="Explore")
    worker = Claude()
    worker.user("Search the docs", isSidechain=True, agentId="a77")
    worker.says("Nothing about tokens in the docs.", isSidechain=True, agentId="a77")
    beside = path.with_suffix("") / "subagents" / "agent-a77.jsonl"
    write(beside, worker.records)
    # The agent still works: nothing tells yet which call started it.
    ingest(book, write(path, claude.records), beside)
    child = f"{KEY}/a77"
    assert session(book, child).meta["parent_session"] == KEY and "parent_message" not in session(book, child).meta
    claude.answers("t9", "Nothing there.", toolUseResult={"agentId": "a77", "content": "Nothing there."})
    ingest(book, write(path, claude.records))
    assert session(book, child).meta["parent_message"] == messages(book)[-1].uid
    while link_some(book):
        pass
    (started,) = book.store.passages_of([messages(book)[-1].id]).values()
    reached = {one.item.session for one in walk(book, {started[0]: 1.0})}
    assert child in reached


def test_codex_with_a_sub_agent_in_a_file_of_its_own(book: Book, tmp_path: Path) -> None:
    call = item(2, "function_call", name="spawn_agent", call_id="c1", arguments='{"message":"review"}')
    answer = item(2, "function_call_output", call_id="c1", output='{"agent_id":"k1"}')
    main = [codex_meta(), *asked(1, "Review the login"), call, answer, *replied(3, "It is fine.")]
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1, "agent_role": "reviewer"}}}
    worker = [line(0, "session_meta", id="k1", cwd="/srv/code/my-api", source=spawn), *asked(2, "review")]
    # The agent's file comes first by its name.
    write(tmp_path / "rollout-1-k1.jsonl", worker)
    write(tmp_path / "rollout-2-main.jsonl", main)
    assert ingest(book, tmp_path).messages.added == 3
    assert session(book, f"codex:{SESSION}").project == "github.com/acme/my-api"
    started = session(book, f"codex:{SESSION}/k1").meta
    assert started["agent"] == "reviewer"
    assert started["parent_message"] == messages(book, f"codex:{SESSION}")[-1].uid


def test_gemini_whose_messages_change_in_the_middle(book: Book, tmp_path: Path) -> None:
    about = {"sessionId": "g1", "projectHash": "abc", "startTime": "2026-03-15T10:00:00Z", "kind": "main"}
    question = {"id": "m1", "timestamp": "2026-03-15T10:01:00Z", "type": "user", "content": "Build it"}
    reply = {"id": "m2", "timestamp": "2026-03-15T10:02:00Z", "type": "gemini", "content": "Building"}
    told = {"$set": {"summary": "Building", "directories": ["/srv/code/my-api"]}}
    path = write(tmp_path / "abc" / "chats" / "session-x-g1.jsonl", [about, question, reply])
    ingest(book, path)
    before = messages(book, "gemini:g1")
    write(path, [about, question, reply, {**reply, "content": "Building is done."}, told])
    assert ingest(book, path).messages.added == 0
    after = messages(book, "gemini:g1")
    assert [one.id for one in after] == [one.id for one in before] and after[-1].body == "Building is done."
    assert session(book, "gemini:g1").label == "Building"


def test_cursor_keeps_many_sessions_in_one_file(book: Book, tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    with closing(apsw.Connection(str(path))) as cursor:
        cursor.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")

        def put(key: str, value: object) -> None:
            cursor.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(value)))

        for name in ("c1", "c2"):
            heads = [{"bubbleId": "b0", "type": 1}, {"bubbleId": "b1", "type": 2}]
            about = {"composerId": name, "name": f"Session {name}", "createdAt": 1_773_568_800_000}
            put(f"composerData:{name}", {**about, "fullConversationHeadersOnly": heads})
            put(f"bubbleId:{name}:b0", {"type": 1, "text": f"Question {name}"})
            put(f"bubbleId:{name}:b1", {"type": 2, "text": f"Answer {name}"})
        assert ingest(book, path).messages.added == 4
        put("bubbleId:c1:b1", {"type": 2, "text": "Answer c1, and more"})
        assert ingest(book, path).messages.added == 0
    assert session(book, "cursor:c2").label == "Session c2"
    assert messages(book, "cursor:c1")[-1].body == "Answer c1, and more"
    before = path.read_bytes()
    assert ingest(book, path).files.known == 1 and path.read_bytes() == before


def test_every_branch_is_kept_and_those_left_behind_are_marked(book: Book, path: Path) -> None:
    claude = Claude()
    claude.user("Which database?")
    fork = claude.says("SQLite or PostgreSQL.")
    claude.user("Take PostgreSQL")
    claude.says("Done with PostgreSQL.")
    ingest(book, write(path, claude.records))
    assert not any("off_path" in item.meta for item in messages(book))
    claude.user("Take SQLite", parentUuid=fork)
    claude.says("Done with SQLite.")
    ingest(book, write(path, claude.records))
    left = {item.body for item in messages(book) if item.meta.get("off_path")}
    assert left == {"Take PostgreSQL", "Done with PostgreSQL."} and session(book).messages == 6
    size = sum(len(f"{i.body}{json.dumps(i.meta, ensure_ascii=False, separators=(',', ':'))}") for i in messages(book))
    assert session(book).bytes == size


def test_nothing_secret_is_stored_also_where_a_long_result_is_cut(book: Book, path: Path) -> None:
    claude = Claude()
    claude.user(f"My token is {'x' * 60} {SECRET} so use it")
    for place in range(9_950, 10_020, 7):
        claude.calls("Bash", f"c{place}", command="env")
        claude.answers(f"c{place}", "=" * place + SECRET + "=" * 40_000 + SECRET + "=" * (place - 20))
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0t\n" * 30
    claude.calls("Bash", "k", command="cat key; false")
    claude.answers("k", f"{'.' * 9_000}{key}-----END RSA PRIVATE KEY-----\nexit code: 1", error=True)
    claude.add("custom-title", customTitle=f"{'A title that is long ' * 5}{SECRET}")
    ingest(book, write(path, claude.records))
    stored = json.dumps([(item.title, item.body, item.details) for item in messages(book)]) + session(book).label
    assert SECRET[4:12] not in stored and SECRET[-8:] not in stored and "MIIEowIBAAKC" not in stored


def test_bad_lines_are_counted_and_cost_nothing_else(book: Book, path: Path) -> None:
    lines = jsonl(talk().records).splitlines(keepends=True)
    bad = [b"{broken\n", b"\xff\xfe\xfd not text\n", b'["a list"]\n', b'{"type": "from-the-future"}\n']
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join([lines[0], *bad, *lines[1:], b'{"type": "user", "mess']))
    summary = ingest(book, path)
    assert summary.messages.added == 4 and summary.unknown == {"from-the-future": 1}
    assert summary.reasons == {("message", "malformed lines"): 3, ("message", "records of unknown types"): 1}


def test_a_line_of_fifty_megabytes_is_passed_over(book: Book, path: Path) -> None:
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(jsonl(talk().records))
        file.write(b'{"type": "user", "text": "')
        for _ in range(50):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n')
    summary = ingest(book, path)
    assert summary.messages.added == 4 and summary.reasons == {("message", "lines too long to be read"): 1}


def test_times_that_are_missing_or_out_of_order_leave_the_order(book: Book, path: Path) -> None:
    claude = talk()
    for record in claude.records[:2]:
        del record["timestamp"]
    claude.records[-1]["timestamp"] = "1999-01-01T00:00:00Z"
    ingest(book, write(path, claude.records))
    assert [item.body for item in messages(book)] == bodies_at_once(book, path)
    again = messages(book)
    note_mark(book, str(path), {})
    ingest(book, path)
    assert messages(book) == again


def test_a_folder_is_searched_for_sessions_only(book: Book, path: Path, tmp_path: Path) -> None:
    write(path, talk().records)
    for number in range(300):
        (tmp_path / "projects" / f"{number}.json").write_text(json.dumps({"n": number}), encoding="utf-8")
        (tmp_path / "projects" / f"{number}.bin").touch()
    summary = ingest(book, tmp_path / "projects")
    assert summary.files.added == 1 and not summary.files.skipped


def test_what_is_no_session_is_told(book: Book, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Nothing", encoding="utf-8")
    summary = ingest(book, tmp_path / "notes.txt", tmp_path / "missing")
    assert summary.files.skipped == 2 and [Path(one.what).name for one in summary.examples] == ["notes.txt", "missing"]


def test_a_worktree_belongs_to_its_repository(book: Book, path: Path, tmp_path: Path) -> None:
    repository, tree = tmp_path / "shop", tmp_path / "elsewhere" / "feature"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(repository)]
    repository.mkdir()
    for arguments in (
        ["init", "-q"],
        ["remote", "add", "origin", "git@github.com:acme/shop.git"],
        ["commit", "-q", "--allow-empty", "-m", "First"],
        ["worktree", "add", "-q", str(tree)],
    ):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    claude = talk()
    for record in claude.records:
        record["cwd"] = str(tree)
    ingest(book, write(path, claude.records))
    assert session(book).project == "github.com/acme/shop"


def test_two_at_once_keep_everything_once(book: Book, open_again: Callable[[], Book], path: Path) -> None:
    other = open_again()
    try:
        write(path, talk().records)
        first, second = Ingest(book), Ingest(other)
        files = first.find([path])
        assert second.find([path]) == files
        first.read(files)
        second.read(files)
        assert session(book).messages == 4 and len(messages(other)) == 4
    finally:
        other.close()


def test_a_long_turn_becomes_several_messages_and_loses_nothing(book: Book, path: Path) -> None:
    claude = Claude()
    claude.user("Read everything")
    for number in range(60):
        claude.calls("Read", f"c{number}", file_path=f"f{number}.py")
    for number in range(60):
        claude.answers(f"c{number}", f"number {number}\n" + "line of code\n" * 1_400)
    ingest(book, write(path, claude.records))
    whole = "".join(item.body for item in messages(book))
    assert len(messages(book)) > 2 and all(f"number {number}\n" in whole for number in range(60))


def test_following_sees_what_appears_grows_and_vanishes(book: Book, path: Path, tmp_path: Path) -> None:
    following = Following([tmp_path / "projects"])
    assert following.changed() == []
    write(path, talk().records[:2])
    (path.parent / "other.json").write_text("{}", encoding="utf-8")
    assert [found.path for found in following.changed()] == [path]
    assert following.changed() == []
    write(path, talk().records)
    assert [found.path for found in following.changed()] == [path]
    path.unlink()
    assert following.changed() == []
    write(path, talk().records)
    assert [found.path for found in following.changed()] == [path]


def test_a_file_that_vanishes_before_it_is_read_is_told(book: Book, path: Path) -> None:
    reading = Ingest(book)
    files = reading.find([write(path, talk().records)])
    path.unlink()
    reading.read(files)
    assert reading.summary.files.skipped == 1 and mark_of(book, str(path)) is None
