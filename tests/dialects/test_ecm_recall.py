"""recall: chunks that answer by words and meaning, what stands next to them, and where each of them is from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.conftest import THEN
from tests.dialects.conftest import TOOLS, Call, calling
from tests.memory.past_work import BLOG, DECISION, LIMITED, LOST, REFRESHED, SET_UP, SHOP, STYLED, local, settle, work

from commonplace.dialects.tool_profiles import tools_of
from commonplace.errors import NoResults
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.remember import NewItem, remember
from commonplace.text.dates import local_day


def contents(reply: dict[str, Any]) -> list[str]:
    return [result["content"] for result in reply["results"]]


@pytest.mark.promise("ecm:tools:three", "ecm:decided:profiles")
def test_three_tools_in_their_own_profile_and_in_all() -> None:
    assert [tool.name for tool in tools_of("ecm")] == ["recall", "explain", "predict"]
    assert {tool.name for tool in tools_of("all")} >= {"recall", "explain", "predict"}


@pytest.mark.promise(
    "ecm:tools:parameters",
    "ecm:recall:query-required",
    "ecm:recall:limit-default",
    "ecm:recall:min-score-default",
    "ecm:explain:topic-required",
    "ecm:explain:depth-default",
    "ecm:explain:timeline-default",
    "ecm:predict:context-required",
    "ecm:predict:limit-default",
)
def test_parameters_are_those_of_the_reference() -> None:
    described = {
        name: {
            param: (schema["type"], schema.get("default"), param in TOOLS[name].input_schema()["required"])  # type: ignore[operator]
            for param, schema in TOOLS[name].input_schema()["properties"].items()  # type: ignore[attr-defined]
        }
        for name in ("recall", "explain", "predict")
    }
    assert described == {
        "recall": {
            "query": ("string", None, True),
            "limit": ("integer", 10, False),
            "minScore": ("number", 0.5, False),
        },
        "explain": {
            "topic": ("string", None, True),
            "depth": ("integer", 20, False),
            "includeTimeline": ("boolean", True, False),
        },
        "predict": {"context": ("string", None, True), "limit": ("integer", 5, False)},
    }


@pytest.mark.promise(
    "ecm:recall:example-usage",
    "ecm:recall:hybrid",
    "ecm:recall.results",
    "ecm:recall.graphContext",
    "ecm:recall:results.chunkId",
    "ecm:recall:results.content",
    "ecm:recall:results.score",
    "ecm:recall:results.session",
    "ecm:recall:results.cluster",
)
def test_how_did_we_implement_rate_limiting(wise_past: Call) -> None:
    reply = wise_past("recall", query="how did we implement rate limiting")
    first = reply["results"][0]
    assert first["content"] == LIMITED
    assert first.keys() == {"chunkId", "content", "score", "session", "cluster"}
    assert first["session"] == "shop-2025-02-10"
    assert isinstance(first["cluster"], str) and first["cluster"]
    assert 0.5 <= first["score"] <= 1.0


@pytest.mark.promise("ecm:recall:hybrid", "ecm:decided:score")
def test_what_means_the_same_is_found_best_first(wise_past: Call) -> None:
    reply = wise_past("recall", query="which typeface does the website have now?", minScore=0.2)
    assert STYLED in contents(reply)[:2]
    scores = [result["score"] for result in wise_past("recall", query="login", minScore=0.1)["results"]]
    assert len(scores) > 5 and scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)


@pytest.mark.promise("ecm:recall:min-score", "ecm:recall:limit")
def test_limit_and_min_score_narrow(past: Call) -> None:
    every = past("recall", query="login token", minScore=0)
    strong = past("recall", query="login token", minScore=0.6)
    assert 0 < len(strong["results"]) < len(every["results"])
    assert all(result["score"] >= 0.6 for result in strong["results"])
    (one,) = past("recall", query="login token", minScore=0, limit=1)["results"]
    assert one in every["results"]
    with pytest.raises(NoResults, match="No matching chunks found"):
        past("recall", query="login of the zebra quagga okapi", minScore=1)


@pytest.mark.promise(
    "ecm:recall:graph",
    "ecm:recall:graphContext.chunkId",
    "ecm:recall:graphContext.content",
    "ecm:recall:graphContext.relation",
    "ecm:recall:graphContext.hops",
    "ecm:decided:graph-beside",
    "ecm:decided:relation",
    "ecm:decided:small-talk",
)
def test_the_graph_tells_what_came_before_and_after(past: Call) -> None:
    reply = past("recall", query="openid-client")
    assert [content.splitlines()[0] for content in contents(reply)] == ["$ npm install openid-client"]
    near = {one["content"]: (one["relation"], one["hops"]) for one in reply["graphContext"]}
    assert near[f"Done. {SET_UP}"] == ("forward", 1)
    assert next(relation for content, relation in near.items() if content.startswith("I'll look")) == ("backward", 1)
    assert near["Let's set up OAuth login with Google for the shop. Customers should not need a password."] == (
        "backward",
        2,
    )
    assert "thanks!" not in near
    seen = {result["chunkId"] for result in reply["results"]}
    assert seen.isdisjoint(one["chunkId"] for one in reply["graphContext"])
    assert reply["graphContext"][0].keys() == {"chunkId", "content", "relation", "hops"}


@pytest.mark.promise("ecm:decided:relation")
def test_relation_is_about_time_and_not_about_the_order_of_writing(memory: LocalMemory) -> None:
    # What is ingested later may have happened earlier.
    for day, text in (
        ("10", "Renamed src/deploy/canary.yaml to stage"),
        ("05", "Wrote src/deploy/canary.yaml at first"),
    ):
        messages = [NewMessage("assistant", text, at_ms=local(f"2025-02-{day}T12:00"))]
        store_conversation(memory, NewConversation(f"s{day}", messages, key=f"s{day}", project="ops"))
    settle(memory)
    reply = calling(memory)("recall", query="stage", minScore=0)
    assert [(one["content"], one["relation"]) for one in reply["graphContext"]] == [
        ("Wrote src/deploy/canary.yaml at first", "backward")
    ]


@pytest.mark.promise("ecm:decided:any-lookup")
def test_chunk_ids_are_accepted_by_every_lookup(past: Call, memory: LocalMemory) -> None:
    long = "\n\n".join(f"Paragraph {n} of the report tells of the harvest at length. " * 9 for n in range(40))
    message = {"role": "user", "content": f"{long} At last: quinces."}
    past("memory_store", label="Report", folder="/farm", messages=[message])
    for query in ("quinces", "rate limiting", "refresh tokens in Postgres"):
        reply = past("recall", query=query, minScore=0)
        for chunk in (*reply["results"], *reply["graphContext"]):
            id_ = chunk["chunkId"]
            (record,) = past("get_observations", ids=[id_])["observations"]
            assert record["id"] == get_item(memory, id_).id
            assert past("timeline", anchor_id=id_)["timeline"]
            assert chunk["content"][:30].splitlines()[0] in f"{record['title']} {record['text']}"
    quinces = past("recall", query="quinces")["results"][0]
    assert quinces["content"].endswith("At last: quinces.") and "-" in quinces["chunkId"]
    assert past("memory_get_context", conversation_id=quinces["chunkId"])["label"] == "Report"
    assert quinces["session"] == "farm-2025-03-15"


@pytest.mark.promise("ecm:decided:session", "ecm:decided:one-memory")
def test_what_other_dialects_wrote_is_a_chunk_too(call: Call, memory: LocalMemory) -> None:
    call("add_memory", content="The walrus likes its water cold", type="fact")
    call("add_memory", content="The walrus pool has a pump", type="rule", project_id="github.com/zoo/pools")
    call(
        "memory_store",
        label="Feeding",
        folder="/zoo/sea life",
        messages=[{"role": "user", "content": "Feed the walrus"}],
    )
    details = {"narrative": "The walrus weighs a ton"}
    weighed = NewItem(kind="observation", title="Weighed the walrus", details=details, session="s1", project="zoo")
    remember(memory, replace(weighed, created_ms=local("2025-03-11T12:00")))
    found = {result["content"]: result for result in call("recall", query="walrus", minScore=0)["results"]}
    today = local_day(THEN)
    assert {content: result["session"] for content, result in found.items()} == {
        "The walrus likes its water cold": f"global-{today}",
        "The walrus pool has a pump": f"pools-{today}",
        "Feed the walrus": f"sea-life-{today}",
        "Weighed the walrus\nThe walrus weighs a ton": "zoo-2025-03-11",
    }
    assert {result["cluster"] for result in found.values()} == {None}


@pytest.mark.promise("ecm:decided:session")
def test_a_session_is_named_by_the_day_it_began(memory: LocalMemory) -> None:
    messages = [
        NewMessage("user", "quagga at night", at_ms=local("2025-02-01T23:50")),
        NewMessage("user", "quagga at dawn", at_ms=local("2025-02-02T06:00")),
    ]
    store_conversation(memory, NewConversation("Night", messages, key="n", project="github.com/acme/project-a"))
    sessions = {result["session"] for result in calling(memory)("recall", query="quagga", minScore=0)["results"]}
    assert sessions == {"project-a-2025-02-01"}


@pytest.mark.promise("ecm:decided:operators")
def test_a_query_with_operators_is_a_filter(past: Call) -> None:
    found = contents(past("recall", query="auth AND token"))
    assert found and all("auth/" in text and "oken" in text for text in found)
    assert set(contents(past("recall", query="redis AND bucket"))) == {LIMITED}
    assert set(contents(past("recall", query="redis NOT bucket"))) == {DECISION}
    assert set(contents(past("recall", query='"regression test"'))) == {LOST}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("readSession()", LOST),
        ("src/middleware/limit.ts", LIMITED),
        ("styles/base.css", STYLED),
        ("session.ts refresh", REFRESHED),
    ],
)
@pytest.mark.promise("ecm:decided:code")
def test_code_finds_what_names_it(past: Call, query: str, expected: str) -> None:
    assert expected in contents(past("recall", query=query, minScore=0.3))


@pytest.mark.promise("ecm:decided:languages")
def test_words_of_any_language_find(call: Call, memory: LocalMemory) -> None:
    remember(memory, NewItem(content="Die Anmeldung läuft über das Bürgerkonto"))
    remember(memory, NewItem(content="登录页面使用谷歌账号"))
    assert contents(call("recall", query="wie läuft die Anmeldung?")) == ["Die Anmeldung läuft über das Bürgerkonto"]
    assert contents(call("recall", query="谷歌账号")) == ["登录页面使用谷歌账号"]


@pytest.mark.promise("ecm:decided:near-duplicates")
def test_near_duplicates_are_told_once(call: Call, memory: LocalMemory) -> None:
    text = "The nightly backup of the orders database runs at three and is kept for thirty days in the vault"
    for n in range(5):
        remember(memory, NewItem(content=f"{text}." if n else text, session=f"s{n}", project="ops"))
    remember(
        memory, NewItem(content=f"{text} of Frankfurt, says the contract with the bank from last spring", project="ops")
    )
    reply = call("recall", query="nightly backup", minScore=0)
    assert len(reply["results"]) == 2 == reply["totalCount"]
    latest = call("recall", query="what did we do last?")
    assert latest["totalCount"] == 2


@pytest.mark.promise("ecm:decided:latest")
def test_what_did_we_do_last_is_answered_by_time(past: Call, wise_past: Call) -> None:
    for call in (past, wise_past):
        reply = call("recall", query="What did we do last?")
        assert contents(reply)[:2] == [STYLED, "Switch the blog to the Inter font and make headings smaller."]
        scores = [result["score"] for result in reply["results"]]
        assert scores == sorted(scores, reverse=True) and min(scores) > 0.5
        assert contents(call("recall", query="what did we do yesterday?"))[0] == STYLED
        assert contents(call("recall", query="what did we do last in the shop?"))[0] == LOST
        february = call("recall", query="what did we do last month?")
        assert {result["session"][-10:-3] for result in february["results"]} == {"2025-02"}
        with pytest.raises(NoResults):
            call("recall", query="what did we do today?")


@pytest.mark.promise("ecm:decided:latest")
def test_a_day_is_found_however_much_came_after_it(past: Call, memory: LocalMemory) -> None:
    for n in range(300):
        remember(
            memory, NewItem(content=f"watered plant {n} with {n * 3} drops", created_ms=local("2025-03-15T08:00") + n)
        )
    assert contents(past("recall", query="what happened on 2025-02-10?"))[0] == LIMITED
    assert past("recall", query="what happened yesterday?")["totalCount"] == 2


@pytest.mark.promise("ecm:decided:one-project")
def test_a_limited_book_knows_one_project_only(memory: LocalMemory) -> None:
    work(memory)
    remember(memory, NewItem(content="The font of the invoices is global", created_ms=local("2025-03-15T09:00")))
    call = calling(for_project(memory, BLOG))
    for name, argument in (("recall", "query"), ("explain", "topic")):
        with pytest.raises(NoResults):
            call(name, **{argument: "rate limiting token bucket"})
        with pytest.raises(NoResults):
            call(name, **{argument: "what did we do last in the shop?"})
    reply = call("recall", query="what did we do last?")
    assert {result["session"][:4] for result in reply["results"]} == {"blog"}
    assert "shop" not in str(call("explain", topic="search and login"))
    assert "shop" not in str(call("predict", context="the fonts and the login of the blog"))
    assert "blog" not in str(calling(for_project(memory, SHOP))("explain", topic="search and login"))


@pytest.mark.promise("ecm:errors:no-results")
def test_an_empty_store_has_no_results(call: Call) -> None:
    for name, argument in (("recall", "query"), ("explain", "topic"), ("predict", "context")):
        for question in ("rate limiting", "what did we do last?"):
            with pytest.raises(NoResults) as error:
                call(name, **{argument: question})
            assert error.value.message == "No matching chunks found"
            assert error.value.hint == "Try a broader query or check if sessions were ingested"


@pytest.mark.promise("ecm:decided:secrets")
def test_no_secret_leaves(call: Call, memory: LocalMemory) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    remember(memory, NewItem(content=f"The deploy of the walrus uses {secret} as its token", project="zoo"))
    for name, argument in (("recall", "query"), ("explain", "topic"), ("predict", "context")):
        assert secret not in str(call(name, **{argument: "walrus deploy"}))


def test_what_was_forgotten_is_no_chunk(past: Call, memory: LocalMemory) -> None:
    (chunk, *_rest) = past("recall", query="token bucket")["results"]
    forget_items(memory, [chunk["chunkId"]])
    reply = past("recall", query="token bucket", minScore=0)
    assert chunk["chunkId"] not in str(reply)
    assert LIMITED not in str(past("explain", topic="token bucket"))
