"""Who may claim and change what, over each door of a real server, where agents only propose."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from tests.http_server.conftest import bearer, memory_of
from tests.mcp.conftest import DEADLINE, Served, data_of, play

from commonplace.memory import api_keys

AGENT = {"x-commonplace-agent": "claude-code"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("served"), "--port", "0", COMMONPLACE_AGENT_MEMORIES="proposed")
    yield server
    server.end()


@pytest.fixture(scope="module")
def anna(served: Served) -> str:
    with contextlib.closing(memory_of(served)) as memory:
        return api_keys.create_key(memory, "anna", "write")[1]


@pytest.fixture(scope="module")
def eve(served: Served) -> str:
    with contextlib.closing(memory_of(served)) as memory:
        return api_keys.create_key(memory, "eve", "write")[1]


def call(served: Served, key: str, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
    sent = {**bearer(key), **headers}
    return httpx2.request(method, f"{served.url}/api/v1{path}", json=body, headers=sent, timeout=DEADLINE)


def state(served: Served, key: str, item: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = call(served, key, "GET", f"/items/{item['id']}?forgotten=true").json()
    return found


def add(served: Served, key: str, content: str, **more: Any) -> dict[str, Any]:
    made = call(served, key, "POST", "/items", {"content": content, "type": "rule", **more})
    assert made.status_code == 201, made.text
    item: dict[str, Any] = made.json()
    return state(served, key, item)


def decided(served: Served, key: str, proposal: str, action: str) -> httpx2.Response:
    return call(served, key, "POST", f"/review/{proposal}/{action}")


CHANGES: dict[str, tuple[str, str, Any]] = {
    "edit": ("PATCH", "/items/{id}", {"content": "Do as you like"}),
    "expire": ("PATCH", "/items/{id}", {"expires": "2020-01-01"}),
    "tag": ("PATCH", "/items/{id}", {"tags": ["old"]}),
    "forget": ("DELETE", "/items/{id}", None),
    "verb edit": ("POST", "/verbs/edit", {"id": "{id}", "content": "Do as you like, really"}),
    "verb forget": ("POST", "/verbs/forget", {"ids": ["{id}"]}),
    "sdk edit": ("POST", "/sdk/v1/memories/edit", {"id": "{id}", "content": "Do as you like, please"}),
    "sdk forget": ("POST", "/sdk/v1/memories/forget", {"id": "{id}"}),
}


def filled(part: Any, item: dict[str, Any]) -> Any:
    if isinstance(part, str):
        return part.replace("{id}", item["short_id"])
    if isinstance(part, list):
        return [filled(one, item) for one in part]
    return {name: filled(value, item) for name, value in part.items()} if isinstance(part, dict) else part


@pytest.mark.parametrize("name", CHANGES)
def test_an_agents_change_over_rest_waits_for_a_person(served: Served, anna: str, name: str) -> None:
    item = add(served, anna, f"Zebras keep rule {name}")
    method, path, body = CHANGES[name]
    url = served.url + ("" if path.startswith("/sdk") else "/api/v1") + filled(path, item).removeprefix("/sdk/v1")
    if path.startswith("/sdk"):
        url = f"{served.url}/api/sdk/v1{path.removeprefix('/sdk/v1')}"
    sent = {**bearer(anna), **AGENT}
    reply = httpx2.request(method, url, json=filled(body, item), headers=sent, timeout=DEADLINE)
    assert reply.status_code in (200, 202), reply.text
    assert "ropose" in reply.text, reply.text
    assert state(served, anna, item) == item
    (waiting,) = (
        one for one in call(served, anna, "GET", "/review").json()["items"] if item["short_id"] in one["content"]
    )
    assert (waiting["author"], waiting["origin"]) == ("anna via claude-code", "agent")
    assert call(served, anna, "POST", f"/review/{waiting['id']}/accept", **AGENT).status_code == 403
    assert decided(served, anna, waiting["short_id"], "accept").status_code == 200
    after = state(served, anna, item)
    assert after["rev"] == item["rev"] + 1
    history = call(served, anna, "GET", f"/items/{item['id']}/history").json()["changes"]
    assert (history[-1]["author"], history[-1]["before"]["content"]) == ("anna", item["content"])
    assert decided(served, anna, waiting["short_id"], "undo").json()["review"] == "proposed"
    back = state(served, anna, item)
    changing = ("rev", "updated_at", "updated_at_epoch")
    assert {n: v for n, v in back.items() if n not in changing} == {n: v for n, v in item.items() if n not in changing}
    assert decided(served, anna, waiting["short_id"], "dismiss").status_code == 200


def test_an_agents_change_over_mcp_waits_and_its_reply_says_so(served: Served, anna: str) -> None:
    item = add(served, anna, "Quokkas never push to main")
    fact = add(served, anna, "The quokkas' database is PostgreSQL 15", type="fact")

    async def story() -> None:
        async with served.client("auto", anna) as client:

            async def said(tool: str, **arguments: Any) -> tuple[str, Any]:
                reply = await client.call_tool(tool, arguments)
                return reply.content[0].text, data_of(reply)  # type: ignore[union-attr]

            text, row = await said("edit_memory", id=item["short_id"], content="Quokkas push to main")
            assert text.startswith("Proposed, not done") and row["review"] == "proposed"
            text, row = await said("edit_memory", id=item["short_id"], expires="2020-01-01")
            assert text.startswith("Proposed, not done")
            text, row = await said("forget_memory", id=item["short_id"])
            assert text.startswith("Proposed, not done") and row["forgotten"] is False
            text, row = await said("add_memory", content="Quokkas use pnpm", type="rule")
            assert text.startswith("Proposed rule") and row["review"] == "proposed"
            text, row = await said("add_memory", content="The quokkas' database is MySQL 8", type="fact")
            text, row = await said("edit_memory", id=row["id"], supersedes=fact["short_id"])
            assert text.startswith("Proposed, not done")
            for refused in (
                {"id": row["id"], "tags": ["profile-hidden"]},
                {"id": row["id"], "metadata": {"both_hold": [fact["uid"]]}},
            ):
                reply = await client.call_tool("edit_memory", refused)
                assert reply.is_error and "own notes" in reply.content[0].text  # type: ignore[union-attr]
            reply = await client.call_tool(
                "add_memory", {"content": item["content"], "type": "rule", "tags": ["profile-hidden"]}
            )
            assert reply.is_error
            reply = await client.call_tool("start_memory_stream", {"tags": ["profile-pinned"]})
            assert reply.is_error

    play(story)
    assert state(served, anna, item) == item and state(served, anna, fact) == fact
    rules = call(served, anna, "GET", "/rules").text
    assert "Quokkas never push to main" in rules and "pnpm" not in rules


def test_agents_settle_review_and_pin_nothing_by_any_verb(served: Served, anna: str) -> None:
    one, other = add(served, anna, "Use tabs for okapis"), add(served, anna, "Never use tabs for okapis")
    pair = {"one": one["short_id"], "other": other["short_id"]}
    for path, body in (
        ("/verbs/settle", {**pair, "keep": "new"}),
        ("/verbs/settle", {**pair, "keep": "both"}),
        ("/verbs/reopen", pair),
        ("/contradictions", {**pair, "keep": "old"}),
        ("/contradictions", {**pair, "keep": None}),
        ("/verbs/accept", {"id": one["short_id"]}),
        ("/verbs/dismiss", {"ids": [one["short_id"]]}),
        ("/verbs/undo_review", {"id": one["short_id"]}),
        ("/verbs/show_in_profile", {"id": one["short_id"], "show": "pinned"}),
    ):
        reply = call(served, anna, "POST", path, body, **AGENT)
        assert reply.status_code == 403 and "yourself" in reply.text, (path, reply.text)
    for method, path, body in (
        ("PATCH", f"/items/{one['id']}", {"tags": ["profile-hidden"]}),
        ("PATCH", f"/items/{one['id']}", {"metadata": {"both_hold": [other["uid"]]}}),
        ("POST", "/items", {"content": "Pin me", "tags": ["profile-pinned"]}),
        ("POST", "/items/batch", {"items": [{"content": "Pin me", "metadata": {"same_as": [one["uid"]] * 20}}]}),
        ("POST", "/streams", {"tags": ["profile-pinned"]}),
    ):
        reply = call(served, anna, method, path, body, **AGENT)
        assert reply.status_code == 403 and "own notes" in reply.text, (path, reply.text)
    assert [state(served, anna, item) for item in (one, other)] == [one, other]


def record(served: Served, key: str, item: dict[str, Any]) -> dict[str, Any]:
    body = {"names": [{"what": "item", "name": item["uid"]}]}
    (found,) = call(served, key, "POST", "/sync/fetch", body).json()["records"]
    made: dict[str, Any] = found
    return made


def forged(source: dict[str, Any], uid: str, **fields: Any) -> dict[str, Any]:
    """The record of another item, or of another version of the same one."""
    made = copy.deepcopy(source)
    made["name"] = uid
    made["fields"].update(fields, title=fields.get("body", made["fields"]["title"]))
    return made


def sent(served: Served, key: str, *records: dict[str, Any], **headers: str) -> list[dict[str, Any]]:
    reply = call(served, key, "POST", "/sync/records", {"records": [*records]}, **headers)
    assert reply.status_code == 200, reply.text
    outcomes: list[dict[str, Any]] = reply.json()["outcomes"]
    return outcomes


def test_a_key_that_is_no_admin_names_no_other_author_by_records(served: Served, anna: str, eve: str) -> None:
    rule = add(served, anna, "Never deploy lemurs without a review")
    told = record(served, eve, rule)
    claims = {"author": "boss", "origin": "person", "review": None}
    new = forged(told, "01a1f03c-4a93-7000-9f03-525c181d01c9", body="The boss allows lemurs on Friday", **claims)
    new["history"] = [
        {"rev": 1, "op": "edit", "at_ms": 5, "author": "boss", "origin": "person", "before": before_of(new, "boss")}
    ]
    new["fields"]["rev"] = 2
    assert [one["result"] for one in sent(served, eve, new)] == ["added"]
    item = state(served, eve, {"id": new["name"]})
    assert (item["author"], item["origin"]) == ("eve via sync (as boss)", "person")
    (line,) = call(served, eve, "GET", f"/items/{new['name']}/history").json()["changes"]
    assert line["author"] == "eve via sync (as boss)" and line["before"]["author"] == "eve via sync (as boss)"
    assert call(served, eve, "GET", "/items?author=boss").json()["items"] == []

    own = forged(told, "01a1f03c-4a93-7000-9f03-525c181d01ca", body="Eve likes lemurs", author="eve via codex")
    sent(served, eve, {**own, "fields": {**own["fields"], "origin": "agent"}})
    item = state(served, eve, {"id": own["name"]})
    assert (item["author"], item["origin"]) == ("eve via codex", "agent")
    # What was told comes back as it was, whoever sends it.
    assert [one["result"] for one in sent(served, eve, told)] == ["unchanged"]
    assert state(served, anna, rule) == rule


def before_of(told: dict[str, Any], author: str) -> dict[str, Any]:
    names = ("type", "title", "details", "meta", "project", "tags", "importance", "forgotten_ms", "superseded_by")
    return {**{name: told["fields"][name] for name in names}, "body": "Earlier words", "author": author}


def test_what_a_record_replaces_is_in_the_history_with_who_sent_it(served: Served, anna: str, eve: str) -> None:
    rule = add(served, anna, "Never push giraffes without a review")
    told = record(served, eve, rule)
    fields = {"updated_ms": told["fields"]["updated_ms"] + 5, "rev": told["fields"]["rev"] + 1}
    changed = forged(told, told["name"], body="Always push giraffes without a review", **fields)
    changed["version"] += 5
    assert [one["result"] for one in sent(served, eve, changed)] == ["updated"]
    item = state(served, anna, rule)
    assert (item["content"], item["author"]) == ("Always push giraffes without a review", "eve via sync (as anna)")
    (line,) = call(served, anna, "GET", f"/items/{rule['id']}/history").json()["changes"]
    assert (line["op"], line["author"], line["before"]["content"]) == ("edit", "eve", rule["content"])
    assert line["before"]["author"] == "anna"
    reverted = call(served, anna, "POST", f"/items/{rule['id']}/revert")
    assert reverted.json()["content"] == rule["content"]


SPELLINGS: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "blanks": lambda uid: f" {uid} ",
    "digits": lambda uid: uid.replace("-", ""),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_record_leaves_its_trace_however_its_name_is_spelled(
    served: Served, anna: str, eve: str, spelling: str
) -> None:
    rule = add(served, anna, f"Never push tapirs in {spelling}")
    changed = forged(record(served, eve, rule), SPELLINGS[spelling](rule["uid"]), body=f"Push tapirs in {spelling}")
    changed["version"] += 5
    changed["fields"]["rev"] += 1
    assert [one["result"] for one in sent(served, eve, changed)] == ["updated"]
    assert state(served, anna, rule)["content"] == f"Push tapirs in {spelling}"
    (line,) = call(served, anna, "GET", f"/items/{rule['id']}/history").json()["changes"]
    assert (line["author"], line["before"]["content"]) == ("eve", rule["content"])


def test_the_history_says_whose_record_took_the_place_of_the_same_words(served: Served, anna: str, eve: str) -> None:
    rule = add(served, anna, "Never push wombats without a review")
    older = forged(record(served, eve, rule), "00a1f03c-4a93-7000-9f03-525c181d0111", author="eve")
    assert [one["result"] for one in sent(served, eve, older)] == ["same_as"]
    assert state(served, anna, rule)["superseded_by"] is not None
    (line,) = call(served, anna, "GET", f"/items/{rule['id']}/history").json()["changes"]
    assert (line["op"], line["author"], line["before"]["author"]) == ("supersede", "eve", "anna")


def test_no_later_record_of_an_agent_takes_the_place_of_a_persons_words(served: Served, anna: str) -> None:
    for number, place in enumerate((None, "github.com/acme/elsewhere")):
        animals = ("numbats", "bilbies")[number]
        rule = add(served, anna, f"Never push {animals} without a review")
        told = record(served, anna, rule)
        uid = f"00a1f03c-4a93-7000-9f03-525c181d012{number}"
        # Its own words first, or the same in another place; then the person's.
        body = f"{animals.capitalize()} are small" if place is None else rule["content"]
        first = forged(told, uid, body=body, project=place)
        later = forged(told, uid, rev=5, updated_ms=told["fields"]["updated_ms"] + 50)
        later["version"] += 50
        assert [one["result"] for one in sent(served, anna, first, **AGENT)] == ["added"]
        assert [one["result"] for one in sent(served, anna, later, **AGENT)] == ["updated"]
        assert state(served, anna, rule) == rule
        assert state(served, anna, {"id": uid})["review"] == "proposed"


def test_what_an_agent_sends_as_records_is_an_agents(served: Served, anna: str, eve: str) -> None:
    rule = add(served, anna, "Never push pandas without a review")
    told = record(served, eve, rule)
    claims = {"author": "eve", "origin": "agreed", "review": "accepted"}
    uid = "01a1f03c-4a93-7000-9f03-525c181d01cb"
    new = forged(told, uid, body="We use force pushes for pandas", **claims)
    assert [one["result"] for one in sent(served, eve, new, **AGENT)] == ["added"]
    item = state(served, eve, {"id": uid})
    assert (item["author"], item["origin"], item["review"]) == ("eve via claude-code", "agent", "proposed")
    later = {"updated_ms": told["fields"]["updated_ms"] + 5, "rev": told["fields"]["rev"] + 1}
    refused = (
        forged(told, told["name"], body="Always push pandas without a review", **later),
        forged(told, "01a1f03c-4a93-7000-9f03-525c181d01cc", body="Pandas are pinned", tags=["profile-pinned"]),
        forged(told, "01a1f03c-4a93-7000-9f03-525c181d01cd", body="Pandas hold", meta={"both_hold": [told["name"]]}),
    )
    for one in refused:
        one["version"] += 5
    outcomes = sent(served, eve, *refused, **AGENT)
    assert [one["result"] for one in outcomes] == ["failed"] * 3 and all(one["why"] for one in outcomes)
    older = forged(told, "00a1f03c-4a93-7000-9f03-525c181d01ce")
    sent(served, eve, older, **AGENT)
    assert state(served, anna, rule) == rule


def test_an_admin_brings_what_others_have_said(served: Served, anna: str) -> None:
    told = record(served, anna, add(served, anna, "Okapis are shy"))
    uid = "01a1f03c-4a93-7000-9f03-525c181d01cf"
    sent(served, served.key, forged(told, uid, body="The boss is shy", author="boss"))
    assert state(served, anna, {"id": uid})["author"] == "boss"
    uid = "01a1f03c-4a93-7000-9f03-525c181d01d0"
    sent(served, served.key, forged(told, uid, body="The boss is bold", author="boss"), **AGENT)
    assert state(served, anna, {"id": uid})["origin"] == "agent"


def test_nothing_private_is_stored_where_others_read_it(served: Served, anna: str) -> None:
    body = {"content": "Ada earns less than Bo", "type": "fact", "tags": ["Private"]}
    for headers in ({}, AGENT):
        refused = call(served, anna, "POST", "/items", body, **headers)
        assert refused.status_code == 403 and "own machine" in refused.json()["error"]["details"]
    item = add(served, anna, "Salaries are paid on the first")
    assert call(served, anna, "PATCH", f"/items/{item['id']}", {"tags": ["private"]}).status_code == 403
    brought = forged(
        record(served, anna, item), "01a1f03c-4a93-7000-9f03-525c181d02d0", body="Bo is ill", tags=["private"]
    )
    (outcome,) = sent(served, anna, brought)
    assert outcome["result"] == "failed" and "own machine" in outcome["why"]

    async def story() -> None:
        async with served.client(key=anna) as client:
            said = {"content": "Ada earns less than Bo", "type": "fact", "tags": ["private"]}
            result = await client.call_tool("add_memory", {**said, "project_id": "shop"})
            assert result.is_error and "private" in str(result.content)

    play(story)
    # Who looks after the server, and reads everything, may.
    mine = call(served, served.key, "POST", "/items", body)
    assert mine.status_code == 201, mine.text


def test_an_agent_tells_no_past_of_its_own_making(served: Served, anna: str) -> None:
    """Its record may have a history in which a person pinned the same: nobody said so here."""
    told = record(served, anna, add(served, anna, "Never push meerkats without a review"))
    uid = "01a1f03c-4a93-7000-9f03-525c181d0131"
    new = forged(told, uid, body="Meerkats are quick", type="fact", rev=2)
    before = {
        **before_of(new, "anna"),
        "type": "rule",
        "tags": ["profile-pinned"],
        "meta": {"both_hold": [told["name"]]},
        "origin": "person",
        "review": "accepted",
    }
    new["history"] = [{"rev": 1, "op": "edit", "at_ms": 5, "author": "anna", "origin": "person", "before": before}]
    assert [one["result"] for one in sent(served, anna, new, **AGENT)] == ["added"]
    assert call(served, anna, "GET", f"/items/{uid}/history").json()["changes"] == []
    # What it changed of words that are here is told as its change.
    own = record(served, anna, add_by_agent(served, anna, "Meerkats are small"))
    later = forged(own, own["name"], body="Meerkats are tall", rev=2, updated_ms=own["fields"]["updated_ms"] + 5)
    later["version"] += 5
    words = {**before_of(own, "anna"), "body": "Meerkats are small", "origin": "person"}
    later["history"] = [{"rev": 1, "op": "edit", "at_ms": 5, "author": "anna", "origin": "person", "before": words}]
    assert [one["result"] for one in sent(served, anna, later, **AGENT)] == ["updated"]
    (line,) = call(served, anna, "GET", f"/items/{own['name']}/history").json()["changes"]
    assert {line["author"], line["before"]["author"]} == {"anna via claude-code"}
    assert {line["origin"], line["before"]["origin"]} == {"agent"}


def add_by_agent(served: Served, key: str, content: str) -> dict[str, Any]:
    made = call(served, key, "POST", "/items", {"content": content, "type": "fact"}, **AGENT)
    assert made.status_code == 201, made.text
    item: dict[str, Any] = made.json()
    return item


def test_an_agent_goes_back_to_no_notes_of_ours(served: Served, anna: str) -> None:
    item = add(served, anna, "Wallabies hop", type="fact")
    for tags in (["profile-pinned"], ["plain"]):
        assert call(served, anna, "PATCH", f"/items/{item['id']}", {"tags": tags}).status_code == 200
    reply = call(served, anna, "POST", f"/items/{item['id']}/revert", **AGENT)
    assert reply.status_code == 403 and "own notes" in reply.text
    assert call(served, anna, "POST", f"/items/{item['id']}/revert").json()["tags"] == ["profile-pinned"]


def test_an_agents_record_forgets_no_conversation_with_what_people_decided(served: Served, anna: str, eve: str) -> None:
    talk = {"label": "Sessions", "messages": [{"role": "user", "content": "Where do sessions of gerbils live?"}]}
    made = call(served, anna, "POST", "/conversations", talk).json()
    (message,) = call(served, anna, "GET", f"/conversations/{made['id']}/messages").json()["messages"]
    body = {"names": [{"what": "item", "name": message["id"]}]}
    told, said = call(served, eve, "POST", "/sync/fetch", body).json()["records"]
    key = said["fields"]["session"]
    add(served, anna, "Sessions of gerbils live in Redis", type="decision", session=key)
    told["version"] += 5
    told["fields"].update(forgotten_ms=told["fields"]["updated_ms"] + 5, rev=told["fields"]["rev"] + 1)
    (outcome,) = sent(served, eve, told, **AGENT)
    assert outcome["result"] == "failed" and "person" in outcome["why"]
    assert call(served, anna, "GET", f"/conversations/{made['id']}").status_code == 200


def test_what_an_agent_imports_waits_like_what_it_adds(served: Served, anna: str) -> None:
    memories = [
        {"id": f"a{number}", "content": f"Imported ibexes {kind}", "type": kind}
        for number, kind in enumerate(("decision", "fact", "rule", "note"))
    ]
    reply = call(served, anna, "POST", "/import", {"memories": memories}, **AGENT)
    assert reply.json()["items"]["added"] == 4
    waiting = call(served, anna, "GET", "/review").json()["items"]
    found = {one["type"]: one for one in waiting if "Imported ibexes" in one["content"]}
    assert {*found} == {"decision", "fact", "rule", "note"}
    assert {(one["author"], one["origin"]) for one in found.values()} == {("anna via claude-code", "imported")}


def test_nobody_puts_words_into_the_stream_of_another(served: Served, anna: str, eve: str) -> None:
    stream = call(served, anna, "POST", "/streams", {"type": "rule"}).json()["stream_id"]
    path = f"/streams/{stream}"
    assert call(served, anna, "POST", f"{path}/chunks", {"chunk": "Never feed ocelots."}).status_code == 200
    for key, headers in ((anna, AGENT), (eve, {}), (eve, AGENT)):
        for step, body in (("chunks", {"chunk": " Agents may."}), ("finalize", None)):
            refused = call(served, key, "POST", f"{path}/{step}", body, **headers)
            assert refused.status_code == 403 and "somebody else" in refused.text

    async def through_a_tool() -> None:
        async with served.client("auto", anna) as client:
            reply = await client.call_tool("append_memory_chunk", {"stream_id": stream, "chunk": " Tools may."})
            assert reply.is_error

    play(through_a_tool)
    item = call(served, anna, "POST", f"{path}/finalize").json()["item"]
    assert (item["content"], item["author"]) == ("Never feed ocelots.", "anna")


@pytest.fixture(scope="module")
def accepting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server as it is by default: what agents add holds."""
    server = Served(tmp_path_factory.mktemp("accepting"), "--port", "0")
    yield server
    server.end()


