"""predict: what came next in situations like this, what cured the same error, and what was never cured."""

from __future__ import annotations

from typing import Any

import pytest
from tests.dialects.conftest import Call, calling
from tests.memory.past_work import DECISION, EXPIRES, GUARD, LIMITED, LOST, REFUSED, STYLED, UNREACHED, local, settle

from commonplace.errors import NoResults
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

CONTEXT = f"The checkout page shows this after login:\n\n{EXPIRES}\n    at render (src/checkout/page.ts:12:3)"


def summaries(reply: dict[str, Any]) -> list[str]:
    return [suggestion["summary"] for suggestion in reply["suggestions"]]


@pytest.mark.promise(
    "ecm:predict:like-past-issues",
    "ecm:predict.suggestions",
    "ecm:predict:suggestions.title",
    "ecm:predict:suggestions.relevance",
    "ecm:predict:suggestions.summary",
    "ecm:predict:suggestions.chunkId",
    "ecm:decided:cure",
    "ecm:decided:repeated",
)
def test_the_cure_of_the_same_error_comes_first(past: Call, wise_past: Call, memory: LocalMemory) -> None:
    for call in (past, wise_past):
        reply = call("predict", context=CONTEXT)
        first, second = reply["suggestions"][:2]
        assert first.keys() == {"title", "relevance", "summary", "chunkId"}
        assert {first["title"], second["title"]} == {
            "Repeated error, fixed before: Crash at login",
            "Repeated error, fixed before: Crash is back",
        }
        both = {first["summary"], second["summary"]}
        assert f"{GUARD} The login page works again for new customers. (2025-02-03, shop)" in both
        assert f"{LOST} (2025-03-03, shop)" in both
        relevances = [suggestion["relevance"] for suggestion in reply["suggestions"]]
        assert relevances == sorted(relevances, reverse=True) and 0.5 < relevances[0] <= 1.0
    cure = past("predict", context=CONTEXT)["suggestions"][0]
    assert cure["summary"].startswith(get_item(memory, cure["chunkId"]).text[:60])


@pytest.mark.promise("ecm:decided:unresolved")
def test_an_error_that_was_never_cured_is_said_to_be(past: Call, wise_past: Call) -> None:
    expected = f"{REFUSED} — nothing later in that session says it was solved. {UNREACHED} (2025-02-05, blog)"
    for call in (past, wise_past):
        for context in (f"npm run index fails: {REFUSED}", "let's continue with the full-text search of the blog"):
            reply = call("predict", context=context)
            unresolved = [one for one in reply["suggestions"] if one["title"].startswith("Unresolved: ")]
            assert [(one["title"], one["summary"]) for one in unresolved] == [
                ("Unresolved: Search for the blog", expected)
            ]


@pytest.mark.promise("ecm:decided:cure")
def test_a_cure_that_came_once_is_no_repeated_error(memory: LocalMemory) -> None:
    texts = ["Why? OSError: [Errno 28] No space left on device", "The cause was the log folder; I fixed its rotation."]
    store_conversation(
        memory,
        NewConversation(
            "Disk", [NewMessage("user", texts[0]), NewMessage("assistant", texts[1])], key="d", project="ops"
        ),
    )
    settle(memory)
    (one,) = calling(memory)("predict", context="Import stops: OSError: [Errno 28] No space left on device")[
        "suggestions"
    ]
    assert one["title"] == "Fixed before: Disk" and one["summary"].startswith(texts[1])


@pytest.mark.promise("ecm:predict:proactive", "ecm:predict:example-usage", "ecm:decided:not-repeated")
def test_what_came_next_is_told_and_not_what_is_said_already(past: Call) -> None:
    request = "Bots try thousands of passwords. How should we limit the rate of login attempts?"
    reply = past("predict", context=request)
    assert f"{LIMITED} (2025-02-10, shop)" in summaries(reply)[:2]
    assert not any(request in summary for summary in summaries(reply))
    reply = past("predict", context=f"{request}\n\n{LIMITED}")
    assert not any(LIMITED in summary for summary in summaries(reply))
    (first, *_rest) = past("predict", context="Switch the blog to the Inter font and make headings smaller.")[
        "suggestions"
    ]
    assert (first["title"], first["summary"]) == ("Fonts", f"{STYLED} (2025-03-14, blog)")


@pytest.mark.promise("ecm:decided:not-repeated")
def test_nothing_new_to_say_is_no_result(memory: LocalMemory) -> None:
    remember(memory, NewItem(content="The zebra sleeps standing up at night"))
    with pytest.raises(NoResults):
        calling(memory)("predict", context="We saw that the zebra sleeps standing up at night, all of them.")


@pytest.mark.promise("ecm:decided:context-is-text")
@pytest.mark.parametrize(
    "context",
    [
        'we saw "login page" AND title:crash',
        "the login page (crashes) NOT for old customers: type:error",
        f'{{"role": "user", "content": "the login page crashes", "error": "{EXPIRES}"}}',
        "> the *login* page crashes -- `readSession`",
    ],
)
def test_a_context_is_no_query(past: Call, context: str) -> None:
    assert any("login" in summary for summary in summaries(past("predict", context=context)))


@pytest.mark.promise("ecm:decided:context-is-text")
def test_the_end_of_a_long_context_counts(past: Call) -> None:
    long = "We talked about the weather in the mountains for a while. " * 2_000
    assert any(GUARD in summary for summary in summaries(past("predict", context=long + CONTEXT)))


@pytest.mark.promise("ecm:predict:limit")
def test_limit(past: Call) -> None:
    context = "Customers are logged out after an hour. Bots try thousands of passwords. Which font has the blog?"
    many = past("predict", context=context, limit=50)
    (one,) = past("predict", context=context, limit=1)["suggestions"]
    assert one == many["suggestions"][0]
    assert len(many["suggestions"]) > 2 and len(past("predict", context=context)["suggestions"]) <= 5


def test_one_session_gives_one_suggestion_and_small_talk_none(past: Call) -> None:
    reply = past("predict", context="the login page crashes, can we ship it for new customers?", limit=50)
    titles = [suggestion["title"] for suggestion in reply["suggestions"]]
    assert len(titles) == len(set(titles))
    assert not {"great, ship it", "thanks!"} & {summary.rsplit(" (", 1)[0] for summary in summaries(reply)}


def test_decisions_and_observations_are_suggested_by_their_own_titles(past: Call) -> None:
    reply = past("predict", context="Where should refresh tokens live, in Redis?")
    decided = next(one for one in reply["suggestions"] if DECISION in one["summary"])
    assert decided["title"].startswith("We keep refresh tokens in Postgres")


def test_an_error_in_a_note_is_not_taken_for_an_unresolved_one(memory: LocalMemory) -> None:
    text = "ValueError: bad month appears whenever the locale is Swiss; use babel there"
    remember(memory, NewItem(content=text, type="fact", created_ms=local("2025-03-01T12:00")))
    (one,) = calling(memory)("predict", context="import fails with ValueError: bad month")["suggestions"]
    assert not one["title"].startswith("Unresolved")
