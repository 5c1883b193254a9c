"""Check, on both engines: each fault is told with its part and whether it is derived, and repair mends what is."""

from __future__ import annotations

import numpy as np
import pytest
from tests.memory.test_repair import embed, fill, truth
from tests.raw_sql import all_rows, behind

from commonplace.errors import StoreError
from commonplace.memory.backup import back_up_store, restore_backup
from commonplace.memory.check_and_repair import check_and_record, check_newest, check_store, repair_store
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.status_and_stats import last_check_result, status
from commonplace.model import Scope

# What is done behind the back of the memory, and the parts that are found to be wrong then.
DERIVED = {
    "UPDATE tally SET items = items + 1": {"counts"},
    "UPDATE space_use SET bytes = bytes + 1": {"counts"},
    "UPDATE sessions SET words = words + 1": {"counts"},
    "UPDATE items SET tagged = NOT tagged WHERE id = 1": {"tags", "words"},
    "DELETE FROM vectors WHERE passage_id = 1": {"vectors", "topics"},
    "UPDATE vectors SET scale = 0 WHERE passage_id = 2": {"vectors"},
    "UPDATE vectors SET kind = 3 WHERE passage_id = 3": {"vectors"},
    "INSERT INTO jobs (space_id, kind, passage_id) SELECT space_id, 'embed', id FROM passages"
    " WHERE item_id = (SELECT id FROM items WHERE forgotten_ms IS NOT NULL)": {"jobs"},
    "UPDATE edges SET src = src + 1000": {"links"},
    "UPDATE mentions SET passage_id = passage_id + 1000": {"links"},
    "UPDATE clusters SET size = size + 1": {"topics"},
    "DELETE FROM records WHERE id = 1": {"records"},
    "UPDATE passages SET seq = seq + 5 WHERE seq > 0": {"passages"},
}
KEPT = {
    "UPDATE items SET body = 'Something else' WHERE id = 1": "does not match its checksum",
    "UPDATE items SET uid = 'nobody' WHERE id = 2": "items have no valid UUID",
    "UPDATE sessions SET uid = 'nobody'": "sessions have no valid UUID",
    "UPDATE history SET rev = 99": "later revision",
}


@pytest.fixture
def filled(memory: LocalMemory) -> LocalMemory:
    fill(memory)
    return memory


def test_what_is_derived_is_found_and_mended(filled: LocalMemory) -> None:
    before, seen = truth(filled.settings), set[str]()
    for statement, parts in DERIVED.items():
        with behind(filled.settings) as ask:
            ask(statement)
        fresh = [fault for fault in check_store(filled) if fault.says not in seen]
        assert fresh and {fault.part for fault in fresh} <= parts, statement
        assert all(fault.derived and fault.count and fault.examples for fault in fresh), statement
        seen |= {fault.says for fault in fresh}
    assert repair_store(filled.settings, filled.clock).left == ()
    assert truth(filled.settings) == before


def test_token_vectors_without_a_vector_are_found_and_deleted(filled: LocalMemory) -> None:
    before = tokens(filled)
    with behind(filled.settings) as ask:
        # As a damaged database has them: neither engine would let them be.
        ask("SET session_replication_role = replica" if filled.settings.database_url else "PRAGMA foreign_keys = off")
        ask("DELETE FROM vectors WHERE passage_id = 1")
        ask("UPDATE token_vectors SET passage_id = 999 WHERE passage_id = 2")
    (fault,) = [fault for fault in check_store(filled) if fault.says == "token vectors belong to no vector"]
    assert (fault.part, fault.count, fault.derived) == ("vectors", 2, True)
    assert repair_store(filled.settings, filled.clock).left == ()
    assert tokens(filled) == before[2:]
    embed(filled)
    assert tokens(filled) == before, "also that of the passage that had a vector"


def test_token_vectors_that_were_lost_are_made_again(filled: LocalMemory) -> None:
    before = tokens(filled)
    with behind(filled.settings) as ask:
        ask("DELETE FROM token_vectors WHERE passage_id > 4")
    (fault,) = check_store(filled)
    assert (fault.part, fault.count, fault.derived) == ("vectors", len(before) - 4, True)
    assert repair_store(filled.settings, filled.clock).left == () and tokens(filled) == before[:4]
    embed(filled)
    assert tokens(filled) == before and check_store(filled) == []


