"""Where projects stand, over HTTP."""

from __future__ import annotations

import httpx2

from .conftest import Remembered, conforms, refused


def test_a_project_says_where_it_stands(api: httpx2.Client, remembered: Remembered) -> None:
    remembered("Ships wait outside because the lock is slow.", type="decision", project="github.com/port/quay")
    remembered("Never moor at night", type="rule", project="quay")
    left = {"request": "Widen the lock", "next_steps": "Order the steel"}
    remembered(kind="summary", session="lock", project="quay", **left)
    answer = api.get("/api/v1/overview", params={"project": "quay"})
    conforms(answer, "GET", "/api/v1/overview")
    found = answer.json()
    assert (found["project"], found["name"], found["items"]) == ("github.com/port/quay", "quay", 3)
    assert [(one["what"], one["text"]) for one in found["open"]] == [("next step", "Order the steel")]
    assert [(one["statement"], one["reason"]) for one in found["decisions"]] == [
        ("Ships wait outside.", "The lock is slow.")
    ]
    assert [one["title"] for one in found["rules"]] == ["Never moor at night"]
    (card,) = found["sessions"]
    assert card["asked"] == "Widen the lock" and card["id"] == found["open"][0]["session"]
    assert found["story"][-1] == "One thing is still open: “Order the steel.”"


def test_all_projects_in_short(api: httpx2.Client, remembered: Remembered) -> None:
    remembered("Tides are read from the harbour's table: it is right.", type="decision", project="tides")
    answer = api.get("/api/v1/overviews", params={"limit": 50})
    conforms(answer, "GET", "/api/v1/overviews")
    tides = next(one for one in answer.json()["projects"] if one["name"] == "tides")
    assert tides["decision"]["reason"] == "It is right." and tides["open_count"] == 0 and tides["session"] is None
    assert len(api.get("/api/v1/overviews", params={"limit": 1}).json()["projects"]) <= 2


def test_an_unknown_project_is_refused_and_one_that_is_not_clear(api: httpx2.Client, remembered: Remembered) -> None:
    refused(api.get("/api/v1/overview", params={"project": "nosuch"}), 404, "NOT_FOUND")
    for owner in ("acme", "other"):
        remembered("Use tabs", type="rule", project=f"github.com/{owner}/twin")
    assert "may mean" in refused(api.get("/api/v1/overview", params={"project": "twin"}), 409, "CONFLICT")


def test_what_belongs_to_no_project(api: httpx2.Client, remembered: Remembered) -> None:
    remembered("Tea is served at four", type="fact")
    answer = api.get("/api/v1/overview")
    conforms(answer, "GET", "/api/v1/overview")
    assert answer.json()["project"] is None and "Tea is served at four" in str(answer.json()["facts"])
