"""A store of the first schema, with messages in it, opened by this version: counted, listed and readable."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.contract.conftest import make_draft

from commonplace.model import Scope, SessionScope
from commonplace.store.maintenance import Limits
from commonplace.store.sqlite.migrate import APPLICATION_ID, migrations
from commonplace.store.sqlite.store import SqliteStore
from commonplace.text.near_duplicates import sketch_similarity
from commonplace.text.tokens import count_words

NOW = 1_742_049_000_000
EVERYTHING = SessionScope()
HERE = Scope.inside(None, kinds=("memory",))
WITHOUT_FINGERPRINTS = "DROP INDEX items_fingerprint; ALTER TABLE items DROP COLUMN fingerprint"
SAID = ["How  many   words?", "Three\nwords\n\nhere ", "数据库 🦓"]


@pytest.fixture
def first_schema(tmp_path: Path) -> Path:
    """Two sessions that say the same, one with a forgotten message more, and one of an agent that said nothing."""
    path = tmp_path / "store.db"
    connection = apsw.Connection(str(path))
    connection.execute(migrations()[0][2]).fetchall()
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", 1)
    connection.execute("INSERT INTO spaces VALUES (1, 'default', ?)", (NOW,))
    number = 0
    for session, bodies in enumerate(([*SAID, "gone"], SAID, ["saw it"]), 1):
        connection.execute(
            "INSERT INTO sessions (id, uid, space_id, key, started_ms) VALUES (?, ?, 1, ?, ?)",
            (session, f"01959a36-3a49-7000-8000-00000000000{session}", f"s-{session}", NOW),
        )
        for body in bodies:
            number += 1
            connection.execute(
                "INSERT INTO items (id, uid, space_id, session_id, kind, type, title, body, details, meta,"
                " content_hash, created_ms, updated_ms, forgotten_ms)"
                " VALUES (?, ?, 1, ?, ?, 'message', '', ?, ?, ?, ?, ?, ?, ?)",
                (
                    number,
                    f"01959a36-3a49-7000-9000-00000000000{number}",
                    session,
                    "observation" if session == 3 else "message",
                    body,
                    '{"role":"user"}',
                    '{"n":"ü"}' if number == 1 else "{}",
                    number.to_bytes(32, "big"),
                    NOW + number,
                    NOW,
                    NOW + 99 if body == "gone" else None,
                ),
            )
    connection.close()
    return path


def test_sessions_of_the_first_schema_are_counted(first_schema: Path) -> None:
    store = SqliteStore(first_schema)
    try:
        assert store.schema == migrations()[-1][0]
        stored = store.get_sessions([1, 2, 3])
        for id_ in (1, 2):
            messages = store.messages_of(id_)
            assert [message.body for message in messages] == SAID
            assert (stored[id_].messages, stored[id_].words) == (3, sum(map(count_words, SAID)))
            assert (stored[id_].status, stored[id_].folder, stored[id_].importance) == ("active", "/", 5.0)
        size = sum(len(body.encode()) for body in SAID)
        assert (stored[1].bytes, stored[2].bytes) == (size + len('{"n":"ü"}'.encode()), size)
        assert (stored[3].messages, stored[3].words, stored[3].ended_ms) == (0, 0, NOW + 8)
        assert {session.id for session in store.latest_sessions(EVERYTHING, 9)} == {1, 2}
        made = store.sketches()
        assert sketch_similarity(made[1], made[2]) == 1.0
        # A conversation without a title is counted, and has no label to list.
        assert (store.session_counts(EVERYTHING, 9).sessions, dict(store.session_counts(EVERYTHING, 9).labels)) == (
            2,
            {},
        )
        store.forget([1], NOW + 100)
        store.restore([4], NOW + 101)
        changed = store.get_sessions([1])[1]
        assert changed.words == sum(count_words(message.body) for message in store.messages_of(1))
        assert changed.bytes == size - len(SAID[0]) + len("gone")
    finally:
        store.close()
    (backup,) = (first_schema.parent / "backups").iterdir()
    assert "schema1" in backup.name


def test_what_a_space_holds_is_counted(first_schema: Path) -> None:
    store = SqliteStore(first_schema)
    (space,) = store.spaces(NOW)
    live = store.newest(Scope(), 99)
    assert (space.name, space.items, space.limits) == ("default", len(live), Limits())
    text = "".join(item.body + '{"role":"user"}' + ('{"n":"ü"}' if item.id == 1 else "{}") for item in live)
    assert space.bytes == len(text.encode())
    store.close()


def test_the_same_conversation_may_be_in_two_spaces_of_an_older_store(first_schema: Path) -> None:
    uid = "01959a36-3a49-7000-8000-000000000001"
    connection = apsw.Connection(str(first_schema))
    connection.execute("INSERT INTO spaces VALUES (2, 'other', ?)", (NOW,))
    # The number of a session that was removed is not given to another one.
    connection.execute("UPDATE sqlite_sequence SET seq = 40 WHERE name = 'sessions'")
    other = "INSERT INTO sessions (uid, space_id, key, started_ms) VALUES (?, 2, 's-1', ?)"
    with pytest.raises(apsw.ConstraintError):
        connection.execute(other, (uid, NOW))
    connection.close()
    store = SqliteStore(first_schema)
    before = store.get_sessions([1, 2, 3])
    store.close()
    connection = apsw.Connection(str(first_schema))
    assert connection.pragma("integrity_check") == "ok" and connection.execute("PRAGMA foreign_key_check").get is None
    connection.execute(other, (uid, NOW))
    assert connection.last_insert_rowid() == 41
    with pytest.raises(apsw.ConstraintError):
        connection.execute(other.replace("'s-1'", "'s-2'"), (uid, NOW))
    connection.execute("DELETE FROM records WHERE what = 'session' AND id = 41")
    connection.execute("DELETE FROM sessions WHERE id = 41")
    connection.close()
    again = SqliteStore(first_schema)
    assert again.get_sessions([1, 2, 3]) == before
    again.change_session(1, {"label": "Changed"}, NOW + 5)
    assert again.records_named([("session", "s-1")])[0].fields["label"] == "Changed"
    again.close()


def test_vectors_of_a_store_without_token_vectors_stay_until_the_model_makes_some(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    vector = np.eye(1, 8, dtype=np.float32)
    before = SqliteStore(path, now_ms=NOW)
    (item,) = before.put([make_draft("walrus")], NOW)
    before.use_model("tiny", 8)
    before.finish_jobs(before.claim_jobs("me", 9, NOW, 1_000), vector, "me")
    before.close()
    connection = apsw.Connection(str(path))
    connection.execute(f"{WITHOUT_FINGERPRINTS}; DROP TABLE token_vectors; PRAGMA user_version = 17").fetchall()
    connection.close()
    store = SqliteStore(path)
    try:
        store.use_model("tiny", 8)
        passages = store.passages_of([item.id])[item.id]
        assert [hit.item_id for hit in store.search_vectors(vector[0], Scope(), 9)] == [item.id]
        assert (store.pending(), store.token_vectors(passages)) == (0, {})
        store.requeue_embeddings()
        assert store.finish_jobs(store.claim_jobs("me", 9, NOW, 1_000), vector, "me", None, [b"tokens"]) == 1
        assert store.token_vectors(passages) == dict.fromkeys(passages, b"tokens")
    finally:
        store.close()
    (backup,) = (tmp_path / "backups").iterdir()
    assert "schema17" in backup.name


def test_statements_of_a_store_without_fingerprints_are_found_by_their_letters(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = SqliteStore(path, now_ms=NOW)
    stated, _seen = before.put([make_draft("Walrus, here."), make_draft("walrus here", kind="observation")], NOW)
    changed = before.records_since(0, 9)
    before.close()
    connection = apsw.Connection(str(path))
    connection.execute(f"{WITHOUT_FINGERPRINTS}; PRAGMA user_version = 18").fetchall()
    connection.close()
    store = SqliteStore(path)
    try:
        assert [item.id for item in store.statements_like("walrus here", HERE, 9)] == [stated.id]
        # Nothing is sent to other stores again for it.
        assert store.records_since(0, 9) == changed
    finally:
        store.close()


def test_a_statement_with_damaged_text_keeps_no_store_from_getting_fingerprints(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = SqliteStore(path, now_ms=NOW)
    stated, damaged = before.put([make_draft("walrus"), make_draft("seal")], NOW)
    before.close()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE items SET body = CAST(x'ff73' AS TEXT) WHERE id = ?", (damaged.id,))
    connection.execute(f"{WITHOUT_FINGERPRINTS}; PRAGMA user_version = 18").fetchall()
    connection.close()
    store = SqliteStore(path)
    try:
        assert [item.id for item in store.statements_like("Walrus!", HERE, 9)] == [stated.id]
    finally:
        store.close()
