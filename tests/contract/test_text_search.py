"""Full-text search: operators filter strictly, plain questions rank, a scope is never left, common words stay cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from commonplace.model import KINDS, Draft, Scope
from commonplace.store.protocol import Store
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.store.types import TextAnswer
from commonplace.text.query import parse_query

if TYPE_CHECKING:
    from tests.contract.conftest import Engine, Words

Make = Callable[..., Draft]
NOW = 1_742_049_000_000
EVERYWHERE = Scope()


def ask(store: Store, query: str, scope: Scope = EVERYWHERE, k: int = 50) -> TextAnswer:
    return store.search_text(parse_query(query, QUERY_COLUMNS), scope, k)


def shares_of_hits(store: Store, answer: TextAnswer) -> list[float]:
    return list(store.word_shares(answer, [hit.passage_id for hit in answer.hits]).values())


@pytest.fixture
def zoo(store: Store, draft: Make) -> dict[str, int]:
    """Name to id of a few items that differ in one word or column each."""
    drafts = {
        "retry": draft("Retry the request with exponential backoff", title="Retry policy", type="decision"),
        "limit": draft("Rate limiting returns status 429 so clients retry later", title="Throttle"),
        "cache": draft("The cache is written through", title="Caching", tags=("storage", "redis")),
        "login": draft(
            "Session cookies replaced tokens",
            kind="observation",
            type="fix",
            title="Login broke",
            details={
                "subtitle": "after the upgrade",
                "narrative": "The validator rejected refresh tokens",
                "facts": "expiry was 15 minutes",
                "concepts": "authentication security",
                "files_modified": "src/auth/loginForm.ts",
            },
        ),
        "chat": draft("please retry the build", kind="message", type="message", details={"role": "user"}),
        "sum": draft(
            "", kind="summary", type="summary", title="Fix the build", details={"learned": "caches poison builds"}
        ),
    }
    return dict(zip(drafts, (s.id for s in store.put(list(drafts.values()), NOW)), strict=True))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("retry AND backoff", {"retry"}),
        ("retry AND walrus", set()),
        ("backoff OR throttle", {"retry", "limit"}),
        ("retry NOT backoff", {"limit", "chat"}),
        ("retry NOT (backoff OR build)", {"limit"}),
        ('"exponential backoff"', {"retry"}),
        ('"backoff exponential"', set()),
        ('"rate limiting"', {"limit"}),
        ("expo*", {"retry"}),
        ("title:retry", {"retry"}),
        ("title:retry*", {"retry"}),
        ("title:throttle AND retry", {"limit"}),
        ("concepts:security", {"login"}),
        ("subtitle:upgrade", {"login"}),
        ("narrative:validator", {"login"}),
        ("facts:expiry", {"login"}),
        ("files:loginForm", {"login"}),
        ("files_modified:auth", {"login"}),
        ("tags:redis", {"cache"}),
        ("text:redis", set()),
        ("type:decision", {"retry"}),
        ("role:user AND build", {"chat"}),
        ("learned:poison", {"sum"}),
        ("request:build", {"sum"}),
        ("title:build AND retry", set()),
        ("{title subtitle}:upgrade", {"login"}),
        ("retries AND requests", {"retry"}),
        ("NOT retry", {"cache", "login", "sum"}),
        ("NOT (retry OR cache)", {"login"}),
    ],
)
def test_an_operator_filters(
    store: Store, by_words: Words, zoo: dict[str, int], query: str, expected: set[str]
) -> None:
    assert parse_query(query, QUERY_COLUMNS).strict, "this row is about operators"
    assert set(by_words(store, query)) == {zoo[name] for name in expected}


def test_every_strict_hit_is_found_whole_and_once(store: Store, zoo: dict[str, int]) -> None:
    answer = ask(store, "retry OR cache")
    assert len({hit.item_id for hit in answer.hits}) == len(answer.hits) == answer.total == 5
    assert set(shares_of_hits(store, answer)) == {1.0}
    assert store.word_shares(answer, [987654]) == {987654: 0.0}
    assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)


@pytest.mark.parametrize("query", ["", "   ", "?!", '"', "AND", "()", "walrus", "*", "title:"])
def test_a_query_without_an_answer_is_an_empty_answer(store: Store, zoo: dict[str, int], query: str) -> None:
    assert ask(store, query).hits == ()


LONG = [
    "The gateway throttles traffic per tenant.",
    "Penguins are migrated nightly by the importer.",
    "Backups are verified after every walrus parade.",
]


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("throttles AND walrus", True),
        ("gateway AND penguins AND parade", True),
        ("gateway NOT walrus", False),
        ("gateway NOT zebra", True),
        ("NOT walrus", False),
        ('"migrated nightly"', True),
        ("title:handbook AND walrus", True),
        ("title:walrus", False),
        ("tags:ops AND gateway", True),
        ("gateway AND zebra", False),
    ],
)
def test_operators_look_at_a_long_item_as_a_whole(
    store: Store, draft: Make, by_words: Words, query: str, matches: bool
) -> None:
    (stored,) = store.put([draft(parts=LONG, title="Handbook", tags=("ops",))], NOW)
    assert parse_query(query, QUERY_COLUMNS).strict
    assert by_words(store, query) == ([stored.id] if matches else [])


def test_a_long_item_is_one_strict_hit(store: Store, draft: Make) -> None:
    (stored,) = store.put([draft(parts=[f"walrus number {n}" for n in range(5)])], NOW)
    answer = ask(store, "walrus AND number")
    assert [hit.item_id for hit in answer.hits] == [stored.id]
    assert answer.hits[0].passage_id in store.passages_of([stored.id])[stored.id]
    assert answer.total == 1


def test_the_many_passages_of_a_long_item_do_not_crowd_out_others(store: Store, draft: Make, by_words: Words) -> None:
    short = store.put(
        [draft(f"a walrus among quite a number of other words that say nothing much, {n}") for n in range(3)], NOW
    )
    (long,) = store.put([draft(parts=[f"walrus walrus {n}" for n in range(40)], title="walrus")], NOW)
    assert set(by_words(store, "walrus*", k=10)) == {long.id, *(s.id for s in short)}


def test_a_plain_question_finds_the_passage_of_a_long_item(store: Store, draft: Make) -> None:
    (stored,) = store.put([draft(parts=LONG, title="Handbook")], NOW)
    passages = store.passages_of([stored.id])[stored.id]
    (hit,) = ask(store, "when are penguins migrated").hits
    assert (hit.item_id, hit.passage_id) == (stored.id, passages[1])


@pytest.mark.parametrize("query", ["loginForm.ts", "redis", "handbook", "decision", "user"])
def test_a_plain_question_finds_a_long_item_by_what_stands_beside_its_text(
    store: Store, draft: Make, by_words: Words, query: str
) -> None:
    files = {"files_modified": "src/auth/loginForm.ts"}
    kind = "message" if query == "user" else "observation"
    details = {"role": "user"} if query == "user" else files
    (stored,) = store.put(
        [draft(parts=LONG, title="Handbook", tags=("redis",), type="decision", kind=kind, details=details)], NOW
    )
    assert by_words(store, query) == [stored.id]


def test_a_plain_question_is_an_or_of_its_words(store: Store, zoo: dict[str, int], by_words: Words) -> None:
    found = by_words(store, "what did we decide about backoff and the cache")
    assert {zoo["retry"], zoo["cache"]} <= set(found)
    assert zoo["chat"] not in found


def test_more_of_the_words_and_rarer_words_rank_higher(store: Store, draft: Make, by_words: Words) -> None:
    filler = [draft(f"deploy notes {n}") for n in range(20)]
    *_rest, common, rare, both = store.put(
        [*filler, draft("deploy something"), draft("walrus something"), draft("deploy walrus")], NOW
    )
    found = by_words(store, "deploy walrus")
    assert found[:2] == [both.id, rare.id]
    assert common.id in found[2:]


def test_a_word_in_the_title_ranks_above_one_in_the_text(store: Store, draft: Make, by_words: Words) -> None:
    text, title = store.put(
        [draft("the walrus is here", title="notes"), draft("the notes are here", title="walrus")], NOW
    )
    assert by_words(store, "walrus") == [title.id, text.id]


def test_stems_identifiers_and_accents_are_found(store: Store, draft: Make, by_words: Words) -> None:
    ids = [
        s.id
        for s in store.put(
            [
                draft("validating tokens"),
                draft("call getUserName here"),
                draft("die Größe der Datei"),
                draft("日本語の検索"),
            ],
            NOW,
        )
    ]
    for query, n in (("validated", 0), ("get_user_name", 1), ("username", 1), ("GROSSE", 2), ("検索", 3)):
        expected = [ids[n]] if query != "username" else []
        assert by_words(store, query) == expected, query


def test_found_tells_the_share_of_the_question_that_stands_there(store: Store, draft: Make) -> None:
    all_, some, none = store.put([draft("walrus penguin"), draft("walrus alone"), draft("nothing here")], NOW)
    passage = {i: p[0] for i, p in store.passages_of([all_.id, some.id, none.id]).items()}
    found = store.word_shares(ask(store, "walrus penguin"), [*passage.values(), 987654])
    assert found[passage[all_.id]] == pytest.approx(1.0)
    assert 0.0 < found[passage[some.id]] < 0.5, "the rarer word weighs more"
    assert found[passage[none.id]] == found[987654] == 0.0
    assert all(0.0 <= share <= 1.0 for share in found.values())


def test_found_is_told_of_passages_that_are_no_hit(store: Store, draft: Make) -> None:
    stored = store.put([draft(f"walrus {'filler ' * n}") for n in range(6)], NOW)
    passages = [p[0] for p in store.passages_of([s.id for s in stored]).values()]
    answer = ask(store, "walrus", k=1)
    assert len(answer.hits) == 1
    assert store.word_shares(answer, passages) == pytest.approx(dict.fromkeys(passages, 1.0))


def test_k_bounds_the_hits_and_total_counts_beyond(store: Store, draft: Make) -> None:
    store.put([draft(f"walrus {n}") for n in range(12)], NOW)
    for query in ("walrus", "walrus*"):
        answer = ask(store, query, k=5)
        assert (len(answer.hits), answer.total) == (5, 12)


SCOPES = [
    Scope(project="big"),
    Scope(project="small"),
    Scope(project="big", with_global=True),
    Scope(project="small", with_global=True),
    Scope(only_global=True),
    Scope(kinds=("memory",)),
    Scope(kinds=("message",)),
    Scope(kinds=("memory", "observation"), project="big"),
    Scope(kinds=("message",), project="small"),
    Scope(types=("rule",)),
    Scope(types=("rule", "note"), project="big"),
    Scope(types=("chat",), kinds=("message",), project="small", with_global=True),
    Scope(project="nowhere"),
    Scope(project="nowhere", with_global=True),
    Scope(kinds=("summary",)),
    Scope(kinds=KINDS),
    Scope(tag="ocean"),
    Scope(tag="OCE, tusk", project="big"),
    Scope(tag="desert"),
    Scope(since_ms=NOW + 8),
    Scope(until_ms=NOW + 3),
    Scope(since_ms=NOW + 2, until_ms=NOW + 11, kinds=("memory",)),
    Scope(since_ms=NOW + 2, until_ms=NOW + 11, tag="ocean", types=("rule",)),
    Scope(since_ms=NOW + 5, until_ms=NOW + 5),
]


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("query", ["walrus", "walrus AND sea", "walrus NOT desert", "NOT desert"])
def test_a_scope_holds_exactly_what_reading_it_by_time_holds(
    store: Store, draft: Make, by_words: Words, scope: Scope, query: str
) -> None:
    # A majority, a minority and no project: engines may filter each in another way.
    drafts = [draft(f"walrus sea big {n}", project="github.com/x/big", type=("rule", "note")[n % 2]) for n in range(9)]
    drafts += [draft(f"walrus sea small {n}", project="small", kind="message", type="chat") for n in range(3)]
    drafts += [draft(f"walrus sea {n}", type="rule") for n in range(2)]
    drafts += [draft("walrus sea seen", kind="observation", type="fix", project="big")]
    drafts = [replace(one, created_ms=NOW + n, tags=(("Ocean", "tusks")[n % 2],)) for n, one in enumerate(drafts)]
    stored = store.put(drafts, NOW)
    store.forget([stored[0].id, stored[10].id], NOW)
    expected = {item.id for item in store.newest(scope, 100)}
    assert set(by_words(store, query, scope)) == expected


@pytest.mark.parametrize("query", ["walrus", "walrus NOT desert"])
def test_better_matches_outside_the_scope_do_not_hide_those_inside(
    store: Store, draft: Make, by_words: Words, query: str
) -> None:
    store.put([draft(f"about something else entirely, {n}", project="mine") for n in range(60)], NOW)
    (mine,) = store.put([draft("somewhere in a long sentence there was once a walrus, they say", project="mine")], NOW)
    store.put([draft(f"walrus walrus {n}", title="walrus", project="theirs") for n in range(50)], NOW)
    assert by_words(store, query, Scope(project="mine"), k=5) == [mine.id]
    assert by_words(store, query, Scope(types=("note",), project="mine"), k=5) == [mine.id]


@pytest.mark.parametrize("query", ["walrus", "walrus NOT desert"])
def test_better_matches_of_other_tags_and_times_do_not_hide_those_asked_for(
    store: Store, draft: Make, by_words: Words, query: str
) -> None:
    store.put([draft(f"about something else entirely, {n}", at=NOW - n, tags=("mine",)) for n in range(60)], NOW)
    text = "somewhere in a long sentence there was once a walrus, they say"
    (mine,) = store.put([draft(text, at=NOW - 30, tags=("mine",))], NOW)
    store.put([draft(f"walrus walrus {n}", title="walrus", at=NOW + n, tags=("theirs",)) for n in range(50)], NOW)
    assert by_words(store, query, Scope(tag="mine"), k=5) == [mine.id]
    assert by_words(store, query, Scope(until_ms=NOW), k=5) == [mine.id]
    assert by_words(store, query, Scope(since_ms=NOW - 30, until_ms=NOW - 29), k=5) == [mine.id]


def test_a_type_that_only_begins_alike_is_outside(store: Store, draft: Make, by_words: Words) -> None:
    same, *_others = store.put(
        [draft("walrus a", type="bug fix"), draft("walrus b", type="bug fix later"), draft("walrus c", type="fix")], NOW
    )
    assert by_words(store, "walrus", Scope(types=("bug fix",))) == [same.id]


ROWS = 2_500


@pytest.fixture(scope="module")
def crowd(engine: Engine, tmp_path_factory: pytest.TempPathFactory, make: Make) -> Iterator[Store]:
    """Enough rows with the same words that an engine has to bound its work."""
    store = engine.open(tmp_path_factory.mktemp("crowd"), "default")
    drafts = [make(f"timeout error {n}", project="github.com/acme/many", at=NOW + n) for n in range(ROWS)]
    drafts[1200] = make("timeout error walrus", project="github.com/acme/many", at=NOW + 1200)
    drafts += [make("error elsewhere", project="few", at=NOW), make("timeout only here", project="few", at=NOW)]
    store.put(drafts, NOW)
    yield store
    store.close()


def test_a_rare_word_wins_among_common_ones(crowd: Store) -> None:
    answer = ask(crowd, "timeout error walrus", k=10)
    best_hit = answer.hits[0]
    best = crowd.get([best_hit.item_id])[best_hit.item_id]
    assert best.body == "timeout error walrus"
    assert crowd.word_shares(answer, [best_hit.passage_id]) == pytest.approx({best_hit.passage_id: 1.0})


def test_only_common_words_answer_with_rows_that_hold_them_all(crowd: Store) -> None:
    answer = ask(crowd, "timeout error", k=10)
    assert len(answer.hits) == 10
    bodies = [item.body for item in crowd.get(hit.item_id for hit in answer.hits).values()]
    assert all("timeout" in body and "error" in body for body in bodies)
    assert shares_of_hits(crowd, answer) == pytest.approx([1.0] * 10)


def test_a_word_that_most_rows_hold_is_common_in_a_smaller_store_too(store: Store, draft: Make) -> None:
    stored = store.put([draft(f"timeout number {n}") for n in range(700)] + [draft("zebra timeout")], NOW)
    store.put([draft(f"something else {n}") for n in range(300)], NOW)
    assert ask(store, "timeout zebra", k=10).hits[0].item_id == stored[-1].id
    answer = ask(store, "timeout", k=10)
    assert len(answer.hits) == 10 and answer.total >= 701
    assert {hit.item_id for hit in answer.hits} <= {one.id for one in stored}
    assert shares_of_hits(store, answer) == pytest.approx([1.0] * 10)


@pytest.mark.parametrize("query", ["timeout", "timeout error", "timeout AND error", "time*"])
def test_a_common_word_keeps_to_a_small_project(crowd: Store, query: str) -> None:
    answer = ask(crowd, query, Scope(project="few"), k=10)
    bodies = {item.body for item in crowd.get(hit.item_id for hit in answer.hits).values()}
    expected = {
        "timeout": {"timeout only here"},
        "timeout error": {"timeout only here", "error elsewhere"},
        "timeout AND error": set(),
        "time*": {"timeout only here"},
    }
    assert bodies == expected[query]


@pytest.mark.parametrize("query", ["timeout", "timeout AND error", "timeout NOT zebra"])
def test_a_common_word_fills_a_large_project(crowd: Store, query: str) -> None:
    answer = ask(crowd, query, Scope(project="many"), k=20)
    items = crowd.get(hit.item_id for hit in answer.hits)
    assert len(items) == 20
    assert {item.project for item in items.values()} == {"github.com/acme/many"}
    assert answer.total >= 20


def test_a_filter_over_a_common_word_still_finds_its_one_row(crowd: Store) -> None:
    (hit,) = ask(crowd, "timeout AND walrus", k=10).hits
    assert crowd.get([hit.item_id])[hit.item_id].body == "timeout error walrus"


@pytest.mark.parametrize("query", ["timeout", "timeout error", "timeout AND error", "time*"])
@pytest.mark.parametrize(("since", "until"), [(None, NOW + 2_100), (NOW + 300, None), (NOW + 100, NOW + 2_400)])
def test_a_common_word_keeps_to_a_long_stretch_of_time(
    crowd: Store, query: str, since: int | None, until: int | None
) -> None:
    scope = Scope(since_ms=since, until_ms=until, project="many")
    answer = ask(crowd, query, scope, k=20)
    items = crowd.get(hit.item_id for hit in answer.hits)
    assert len(items) == 20 and answer.total >= 20
    assert all((since or 0) <= item.created_ms < (until or NOW + ROWS) for item in items.values())


@pytest.mark.parametrize("query", ["walrus", "timeout AND walrus", "error walrus"])
def test_a_rare_word_is_found_in_a_long_stretch_of_time_and_not_outside(crowd: Store, query: str) -> None:
    inside, outside = Scope(until_ms=NOW + 2_100), Scope(since_ms=NOW + 1_201)
    best = ask(crowd, query, inside, k=10).hits[0]
    assert crowd.get([best.item_id])[best.item_id].body == "timeout error walrus"
    others = crowd.get(hit.item_id for hit in ask(crowd, query, outside, k=10).hits)
    assert "timeout error walrus" not in {item.body for item in others.values()}
    if "error" not in query:
        answer = ask(crowd, query, outside, k=10)
        assert (answer.hits, answer.total) == ((), 0)
