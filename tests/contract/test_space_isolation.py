"""Two spaces in one database never see, find, count, change or claim anything of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from commonplace.errors import NotFound
from commonplace.model import Draft, Scope, ref
from commonplace.store.protocol import Store
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.query import parse_query

if TYPE_CHECKING:
    from tests.contract.conftest import Embed, Opener, Pointing, Words

Make = Callable[..., Draft]
NOW = 1_742_049_000_000
LEASE = 60_000


@pytest.fixture
def mine(open_store: Opener) -> Store:
    return open_store("mine")


@pytest.fixture
def theirs(open_store: Opener) -> Store:
    return open_store("theirs")


def test_the_same_content_is_an_item_in_each(mine: Store, theirs: Store, draft: Make) -> None:
    uid = "01959a12-0000-7000-8000-0123456789ab"
    (one,) = mine.put([draft("same", project="p", session="s", uid=uid)], NOW)
    (two,) = theirs.put([draft("same", project="p", session="s", uid=uid)], NOW)
    assert one.id != two.id and not two.duplicate
    for store, stored in ((mine, one), (theirs, two)):
        assert store.resolve([ref(uid), ref(uid[-12:])]) == [stored.id] * 2
        assert [item.id for item in store.newest(Scope(), 10)] == [stored.id]
        assert (store.counts().sessions, store.counts().projects) == (1, 1)


def test_reading_stops_at_the_border(mine: Store, theirs: Store, draft: Make) -> None:
    (one,) = mine.put([draft("walrus", project="p", session="s")], NOW)
    (two,) = theirs.put([draft("walrus too", project="p", session="s", at=NOW + 1)], NOW)
    assert theirs.get([one.id, two.id]).keys() == {two.id}
    assert theirs.resolve([ref(one.id), ref(one.uid), ref(one.uid[-12:])]) == [None] * 3
    assert theirs.passages_of([one.id]) == {}
    passages = mine.passages_of([one.id])[one.id]
    assert theirs.passage_texts(passages) == {}
    anchor = mine.get([one.id])[one.id]
    assert [item.id for item in mine.around(anchor, 5, 5, Scope())] == [one.id]
    for scope in (Scope(), Scope(project="p"), Scope(project="p", with_global=True), Scope(kinds=("memory",))):
        assert [item.id for item in theirs.newest(scope, 10)] == [two.id]
    mine.forget([one.id], NOW)
    assert theirs.history(one.id) == []
    assert (theirs.counts().forgotten, dict(theirs.counts().items)) == (0, {"memory": 1})


def test_nothing_is_changed_across_the_border(mine: Store, theirs: Store, draft: Make) -> None:
    (one,) = mine.put([draft("walrus")], NOW)
    (two,) = theirs.put([draft("penguin")], NOW)
    attempts: list[Callable[[], object]] = [
        lambda: theirs.rewrite(one.id, draft("taken"), NOW),
        lambda: theirs.forget([one.id], NOW),
        lambda: theirs.restore([one.id], NOW),
        lambda: theirs.supersede(one.id, two.id, NOW),
        lambda: theirs.supersede(two.id, one.id, NOW),
    ]
    for attempt in attempts:
        with pytest.raises(NotFound):
            attempt()
    for store, stored in ((mine, one), (theirs, two)):
        item = store.get([stored.id])[stored.id]
        assert (item.rev, item.forgotten_ms, item.superseded_by) == (1, None, None)


def test_projects_are_known_only_where_they_were_named(mine: Store, theirs: Store, draft: Make) -> None:
    mine.put([draft("one", project="github.com/acme/api")], NOW)
    assert theirs.projects() == [] and theirs.find_project("api") is None
    with pytest.raises(NotFound):
        theirs.alias_project("api", "backend")
    theirs.put([draft("two", project="api")], NOW)
    assert [p.name for p in theirs.projects()] == ["api"]
    mine.alias_project("api", "backend")
    theirs.alias_project("api", "backend")
    assert mine.find_project("backend") == "github.com/acme/api"
    assert theirs.find_project("backend") == "api"
    assert [(p.items, p.aliases) for p in theirs.projects()] == [(1, ("backend",))]


@pytest.mark.parametrize("query", ["walrus", "walrus AND sea", "sea NOT desert", "NOT desert", "wal*", "title:walrus"])
@pytest.mark.parametrize(
    "scope", [Scope(), Scope(project="p"), Scope(kinds=("memory",)), Scope(types=("note",))], ids=str
)
def test_words_find_only_what_is_inside(
    mine: Store, theirs: Store, draft: Make, by_words: Words, query: str, scope: Scope
) -> None:
    (one,) = mine.put([draft("walrus at sea", title="walrus", project="p")], NOW)
    others = theirs.put([draft(f"walrus at sea {n}", title="walrus", project="p") for n in range(3)], NOW)
    assert by_words(mine, query, scope) == [one.id]
    assert set(by_words(theirs, query, scope)) == {s.id for s in others}


def test_what_others_wrote_does_not_weigh_in_the_share_found(mine: Store, theirs: Store, draft: Make) -> None:
    one, two = mine.put([draft("walrus"), draft("penguin")], NOW)
    query = parse_query("walrus penguin", QUERY_COLUMNS)
    alone = mine.search_text(query, Scope(), 5)
    theirs.put([draft(f"walrus {n}") for n in range(30)], NOW)
    second = mine.search_text(query, Scope(), 5)
    passages = [hit.passage_id for hit in alone.hits]
    assert mine.word_shares(second, passages) == pytest.approx(mine.word_shares(alone, passages))
    (foreign,) = theirs.put([draft("penguin")], NOW)
    passage = theirs.passages_of([foreign.id])[foreign.id][0]
    assert mine.word_shares(mine.search_text(query, Scope(), 5), [passage]) == {passage: 0.0}
    assert {hit.item_id for hit in second.hits} == {one.id, two.id}


def test_vectors_and_jobs_stay_at_home(
    mine: Store, theirs: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    (one,) = mine.put([draft("walrus")], NOW)
    (two,) = theirs.put([draft("walrus")], NOW)
    mine.use_model("tiny", 8)
    theirs.use_model("tiny", 8)
    assert [job.passage.item_id for job in theirs.claim_jobs("me", 9, NOW, LEASE)] == [two.id]
    jobs = mine.claim_jobs("me", 9, NOW, LEASE)
    assert [job.passage.item_id for job in jobs] == [one.id]
    vectors = np.stack([pointing(1.0)])
    theirs.release_jobs(jobs, "me", "not theirs")
    assert mine.claim_jobs("you", 9, NOW, LEASE) == []
    assert theirs.finish_jobs(jobs, vectors, "me") == 0
    assert (theirs.counts().vectors, mine.counts().vectors, mine.pending()) == (0, 0, 1)
    assert mine.finish_jobs(jobs, vectors, "me") == 1
    assert (mine.pending(), theirs.pending()) == (0, 1)
    passages = mine.passages_of([one.id])[one.id]
    assert theirs.search_vectors(pointing(1.0), Scope(), 9) == []
    assert theirs.cosines(pointing(1.0), passages) == {}
    assert [hit.item_id for hit in mine.search_vectors(pointing(1.0), Scope(), 9)] == [one.id]


def test_each_space_has_its_own_model(
    mine: Store, theirs: Store, draft: Make, embed: Embed, pointing: Pointing
) -> None:
    mine.put([draft("one")], NOW)
    theirs.put([draft("two")], NOW)
    assert embed(mine, lambda _: pointing(1.0), model="small") == 1
    assert embed(theirs, lambda _: pointing(1.0, dim=16), model="large", dim=16) == 1
    assert (mine.pending(), theirs.pending()) == (0, 0)
    assert len(mine.search_vectors(pointing(1.0), Scope(), 5)) == 1
    assert len(theirs.search_vectors(pointing(1.0, dim=16), Scope(), 5)) == 1


def test_a_space_is_found_again_by_its_name(open_store: Opener, draft: Make) -> None:
    (one,) = open_store("mine").put([draft("walrus")], NOW)
    assert [item.id for item in open_store("mine").newest(Scope(), 5)] == [one.id]
    assert open_store("Mine").newest(Scope(), 5) == []