def test_a_model_that_makes_no_token_vectors_has_lost_none(filled: LocalMemory) -> None:
    filled.maintenance.use_model("another", 8)
    jobs = filled.maintenance.claim_jobs("me", 3, filled.clock(), 60_000)
    assert filled.maintenance.finish_jobs(jobs, np.eye(3, 8, dtype=np.float32), "me") == 3
    assert tokens(filled) and check_store(filled) == []


def tokens(memory: LocalMemory) -> list[tuple[int, bytes]]:
    with behind(memory.settings) as ask:
        return [(id_, bytes(one)) for id_, one in ask("SELECT passage_id, tokens FROM token_vectors ORDER BY 1")]


def test_words_of_something_else_and_of_what_was_forgotten(filled: LocalMemory) -> None:
    words = "words" if filled.settings.database_url else "passages_fts"
    stray = "items SET forgotten_ms = 1 WHERE id = 3"
    with behind(filled.settings) as ask:
        ask(f"UPDATE {stray}")
        if filled.settings.database_url:
            ask(f"UPDATE {words} SET streams = ' walrus ' WHERE id = 4")
        else:
            ask(f"DELETE FROM {words} WHERE rowid = 4; INSERT INTO {words} (rowid, text) VALUES (4, 'walrus')")
    says = {fault.says for fault in check_store(filled)}
    assert "rows of the index belong to nothing" in says
    assert repair_store(filled.settings, filled.clock).left == ()
    assert not recall(filled, "walrus", Scope(), 20).hits, "all words were indexed again"


def test_what_was_said_is_only_told(filled: LocalMemory) -> None:
    for statement, says in KEPT.items():
        with behind(filled.settings) as ask:
            ask(statement)
        assert {fault.derived for fault in check_store(filled) if says in fault.says} == {False}, statement
    # What was said has changed, and with it what is made of it.
    repair_store(filled.settings, filled.clock)
    hurt = all_rows(filled.settings)
    done = repair_store(filled.settings, filled.clock)
    assert {fault.derived for fault in done.left} == {False} and done.done == ()
    assert all_rows(filled.settings) == hurt
    report = status(filled)["health"]
    assert isinstance(report, dict) and "Compare with a backup" in report["faults"][0]["advice"]


def test_a_moment_is_enough_to_see_that_the_last_things_are_not_whole(filled: LocalMemory) -> None:
    with behind(filled.settings) as ask:
        ask("DELETE FROM jobs")
        ask("DELETE FROM vectors WHERE passage_id = (SELECT max(passage_id) FROM vectors)")
    assert [fault.part for fault in check_newest(filled)] == ["vectors"]


def test_the_state_tells_what_the_last_check_found(filled: LocalMemory) -> None:
    assert status(filled)["health"] is None
    assert check_and_record(filled.settings, filled.clock) == []
    health = last_check_result(filled.settings)
    assert health is not None and health.how == "all" and health.faults == ()


def test_a_server_of_databases_makes_its_own_backups(filled: LocalMemory) -> None:
    if filled.settings.database_url:
        with pytest.raises(StoreError) as error:
            back_up_store(filled)
        assert "pg_dump" in error.value.hint
        with pytest.raises(StoreError) as error:
            restore_backup(filled.settings, "latest", 0)
        assert "pg_restore" in error.value.hint
    else:
        assert back_up_store(filled).path.exists()


def test_broken_json_is_one_damaged_item_on_either_engine(filled: LocalMemory) -> None:
    with behind(filled.settings) as ask:
        ask("UPDATE items SET details = '[1, 2]', meta = 'nonsense' WHERE id = 1")
        ask("UPDATE items SET details = '{' WHERE kind = 'message'")
        ask("UPDATE history SET before = '{'")
    item = filled.store.get([1])[1]
    assert item.damaged == {"details": "[1, 2]", "meta": "nonsense"} and item.details == {} == item.meta
    damaged = [name for fault in check_store(filled) if "rows are damaged" in fault.says for name in fault.examples]
    assert "item 1 (details, meta)" in damaged and "history 1 (before)" in damaged and len(damaged) == 4
    assert len(recall(filled, "apple", Scope(), 20).hits) == 12
    assert recall(filled, "why does src/app.py fail", Scope(), 5).hits
    assert filled.store.newest(Scope(), 50) and filled.store.records_since(0, 100)[0]
    repair_store(filled.settings, filled.clock)
    assert not edit_item(filled, 1, Changes(content="Apple that was corrected")).damaged
    (change,) = filled.store.history(1)
    assert change.before["damaged"] == {"details": "[1, 2]", "meta": "nonsense"}
    assert forget_items(filled, [2]) and 2 not in [one.id for one in filled.store.newest(Scope(), 50)]
