"""Who wrote something over HTTP: people by their keys, agents as agents, and a review that only people do."""

from __future__ import annotations

import contextlib
from typing import Any

import httpx2
import pytest
from tests.http_server.conftest import bearer, memory_of
from tests.mcp.conftest import DEADLINE, ERAS, Served, data_of, play

from commonplace.memory import api_keys


@pytest.fixture(scope="module")
def anna(served: Served) -> str:
    with contextlib.closing(memory_of(served)) as memory:
        return api_keys.create_key(memory, "anna", "write")[1]


def call(served: Served, key: str, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
    return httpx2.request(
        method,
        f"{served.url}/api/v1{path}",
        json=body,
        headers={**bearer(key), **{name.replace("_", "-"): value for name, value in headers.items()}},
        timeout=DEADLINE,
    )


def propose(served: Served, key: str, content: str, **more: str) -> dict[str, Any]:
    body = {"content": content, "type": "rule", "proposed": True, **more}
    made = call(served, key, "POST", "/items", body, x_commonplace_agent="reviewer (opus-4)")
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()
    return found


def test_a_person_is_known_by_the_name_of_the_key(served: Served, anna: str) -> None:
    made = call(served, anna, "POST", "/items", {"content": "Zebras are fed at noon"}).json()
    assert (made["author"], made["origin"], made["review"]) == ("anna", "person", None)
    for path, expected in (("?author=anna", 1), ("?author=ben", 0), ("?origin=captured", 0)):
        found = call(served, anna, "GET", f"/items{path}&limit=1000").json()["items"]
        assert sum(item["id"] == made["id"] for item in found) == expected, path
    assert call(served, anna, "GET", "/items?origin=king").status_code == 422


def test_who_edits_and_forgets_is_in_the_history(served: Served, anna: str) -> None:
    made = call(served, anna, "POST", "/items", {"content": "Zebras sleep at night"}).json()
    path = f"/items/{made['id']}"
    call(served, anna, "PATCH", path, {"content": "Zebras sleep standing"}, user_agent="claude-code/2.1")
    call(served, anna, "DELETE", path)
    changes = call(served, anna, "GET", f"{path}/history").json()["changes"]
    assert [(one["op"], one["author"], one["origin"]) for one in changes] == [
        ("edit", "anna via claude-code", "agent"),
        ("forget", "anna", "person"),
    ]


@pytest.mark.parametrize("era", ERAS)
def test_a_tool_call_is_an_agents_whatever_it_says(served: Served, anna: str, era: str) -> None:
    async def story() -> None:
        async with served.client(era, anna) as client:
            fields = {"content": f"Zebras are striped, {era}", "metadata": {"author": "anna", "origin": "person"}}
            row = data_of(await client.call_tool("add_memory", fields))
            assert row["author"].startswith("anna via ") and row["origin"] == "agent"

    play(story)


def test_a_proposal_is_accepted_changed_dismissed_and_undone(served: Served, anna: str) -> None:
    one, other = propose(served, anna, "Brush the zebra daily"), propose(served, anna, "Walk the zebra daily")
    assert (one["review"], one["author"]) == ("proposed", "anna via reviewer (opus-4)")
    waiting = call(served, anna, "GET", "/review").json()["items"]
    assert [item["id"] for item in waiting[:2]] == [other["id"], one["id"]]
    accepted = call(served, anna, "POST", f"/review/{one['id']}/accept").json()
    assert (accepted["review"], accepted["author"], accepted["origin"]) == ("accepted", "anna", "agreed")
    assert call(served, anna, "POST", f"/review/{one['id']}/accept").status_code == 409
    assert call(served, anna, "POST", f"/review/{one['id']}/undo").json()["review"] == "proposed"
    changed = call(served, anna, "POST", f"/review/{one['id']}/accept", {"content": "Brush it weekly"}).json()
    assert (changed["content"], changed["author"], changed["review"]) == ("Brush it weekly", "anna", None)
    dismissed = call(served, anna, "POST", f"/review/{other['id']}/dismiss").json()
    assert dismissed["forgotten_at"] is not None
    assert call(served, anna, "GET", f"/items/{other['id']}").status_code == 404
    assert call(served, anna, "POST", f"/review/{other['id']}/undo").json()["forgotten_at"] is None


def test_an_agent_over_http_reviews_nothing(served: Served, anna: str) -> None:
    item = propose(served, anna, "Feed the zebra cake")
    for action in ("accept", "dismiss", "undo"):
        for headers in ({"x_commonplace_agent": "reviewer"}, {"user_agent": "claude-code/2.1"}):
            reply = call(served, anna, "POST", f"/review/{item['id']}/{action}", **headers)
            assert reply.status_code == 403, (action, headers, reply.text)
    assert call(served, anna, "GET", f"/items/{item['id']}").json()["review"] == "proposed"


def test_a_key_for_one_project_reviews_no_other(served: Served, anna: str) -> None:
    with contextlib.closing(memory_of(served)) as memory:
        limited = api_keys.create_key(memory, "ours", "write", "github.com/acme/ours")[1]
        reader = api_keys.create_key(memory, "reader", "read")[1]
    ours = propose(served, anna, "Ours: brush the zebra", project="github.com/acme/ours")
    theirs = propose(served, anna, "Theirs: brush the zebra", project="github.com/acme/theirs")
    assert [item["id"] for item in call(served, limited, "GET", "/review").json()["items"]] == [ours["id"]]
    for action in ("accept", "dismiss", "undo"):
        assert call(served, limited, "POST", f"/review/{theirs['uid']}/{action}").status_code == 404
        assert call(served, reader, "POST", f"/review/{ours['id']}/{action}").status_code == 403
    assert call(served, limited, "POST", f"/review/{ours['id']}/accept").json()["author"] == "ours"


def test_why_is_told_where_it_is_asked_for(served: Served, anna: str) -> None:
    call(served, anna, "POST", "/items", {"content": "The quokka smiles at noon", "importance": 9})
    (plain,) = call(served, anna, "GET", "/search?q=quokka").json()["results"]
    (reply,) = call(served, anna, "GET", "/search?q=quokka&why=true").json()["results"]
    assert "why" not in plain and plain["author"] == "anna"
    assert reply["why"]["importance"] > 0 < reply["why"]["words"]