def taken_away(served: Served, item: dict[str, Any], way: str) -> httpx2.Response:
    path = f"/items/{item['id']}"
    if way == "forgotten":
        return call(served, served.key, "DELETE", path)
    if way == "superseded":
        other = add(served, served.key, f"Not so: {item['content']}")
        return call(served, served.key, "POST", f"{path}/supersede", {"by": str(other["id"])})
    return call(served, served.key, "PATCH", path, {{"ended": "valid_until", "expired": "expires"}[way]: "2026-01-01"})


BROUGHT_BACK: dict[str, tuple[str, str, Any]] = {
    "said again": ("POST", "/items", {"content": "{content}", "type": "rule"}),
    "restored": ("POST", "/items/{id}/restore", None),
    "changed": ("PATCH", "/items/{id}", {"valid_until": "none", "expires": "none"}),
    "reverted": ("POST", "/items/{id}/revert", None),
}


@pytest.mark.parametrize("back", BROUGHT_BACK)
@pytest.mark.parametrize("away", ["forgotten", "superseded", "ended", "expired"])
def test_what_a_person_took_away_an_agent_only_proposes_to_bring_back(accepting: Served, away: str, back: str) -> None:
    item = add(accepting, accepting.key, f"Always feed lynxes that were {away} and {back}")
    assert taken_away(accepting, item, away).status_code == 200
    taken = call(accepting, accepting.key, "GET", f"/items/{item['id']}").text
    method, path, body = BROUGHT_BACK[back]
    said = body and {name: value.replace("{content}", item["content"]) for name, value in body.items()}
    call(accepting, accepting.key, method, path.replace("{id}", str(item["id"])), said, **AGENT)
    assert call(accepting, accepting.key, "GET", f"/items/{item['id']}").text == taken
    assert f"- {item['content']} (" not in call(accepting, accepting.key, "GET", "/hooks/context").json()["text"]


