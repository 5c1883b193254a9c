"""A store narrowed to one project: for every way to read or write, nothing of another project is seen or touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.contract.conftest import THEN, make_draft
from tests.whole_items import everything_in

from commonplace.errors import Conflict, Forbidden, NotFound
from commonplace.model import UNKNOWN_AUTHOR, Draft, Key, Scope, SessionDraft, SessionScope, Stream, ref
from commonplace.store.invariants import SPLIT
from commonplace.store.maintenance import Limits, StoreMaintenance
from commonplace.store.project_limited_store import ProjectView
from commonplace.store.project_scope import REFUSALS, StoreWideRefusals
from commonplace.store.protocol import SpaceStore, Store
from commonplace.store.records import RECORD_KINDS, Arrival, Name, Peer
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.store.sqlite.store import SqliteStore
from commonplace.store.types import BuiltTopics, RequestClaim, SavedReply, TopicCentre
from commonplace.text.query import parse_query, plain_words
from commonplace.text.references import references

OURS, THEIRS = "github.com/acme/ours", "github.com/acme/theirs"
UID = "01959a12-0000-7000-8000-0123456789ab"
ZEBRA = parse_query("zebra", QUERY_COLUMNS)
VECTOR = np.ones(8, np.float32) / np.float32(np.sqrt(8))


@dataclass(frozen=True)
class World:
    """A whole store with something of everything in two projects and in none, and the part of it that is ours."""

    whole: Store
    part: SpaceStore
    maintenance: StoreMaintenance
    ours: int
    theirs: int
    everywhere: int
    our_session: int
    their_session: int
    mark: str

    def passages(self, item_id: int) -> list[int]:
        return self.whole.passages_of([item_id])[item_id]


def session(project: str | None, key: str, **more: Any) -> SessionDraft:
    return SessionDraft(key, f"zebra talk of {key}", "/", "active", 5.0, THEN, project=project, **more)


def message(text: str, key: str, project: str | None) -> Draft:
    return make_draft(text, kind="message", type="message", session=key, project=project, details={"role": "user"})


def named(name: str) -> BuiltTopics:
    """Topics that are one topic."""
    return BuiltTopics([TopicCentre(None, name, VECTOR)], np.zeros(8, np.float32), 0, None)


def seen(stream: Stream | None) -> Stream:
    if stream is None:
        raise NotFound("no stream")
    return stream


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(SqliteStore(tmp_path / "store.db", now_ms=THEN)) as whole:
        yield filled(whole, ProjectView(whole, "ours"))


def filled(whole: Store, part: SpaceStore) -> World:
    """Something of everything."""
    mark = whole.events(None, 10)[1]
    ours, theirs, everywhere = (
        stored.id
        for stored in whole.put(
            [
                make_draft("zebra ours", project=OURS),
                make_draft("zebra theirs", project=THEIRS, uid=UID, at=THEN + 1),
                make_draft("zebra everywhere", at=THEN + 2),
            ],
            THEN,
        )
    )
    for name, project in (("stream_ours", OURS), ("stream_theirs", THEIRS)):
        whole.start_stream(Stream(name, "note", (), project, "open", THEN, THEN), 10, 0)
        whole.append_stream(name, lambda _end: "zebra theirs", seen, THEN)
    (mine, _), (yours, _) = whole.store_sessions(
        [
            (session(OURS, "s-ours"), [message("zebra ours said", "s-ours", OURS)]),
            (session(THEIRS, "s-theirs"), [message("zebra theirs said", "s-theirs", THEIRS)]),
        ],
        THEN,
    )
    whole.use_model("tiny", 8)
    while jobs := whole.claim_jobs("w", 100, THEN, 1000):
        whole.finish_jobs(jobs, np.stack([VECTOR] * len(jobs)), "w", None, [job.passage.text.encode() for job in jobs])
    whole.rewrite(theirs, make_draft("zebra theirs changed", project=THEIRS), THEN)
    whole.rewrite(ours, make_draft("zebra ours changed", project=OURS), THEN)
    while jobs := whole.claim_jobs("w", 100, THEN, 1000):
        whole.finish_jobs(jobs, np.stack([VECTOR] * len(jobs)), "w", None, [job.passage.text.encode() for job in jobs])
    whole.link(100, references, THEN)
    for place in whole.stale_topics():
        points = whole.topic_points(place.place, 0, 100)
        of_them = theirs in {text.item_id for text in whole.passage_texts(points.passages.tolist()).values()}
        built = named("zebra theirs" if of_them else "zebra ours")._replace(seen=points.last, model=points.model)
        assert whole.claim_topics(place.place, "w", THEN, 1000)
        members = [(0, passage, 1.0) for passage in points.passages.tolist()]
        assert whole.replace_topics(place.place, "w", built, members, len(members), THEN)
    refusals = cast("StoreMaintenance", StoreWideRefusals())
    return World(whole, part, refusals, ours, theirs, everywhere, mine.id, yours.id, mark)


def key() -> Key:
    return Key(0, "k", "sk-sekha-1", "admin", None, THEN)


def claim() -> RequestClaim:
    return RequestClaim("key 1", "name", b"f", "a")


def _uses_after_theirs_was_used(w: World) -> object:
    w.part.record_use([w.ours, w.theirs], THEN)
    return w.part.uses([w.ours, w.theirs])


# Every method of a store, tried at what belongs elsewhere. What it answers is looked through for anything of theirs.
READING: Mapping[str, Callable[[World], object]] = {
    "resolve": lambda w: w.part.resolve([ref(w.theirs), ref(UID), ref(UID[-12:]), ref(w.everywhere)]),
    "get": lambda w: w.part.get([w.ours, w.theirs, w.everywhere]),
    "uses": lambda w: w.part.uses([w.ours, w.theirs, w.everywhere]),
    "record_use": _uses_after_theirs_was_used,
    "newest": lambda w: [
        w.part.newest(scope, 50)
        for scope in (
            Scope(),
            Scope(project=THEIRS),
            Scope(project=THEIRS, with_global=True),
            Scope(only_global=True),
            Scope(project="ours", with_global=True),
        )
    ],
    "item_headers": lambda w: [
        w.part.item_headers(scope, 0, 2 * THEN, 50)
        for scope in (Scope(), Scope(project=THEIRS), Scope(only_global=True))
    ],
    "sessions_during": lambda w: [
        w.part.sessions_during(scope, 0, 2 * THEN, 50) for scope in (Scope(), Scope(project=THEIRS))
    ],
    "items_between": lambda w: [
        w.part.items_between(scope, 0, 2 * THEN, 50)
        for scope in (
            Scope(),
            Scope(project=THEIRS),
            Scope(sessions=SessionScope(ids=(w.our_session, w.their_session), empty=True)),
        )
    ],
    "kinds_per_session": lambda w: w.part.kinds_per_session([w.their_session]),
    "follow_up_sessions": lambda w: [
        w.part.follow_up_sessions(w.their_session),
        w.part.follow_up_sessions(w.our_session),
    ],
    "items_per_day": lambda w: [w.part.items_per_day(Scope(project=THEIRS), 0, 2 * THEN)],
    "history": lambda w: [w.part.history(w.theirs), w.part.history(w.everywhere)],
    "states_at": lambda w: w.part.states_at(Scope(at_ms=0), 1_000),
    "statements_like": lambda w: [
        w.part.statements_like(text, s, 9)
        for text in ("Zebra theirs, changed", "zebra everywhere")
        for s in (Scope(), Scope(project=THEIRS))
    ],
    "superseded": lambda w: [w.part.superseded(w.theirs), w.part.superseded(w.everywhere)],
    "projects": lambda w: w.part.projects(),
    "find_project": lambda w: [w.part.find_project(name) for name in ("theirs", THEIRS, "nobody")],
    "counts": lambda w: [w.part.counts(), w.part.counts(THEIRS)],
    "search_text": lambda w: [w.part.search_text(ZEBRA, s, 50).hits for s in (Scope(), Scope(project=THEIRS))],
    "word_shares": lambda w: w.part.word_shares(w.part.search_text(ZEBRA, Scope(), 50), w.passages(w.theirs)),
    "search_vectors": lambda w: [w.part.search_vectors(VECTOR, s, 50) for s in (Scope(), Scope(project=THEIRS))],
    "cosines": lambda w: w.part.cosines(VECTOR, w.passages(w.theirs)),
    "token_vectors": lambda w: w.part.token_vectors(w.passages(w.theirs)),
    "passages_of": lambda w: w.part.passages_of([w.theirs, w.everywhere]),
    "passage_texts": lambda w: w.part.passage_texts(w.passages(w.theirs)),
    "passages_in_context": lambda w: w.part.passages_in_context(w.passages(w.theirs)),
    "pending_jobs": lambda w: w.part.pending_jobs(w.passages(w.theirs)),
    "newest_pending_jobs": lambda w: [w.part.newest_pending_jobs(s, 9) for s in (Scope(), Scope(project=THEIRS))],
    "conversations_by_title": lambda w: [
        w.part.conversations_by_title(["%"], 1, s, 9) for s in (Scope(), Scope(project=THEIRS))
    ],
    "topics": lambda w: [w.part.topics(), w.part.topics(THEIRS)],
    "topics_of": lambda w: w.part.topics_of(w.passages(w.theirs)),
    "topic_passages": lambda w: [w.part.topic_passages(topic.id, 9) for topic in w.whole.topics(THEIRS)],
    "stale_topics": lambda w: w.part.stale_topics(),
    "streams": lambda w: w.part.streams(0),
    "resolve_session": lambda w: [w.part.resolve_session(ref(w.their_session), "x"), _by_key(w, "s-theirs")],
    "get_sessions": lambda w: w.part.get_sessions([w.their_session]),
    "sessions_of": lambda w: w.part.sessions_of([m.id for m in w.whole.messages_of(w.their_session)]),
    "messages_of": lambda w: w.part.messages_of(w.their_session),
    "latest_sessions": lambda w: [
        w.part.latest_sessions(s, 50) for s in (SessionScope(), SessionScope(project=THEIRS))
    ],
    "count_sessions": lambda w: [w.part.count_sessions(s) for s in (SessionScope(), SessionScope(project=THEIRS))],
    "session_counts": lambda w: [w.part.session_counts(s, 9) for s in (SessionScope(), SessionScope(project=THEIRS))],
    "activity": lambda w: [w.part.activity(s, 0) for s in (SessionScope(), SessionScope(project=THEIRS))],
    "session_history": lambda w: w.part.session_history(w.their_session),
    "idle_sessions": lambda w: w.part.idle_sessions(THEN + 9, 9.0),
    "sketches": lambda w: [w.their_session in w.part.sketches()],
    "events": lambda w: w.part.events(w.mark, 100),
    "uses_model": lambda w: w.part.uses_model("tiny"),
    "pending": lambda w: w.part.pending(),
    "count_unlinked": lambda w: w.part.count_unlinked(),
    "edges_of": lambda w: [w.part.edges_of(w.passages(w.theirs), 9, name) for name in (None, THEIRS, "ours")],
    "sort_by_time": lambda w: w.part.sort_by_time(w.passages(w.theirs)),
    "speakers": lambda w: [w.part.speakers(plain_words("zebra user"), name) for name in (None, THEIRS)],
    "turns": lambda w: w.part.turns([w.theirs, *(m.id for m in w.whole.messages_of(w.their_session))]),
    "capture_counts": lambda w: w.part.capture_counts(),
    "pending_reason": lambda w: w.part.pending_reason(),
    "space_uid": lambda w: w.part.space_uid(),
    "last_change": lambda w: w.part.last_change(),
    "records_since": lambda w: w.part.records_since(0, 100),
    "records_of": lambda w: [w.part.records_of(what, "", limit) for what in RECORD_KINDS for limit in (1, 100)],
    "records_named": lambda w: w.part.records_named(
        [("item", UID), ("session", "s-theirs"), ("project", THEIRS), *_named(w, w.everywhere)]
    ),
    "snapshot": lambda w: w.part.snapshot(lambda: w.part.newest(Scope(), 50)),
    "describe": lambda w: w.part.describe(),
    "check_schema": lambda w: w.part.check_schema(),
    "size": lambda w: w.part.size(),
    "close": lambda w: w.part.close(),
}
# What would change, or tell, something that is not ours is refused.
REFUSED: Mapping[str, Callable[[World], object]] = {
    "put": lambda w: w.part.put([make_draft("fine"), make_draft("zebra", project=THEIRS)], THEN),
    "rewrite": lambda w: w.part.rewrite(w.theirs, make_draft("mine now"), THEN),
    "review": lambda w: w.part.review([w.ours, w.theirs], "accepted", THEN, UNKNOWN_AUTHOR),
    "forget": lambda w: w.part.forget([w.ours, w.theirs], THEN),
    "restore": lambda w: w.part.restore([w.ours, w.theirs], THEN),
    "supersede": lambda w: w.part.supersede(w.theirs, w.ours, THEN),
    "around": lambda w: w.part.around(w.whole.get([w.theirs])[w.theirs], 5, 5, Scope()),
    "alias_project": lambda w: w.maintenance.alias_project(OURS, "ours too"),
    "start_stream": lambda w: w.part.start_stream(Stream("stream_x", "note", (), THEIRS, "open", THEN, THEN), 9, 0),
    "append_stream": lambda w: w.part.append_stream("stream_theirs", str, seen, THEN),
    "finalize_stream": lambda w: w.part.finalize_stream("stream_theirs", lambda _s, t: make_draft(t), seen, THEN),
    "cancel_stream": lambda w: w.part.cancel_stream("stream_theirs", seen, THEN),
    "store_sessions": lambda w: w.part.store_sessions([(session(THEIRS, "new"), [message("x", "new", None)])], THEN),
    "append_messages": lambda w: w.part.append_messages(w.their_session, [message("x", "s-theirs", None)], THEN),
    "change_session": lambda w: w.part.change_session(w.their_session, {"label": "mine"}, THEN),
    "forget_session": lambda w: w.part.forget_session(w.their_session, THEN),
    "restore_session": lambda w: w.part.restore_session(w.their_session, THEN),
    "touch_session": lambda w: w.part.touch_session(w.their_session, THEN + 5),
    "add_key": lambda w: w.maintenance.add_key(key(), b"x"),
    "all_keys": lambda w: w.maintenance.all_keys(),
    "keys_with_prefix": lambda w: w.maintenance.keys_with_prefix("sk-sekha-1"),
    "add_space": lambda w: w.maintenance.add_space("team", THEN, Limits()),
    "spaces": lambda w: w.maintenance.spaces(THEN),
    "set_space_limits": lambda w: w.maintenance.set_space_limits("default", Limits(1)),
    "spaces_of_key": lambda w: w.maintenance.spaces_of_key("sk-sekha-1"),
    "spaces_with_work": lambda w: w.maintenance.spaces_with_work(THEN),
    "for_space": lambda w: w.maintenance.for_space("default"),
    "revoke_key": lambda w: w.maintenance.revoke_key(1, THEN),
    "touch_key": lambda w: w.maintenance.touch_key(1, THEN),
    "end_login": lambda w: w.maintenance.end_login(b"x", THEN, THEN),
    "is_login_ended": lambda w: w.maintenance.is_login_ended(b"x"),
    "use_model": lambda w: w.maintenance.use_model("other", 8),
    "claim_jobs": lambda w: w.maintenance.claim_jobs("w", 10, THEN, 1000),
    "finish_jobs": lambda w: w.maintenance.finish_jobs([], VECTOR, "w"),
    "scan_ahead": lambda w: w.maintenance.scan_ahead(VECTOR),
    "requeue_embeddings": lambda w: w.maintenance.requeue_embeddings(),
    "link": lambda w: w.maintenance.link(9, references, THEN),
    "release_jobs": lambda w: w.maintenance.release_jobs([], "w", "why"),
    "source_mark": lambda w: w.maintenance.source_mark("/a/file"),
    "source_marks": lambda w: w.maintenance.source_marks("/a/"),
    "save_source_mark": lambda w: w.maintenance.save_source_mark("/a/file", {}, THEN),
    "source_turns": lambda w: w.maintenance.source_turns("s1"),
    "mark_abandoned": lambda w: w.maintenance.mark_abandoned("s1", ()),
    "link_sub_agents": lambda w: w.maintenance.link_sub_agents("s1"),
    "known_events": lambda w: w.maintenance.known_events([b"x"]),
    "session_progress": lambda w: w.maintenance.session_progress("s-theirs", 1, 1),
    "capture_events": lambda w: w.maintenance.capture_events([session(THEIRS, "s-theirs")], [], [], THEN),
    "text_parts": lambda w: w.maintenance.text_parts(),
    "text_rows": lambda w: w.maintenance.text_rows("items", None, 9),
    "clean_text_rows": lambda w: w.maintenance.clean_text_rows("history", [(1,)], str.upper),
    "clean_items": lambda w: w.maintenance.clean_items([(w.theirs,)], lambda _item: make_draft("x")),
    "erase_deleted": lambda w: w.maintenance.erase_deleted(),
    "merge_records": lambda w: w.part.merge_records(_arrivals(w, ("item", UID)), THEN),
    "peer": lambda w: w.maintenance.peer("x", ""),
    "note_peer": lambda w: w.maintenance.note_peer("x", "", Peer()),
    "file_problems": lambda w: w.maintenance.file_problems(9.0),
    "index_state": lambda w: w.maintenance.index_state(9.0),
    "clear_text_index": lambda w: w.maintenance.clear_text_index(),
    "invariants": lambda w: w.maintenance.invariants(),
    "violations": lambda w: w.maintenance.violations(SPLIT),
    "repair": lambda w: w.maintenance.repair(SPLIT, 9),
    "file_damage": lambda w: w.maintenance.file_damage(quick=True),
    "reindex": lambda w: w.maintenance.reindex(),
    "damaged_rows": lambda w: w.maintenance.damaged_rows("sessions", None, 9),
    "altered_items": lambda w: w.maintenance.altered_items(0, 9),
    "items_by_id": lambda w: w.maintenance.items_by_id(0, 9),
    "unsplit_items": lambda w: w.maintenance.unsplit_items(9),
    "resplit": lambda w: w.maintenance.resplit(w.theirs, ()),
    "miscounted_sessions": lambda w: w.maintenance.miscounted_sessions(0, 9),
    "recount_sessions": lambda w: w.maintenance.recount_sessions([w.their_session]),
    "backup": lambda w: w.maintenance.backup(Path("copy.db")),
    "repair_text_index": lambda w: w.maintenance.repair_text_index(9),
    "topic_points": lambda w: w.maintenance.topic_points(1, 0, 9),
    "built_topics": lambda w: w.maintenance.built_topics(1),
    "topic_members": lambda w: w.maintenance.topic_members(1),
    "extend_topics": lambda w: w.maintenance.extend_topics(1, named("x"), [], 0),
    "claim_topics": lambda w: w.maintenance.claim_topics(1, "w", THEN, 1000),
    "replace_topics": lambda w: w.maintenance.replace_topics(1, "w", named("x"), [], 0, THEN),
}
# Each caller's own, wherever they are.
OWN = {"claim_reply", "store_reply", "release_claim"}
MORE_REFUSED: Mapping[str, Callable[[World], object]] = {
    "a uid of theirs": lambda w: w.part.put([make_draft("new", uid=UID)], THEN),
    "a session of theirs": lambda w: w.part.put([message("x", "s-theirs", None)], THEN),
    "what is everywhere": lambda w: w.part.forget([w.everywhere], THEN),
    "ours moved to them": lambda w: w.part.rewrite(w.ours, make_draft("zebra", project=THEIRS), THEN),
    "theirs superseded by an edit": lambda w: w.part.rewrite(w.ours, make_draft("zebra"), THEN, None, w.theirs),
    "ours superseded by theirs": lambda w: w.part.supersede(w.ours, w.theirs, THEN),
    "a conversation moved to them": lambda w: w.part.change_session(w.our_session, {"project": THEIRS}, THEN),
    "their conversation kept again": lambda w: w.part.store_sessions(
        [(session(None, "s-theirs"), [message("x", "s-theirs", None)])], THEN
    ),
    "their conversation by its uid": lambda w: w.part.store_sessions([_with_their_uid(w)], THEN),
    "a record of their session": lambda w: w.part.merge_records(_arrivals(w, ("session", "s-theirs")), THEN),
    "a record of their project": lambda w: w.part.merge_records(_arrivals(w, ("project", THEIRS)), THEN),
    "a record that is to be theirs": lambda w: w.part.merge_records(
        _arrivals(w, *_named(w, w.ours), project=THEIRS), THEN
    ),
    "a message of theirs in ours": lambda w: w.part.append_messages(
        w.our_session, [message("x", "s-ours", THEIRS)], THEN
    ),
}


def _named(world: World, item_id: int) -> list[Name]:
    return [("item", world.whole.get([item_id])[item_id].uid)]


def _arrivals(world: World, *names: Name, project: str | None = None) -> list[Arrival]:
    """Records of the whole store as they would come back, said to be of a project."""
    records = [
        replace(one, fields={**one.fields, "project": project} if one.what != "project" else one.fields)
        for one in world.whole.records_named(names)
    ]
    return [Arrival(one, make_draft("zebra", uid=one.name) if one.what == "item" else None) for one in records]


def _by_key(world: World, name: str) -> int | None:
    return world.part.resolve_session(ref("zzz"), name)


def _with_their_uid(world: World) -> tuple[SessionDraft, list[Draft]]:
    uid = world.whole.get_sessions([world.their_session])[world.their_session].uid
    return session(None, "another", uid=uid), [message("x", "another", None)]


def snapshot(world: World) -> object:
    """All that is not ours, and where the space stands."""
    whole = world.whole
    return (
        whole.get([world.theirs, world.everywhere]),
        whole.history(world.theirs),
        whole.newest(Scope(project=THEIRS), 50),
        whole.newest(Scope(only_global=True), 50),
        [stream for stream in whole.streams(0) if stream.project != OURS],
        whole.get_sessions([world.their_session]),
        whole.messages_of(world.their_session),
        whole.session_history(world.their_session),
        whole.all_keys(),
        [(project.name, project.aliases) for project in whole.projects()],
    )


def test_every_method_of_a_store_is_tried() -> None:
    methods = {name for base in Store.__mro__ for name in vars(base) if not name.startswith("_")}
    assert methods == READING.keys() | REFUSED.keys() | OWN


def test_maintenance_is_refused_and_nothing_else() -> None:
    def methods(protocol: type) -> set[str]:
        return {name for base in protocol.__mro__ for name in vars(base) if not name.startswith("_")}

    assert methods(StoreMaintenance) == REFUSALS.keys()
    assert not methods(SpaceStore) & REFUSALS.keys()


def test_maintenance_cannot_be_reached_through_the_view(world: World) -> None:
    """By its type neither: without the error, mypy reports the comment as unused."""
    with pytest.raises(AttributeError):
        world.part.add_key(key(), b"")  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", READING)
def test_nothing_of_others_is_told(world: World, name: str) -> None:
    read = READING[name](world)
    result = f"{read!r} {everything_in(read)}"
    for hidden in ("zebra theirs", "acme/theirs", "zebra everywhere", UID, "s-theirs"):
        assert hidden not in result
    for passage in world.passages(world.theirs):
        assert f"passage_id={passage}," not in result and f"{passage}:" not in result


def test_what_tells_only_numbers_tells_ours(world: World) -> None:
    part = world.part
    assert part.resolve([ref(world.theirs), ref(UID), ref(world.everywhere), ref(world.ours)]) == [
        *[None] * 3,
        world.ours,
    ]
    counts = part.counts()
    assert {kind: n for kind, n in counts.items.items() if n} == {"memory": 1, "message": 1}
    assert (counts.projects, counts.sessions, counts.passages, counts.vectors) == (1, 1, 2, 2)
    assert part.counts(THEIRS).passages == part.count_sessions(SessionScope(project=THEIRS)) == 0
    assert part.count_sessions(SessionScope()) == part.session_counts(SessionScope(), 5).sessions == 1
    assert part.session_counts(SessionScope(project=THEIRS), 5).messages == 0
    assert list(part.activity(SessionScope(), 0).values()) == [1]
    assert part.activity(SessionScope(project=THEIRS), 0) == {}
    assert world.ours in {one.item_id for one in part.item_headers(Scope(), 0, 2 * THEN, 50)}
    assert [session.id for session in part.sessions_during(Scope(), 0, 2 * THEN, 50)] == [world.our_session]
    assert part.cosines(VECTOR, world.passages(world.theirs)) == {}
    both = [*world.passages(world.theirs), *world.passages(world.ours)]
    assert [*part.token_vectors(both).values()] == [b"zebra ours changed"] and len(world.whole.token_vectors(both)) == 2
    assert part.passages_of([world.theirs, world.everywhere]) == {}
    assert part.sketches().keys() == {world.our_session}
    assert part.resolve_session(ref("zzz"), "s-theirs") is None
    texts = [message.id for id_ in (world.our_session, world.their_session) for message in world.whole.messages_of(id_)]
    assert list(part.turns(texts)) == texts[:1]
    assert part.speakers(plain_words("user"), THEIRS) == []
    theirs, ours = world.passages(world.theirs), world.passages(world.ours)
    assert part.sort_by_time([*theirs, *ours]) == ours
    assert [topic.name for topic in part.topics()] == ["zebra ours"]
    assert part.topics_of([*theirs, *ours]).keys() == set(ours)
    answer = part.search_text(ZEBRA, Scope(), 50)
    assert {hit.item_id for hit in answer.hits} == {hit.item_id for hit in part.search_vectors(VECTOR, Scope(), 50)}
    assert part.word_shares(answer, both).keys() == set(ours)
    assert world.ours in {hit.item_id for hit in answer.hits}


@pytest.mark.parametrize("name", [*REFUSED, *MORE_REFUSED])
def test_nothing_of_others_is_touched(world: World, name: str) -> None:
    before, ours = snapshot(world), world.whole.newest(Scope(project=OURS), 50)
    with pytest.raises((Forbidden, NotFound, Conflict)) as refused:
        {**REFUSED, **MORE_REFUSED}[name](world)
    assert snapshot(world) == before
    assert world.whole.newest(Scope(project=OURS), 50) == ours
    assert "zebra theirs" not in refused.value.message


def test_uses_of_others_are_not_recorded(world: World) -> None:
    world.part.record_use([world.ours, world.theirs, world.everywhere], THEN)
    assert [*world.whole.uses([world.ours, world.theirs, world.everywhere])] == [world.ours]


def test_what_names_no_project_ends_in_ours(world: World) -> None:
    part = world.part
    named = [None, "ours", "OURS", OURS, "https://github.com/acme/ours.git"]
    stored = part.put([make_draft(f"new {n}", project=name) for n, name in enumerate(named)], THEN)
    assert {item.project for item in part.get(one.id for one in stored).values()} == {OURS}
    assert part.rewrite(world.ours, make_draft("anew"), THEN).project == OURS
    assert part.start_stream(Stream("stream_new", "note", (), None, "open", THEN, THEN), 9, 0)
    part.append_stream("stream_new", lambda _end: "zebra", seen, THEN)
    assert {stream.id for stream in part.streams(0)} == {"stream_ours", "stream_new"}
    _, made = part.finalize_stream("stream_new", lambda _s, text: make_draft(text), seen, THEN)
    assert part.get([made.id])[made.id].project == OURS
    ((saved, _),) = part.store_sessions([(session(None, "new"), [message("hello", "new", None)])], THEN)
    assert saved.project == OURS
    assert [item.project for item in part.messages_of(saved.id)] == [OURS]
    assert part.change_session(saved.id, {"project": None, "label": "Other"}, THEN).project == OURS
    part.append_messages(saved.id, [message("again", "new", "ours")], THEN)
    assert len(part.messages_of(saved.id)) == 2


def test_ours_is_all_there_is_to_us(world: World) -> None:
    part = world.part
    for scope in (Scope(), Scope(only_global=True), Scope(project="ours"), Scope(project=OURS, with_global=True)):
        assert world.ours in [item.id for item in part.newest(scope, 50)]
    anchor = part.get([world.ours])[world.ours]
    assert world.ours in [item.id for item in part.around(anchor, 5, 5, Scope())]
    assert [change.op for change in part.history(world.ours)] == ["edit"]
    part.forget([world.ours], THEN)
    part.restore([world.ours], THEN)
    assert [project.name for project in part.projects()] == [OURS]
    assert part.find_project("ours") == OURS
    assert part.resolve_session(ref("zzz"), "s-ours") == world.our_session
    assert part.restore_session(part.forget_session(world.our_session, THEN).id, THEN).forgotten_ms is None
    part.touch_session(world.our_session, THEN + 7)
    assert part.get_sessions([world.our_session])[world.our_session].accessed_ms == THEN + 7
    events, _mark = part.events(world.mark, 100)
    assert events and {event.project for event in events} == {OURS}


def test_a_short_name_that_others_share_means_ours(world: World) -> None:
    world.whole.put([make_draft("zebra of a fork", project="github.com/fork/ours")], THEN)
    part = ProjectView(world.whole, OURS)
    (stored,) = part.put([make_draft("new", project="ours")], THEN)
    assert part.get([stored.id])[stored.id].project == OURS
    found = [item.body for item in part.newest(Scope(project="ours"), 50)]
    assert "new" in found and "zebra of a fork" not in found
    with pytest.raises(Forbidden):
        part.put([make_draft("x", project="github.com/fork/ours")], THEN)


def test_a_project_that_gets_a_longer_name_stays_ours(tmp_path: Path) -> None:
    whole = SqliteStore(tmp_path / "store.db", now_ms=THEN)
    try:
        part = ProjectView(whole, "api")
        (stored,) = part.put([make_draft("zebra")], THEN)
        # Whoever may use one project gives it no name.
        part.put([make_draft("more", project="github.com/acme/api")], THEN)
        assert [project.name for project in whole.projects()] == ["api"]
        whole.put([make_draft("most", project="github.com/acme/api")], THEN)
        assert part.get([stored.id])[stored.id].project == "github.com/acme/api"
        assert len(part.newest(Scope(), 10)) == 3
    finally:
        whole.close()


def test_what_was_moved_here_does_not_tell_what_it_was_elsewhere(world: World) -> None:
    world.whole.rewrite(world.theirs, make_draft("moved over", project=OURS), THEN)
    world.whole.rewrite(world.theirs, make_draft("and changed", project=OURS), THEN)
    assert [change.before["body"] for change in world.part.history(world.theirs)] == ["moved over"]


def test_an_answer_is_kept_for_its_caller(world: World) -> None:
    answer = SavedReply(200, "", b"{}")
    assert world.part.claim_reply(claim(), THEN, 0, 0) is None
    world.part.store_reply(claim(), answer)
    known = world.part.claim_reply(claim()._replace(attempt="b"), THEN, 0, 0)
    assert known is not None and known.answer == answer
    other = claim()._replace(name="other")
    assert world.part.claim_reply(other, THEN, 0, 0) is None
    world.part.release_claim(other)
    assert world.part.claim_reply(other, THEN, 0, 0) is None


def test_closing_the_part_leaves_the_whole_open(world: World) -> None:
    world.part.close()
    assert world.whole.get([world.ours])


def test_links_to_others_are_not_seen(world: World) -> None:
    error = "TypeError: the zebra has no stripes"
    ours, also_ours, theirs = (
        stored.id
        for stored in world.whole.put(
            [
                make_draft(error, project=OURS),
                make_draft(f"{error}\nagain", project=OURS),
                make_draft(f"{error}\nhere", project=THEIRS),
            ],
            THEN,
        )
    )
    while world.whole.link(50, references, THEN):
        pass
    near, our_other, far = (world.passages(item)[0] for item in (ours, also_ours, theirs))
    assert {edge.src for edge in world.whole.edges_of([near], 9)} == {our_other, far}
    assert {edge.src for edge in world.part.edges_of([near], 9)} == {our_other}
    assert world.part.edges_of([far], 9) == []
    assert world.part.sort_by_time([far, our_other, near]) == [near, our_other]
