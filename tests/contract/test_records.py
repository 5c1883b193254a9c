"""Records: every change moves one to the end of the walk, and what another store tells is joined with what is here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tests.contract.conftest import THEN, Opener, Words, make_draft

from commonplace.model import Draft, Passage, Scope, Session, SessionDraft, SessionScope, ref
from commonplace.store.protocol import Store
from commonplace.store.records import RECORD_KINDS, Arrival, Name, Peer, Record

LATER = THEN + 60_000


def records_by_name(store: Store) -> dict[Name, Record]:
    return {(one.what, one.name): one for one in store.records_since(0, 1_000)[0]}


def digests(store: Store) -> dict[Name, str]:
    return {name: one.digest for name, one in records_by_name(store).items()}


def arriving(records: Iterable[Record]) -> list[Arrival]:
    return [Arrival(one, draft_of(one) if one.what == "item" else None) for one in records]


def draft_of(record: Record) -> Draft:
    names = ("kind", "type", "title", "body", "details", "meta", "project", "session", "importance", "tokens")
    given: dict[str, Any] = {name: record.fields[name] for name in (*names, "created_ms")}
    hash_, tags = bytes.fromhex(record.fields["content_hash"]), tuple(record.fields["tags"])
    return Draft(**given, content_hash=hash_, tags=tags, uid=record.name, passages=(Passage(0),))


def results(store: Store, records: Iterable[Record], now: int = LATER) -> list[str]:
    return [outcome.result for outcome in store.merge_records(arriving(records), now)]


def keep_talk(store: Store) -> tuple[Session, int]:
    draft = make_draft("walrus", kind="message", type="message", session="talk")
    talk = SessionDraft("talk", "Talk", "/", "active", 1.0, THEN)
    ((session, (stored,)),) = store.store_sessions([(talk, [draft])], THEN)
    return session, stored.id


def uid_of(store: Store, item_id: int) -> str:
    return store.get([item_id])[item_id].uid


def filled(store: Store) -> list[int]:
    """Items of all sorts: live, changed, forgotten, replaced, said in a conversation."""
    ids = [
        one.id
        for one in store.put(
            [
                make_draft("zebra plain", project="github.com/acme/api", tags=("b", "a"), meta={"n": [1, "é"]}),
                make_draft("zebra before", importance=7.5),
                make_draft("zebra gone"),
                make_draft("zebra old"),
                make_draft("zebra new", details={"narrative": "tells"}),
                make_draft("zebra done", kind="observation", session="s-1", project="web", at=THEN - 5),
            ],
            THEN,
        )
    ]
    store.rewrite(ids[1], make_draft("zebra after"), THEN + 1)
    store.forget([ids[2]], THEN + 2)
    store.supersede(ids[3], ids[4], THEN + 3)
    store.alias_project("github.com/acme/api", "backend")
    talk = SessionDraft("talk", "Colours", "/desk", "active", 5.0, THEN, source="chat", meta={"x": 1})
    message = make_draft("zebra said", kind="message", type="message", details={"role": "user"})
    ((session, _),) = store.store_sessions([(talk, [message])], THEN + 4)
    store.change_session(session.id, {"label": "Stripes", "status": "pinned"}, THEN + 5)
    return ids


def test_everything_arrives_as_it_is_and_only_once(open_store: Opener, by_words: Words) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    filled(here)
    there.put([make_draft("already here")], THEN)
    records, mark = here.records_since(0, 1_000)
    assert mark == here.last_change() == records[-1].seq
    assert set(results(there, records)) == {"added"}
    assert digests(here).items() <= digests(there).items()
    for name, one in records_by_name(here).items():
        other = records_by_name(there)[name]
        assert (other.version, other.history) == (one.version, one.history), name
        assert other.fields == one.fields, name
    assert len(by_words(here, "zebra")) == len(by_words(there, "zebra")) == 5
    assert there.pending() == here.pending() + 1
    assert there.counts("web") == replace(here.counts("web"), bytes=there.counts("web").bytes)
    (talk,) = there.latest_sessions(SessionScope(), 9)
    assert (talk.label, talk.messages, talk.words, talk.rev) == ("Stripes", 1, 2, 2)
    assert there.find_project("backend") == "github.com/acme/api"
    before = there.last_change()
    assert set(results(there, records)) == {"unchanged"}
    assert there.last_change() == before


def test_every_change_moves_a_record_to_the_end(store: Store) -> None:
    ids = filled(store)
    talk = store.latest_sessions(SessionScope(), 1)[0].id
    changes: dict[str, Callable[[], object]] = {
        "edited": lambda: store.rewrite(ids[0], make_draft("zebra other", project="web"), LATER),
        "forgotten": lambda: store.forget([ids[0]], LATER),
        "restored": lambda: store.restore([ids[0]], LATER),
        "superseded": lambda: store.supersede(ids[0], ids[4], LATER),
        "renamed": lambda: store.change_session(talk, {"label": "New"}, LATER),
        "moved": lambda: store.change_session(talk, {"project": "web"}, LATER),
        "hidden": lambda: store.forget_session(talk, LATER),
        "shown": lambda: store.restore_session(talk, LATER),
        "named": lambda: store.alias_project("web", "site"),
    }
    for what, change in changes.items():
        mark = store.last_change()
        before = digests(store)
        change()
        moved, _mark = store.records_since(mark, 100)
        changed = {name for name, digest in digests(store).items() if before.get(name) != digest}
        assert changed and changed <= {(one.what, one.name) for one in moved}, what
    mark = store.last_change()
    store.touch_session(talk, LATER + 5)
    assert store.last_change() == mark


def test_the_later_version_stands_and_the_other_is_kept(open_store: Opener, by_words: Words) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    (one,) = here.put([make_draft("first words")], THEN)
    results(there, records_by_name(here).values())
    number = there.resolve([ref(one.uid)])[0]
    assert number is not None
    here.rewrite(one.id, make_draft("ours later"), THEN + 50)
    there.rewrite(number, make_draft("theirs earlier"), THEN + 20)
    assert results(there, records_by_name(here).values()) == ["conflict"]
    assert results(here, records_by_name(there).values()) == ["updated"]
    assert digests(here) == digests(there)
    assert here.get([one.id])[one.id].body == there.get([number])[number].body == "ours later"
    for store, id_ in ((here, one.id), (there, number)):
        lines = store.history(id_)
        assert {(line.op, line.before["body"]) for line in lines} == {
            ("edit", "first words"),
            ("merge", "theirs earlier"),
        }
        revs = [line.rev for line in lines]
        assert revs == sorted(set(revs)) and revs[-1] < store.get([id_])[id_].rev
        assert by_words(store, "later") == [id_] and not by_words(store, "earlier")
    assert results(there, records_by_name(here).values()) == ["unchanged"]


def test_a_change_after_a_version_from_the_future_stands(open_store: Opener) -> None:
    ahead, behind = open_store(name="one"), open_store(name="two")
    (one,) = ahead.put([make_draft("said by a clock that is wrong")], THEN + 10**10)
    results(behind, records_by_name(ahead).values(), THEN)
    item = behind.newest(Scope(), 1)[0]
    assert item.updated_ms == THEN
    behind.rewrite(item.id, make_draft("corrected"), THEN + 1)
    assert results(ahead, records_by_name(behind).values()) == ["updated"]
    assert ahead.get([one.id])[one.id].body == "corrected"


def test_a_version_from_the_future_gives_way_to_what_arrives(open_store: Opener) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    ids = filled(here)
    results(there, records_by_name(here).values())
    here.rewrite(ids[0], make_draft("changed by a clock that is years ahead"), LATER + 10**12)
    item = there.resolve([ref(uid_of(here, ids[0]))])[0]
    assert item is not None
    there.rewrite(item, make_draft("changed by a clock that is right"), LATER + 1)
    changed = [one for one in records_by_name(there).values() if one.name == uid_of(here, ids[0])]
    assert results(here, changed, LATER + 2) in (["updated"], ["conflict"])
    assert here.get([ids[0]])[ids[0]].body == "changed by a clock that is right"
    (stands,) = [one for one in records_by_name(here).values() if one.name == uid_of(here, ids[0])]
    assert stands.version < LATER + 10**9
    assert any("years ahead" in str(line.before["body"]) for line in stands.history)


def test_two_spaces_of_one_store_take_in_the_same_conversation(open_store: Opener) -> None:
    elsewhere = open_store(name="two")
    session, _item = keep_talk(elsewhere)
    for space in ("one team", "another team"):
        store = open_store(space)
        assert set(results(store, records_by_name(elsewhere).values())) == {"added"}
        assert store.resolve_session(ref(session.uid), "") is not None
        assert digests(store) == digests(elsewhere)
        assert set(results(store, records_by_name(elsewhere).values())) == {"unchanged"}


def test_the_same_said_in_two_places_is_seen_once(open_store: Opener, by_words: Words) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    (older,) = here.put([make_draft("use zebra crossings", project="web")], THEN)
    there.put([make_draft("use zebra crossings", project="web")], THEN + 9)
    (outcome,) = [o for o in there.merge_records(arriving(records_by_name(here).values()), LATER) if o.what == "item"]
    assert outcome.result == "same_as"
    results(here, records_by_name(there).values())
    assert digests(here) == digests(there)
    for store in (here, there):
        (seen,) = by_words(store, "zebra")
        assert uid_of(store, seen) == older.uid
        assert len(store.newest(Scope(), 9)) == 1
    # Saying it again finds it.
    assert there.put([make_draft("use zebra crossings", project="web")], LATER)[0].uid == older.uid


def test_what_takes_the_place_of_another_may_come_later(open_store: Opener, by_words: Words) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    old, new = here.put([make_draft("zebra old"), make_draft("zebra new")], THEN)
    here.supersede(old.id, new.id, THEN + 1)
    known = records_by_name(here)
    assert results(there, [known["item", old.uid]]) == ["added"]
    assert digests(there)["item", old.uid] == known["item", old.uid].digest
    assert len(by_words(there, "zebra")) == 1
    results(there, [known["item", new.uid]])
    assert [uid_of(there, id_) for id_ in by_words(there, "zebra")] == [new.uid]
    assert digests(there) == digests(here)
    assert there.counts().items["memory"] == 1


def end_of(store: Store, uid: str) -> int | None:
    (id_,) = store.resolve([ref(uid)])
    assert id_ is not None
    return store.get([id_])[id_].valid_until_ms


def test_what_waits_for_its_replacement_holds_as_long_as_it_said(open_store: Opener) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    end, began = THEN + 9_000, THEN - 5
    drafts = [replace(make_draft("old"), valid_until_ms=end), replace(make_draft("new"), valid_from_ms=began)]
    old, new = here.put(drafts, THEN)
    here.supersede(old.id, new.id, THEN + 1)
    known = records_by_name(here)
    results(there, [known["item", old.uid]])
    assert end_of(there, old.uid) == end
    results(there, [known["item", new.uid]])
    assert end_of(there, old.uid) == end_of(here, old.uid) == began
    assert digests(there) == digests(here)


def test_what_was_changed_and_replaced_in_one_moment_ended_then_everywhere(open_store: Opener) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    old, new = here.put([make_draft("old"), make_draft("new")], THEN)
    here.rewrite(old.id, make_draft("older"), THEN)
    here.supersede(old.id, new.id, THEN)
    known = records_by_name(here)
    assert known["item", old.uid].version > THEN
    results(there, [known["item", old.uid]])
    results(there, [known["item", new.uid]])
    assert end_of(there, old.uid) == end_of(here, old.uid) == THEN


def test_two_that_replaced_each_other_are_no_circle(open_store: Opener) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    first, second = here.put([make_draft("one"), make_draft("two")], THEN)
    results(there, records_by_name(here).values())
    here.supersede(first.id, second.id, THEN + 1)
    a, b = (there.resolve([ref(one.uid)])[0] for one in (second, first))
    assert a is not None and b is not None
    there.supersede(a, b, THEN + 2)
    results(here, records_by_name(there).values())
    results(there, records_by_name(here).values())
    assert digests(here) == digests(there)
    third = here.put([make_draft("three")], LATER)[0]
    here.supersede(first.id, third.id, LATER)


def test_a_session_that_both_made_is_one(open_store: Opener) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    for store, text in ((here, "ours"), (there, "theirs")):
        message = make_draft(text, kind="message", type="message", details={"role": "user"})
        store.store_sessions([(SessionDraft("same", "Talk", "/", "active", 5.0, THEN), [message])], THEN)
    results(there, records_by_name(here).values())
    results(here, records_by_name(there).values())
    assert digests(here) == digests(there)
    for store in (here, there):
        (session,) = store.latest_sessions(SessionScope(), 9)
        assert (session.messages, session.words) == (2, 2)


def test_a_session_that_is_told_twice_at_once_is_one(open_store: Opener) -> None:
    """By its key, and by its uid under another key; the later of them stands."""
    here, there = open_store(name="one"), open_store(name="two")
    here.store_sessions([(SessionDraft("same", "Talk", "/", "active", 5.0, THEN), [])], THEN)
    (session,) = records_by_name(here).values()

    def called(label: str, number: int, **fields: object) -> Record:
        return replace(session, version=session.version + number, fields={**session.fields, "label": label, **fields})

    alike = [called("Second", 2), called("First", 1), called("Third", 3, uid="0190a000-0000-7000-8000-000000000009")]
    assert results(there, alike) == ["added", "unchanged", "updated"]
    assert results(there, [replace(called("Fourth", 4), name="other"), called("First", 1)]) == ["updated", "unchanged"]
    assert [one.fields["label"] for one in records_by_name(there).values()] == ["Fourth"]


def test_a_reader_never_misses_what_is_written_meanwhile(open_store: Opener) -> None:
    writers = [open_store() for _ in range(3)]
    reader = open_store()

    def write(store: Store, number: int) -> None:
        for turn in range(15):
            (one,) = store.put([make_draft(f"{number} {turn}", project=f"p{turn % 3}")], THEN)
            store.forget([one.id], THEN + 1)

    threads = [threading.Thread(target=write, args=(store, number)) for number, store in enumerate(writers)]
    for thread in threads:
        thread.start()
    mark = 0
    seen: dict[Name, str] = {}
    while any(thread.is_alive() for thread in threads) or mark < reader.last_change():
        records, mark = reader.records_since(mark, 7)
        seen |= {(one.what, one.name): one.digest for one in records}
    assert seen == digests(reader)
    assert sum(what == "item" for what, _name in seen) == 45


def test_how_far_another_space_was_seen_is_kept(open_store: Opener) -> None:
    store = open_store()
    assert store.peer("x", "all") == Peer()
    store.note_peer("x", "all", Peer(5, 7, (("item", "u"), ("session", "é"))))
    assert open_store().peer("x", "all") == Peer(5, 7, (("item", "u"), ("session", "é")))
    assert store.peer("x", "other") == open_store("theirs").peer("x", "all") == Peer()


def test_spaces_tell_their_own_records_only(open_store: Opener) -> None:
    ours, theirs = open_store("ours"), open_store("theirs")
    (one,) = theirs.put([make_draft("zebra theirs", project="p")], THEN)
    assert ours.space_uid() != theirs.space_uid() == open_store("theirs").space_uid()
    assert records_by_name(ours) == {} and ours.last_change() == 0
    assert ours.records_named([("item", one.uid), ("project", "p")]) == []
    assert set(results(ours, records_by_name(theirs).values())) == {"added"}
    ours.forget([ours.newest(Scope(), 1)[0].id], LATER)
    assert theirs.newest(Scope(), 9)[0].forgotten_ms is None


def test_all_of_a_kind_are_read_in_the_order_of_their_names(open_store: Opener) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    filled(here)
    here.put(
        [make_draft(f"in {key}", kind="observation", session=key) for key in ("Zoo", "ärger", "a", "\U0001f993")], THEN
    )
    for what in RECORD_KINDS:
        found, mark = here.records_of(what, "", 2)
        while mark is not None:
            assert mark == found[-1].name
            page, mark = here.records_of(what, mark, 2)
            assert len(page) <= 2
            found += page
        assert [one.name for one in found] == sorted(name for kind, name in records_by_name(here) if kind == what)
        assert found == [records_by_name(here)[what, one.name] for one in found]
        assert found == here.records_of(what, "", 1_000)[0]
        assert there.records_of(what, "", 10) == ([], None)


def test_a_history_arrives_with_its_own_numbers(open_store: Opener) -> None:
    """Also one that a clock went back in, or that has gaps."""
    here, there = open_store(name="one"), open_store(name="two")
    (one,) = here.put([make_draft("first words")], THEN)
    for number, moment in enumerate((THEN + 50, THEN + 20, THEN + 20)):
        here.rewrite(one.id, make_draft(f"words {number}"), moment)
    (record,) = here.records_named([("item", one.uid)])
    lines = tuple(replace(line, rev=line.rev * 3) for line in record.history)
    record = replace(record, fields={**record.fields, "rev": 12}, history=lines)
    assert results(there, [record]) == ["added"]
    (other,) = there.records_named([("item", one.uid)])
    assert (other.history, other.fields, other.version) == (record.history, record.fields, record.version)


def test_projects_that_are_apart_stay_apart_however_alike_their_names_are(open_store: Opener) -> None:
    here, there = open_store(name="one"), open_store(name="two")
    here.put([make_draft("zebra", project=name) for name in ("b/api", "a/api", "api", "zoo")], THEN)
    here.alias_project("b/api", "host/zoo")
    of_here = [record for record in records_by_name(here).values() if record.what == "project"]
    assert len(of_here) == 4
    for order in (of_here, of_here[::-1]):
        assert set(results(there, order)) <= {"added", "unchanged"}
        for record in of_here:
            assert records_by_name(there)["project", record.name].fields == record.fields
    lone = open_store(name="three")
    lone.put([make_draft("zebra", project="host.org/b/api")], THEN)
    results(lone, of_here)
    assert lone.find_project("b/api") == "host.org/b/api"
