"""Questions about conversations over HTTP: answers, words, assembled context, summaries and labels."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from commonplace.text.tokens import count_tokens

from .conftest import Site, conforms, refused

ALL = "/api/v1/conversations"
TALKS: dict[str, tuple[str, list[str]]] = {
    "API Design": (
        "/work/api",
        [
            "How do we version the REST API?",
            "We version the REST API in the path, because headers are easily lost. This was decided by everybody.",
            "Then the old version of the REST API stays for a year.",
        ],
    ),
    "Rate Limits": ("/work/api", ["Rate limiting counts the requests of each key.", "A bucket of tokens per key."]),
    "Private": ("/private/diary", ["I dreamt that the REST API had a version of its own."]),
    "Garden": ("/home", ["Tomatoes need water in the morning."]),
}


@pytest.fixture(scope="module")
def ids(api: httpx2.Client) -> dict[str, str]:
    """Some conversations, by label."""
    stored = {}
    for label, (folder, contents) in TALKS.items():
        messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(contents)]
        answer = api.post(ALL, json={"label": label, "folder": folder, "messages": messages})
        stored[label] = answer.json()["id"]
    return stored


def ask(api: httpx2.Client, query: str, **more: Any) -> dict[str, Any]:
    answer = api.post("/api/v1/query", json={"query": query, **more})
    conforms(answer, "POST", "/api/v1/query")
    data: dict[str, Any] = answer.json()
    return data


def test_answers_come_best_first_with_where_they_are_from(api: httpx2.Client, ids: dict[str, str]) -> None:
    reply = ask(api, "How is the REST API versioned?")
    assert reply["results"][0]["conversation_id"] == ids["API Design"] and reply["results"][0]["folder"] == "/work/api"
    scores = [row["score"] for row in reply["results"]]
    assert scores == sorted(scores, reverse=True) and 0 < scores[0] <= 1
    assert all(row["score"] == row["similarity"] and row["message_id"] == row["id"] for row in reply["results"])


def test_limit_and_offset_cut_the_same_list(api: httpx2.Client, ids: dict[str, str]) -> None:
    whole = ask(api, "REST API version", limit=100)
    assert whole["total"] == len(whole["results"]) >= 4
    parts = [ask(api, "REST API version", limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [row["id"] for part in parts for row in part["results"]] == [row["id"] for row in whole["results"]]
    assert [part["page"] for part in parts] == [1, 2, 3, 4]


def test_answers_may_be_from_some_conversations_only(api: httpx2.Client, ids: dict[str, str]) -> None:
    def labels(**filters: Any) -> set[str]:
        return {row["label"] for row in ask(api, "REST API version", filters=filters)["results"]}

    assert labels(folder="/private") == {"Private"} and labels(label="API Design") == {"API Design"}
    assert labels(labels=["Private", "API Design"]) == {"Private", "API Design"}
    assert labels(pinned=True) == set() == labels(pinned=True, archived=True)
    assert {row["label"] for row in ask(api, "API version", filter_labels=["Private"])["results"]} == {"Private"}


def test_words_are_looked_for_as_they_are(api: httpx2.Client, ids: dict[str, str]) -> None:
    for query, found in (
        ('"headers are easily lost"', 1),
        ("tomatoes", 1),
        ("vegetables", 0),
        ('an "unbalanced AND ( quote', None),
        ("someone@example.org", None),
        ("*", None),
    ):
        answer = api.post("/api/v1/search/fts", json={"query": query})
        conforms(answer, "POST", "/api/v1/search/fts")
        assert answer.json()["by_meaning"] is False
        assert found is None or answer.json()["total"] == found


def assembled(api: httpx2.Client, **more: Any) -> list[dict[str, Any]]:
    answer = api.post("/api/v1/context/assemble", json={"query": "version of the REST API", **more})
    conforms(answer, "POST", "/api/v1/context/assemble")
    rows: list[dict[str, Any]] = answer.json()
    return rows


def test_a_context_is_a_list_of_messages_with_citations(api: httpx2.Client, ids: dict[str, str]) -> None:
    rows = assembled(api)
    assert rows[0]["metadata"]["citation"]["label"] == "API Design"
    assert set(rows[0]["metadata"]["citation"]) == {"label", "folder", "timestamp"}
    assert rows[0]["role"] in ("user", "assistant") and rows[0]["metadata"]["whole"]
    assert len({row["id"] for row in rows}) == len(rows)
    scores = [row["metadata"]["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)


def test_folders_that_are_excluded_stay_out(api: httpx2.Client, ids: dict[str, str]) -> None:
    def folders(*excluded: str) -> set[str]:
        return {row["metadata"]["citation"]["folder"] for row in assembled(api, excluded_folders=list(excluded))}

    assert folders() >= {"/work/api", "/private/diary"}
    assert "/private/diary" not in folders("/private") and "/private/diary" in folders("/priv", "/private/d")
    assert folders("/") == set()


def test_preferred_labels_come_first_among_what_is_as_relevant(api: httpx2.Client, ids: dict[str, str]) -> None:
    rows = assembled(api, preferred_labels=["private"])
    assert rows[0]["metadata"]["citation"]["label"] == "Private"
    assert "Garden" not in {row["metadata"]["citation"]["label"] for row in assembled(api, preferred_labels=["Garden"])}


@pytest.mark.parametrize("budget", [1, 60, 120, 200, 400, 4000])
def test_a_context_fits_its_budget_as_it_is_written(api: httpx2.Client, ids: dict[str, str], budget: int) -> None:
    answer = api.post("/api/v1/context/assemble", json={"query": "REST API version", "context_budget": budget})
    assert answer.json() == [] or count_tokens(answer.text) <= budget
    assert budget < 120 or answer.json()


def test_a_long_message_is_shown_by_the_part_that_answers(api: httpx2.Client) -> None:
    filler = "\n\n".join(f"Paragraph {n} about the weather and the sea, and nothing else at all." for n in range(400))
    text = f"{filler}\n\nThe quokka lives on Rottnest Island.\n\n{filler}"
    api.post(ALL, json={"label": "Long", "messages": [{"role": "user", "content": text}]})
    answer = api.post("/api/v1/context/assemble", json={"query": "quokka Rottnest", "context_budget": 1500})
    (row,) = (row for row in answer.json() if "quokka" in row["content"])
    assert row["metadata"]["whole"] is False and count_tokens(answer.text) <= 1500


def test_a_smart_answer_has_a_context_too(api: httpx2.Client, ids: dict[str, str]) -> None:
    body = {"query": "REST API version", "token_budget": 300, "labels": ["API Design"]}
    answer = api.post("/api/v1/query/smart", json=body)
    conforms(answer, "POST", "/api/v1/query/smart")
    reply = answer.json()
    assert {row["label"] for row in reply["results"]} == {"API Design"}
    assert "[API Design, /work/api, " in reply["formattedContext"] and 0 < reply["estimatedTokens"] <= 300


@pytest.mark.parametrize("level", ["daily", "weekly", "monthly"])
def test_a_summary_is_made_of_what_was_said(api: httpx2.Client, ids: dict[str, str], level: str) -> None:
    by_body = api.post("/api/v1/summarize", json={"conversation_id": ids["API Design"], "level": level})
    conforms(by_body, "POST", "/api/v1/summarize")
    by_path = api.post(f"{ALL}/{ids['API Design']}/summary", params={"level": level})
    conforms(by_path, "POST", f"{ALL}/{{id}}/summary")
    assert by_path.json()["summary"] == by_body.json()["summary"]
    reply = by_body.json()
    assert (reply["level"], reply["method"], reply["message_count"]) == (level, "extractive", 3)
    assert "We version the REST API in the path" in reply["summary"]
    text = " ".join(TALKS["API Design"][1])
    assert all(sentence in text for sentence in reply["summary"].split(". "))


def test_a_level_looks_back_from_the_last_message(api: httpx2.Client) -> None:
    texts = [("2026-01-01", "one"), ("2026-01-20", "two"), ("2026-01-25", "three"), ("2026-01-26", "four")]
    messages = [
        {
            "role": "user",
            "content": f"Message {word} speaks of quite different things.",
            "timestamp": f"{day}T09:00:00Z",
        }
        for day, word in texts
    ]
    id_ = api.post(ALL, json={"label": "Month", "messages": messages}).json()["id"]
    for level, number in (("daily", 1), ("weekly", 3), ("monthly", 4)):
        reply = api.post("/api/v1/summarize", json={"conversation_id": id_, "level": level}).json()
        assert (reply["message_count"], "four" in reply["summary"]) == (number, True)
    for answer in (
        api.post("/api/v1/summarize", json={"conversation_id": id_, "level": "yearly"}),
        api.post(f"{ALL}/{id_}/summary", params={"level": "yearly"}),
    ):
        refused(answer, 400, "VALIDATION_ERROR")
    refused(api.post("/api/v1/summarize", json={"conversation_id": "nobody"}), 404, "NOT_FOUND")


def test_labels_of_conversations_like_it_are_suggested(api: httpx2.Client, ids: dict[str, str]) -> None:
    messages = [{"role": "user", "content": "Should the requests of a key be counted for rate limiting in a bucket?"}]
    id_ = api.post(ALL, json={"label": "Untitled", "messages": messages}).json()["id"]
    by_body = api.post("/api/v1/labels/suggest", json={"conversation_id": id_})
    conforms(by_body, "POST", "/api/v1/labels/suggest")
    by_path = api.post(f"{ALL}/{id_}/suggest-labels")
    conforms(by_path, "POST", f"{ALL}/{{id}}/suggest-labels")
    assert by_path.json() == by_body.json()["suggestions"]
    reply = by_body.json()
    assert (reply["top_suggestion"]["label"], reply["top_suggestion"]["folder"]) == ("Rate Limits", "/work/api")
    assert reply["top_suggestion"]["is_existing"] and "Untitled" not in {one["label"] for one in reply["suggestions"]}
    unkept = api.post("/api/v1/labels/suggest", json={"messages": messages, "count": 1})
    conforms(unkept, "POST", "/api/v1/labels/suggest")
    assert unkept.json()["conversation_id"] == "" and len(unkept.json()["suggestions"]) == 1
    refused(api.post("/api/v1/labels/suggest", json={}), 400, "VALIDATION_ERROR")
    refused(api.post(f"{ALL}/nobody/suggest-labels"), 404, "NOT_FOUND")


def test_a_message_looks_important_or_is_said_to_be(api: httpx2.Client, ids: dict[str, str]) -> None:
    messages = api.get(f"{ALL}/{ids['API Design']}").json()["messages"]
    plain, decided = messages[0]["id"], messages[1]["id"]
    answer = api.post(f"/api/v1/messages/{decided}/importance")
    conforms(answer, "POST", "/api/v1/messages/{id}/importance")
    assert answer.json()["importance_score"] > 5 and "weighty words" in answer.json()["reasoning"]
    by_body = api.post("/api/v1/messages/score", json={"message_id": decided})
    conforms(by_body, "POST", "/api/v1/messages/score")
    assert by_body.json() == answer.json()
    assert (
        api.post(f"/api/v1/messages/{plain}/importance", json={"importance_score": 9}).json()["importance_score"] == 9
    )
    assert api.post(f"/api/v1/messages/{plain}/importance").json()["factors"] == {"base": 9}
    memory = api.post("/api/v1/items", json={"content": "no message"}).json()["id"]
    refused(api.post(f"/api/v1/messages/{memory}/importance"), 404, "NOT_FOUND")
    refused(api.post("/api/v1/messages/score", json={"message_id": "nobody"}), 404, "NOT_FOUND")


@pytest.mark.promise("sekha:decided:one-memory")
def test_what_was_remembered_otherwise_answers_too(api: httpx2.Client, site: Site) -> None:
    api.post("/api/v1/items", json={"content": "The platypus lays eggs", "type": "fact"})
    (row,) = ask(api, "platypus")["results"]
    assert (row["conversation_id"], row["folder"], row["status"]) == ("", "/", None)
    (cited,) = api.post("/api/v1/context/assemble", json={"query": "platypus"}).json()
    assert cited["metadata"]["citation"]["folder"] == "/" and cited["content"] == "The platypus lays eggs"
