"""What every endpoint does alike: refuse in one shape, ask for a key, name revisions, repeat answers."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from urllib.parse import urlsplit

import httpx2
import pytest

from commonplace.memory.items import get_item
from commonplace.memory.local_memory import open_memory

from .conftest import DEADLINE, Remembered, Site, refused

JSON = {"Content-Type": "application/json"}


def test_an_unknown_address_is_not_found(api: httpx2.Client) -> None:
    for path in ("/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/items/1/2/3", "/api/v1/items/"):
        assert path in refused(api.get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "TRACE", "PROPFIND"])
def test_a_wrong_method_is_told_the_right_ones(api: httpx2.Client, method: str) -> None:
    answer = api.request(method, "/api/v1/items")
    refused(answer, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET, POST, HEAD, OPTIONS"


def test_options_lists_the_methods(api: httpx2.Client) -> None:
    answer = api.options("/api/v1/search")
    assert (answer.status_code, answer.headers["allow"], answer.content) == (204, "GET, POST, HEAD, OPTIONS", b"")


def test_head_is_get_without_its_body(api: httpx2.Client, remembered: Remembered) -> None:
    path = f"/api/v1/items/{remembered()['id']}"
    whole, head = api.get(path), api.head(path)
    assert head.status_code == 200 and head.content == b""
    for name in ("etag", "content-length", "content-type"):
        assert head.headers[name] == whole.headers[name]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "empty"),
        (b"{", "not JSON"),
        (b'{"content": "\xff"}', "not UTF-8"),
        (b'{"content": NaN}', "not JSON"),
        (b"[" * 100_000, "nested too deeply to parse"),
        (b"[" * 101, "nested too deeply to parse"),
        (b'{"content": "x", "importance": ' + b"9" * 5000 + b"}", "number that is too long"),
        (b'{"content": "x", "metadata": ' + b'{"a":' * 60 + b"1" + b"}" * 60 + b"}", "nested deeper"),
        (b'"text"', "valid"),
        (b'{"content": "x", "colour": "red"}', "colour: There is no such field."),
        (b'{"content": "x", "kind": "thought"}', "does not match"),
        (b'{"content": 5}', "content: Input should be a valid string."),
        (b'{"content": " \\n "}', "nothing to remember"),
        (b'{"content": "x", "tags": ["ok", ""]}', "tags[1]: It must have a visible character."),
        (b'{"content": "x", "project": "../.."}', "project: A project is named like"),
    ],
)
def test_a_body_that_cannot_be_used_is_explained(api: httpx2.Client, body: bytes, says: str) -> None:
    answer = api.post("/api/v1/items", content=body, headers=JSON)
    assert says in refused(answer, 422, "VALIDATION_ERROR")


def test_what_is_wrong_besides_is_in_the_details(api: httpx2.Client) -> None:
    answer = api.post("/api/v1/items", json={"content": 1, "importance": 11})
    refused(answer, 422, "VALIDATION_ERROR")
    assert "importance:" in answer.json()["error"]["details"]


def test_another_kind_of_body_is_refused(api: httpx2.Client) -> None:
    answer = api.post(
        "/api/v1/items", content=b"content=x", headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert "x-www-form-urlencoded" in refused(answer, 415, "UNSUPPORTED_MEDIA")


def test_who_names_an_unknown_field_is_told_the_known_ones(api: httpx2.Client) -> None:
    answer = api.post("/api/v1/keys", json={"name": "k", "expires_at": "2030-01-01"})
    assert "expires_at" in refused(answer, 422, "VALIDATION_ERROR")
    assert answer.json()["error"]["details"] == "Those that exist: name, project, expires_in_days, scope."


def test_a_packed_body_is_refused_as_such(api: httpx2.Client) -> None:
    packed = gzip.compress(b'{"content": "x"}')
    for path in ("/api/v1/items", "/api/v1/import"):
        answer = api.post(path, content=packed, headers=JSON | {"Content-Encoding": "gzip"})
        assert "gzip" in refused(answer, 415, "UNSUPPORTED_MEDIA")


@pytest.mark.parametrize("type_", ["application/json; charset=utf-8", "application/merge-patch+json", ""])
def test_json_by_any_of_its_names_is_taken(api: httpx2.Client, type_: str) -> None:
    headers = {"Content-Type": type_} if type_ else {}
    answer = api.post("/api/v1/items", content=json.dumps({"content": f"Told as {type_}"}), headers=headers)
    assert answer.status_code == 201


def test_half_a_character_and_nul_are_replaced(api: httpx2.Client) -> None:
    body = b'{"content": "half \\ud800 and nul \\u0000", "metadata": {"\\udc00": "\\udfff"}}'
    data = api.post("/api/v1/items", content=body, headers=JSON).json()
    assert data["content"] == "half \ufffd and nul \ufffd" and data["metadata"] == {"\ufffd": "\ufffd"}


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("limit=0", "limit:"),
        ("limit=1001", "limit:"),
        ("limit=ten", "limit:"),
        ("limit=1.0", "limit:"),
        ("limit=", "limit:"),
        ("limit=+5", "limit:"),
        ("limit=1&limit=2", "limit is given twice."),
        ("global=yes", "global:"),
        ("kind=thought", "kind[0]:"),
        ("colour=red", "There is no query parameter 'colour' here."),
        ("cursor=made-up", "cursor"),
        ("project=", "project:"),
    ],
)
def test_a_query_that_cannot_be_used_is_explained(api: httpx2.Client, query: str, says: str) -> None:
    assert says in refused(api.get(f"/api/v1/items?{query}"), 422, "VALIDATION_ERROR")


def test_a_query_without_end_is_too_large(api: httpx2.Client) -> None:
    refused(api.get("/api/v1/items?" + "&".join(["kind=memory"] * 2001)), 413, "TOO_LARGE")


@pytest.mark.parametrize("id_", ["%20", "%23", "%00", "%FF", "999999999999999999999", "-1", "x" * 500, "..%5C", "é"])
def test_any_text_is_an_id_that_nothing_may_answer_to(api: httpx2.Client, id_: str) -> None:
    refused(api.get(f"/api/v1/items/{id_}"), 404, "NOT_FOUND")


def test_without_a_key_nothing_is_told(site: Site) -> None:
    with site.client("") as nobody:
        answer = nobody.get("/api/v1/items")
        refused(answer, 401, "UNAUTHORIZED")
        assert answer.headers["www-authenticate"] == 'Bearer realm="commonplace"'
        refused(nobody.get("/metrics"), 401, "UNAUTHORIZED")
        refused(nobody.get("/api/v1/nothing"), 401, "UNAUTHORIZED")
        assert nobody.get("/api/v1/openapi.json").status_code == 200


def test_a_key_does_what_it_may(site: Site) -> None:
    with site.client("read") as reader, site.client("write") as writer:
        assert reader.get("/api/v1/items").status_code == 200
        assert "can only read" in refused(reader.post("/api/v1/items", json={"content": "x"}), 403, "FORBIDDEN")
        assert writer.post("/api/v1/items", json={"content": "By a writer"}).status_code == 201
        refused(writer.get("/api/v1/keys"), 403, "FORBIDDEN")


def test_a_secret_is_neither_kept_nor_told(api: httpx2.Client) -> None:
    secret = "ghp_" + "a1B2" * 9
    data = api.post("/api/v1/items", json={"content": f"token {secret}", "metadata": {"note": secret}}).json()
    assert secret not in json.dumps(data) and "REDACTED" in data["content"]
    assert secret not in api.get(f"/api/v1/items/{secret}").text


def test_a_reader_who_has_it_already_is_not_sent_it_again(api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered()
    path = f"/api/v1/items/{item['id']}"
    tag = api.get(path).headers["etag"]
    for known in (tag, f'"other", W/{tag}', "*"):
        answer = api.get(path, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    api.patch(path, json={"title": "Another"})
    assert api.get(path, headers={"If-None-Match": tag}).status_code == 200


def test_every_page_has_a_tag_of_its_content(api: httpx2.Client, remembered: Remembered) -> None:
    tag = api.get("/api/v1/projects").headers["etag"]
    assert api.get("/api/v1/projects", headers={"If-None-Match": tag}).status_code == 304
    remembered(project="tagged-by-content")
    assert api.get("/api/v1/projects", headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [
        ("PATCH", "", {"title": "Changed"}),
        ("PATCH", "", {}),
        ("DELETE", "", None),
        ("POST", "/restore", None),
        ("POST", "/revert", {}),
        ("POST", "/supersede", {"by": "1"}),
    ],
)
@pytest.mark.parametrize("match", ['"r7"', '"r2", W/"r3"', "nonsense", ""])
def test_a_change_meant_for_another_revision_is_a_conflict(
    api: httpx2.Client, remembered: Remembered, method: str, tail: str, body: object, match: str
) -> None:
    path = f"/api/v1/items/{remembered()['id']}"
    answer = api.request(method, path + tail, json=body, headers={"If-Match": match})
    assert "revision 1" in refused(answer, 409, "CONFLICT")
    assert api.get(path).json()["rev"] == 1


def test_a_change_meant_for_this_revision_is_made(api: httpx2.Client, remembered: Remembered) -> None:
    path = f"/api/v1/items/{remembered()['id']}"
    first = api.patch(path, json={"title": "One", "rev": 1})
    assert first.headers["etag"] == '"r2"'
    assert api.patch(path, json={"title": "Two"}, headers={"If-Match": '"r2"'}).json()["rev"] == 3
    refused(api.patch(path, json={"title": "Three", "rev": 2}), 409, "CONFLICT")


def test_a_large_reply_is_packed_for_who_can_unpack_it(site: Site, api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered("long " * 5000)
    address = urlsplit(site.url)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), DEADLINE) as wire:
        wire.sendall(
            f"GET /api/v1/items/{item['id']} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n"
            f"Authorization: Bearer {site.secrets['read']}\r\nAccept-Encoding: gzip\r\n\r\n".encode()
        )
        raw = b"".join(iter(lambda: wire.recv(65536), b""))
    head, _, packed = raw.partition(b"\r\n\r\n")
    assert b"content-encoding: gzip" in head.lower() and len(packed) < 2000
    assert json.loads(gzip.decompress(packed))["id"] == item["id"]


def test_a_named_request_is_done_once(api: httpx2.Client) -> None:
    body = {"content": "Once and for all", "tags": ["a"]}
    first = api.post("/api/v1/items", json=body, headers={"Idempotency-Key": "order-1"})
    again = api.post("/api/v1/items", json=body, headers={"Idempotency-Key": "order-1"})
    assert (first.status_code, again.status_code) == (201, 201) and first.content == again.content
    assert "idempotency-replayed" not in first.headers and again.headers["idempotency-replayed"] == "true"
    assert again.headers["etag"] == first.headers["etag"] and again.headers["location"] == first.headers["location"]


def test_a_name_is_for_one_request_of_one_key(site: Site, api: httpx2.Client) -> None:
    named = {"Idempotency-Key": "order-2"}
    assert api.post("/api/v1/items", json={"content": "The first order"}, headers=named).status_code == 201
    another = api.post("/api/v1/items", json={"content": "Another order"}, headers=named)
    assert "another request" in refused(another, 422, "VALIDATION_ERROR")
    refused(api.delete("/api/v1/items/1", headers=named), 422, "VALIDATION_ERROR")
    with site.client("write") as other:
        assert other.post("/api/v1/items", json={"content": "Another order"}, headers=named).status_code == 201


@pytest.mark.parametrize("name", ["", "with space", "x" * 201])
def test_a_name_has_a_form(api: httpx2.Client, name: str) -> None:
    answer = api.post("/api/v1/items", json={"content": "x"}, headers={"Idempotency-Key": name})
    assert "Idempotency-Key" in refused(answer, 422, "VALIDATION_ERROR")


def test_a_refusal_is_repeated_too(api: httpx2.Client, remembered: Remembered) -> None:
    named = {"Idempotency-Key": "forget-it"}
    refused(api.delete("/api/v1/items/424242", headers=named), 404, "NOT_FOUND")
    again = api.delete("/api/v1/items/424242", headers=named)
    refused(again, 404, "NOT_FOUND")
    assert again.headers["idempotency-replayed"] == "true"


def test_what_cannot_be_understood_uses_no_name_up(api: httpx2.Client) -> None:
    named = {"Idempotency-Key": "order-3"}
    refused(api.post("/api/v1/items", json={"content": 5}, headers=named), 422, "VALIDATION_ERROR")
    assert api.post("/api/v1/items", json={"content": "Now it is right"}, headers=named).status_code == 201


def test_many_at_once_do_a_named_request_once(site: Site) -> None:
    barrier = threading.Barrier(8)
    answers: list[httpx2.Response] = []

    def order() -> None:
        with site.client() as client:
            barrier.wait(DEADLINE)
            body = {"type": "note", "tags": ["at-once"]}
            answers.append(client.post("/api/v1/streams", json=body, headers={"Idempotency-Key": "at-once"}))

    threads = [threading.Thread(target=order) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    made = {answer.json()["stream_id"] for answer in answers if answer.status_code == 201}
    assert len(made) == 1 and {answer.status_code for answer in answers} <= {201, 409}


def test_an_item_written_by_another_process_is_there(site: Site, api: httpx2.Client, remembered: Remembered) -> None:
    item = remembered()
    other = open_memory(site.memory.settings)
    try:
        assert get_item(other, item["id"]).uid == item["uid"]
    finally:
        other.close()
