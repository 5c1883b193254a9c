"""Entities and the profile over HTTP: listed, opened, pinned and hidden, with the rights of a key."""

from __future__ import annotations

import httpx2
import pytest

from .conftest import Remembered, Site, conforms, refused


def test_entities_are_listed_and_opened(api: httpx2.Client, remembered: Remembered) -> None:
    first = remembered("Quirin maintains lighthouse-api", type="fact", project="beacons")
    remembered("lighthouse-api uses InfluxDB", type="fact", project="beacons")
    answer = api.get("/api/v1/entities", params={"project": "beacons", "named": "lighthouse", "kind": "service"})
    conforms(answer, "GET", "/api/v1/entities")
    (entity,) = answer.json()["entities"]
    assert (entity["name"], entity["kind"], entity["items"]) == ("lighthouse-api", "service", 2)
    answer = api.get("/api/v1/about", params={"name": "LIGHTHOUSE-API"})
    conforms(answer, "GET", "/api/v1/about")
    known = answer.json()
    assert (known["name"], known["total"], known["authors"]) == ("lighthouse-api", 2, {"admin": 2})
    assert known["statements"][1]["id"] == first["id"]
    related = [(one["name"], one["relation"], one["outgoing"]) for one in known["related"]]
    assert related == [("InfluxDB", "uses", True)]


def test_a_relation_of_a_known_person_goes_both_ways(api: httpx2.Client, remembered: Remembered) -> None:
    remembered("Jonas maintains buoy-service", type="fact")
    for name, outgoing in (("Jonas", True), ("buoy-service", False)):
        (one,) = api.get("/api/v1/about", params={"name": name}).json()["related"]
        assert (one["relation"], one["outgoing"]) == ("maintains", outgoing)


@pytest.mark.parametrize(
    ("path", "query", "status", "code"),
    [
        ("/api/v1/about", {"name": "Nemo of nowhere"}, 404, "NOT_FOUND"),
        ("/api/v1/about", {"name": "Jonas", "project": "nosuch"}, 404, "NOT_FOUND"),
        ("/api/v1/about", {"name": " "}, 422, "VALIDATION_ERROR"),
        ("/api/v1/about", {}, 422, "VALIDATION_ERROR"),
        ("/api/v1/about", {"name": "Jonas", "as_of": "someday"}, 422, "VALIDATION_ERROR"),
        ("/api/v1/entities", {"kind": "robot"}, 422, "VALIDATION_ERROR"),
        ("/api/v1/entities", {"limit": 0}, 422, "VALIDATION_ERROR"),
        ("/api/v1/profile", {"project": "nosuch"}, 404, "NOT_FOUND"),
        ("/api/v1/contradictions", {"project": "nosuch"}, 404, "NOT_FOUND"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    api: httpx2.Client, path: str, query: dict[str, str], status: int, code: str
) -> None:
    answer = api.get(path, params=query)
    refused(answer, status, code)
    conforms(answer, "GET", path)


def test_the_profile_is_read_pinned_and_hidden(api: httpx2.Client, remembered: Remembered) -> None:
    tabs = remembered("I prefer tabs over spaces", type="note", project="profiled")
    foam = remembered("Foam is white", type="fact", project="profiled")
    request = {"project": "profiled"}
    answer = api.get("/api/v1/profile", params=request)
    conforms(answer, "GET", "/api/v1/profile")
    mine = [line for line in answer.json()["lines"] if line["project"] is not None]
    assert [(line["text"], line["group"], line["id"]) for line in mine] == [
        ("I prefer tabs over spaces", "preferences", tabs["id"])
    ]
    answer = api.post(f"/api/v1/profile/{foam['id']}", json={"show": "pinned"}, headers={"If-Match": '"r1"'})
    conforms(answer, "POST", "/api/v1/profile/{id}")
    assert answer.json()["tags"] == ["profile-pinned"]
    assert api.post(f"/api/v1/profile/{tabs['id']}", json={"show": "hidden"}).status_code == 200
    shown = api.get("/api/v1/profile", params=request).json()
    mine = [line for line in shown["lines"] if line["project"] is not None]
    assert [(line["text"], line["pinned"]) for line in mine] == [("Foam is white", True)]
    assert [item["id"] for item in shown["hidden"]] == [tabs["id"]]
    stale = api.post(f"/api/v1/profile/{foam['id']}", json={"show": "auto"}, headers={"If-Match": '"r1"'})
    refused(stale, 409, "CONFLICT")
    refused(api.post(f"/api/v1/profile/{foam['id']}", json={"show": "loudly"}), 422, "VALIDATION_ERROR")
    agent = {"X-Commonplace-Agent": "claude-code"}
    refused(api.post(f"/api/v1/profile/{foam['id']}", json={"show": "auto"}, headers=agent), 403, "FORBIDDEN")


def test_a_key_that_only_reads_changes_no_profile(site: Site, remembered: Remembered) -> None:
    item = remembered("I prefer the sea", type="note")
    with site.client("read") as reader:
        assert reader.get("/api/v1/profile").status_code == 200
        refused(reader.post(f"/api/v1/profile/{item['id']}", json={"show": "hidden"}), 403, "FORBIDDEN")
