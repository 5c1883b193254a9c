"""Items over HTTP: everything that can be done with them, and that each reply is what the document says."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from commonplace.model import DETAIL_FIELDS, KINDS

from .conftest import Remembered, conforms, refused

ITEMS = "/api/v1/items"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_remembered_with_its_fields(api: httpx2.Client, kind: str) -> None:
    lists = {"concepts", "files_read", "files_modified", "relevant_files", "paths"}
    names = DETAIL_FIELDS[kind]  # type: ignore[index]
    fields: dict[str, Any] = {name: ["a", "b"] if name in lists else f"Its-{name}" for name in names}
    more = {"session": "monday", "tags": ["t"], "importance": 7, "created_at_epoch": 1_742_049_000_000}
    answer = api.post(ITEMS, json={"kind": kind, "title": f"A {kind}", "content": "Said", **fields, **more})
    conforms(answer, "POST", ITEMS)
    item = answer.json()
    assert answer.status_code == 201 and answer.headers["location"] == f"{ITEMS}/{item['id']}"
    for name, value in fields.items():
        assert item[name] == ("\n" if name == "paths" else ", ").join(value) if isinstance(value, list) else value
    assert (item["session"], item["tags"], item["importance"]) == ("monday", ["t"], 7)
    assert item["created_at"] == "2025-03-15T14:30:00.000Z"


def test_the_same_again_is_found_and_gets_what_is_new(api: httpx2.Client) -> None:
    first = api.post(ITEMS, json={"content": "We deploy on Fridays", "tags": ["a"]})
    again = api.post(ITEMS, json={"content": "We deploy on Fridays", "tags": ["b"], "metadata": {"by": "me"}})
    conforms(again, "POST", ITEMS)
    assert (again.status_code, again.json()["duplicate"], again.json()["id"]) == (200, True, first.json()["id"])
    assert again.json()["tags"] == ["a", "b"] and again.json()["metadata"] == {"by": "me"}


def test_what_a_statement_contradicts_is_told(api: httpx2.Client) -> None:
    old = api.post(ITEMS, json={"content": "Sessions expire after 30 days", "type": "decision"}).json()
    new = api.post(ITEMS, json={"content": "Sessions expire after 14 days", "type": "decision"}).json()
    assert [(one["id"], one["reason"]) for one in new["contradicts"]] == [(old["id"], "number")]


def test_nulls_are_as_good_as_nothing(api: httpx2.Client) -> None:
    payload = {"content": "With nulls", "title": None, "tags": None, "project": None, "metadata": None, "paths": None}
    assert api.post(ITEMS, json=payload).status_code == 201


def test_a_batch_is_remembered_whole_or_not_at_all(api: httpx2.Client) -> None:
    two = [{"content": "Batched one"}, {"kind": "summary", "request": "Batched two"}]
    answer = api.post(f"{ITEMS}/batch", json={"items": two})
    conforms(answer, "POST", f"{ITEMS}/batch")
    assert (answer.status_code, answer.json()["stored"], answer.json()["duplicates"]) == (201, 2, 0)
    bad = api.post(f"{ITEMS}/batch", json={"items": [{"content": "Batched three"}, {"content": ""}]})
    assert "items[1]: There is nothing to remember" in refused(bad, 422, "VALIDATION_ERROR")
    assert api.get("/api/v1/search", params={"q": "batched AND three"}).json()["total"] == 0
    assert api.post(f"{ITEMS}/batch", json={"items": two}).json()["duplicates"] == 2


@pytest.mark.parametrize("count", [0, 501])
def test_a_batch_has_a_size(api: httpx2.Client, count: int) -> None:
    answer = api.post(f"{ITEMS}/batch", json={"items": [{"content": f"n{n}"} for n in range(count)]})
    assert "items:" in refused(answer, 422, "VALIDATION_ERROR")


def test_a_text_has_a_length(api: httpx2.Client) -> None:
    assert api.post(ITEMS, json={"content": "x" * 1_000_000}).status_code == 201
    assert "content:" in refused(api.post(ITEMS, json={"content": "x" * 1_000_001}), 422, "VALIDATION_ERROR")


def test_any_spelling_of_an_id_reads_the_item(api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered()
    for id_ in (item["id"], item["uid"], item["short_id"], item["uid"].upper(), f"%23{item['id']}"):
        answer = api.get(f"{ITEMS}/{id_}")
        conforms(answer, "GET", ITEMS + "/{id}")
        assert answer.json()["uid"] == item["uid"] and answer.headers["etag"] == '"r1"'


def test_pages_follow_each_other_without_a_gap(api: httpx2.Client, remembered: Remembered) -> None:
    made = [remembered(project="paged")["id"] for _ in range(7)]
    found, cursor = [], None
    while True:
        params: dict[str, Any] = {"project": "paged", "limit": 3} | ({"cursor": cursor} if cursor else {})
        answer = api.get(ITEMS, params=params)
        conforms(answer, "GET", ITEMS)
        found += [item["id"] for item in answer.json()["items"]]
        # What is written meanwhile is newer than every page to come.
        remembered(project="paged")
        if not (cursor := answer.json()["next_cursor"]):
            break
    assert found == made[::-1]


def test_a_list_is_narrowed(api: httpx2.Client) -> None:
    here = {"project": "narrow"}
    rule = api.post(ITEMS, json={"content": "A narrow rule", "type": "rule", "tags": ["Privacy"], **here}).json()
    seen = api.post(ITEMS, json={"content": "A narrow sight", "kind": "observation", **here}).json()
    free = api.post(ITEMS, json={"content": "A narrow fact for all", "type": "narrow-fact"}).json()

    def ids(**params: Any) -> list[int]:
        return [item["id"] for item in api.get(ITEMS, params=params).json()["items"]]

    assert ids(project="narrow") == [seen["id"], rule["id"]]
    assert ids(project="narrow", kind="observation") == [seen["id"]]
    assert ids(project="narrow", kind=["observation", "memory"], type="rule") == [rule["id"]]
    assert ids(project="narrow", tag="priv") == [rule["id"]]
    assert ids(**{"global": "true", "type": "narrow-fact"}) == [free["id"]]
    refused(api.get(ITEMS, params={"project": "never-heard-of"}), 404, "NOT_FOUND")


def test_a_change_changes_what_it_names(api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered(title="Before", tags=["old"], facts="One", metadata={"a": 1})
    path = f"{ITEMS}/{item['id']}"
    answer = api.patch(path, json={"title": "After", "tags": ["new"], "facts": "Two", "importance": 3})
    conforms(answer, "PATCH", ITEMS + "/{id}")
    changed = answer.json()
    assert (changed["title"], changed["tags"], changed["facts"], changed["importance"]) == ("After", ["new"], "Two", 3)
    assert (changed["content"], changed["metadata"], changed["rev"]) == (item["content"], {"a": 1}, 2)
    (before,) = api.get(f"{path}/history").json()["changes"]
    assert (before["rev"], before["op"], before["before"]["title"]) == (1, "edit", "Before")


def test_an_empty_change_changes_nothing(api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered()
    assert api.patch(f"{ITEMS}/{item['id']}", json={"title": None}).json()["rev"] == 1


def test_a_field_of_another_kind_is_a_conflict(api: httpx2.Client, remembered: Remembered) -> None:
    answer = api.patch(f"{ITEMS}/{remembered()['id']}", json={"open_questions": "Why?"})
    assert "is a memory" in refused(answer, 409, "CONFLICT")


def test_a_change_may_supersede(api: httpx2.Client, remembered: Remembered) -> None:
    old, new = remembered(), remembered()
    changed = api.patch(f"{ITEMS}/{new['id']}", json={"title": "Newer", "supersedes": str(old["short_id"])})
    assert changed.status_code == 200
    assert api.get(f"{ITEMS}/{old['id']}").json()["superseded_by"] == new["id"]


def test_forgetting_can_be_undone(api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered()
    path = f"{ITEMS}/{item['id']}"
    gone = api.delete(path)
    conforms(gone, "DELETE", ITEMS + "/{id}")
    assert gone.json()["forgotten"]["uid"] == item["uid"]
    refused(api.get(path), 404, "NOT_FOUND")
    refused(api.patch(path, json={"title": "x"}), 404, "NOT_FOUND")
    assert api.get(path, params={"forgotten": "true"}).json()["forgotten_at"] is not None
    assert api.delete(path).status_code == 200
    back = api.post(f"{path}/restore")
    conforms(back, "POST", ITEMS + "/{id}/restore")
    assert back.json()["forgotten_at"] is None and api.get(path).status_code == 200


def test_reverting_brings_back_what_was(api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered(title="First")
    path = f"{ITEMS}/{item['id']}"
    refused(api.post(f"{path}/revert"), 409, "CONFLICT")
    api.patch(path, json={"title": "Second"})
    back = api.post(f"{path}/revert")
    conforms(back, "POST", ITEMS + "/{id}/revert")
    assert (back.json()["title"], back.json()["rev"]) == ("First", 3)
    assert api.post(f"{path}/revert", json={"rev": 2}).json()["title"] == "Second"
    refused(api.post(f"{path}/revert", json={"rev": 99}), 404, "NOT_FOUND")


def test_one_takes_the_place_of_another(api: httpx2.Client, remembered: Remembered) -> None:
    old, new = remembered(), remembered()
    answer = api.post(f"{ITEMS}/{old['id']}/supersede", json={"by": str(new["id"])})
    conforms(answer, "POST", ITEMS + "/{id}/supersede")
    assert (answer.json()["superseded"]["id"], answer.json()["by"]["id"]) == (old["id"], new["id"])
    refused(api.post(f"{ITEMS}/{new['id']}/supersede", json={"by": str(old["id"])}), 409, "CONFLICT")
    refused(api.post(f"{ITEMS}/{new['id']}/supersede", json={"by": "nobody"}), 404, "NOT_FOUND")


def test_a_timeline_is_told_around_an_item(api: httpx2.Client, remembered: Remembered) -> None:
    ids = [remembered(project="timed", created_at_epoch=1_742_049_000_000 + n)["id"] for n in range(5)]
    answer = api.get(f"{ITEMS}/{ids[2]}/timeline", params={"before": 1, "after": 2})
    conforms(answer, "GET", ITEMS + "/{id}/timeline")
    assert [(one["id"], one["position"]) for one in answer.json()["timeline"]] == list(
        zip(ids[1:], [-1, 0, 1, 2], strict=True)
    )


def test_an_item_holds_for_a_time_and_a_moment_can_be_asked_for(api: httpx2.Client) -> None:
    here = {"project": "of-its-time"}
    new = {"content": "Ended walrus", "valid_from": "2020-01-01", "valid_until": "2020-05-31", **here}
    ended = api.post(ITEMS, json=new)
    conforms(ended, "POST", ITEMS)
    assert ended.json()["valid_until"] >= "2020-05-31" and "validity_from_text" not in ended.json()
    assert api.get(ITEMS, params=here).json()["items"] == []
    with_ended = api.get(ITEMS, params={"include_expired": True, **here})
    conforms(with_ended, "GET", ITEMS)
    assert [item["content"] for item in with_ended.json()["items"]] == ["Ended walrus"]
    changed = api.patch(f"{ITEMS}/{ended.json()['id']}", json={"valid_until": "none"})
    assert "valid_until" not in changed.json()
    found = api.get("/api/v1/search", params={"q": "walrus", **here}).json()["results"]
    assert [hit["valid_from"] >= "2019-12-31" for hit in found] == [True]
    before = api.get("/api/v1/search", params={"q": "walrus", "as_of": "2020-03-01", **here})
    assert before.json()["results"] == []
    for when in ("now", "today"):
        held = api.get("/api/v1/search", params={"q": "walrus", "as_of": when, **here}).json()["results"]
        assert [hit["content"] for hit in held] == ["Ended walrus"], when
    refused(api.post(ITEMS, json={"content": "x", "valid_until": "soon"}), 422, "VALIDATION_ERROR")
