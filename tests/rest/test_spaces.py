"""Spaces over HTTP: what each key may see and do, and that a limit is told as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from .conftest import DEADLINE, Site, conforms, refused

ROUTE = "/api/v1/spaces"
ONE, KEYS = f"{ROUTE}/{{name}}", f"{ROUTE}/{{name}}/keys"


@pytest.fixture(scope="module")
def team(site: Site, api: httpx2.Client) -> Iterator[httpx2.Client]:
    """An admin of a space that the server's admin made."""
    made = api.post(ROUTE, json={"name": "team", "max_bytes": 1000})
    conforms(made, "POST", ROUTE)
    assert (made.status_code, made.json()["max_bytes"], made.json()["max_items"]) == (201, 1000, None)
    invited = api.post(f"{ROUTE}/team/keys", json={"name": "ada", "role": "admin"})
    conforms(invited, "POST", KEYS)
    bearer = {"Authorization": f"Bearer {invited.json()['secret']}"}
    with httpx2.Client(base_url=site.url, headers=bearer, timeout=DEADLINE) as client:
        yield client


def names(client: httpx2.Client) -> list[str]:
    answer = client.get(ROUTE)
    conforms(answer, "GET", ROUTE)
    return [space["name"] for space in answer.json()["spaces"]]


def test_each_sees_what_they_may(site: Site, api: httpx2.Client, team: httpx2.Client) -> None:
    assert set(names(api)) >= {"default", "team"} and names(team) == ["team"]
    with site.client("read") as reader:
        assert names(reader) == ["default"]
        refused(reader.get(f"{ROUTE}/default/keys"), 403, "FORBIDDEN")
    for client in (api, team):
        answer = client.get(f"{ROUTE}/team")
        conforms(answer, "GET", ONE)
        assert answer.json()["max_bytes"] == 1000
    assert refused(team.get(f"{ROUTE}/default"), 404, "NOT_FOUND") == "There is no space 'default'."


def test_an_admin_of_a_space_invites_into_that_one(api: httpx2.Client, team: httpx2.Client) -> None:
    made = team.post(f"{ROUTE}/team/keys", json={"name": "bob", "role": "reader", "expires_in_days": 3}).json()
    listed = team.get(f"{ROUTE}/team/keys")
    conforms(listed, "GET", KEYS)
    assert [key["name"] for key in listed.json()["keys"]] == ["ada", "bob"] and made["secret"] not in listed.text
    assert api.get(f"{ROUTE}/team/keys").json() == listed.json()
    gone = team.delete(f"{ROUTE}/team/keys/{made['id']}")
    conforms(gone, "DELETE", f"{KEYS}/{{id}}")
    assert gone.json()["state"] == "revoked"
    refused(team.post(f"{ROUTE}/default/keys", json={"name": "thief"}), 404, "NOT_FOUND")
    refused(team.post(ROUTE, json={"name": "mine"}), 403, "FORBIDDEN")
    refused(team.patch(f"{ROUTE}/team", json={"max_bytes": None}), 403, "FORBIDDEN")


def test_a_limit_is_told_as_one_and_what_is_not_named_stays(api: httpx2.Client, team: httpx2.Client) -> None:
    big = {"content": "walrus " * 200}
    reply = refused(team.post("/api/v1/items", json=big), 507, "QUOTA_EXCEEDED")
    assert "1,000 bytes" in reply
    assert team.get("/api/v1/items").json()["items"] == []
    batch = team.post("/api/v1/items/batch", json={"items": [{"content": "small"}, big]})
    assert batch.status_code == 507, batch.text
    changed = api.patch(f"{ROUTE}/team", json={"max_items": 1})
    conforms(changed, "PATCH", ONE)
    assert (changed.json()["max_items"], changed.json()["max_bytes"]) == (1, 1000)
    assert api.patch(f"{ROUTE}/team", json={"max_bytes": None}).json()["max_bytes"] is None
    made = team.post("/api/v1/items", json=big)
    assert made.status_code == 201
    path = f"/api/v1/items/{made.json()['id']}"
    refused(team.post("/api/v1/items", json={"content": "another"}), 507, "QUOTA_EXCEEDED")
    assert team.delete(path).status_code == 200
    assert team.post("/api/v1/items", json={"content": "another"}).status_code == 201
    refused(team.post(f"{path}/restore"), 507, "QUOTA_EXCEEDED")
    assert api.get(f"{ROUTE}/team").json()["items"] == 1


@pytest.mark.parametrize(
    "body", [{}, {"name": "a b"}, {"name": "x" * 65}, {"name": "x", "max_items": -1}, {"name": "x", "max": 1}]
)
def test_what_makes_no_sense_is_refused(api: httpx2.Client, body: dict[str, Any]) -> None:
    refused(api.post(ROUTE, json=body), 422, "VALIDATION_ERROR")


def test_a_name_is_given_once(api: httpx2.Client, team: httpx2.Client) -> None:
    refused(api.post(ROUTE, json={"name": "TEAM"}), 409, "CONFLICT")