def record_of(served: Served, item: dict[str, Any]) -> dict[str, Any]:
    """An item as `sync` sends it."""
    names = {"names": [{"what": "item", "name": item["uid"]}]}
    record: dict[str, Any] = call(served, served.key, "POST", "/sync/fetch", names).json()["records"][-1]
    return record


@pytest.mark.parametrize("away", ["forgotten", "superseded", "ended", "expired"])
def test_nor_does_an_agents_record_bring_it_back(accepting: Served, away: str) -> None:
    item = add(accepting, accepting.key, f"Always feed ocelots that were {away}")
    before = record_of(accepting, item)
    assert taken_away(accepting, item, away).status_code == 200
    taken = record_of(accepting, item)
    back = copy.deepcopy(taken) | {"version": taken["version"] + 1000}
    for name in ("forgotten_ms", "superseded_by", "valid_until_ms", "expires_ms"):
        back["fields"][name] = before["fields"][name]
    (outcome,) = sent(accepting, accepting.key, back, **AGENT)
    assert outcome["result"] == "failed" and "Only a person can" in outcome["why"]
    assert record_of(accepting, item) == taken
    (outcome,) = sent(accepting, accepting.key, back)
    assert outcome["result"] != "failed"


def test_an_agents_record_does_not_take_the_tag_private_away(accepting: Served) -> None:
    item = add(accepting, accepting.key, "The ocelots' keeper is ill", tags=["private"])
    record = record_of(accepting, item)
    shared = copy.deepcopy(record) | {"version": record["version"] + 1000}
    shared["fields"]["tags"] = []
    (outcome,) = sent(accepting, accepting.key, shared, **AGENT)
    assert outcome["result"] == "failed" and "share what is private" in outcome["why"]
    assert record_of(accepting, item) == record


def test_an_agent_brings_back_what_it_took_away_itself(accepting: Served) -> None:
    item = add(accepting, accepting.key, "Always feed servals")
    for method, path in (("DELETE", ""), ("POST", "/restore")):
        reply = call(accepting, accepting.key, method, f"/items/{item['id']}{path}", **AGENT)
        assert reply.status_code == 200 and "ropose" not in reply.text
    assert state(accepting, accepting.key, item)["forgotten_at"] is None


def test_an_agent_is_told_that_what_it_adds_to_a_persons_statement_only_waits(served: Served, anna: str) -> None:
    rule = add(served, anna, "Never wake the tarsiers")

    async def story() -> None:
        async with served.client("auto", anna) as client:
            said = {"content": rule["content"], "type": "rule", "project_id": "global", "tags": ["night"]}
            reply = await client.call_tool("add_memory", said)
            assert reply.content[0].text.startswith("Proposed, not done")  # type: ignore[union-attr]

    play(story)
    assert state(served, anna, rule) == rule


def test_a_tool_that_is_called_without_the_protocol_is_an_agents_too(served: Served, anna: str) -> None:
    body = {"label": "Tools", "folder": "/", "messages": [{"role": "user", "content": "Where do the dingoes sleep?"}]}
    url, sent = f"{served.url}/mcp/tools/memory_store", bearer(anna)
    stored = httpx2.post(url, json=body, headers=sent, timeout=DEADLINE).json()["data"]
    (message,) = call(served, anna, "GET", f"/conversations/{stored['id']}/messages").json()["messages"]
    names = {"names": [{"what": "item", "name": message["id"]}]}
    said = call(served, anna, "POST", "/sync/fetch", names).json()["records"][-1]["fields"]
    assert (said["author"], said["origin"]) == ("anna via an agent", "agent")
