"""Two spaces on one server: whoever has a key to one learns and changes nothing of the other, whatever id they stole.

Every route, tool, resource and prompt is tried, both ways, on both engines, and by the home space too. The tables of
the doors say what there is: one that is added there and not here fails.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.conftest import ENGINES
from tests.dialects.test_space_isolation import ASKED, FOLDER, LABEL, PROJECT, STOLEN, Loot, fill
from tests.http_server.conftest import JSON, bearer
from tests.postgres_server import PostgresServer
from tests.rest.conftest import DEADLINE, running

from commonplace import config
from commonplace.dialects.tool_profiles import DIALECTS, tools_of
from commonplace.library.verbs import VERBS as LIBRARY
from commonplace.mcp.resources_and_prompts import PROMPTS, TEMPLATES
from commonplace.memory import api_keys, spaces
from commonplace.memory.local_memory import LocalMemory, for_space, open_memory
from commonplace.memory.spaces import Limits
from commonplace.memory.sync_and_archive import sync_position
from commonplace.rest.endpoint import Endpoint
from commonplace.rest.endpoint_table import ENDPOINTS

TAKEN = {"content": "taken over"}
SAYS = [{"role": "user", "content": "taken over"}]


@dataclass(frozen=True, slots=True)
class Side:
    """A space, somebody with all rights in it, and what others could have stolen of it."""

    loot: Loot
    key: int
    prefix: str
    client: httpx2.Client

    @property
    def name(self) -> str:
        return self.loot.memory.settings.space

    def state(self) -> list[object]:
        """The last change of anything that the space holds, its streams, and who may use it."""
        memory = self.loot.memory
        return [
            *(sync_position(memory), memory.store.streams(0), replace(memory.store.counts(), bytes=0)),
            [(key.id, key.name, key.revoked_ms) for key in api_keys.list_keys(memory)],
            spaces.get_space(memory, self.name).limits,
        ]


@dataclass(frozen=True, slots=True)
class World:
    home: Side
    first: Side
    second: Side

    @property
    def thefts(self) -> Iterator[tuple[Side, Side]]:
        yield from ((self.first, self.second), (self.second, self.first), (self.home, self.first))


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("apart")
    more = {}
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        more["database_url"] = server.database(folder)
    payload = {"data_dir": str(folder / "data"), "embedder": "off", **more}
    settings = replace(config.load(payload), rate_limit=1e6, rate_burst=1_000_000, durability="normal")
    with running(settings) as site, closing(open_memory(settings)) as memory:
        made = [side(memory, name, site.url) for name in ("default", "first", "second")]
        yield World(*made)
        for one in made:
            one.client.close()
    if request.param == "postgres":
        server.leave(folder)


def side(home: LocalMemory, name: str, url: str) -> Side:
    if name != home.settings.space:
        spaces.create_space(home, name, Limits())
    key, secret = spaces.create_space_key(home, name, f"who has {name}", "admin")
    client = httpx2.Client(base_url=url, headers=bearer(secret), timeout=DEADLINE)
    return Side(fill(for_space(home, name)), key.id, key.prefix, client)


def learns_nothing(answer: httpx2.Response, owner: Side) -> None:
    assert answer.status_code < 500, answer.text
    for mark in (owner.loot.hidden, owner.prefix):
        assert mark not in answer.text, answer.text


# Routes.

# What {id} means below a path, as it could have been stolen.
IDS: dict[str, Callable[[Side], tuple[object, ...]]] = {
    "/api/v1/items/": lambda owner: owner.loot.items,
    "/api/v1/messages/": lambda owner: owner.loot.items,
    "/api/v1/review/": lambda owner: owner.loot.items,
    "/api/v1/profile/": lambda owner: owner.loot.items,
    "/api/v1/streams/": lambda owner: (owner.loot.stream,),
    "/api/v1/conversations/": lambda owner: owner.loot.talks,
    "/api/v1/keys/": lambda owner: (owner.key, owner.prefix),
    "/api/v1/spaces/": lambda owner: (owner.key, owner.prefix),
}
BODIES: dict[str, Callable[[Side], Any]] = {
    "PATCH /api/v1/items/{id}": lambda _owner: TAKEN,
    "POST /api/v1/items/{id}/supersede": lambda owner: {"by": str(owner.loot.items[0])},
    "POST /api/v1/profile/{id}": lambda _owner: {"show": "pinned"},
    "POST /api/v1/streams/{id}/chunks": lambda _owner: {"chunk": "taken over"},
    "PATCH /api/v1/conversations/{id}": lambda _owner: {"label": "Taken over"},
    "PUT /api/v1/conversations/{id}": lambda _owner: {"label": "Taken over"},
    "PUT /api/v1/conversations/{id}/label": lambda _owner: {"label": "Taken over"},
    "PUT /api/v1/conversations/{id}/folder": lambda _owner: {"folder": "/taken"},
    "PUT /api/v1/conversations/{id}/status": lambda _owner: {"status": "archived"},
    "POST /api/v1/conversations/{id}/messages": lambda _owner: {"messages": SAYS},
    "PATCH /api/v1/spaces/{name}": lambda _owner: {"max_items": 0},
    "POST /api/v1/spaces/{name}/keys": lambda _owner: {"name": "thief", "role": "admin"},
}
# Routes without an id in their path: queries, or bodies, of each attempt.
Attempts = Callable[[Side], list[dict[str, Any]]]


def saying(*attempts: dict[str, Any]) -> Attempts:
    return lambda _owner: list(attempts)


def of_talks(**more: Any) -> Attempts:
    return lambda owner: [{"conversation_id": str(id_), **more} for id_ in (*owner.loot.talks, owner.loot.talk)]


def named(owner: Side) -> list[dict[str, Any]]:
    """The items of a space as other stores name them."""
    return [{"what": "item", "name": id_} for id_ in owner.loot.items if len(str(id_)) == 36]


QUESTION = saying({"query": "walrus"}, {"query": "walrus", "limit": 50})
SESSIONS = saying({}, {"label": LABEL}, {"folder": FOLDER}, {"project": PROJECT})
HOOK_EVENT: dict[str, Any] = {
    "host": "claude-code",
    "kind": "prompt",
    "id": "an-event",
    "session": "a-session",
    "at_ms": 1_742_049_000_000,
    "text": "What do we know about the walrus?",
    "cwd": "/srv/cold",
    "folder": {"path": "/srv/cold", "project": PROJECT},
}
ASKED_BY_ROUTE: dict[str, Attempts] = {
    "GET /api/v1/items": saying({}, {"project": PROJECT}, {"tag": "cold"}),
    "POST /api/v1/items": saying(TAKEN),
    "POST /api/v1/items/batch": saying({"items": [TAKEN]}),
    "GET /api/v1/search": saying({"q": "walrus"}, {"q": "ice", "project": PROJECT}),
    "POST /api/v1/search": saying({"q": "walrus"}, {"q": "title:walrus OR ice*"}),
    "GET /api/v1/context": saying({"project": PROJECT}, {"project": PROJECT, "query": "walrus"}),
    "GET /api/v1/rules": saying({}, {"project": PROJECT}),
    "GET /api/v1/contradictions": saying({}, {"project": PROJECT}),
    "GET /api/v1/entities": saying({}, {"project": PROJECT}, {"kind": "file", "named": "ice"}),
    "GET /api/v1/about": saying({"name": "walrus"}, {"name": "ice.md"}, {"name": PROJECT}, {"name": "cold"}),
    "GET /api/v1/profile": saying({}, {"project": PROJECT}),
    "POST /api/v1/contradictions": lambda owner: [
        {"one": str(id_), "other": str(owner.loot.items[0]), "keep": "new"} for id_ in owner.loot.items
    ],
    "GET /api/v1/review": saying({}, {"project": PROJECT}),
    "GET /api/v1/streams": saying({}),
    "POST /api/v1/streams": saying({}),
    "GET /api/v1/conversations": SESSIONS,
    "GET /api/v1/conversations/count": SESSIONS,
    "GET /api/v1/sessions": SESSIONS,
    "POST /api/v1/conversations": saying({"label": LABEL, "folder": FOLDER, "messages": SAYS}),
    "POST /api/v1/messages/score": lambda owner: [{"message_id": str(id_)} for id_ in owner.loot.items],
    "POST /api/v1/query": QUESTION,
    "POST /api/v1/query/smart": QUESTION,
    "POST /api/v1/search/fts": QUESTION,
    "POST /api/v1/context/assemble": saying({"query": "walrus", "preferred_labels": [LABEL]}),
    "POST /api/v1/summarize": of_talks(),
    "POST /api/v1/labels/suggest": of_talks(),
    "GET /api/v1/prune/suggestions": saying({"threshold_days": 1, "importance_threshold": 10}),
    "POST /api/v1/prune/dry-run": saying({"threshold_days": 1, "importance_threshold": 10}),
    "POST /api/v1/prune/execute": lambda owner: [{"conversation_ids": [str(id_)]} for id_ in owner.loot.talks],
    "POST /api/v1/hooks/events": saying({"events": [HOOK_EVENT]}),
    "GET /api/v1/hooks/context": saying({"project": PROJECT}, {"project": PROJECT, "session": HOOK_EVENT["session"]}),
    "POST /api/v1/hooks/hints": saying({"moment": "prompt", "event": HOOK_EVENT}),
    "GET /api/v1/stats": saying({}, {"folder": FOLDER}, {"label": LABEL}),
    "GET /api/v1/export": saying({}, {"label": LABEL}, {"folder": FOLDER, "format": "markdown"}),
    "GET /api/v1/archive": saying({}),
    "POST /api/v1/import": saying({"conversations": [{"label": LABEL, "messages": SAYS}]}),
    "POST /api/v1/rebuild-embeddings": saying({}),
    "GET /mcp/tools": saying({}),
    "GET /api/v1/mcp/tools": saying({}),
    "POST /mcp/tools/memory_store": saying({"label": LABEL, "folder": FOLDER, "messages": SAYS}),
    "POST /mcp/tools/memory_search": QUESTION,
    "POST /mcp/tools/memory_update": of_talks(label="Taken over"),
    "POST /mcp/tools/memory_get_context": of_talks(),
    "POST /mcp/tools/memory_prune": saying({"threshold_days": 1, "importance_threshold": 10.0}),
    "POST /mcp/tools/memory_export": of_talks(),
    "POST /mcp/tools/memory_stats": saying({}, {"folder": FOLDER}),
    "POST /mcp/memory/search": QUESTION,
    "POST /mcp/memory/stats": saying({}),
    "POST /api/sdk/v1/context/get": saying({}, {"query": "walrus"}, {"query": "ice", "scope": {"projectId": PROJECT}}),
    "POST /api/sdk/v1/memories/add": saying({"content": TAKEN["content"]}),
    "POST /api/sdk/v1/memories/search": saying({"query": "walrus"}, {"query": "ice", "scope": {"projectId": PROJECT}}),
    "POST /api/sdk/v1/memories/list": saying({}, {"scope": {"projectId": PROJECT}}),
    "POST /api/sdk/v1/memories/edit": lambda owner: [
        {"id": str(id_), "content": "Taken over"} for id_ in owner.loot.items
    ],
    "POST /api/sdk/v1/memories/forget": lambda owner: [{"id": str(id_)} for id_ in owner.loot.items],
    "POST /api/sdk/v1/memories/bulk-forget": saying({"filters": {"all": True}, "dryRun": True}),
    "POST /api/sdk/v1/memories/vacuum": saying({}),
    "GET /api/v1/projects": saying({}),
    "GET /api/v1/overview": saying({}, {"project": PROJECT}),
    "GET /api/v1/overviews": saying({}),
    "POST /api/v1/projects/aliases": saying({"project": PROJECT, "alias": "pole"}),
    "GET /api/v1/status": saying({}),
    "GET /api/v1/keys": saying({}),
    "POST /api/v1/keys": saying({"name": "another"}),
    "GET /api/v1/spaces": saying({}),
    "POST /api/v1/spaces": saying({"name": "third"}),
    "GET /api/v1/sync": saying({}),
    "GET /api/v1/sync/changes": saying({}, {"project": PROJECT}),
    "GET /api/v1/sync/records": saying({}, {"project": PROJECT}),
    "POST /api/v1/sync/compare": lambda owner: [{"changes": [{**one, "digest": "0" * 32} for one in named(owner)]}],
    "POST /api/v1/sync/fetch": lambda owner: [{"names": named(owner)}],
    "POST /api/v1/sync/records": saying({"records": []}),
    "GET /api/v1/events": saying({"follow": "false"}),
    "GET /metrics": saying({}),
}
VERBS = "/api/v1/verbs/{verb}"
ROUTES = [one for one in ENDPOINTS if one.scope is not None and one.path != VERBS]


def row(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def test_every_route_is_tried() -> None:
    assert {row(one) for one in ROUTES if not one.params} == set(ASKED_BY_ROUTE)
    assert {row(one) for one in ROUTES if one.params and one.body and not one.body_optional} == set(BODIES)


@pytest.mark.parametrize("endpoint", [one for one in ROUTES if one.params], ids=row)
def test_no_route_finds_what_has_a_stolen_id(world: World, endpoint: Endpoint) -> None:
    ids = next(ids for path, ids in IDS.items() if endpoint.path.startswith(path))
    for thief, owner in world.thefts:
        if endpoint.tag == "Spaces" and thief is world.home:
            continue
        before = owner.state()
        body = BODIES[row(endpoint)](owner) if row(endpoint) in BODIES else None
        for id_ in ids(owner):
            path = endpoint.path.replace("{id}", str(id_)).replace("{name}", owner.name)
            answer = thief.client.request(endpoint.method, path, json=body)
            error = answer.json()
            reply = error.get("error_code") or error["error"]["code"]
            assert (answer.status_code, reply) == (404, "NOT_FOUND"), f"{path}: {answer.text}"
            # A refusal may repeat what it was asked for.
            assert owner.loot.hidden not in answer.text
        assert owner.state() == before


@pytest.mark.parametrize("endpoint", [one for one in ROUTES if not one.params], ids=row)
def test_no_route_tells_of_another_space(world: World, endpoint: Endpoint) -> None:
    for thief, owner in world.thefts:
        before = owner.state()
        for attempt in ASKED_BY_ROUTE[row(endpoint)](owner):
            asks = endpoint.body is None and not endpoint.takes
            query, body = (attempt, None) if asks else (None, attempt)
            answer = thief.client.request(endpoint.method, endpoint.path, params=query, json=body)
            learns_nothing(answer, owner)
            if thief is not world.home:
                assert f'"{owner.name}"' not in answer.text
        assert owner.state() == before


def with_items(name: str = "id", **more: Any) -> Attempts:
    return lambda owner: [{name: id_, **more} for id_ in owner.loot.items]


def with_talks(name: str = "id", **more: Any) -> Attempts:
    return lambda owner: [{name: id_, **more} for id_ in (*owner.loot.talks, owner.loot.talk)]


ASKED_BY_METHOD: dict[str, Attempts] = {
    **dict.fromkeys(("get", "history", "related", "contradictions", "timeline", "revert"), with_items()),
    **dict.fromkeys(("accept", "undo_review"), with_items()),
    **dict.fromkeys(("open_contradictions", "proposals", "entities", "profile"), saying({}, {"project": PROJECT})),
    "about": saying({"name": "walrus"}, {"name": "ice.md"}, {"name": PROJECT}),
    "show_in_profile": with_items(show="pinned"),
    "settle": lambda owner: [{"one": id_, "other": owner.loot.items[0], "keep": "new"} for id_ in owner.loot.items],
    "reopen": lambda owner: [{"one": id_, "other": owner.loot.items[0]} for id_ in owner.loot.items],
    **dict.fromkeys(
        ("forget", "restore", "get_many", "dismiss"), lambda owner: [{"ids": [id_]} for id_ in owner.loot.items]
    ),
    "edit": with_items(content="Taken over"),
    "supersede": lambda owner: [{"old": id_, "by": owner.loot.items[0]} for id_ in owner.loot.items],
    **dict.fromkeys(
        ("conversation", "forget_conversation", "restore_conversation", "export_conversation"), with_talks()
    ),
    "reconstruct": with_talks("session"),
    "append": with_talks("conversation", messages=[["user", "Taken over"]]),
    "update_conversation": with_talks(label="Taken over"),
    "search": saying({"query": "walrus"}, {"query": "ice", "tag": "cold"}),
    "list": saying({}, {"tag": "cold"}),
    "recall": saying({"question": "walrus", "min_score": 0}),
    "explain": saying({"topic": "walrus"}),
    "predict": saying({"context": "walrus on the ice"}),
    "report": saying({"since": "2000-01-01"}),
    "context": saying({"query": "walrus"}, {"project": PROJECT}),
    "session_context": saying({"project": PROJECT}),
    "overview": saying({}, {"project": PROJECT}),
    "close_step": saying({"step": "Hide the walrus", "project": PROJECT}),
    "rules": saying({"project": PROJECT}),
    "conversations": saying({}, {"label": LABEL}, {"folder": FOLDER}),
    **dict.fromkeys(("projects", "overviews", "topics", "sessions", "prune", "stats"), saying({})),
    "remember": saying({"content": TAKEN["content"]}),
    "add": saying({"new": {"content": TAKEN["content"]}}),
    "add_many": saying({"items": [{"content": TAKEN["content"]}]}),
    "store_conversation": saying({"label": LABEL, "messages": [["user", "Taken over"]]}),
}


ANSWERED = sorted(name for name, verb in LIBRARY.items() if verb.server == "verbs")


def test_every_method_of_the_library_is_tried() -> None:
    assert sorted(ASKED_BY_METHOD) == ANSWERED


@pytest.mark.parametrize("verb", ANSWERED)
def test_no_method_of_the_library_reaches_into_another_space(world: World, verb: str) -> None:
    for thief, owner in world.thefts:
        before = owner.state()
        for attempt in ASKED_BY_METHOD[verb](owner):
            answer = thief.client.post(VERBS.replace("{verb}", verb), json=attempt)
            assert answer.status_code in (200, 404), answer.text
            learns_nothing(answer, owner)
        assert owner.state() == before


def test_what_is_asked_is_found_at_home(world: World) -> None:
    """Else finding nothing of others would prove nothing."""
    for one in (world.first, world.second, world.home):
        for path in (
            "/api/v1/search?q=walrus",
            "/api/v1/about?name=walrus",
            f"/api/v1/items/{one.loot.items[1]}",
            "/api/v1/export",
        ):
            assert one.loot.hidden in one.client.get(path).text
        (own,) = [space for space in one.client.get("/api/v1/spaces").json()["spaces"] if space["name"] == one.name]
        assert own["items"] > 3 and own["keys"] > 0
        assert one.prefix in one.client.get("/api/v1/keys").text


def test_nothing_of_another_space_is_superseded(world: World) -> None:
    for thief, owner in world.thefts:
        before = owner.state()
        for stolen in owner.loot.items:
            own = f"/api/v1/items/{thief.loot.items[0]}"
            assert thief.client.post(f"{own}/supersede", json={"by": str(stolen)}).status_code == 404
            assert thief.client.patch(own, json={"supersedes": str(stolen)}).status_code == 404
        assert owner.state() == before


# Tools, resources and prompts.


def called(who: Side, method: str, **params: Any) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return who.client.post("/mcp", content=json.dumps(body), headers=JSON)


# The one get_context of both dialects is told what either is told.
NAMES = sorted({tool.name for tool in tools_of("all")})


def attempts(table: dict[str, Any], tool: str, loot: Loot) -> list[dict[str, Any]]:
    return [one for dialect in DIALECTS for one in table.get(f"{dialect}:{tool}", lambda _loot: [])(loot)]


@pytest.mark.parametrize("tool", NAMES)
def test_no_tool_reaches_into_another_space(world: World, tool: str) -> None:
    for thief, owner in world.thefts:
        before = owner.state()
        for arguments in attempts(STOLEN, tool, owner.loot):
            answer = called(thief, "tools/call", name=tool, arguments=arguments)
            learns_nothing(answer, owner)
            assert answer.json()["result"]["isError"] and "NOT_FOUND" in answer.text, answer.text
        for arguments in attempts(ASKED, tool, owner.loot):
            learns_nothing(called(thief, "tools/call", name=tool, arguments=arguments), owner)
        assert attempts(STOLEN, tool, owner.loot) or attempts(ASKED, tool, owner.loot)
        assert owner.state() == before


def test_no_resource_and_no_prompt_tells_of_another_space(world: World) -> None:
    for thief, owner in world.thefts:
        before = owner.state()
        learns_nothing(called(thief, "resources/list"), owner)
        for template in TEMPLATES:
            for id_ in owner.loot.items if "{id}" in template.uri_template else [""]:
                uri = (
                    template.uri_template.replace("{id}", str(id_))
                    .replace("{project}", "arctic")
                    .replace("{name}", "walrus")
                )
                learns_nothing(called(thief, "resources/read", uri=uri), owner)
        for prompt in PROMPTS:
            given = {"project": PROJECT, "task": "walrus", "what": "mine"}
            learns_nothing(called(thief, "prompts/get", name=prompt, arguments=given), owner)
        assert owner.state() == before
    uri = f"memory://item/{world.first.loot.items[0]}"
    assert world.first.loot.hidden in called(world.first, "resources/read", uri=uri).text


def test_a_key_works_in_its_own_space_only_and_as_long_as_it_works_there(world: World, tmp_path: Path) -> None:
    home = world.home.loot.memory
    key, secret = spaces.create_space_key(home, "second", "short", "reader")
    with httpx2.Client(base_url=world.home.client.base_url, headers=bearer(secret), timeout=DEADLINE) as client:
        assert client.get("/api/v1/status").json()["space"] == "second"
        assert client.post("/api/v1/items", json=TAKEN).status_code == 403
        assert client.get("/api/v1/spaces/second/keys").status_code == 403
    spaces.revoke_space_key(home, "second", key.id)
    with httpx2.Client(base_url=world.home.client.base_url, headers=bearer(secret + "0"), timeout=DEADLINE) as client:
        assert client.get("/api/v1/status").status_code == 401


def test_what_arrives_under_a_stolen_name_is_another(world: World) -> None:
    for thief, owner in world.thefts:
        before = owner.state()
        for stolen in named(owner):
            reply = thief.client.get("/api/v1/sync/records").json()["records"]
            mine = next(one for one in reply if one["what"] == "item" and one["fields"]["body"])
            arrived = {**mine, **stolen, "version": time.time_ns() // 1_000_000}
            arrived["fields"] = {**mine["fields"], "body": f"mine {stolen}"}
            answer = thief.client.post("/api/v1/sync/records", json={"records": [arrived]})
            assert answer.status_code == 200 and owner.loot.hidden not in answer.text
            assert thief.client.get(f"/api/v1/items/{stolen['name']}").json()["content"] == f"mine {stolen}"
        assert owner.state() == before


def test_a_conversation_with_a_stolen_id_is_another(world: World) -> None:
    for thief, owner in world.thefts:
        before = owner.state()
        reply = owner.client.get("/api/v1/sync/records").json()["records"]
        for stolen in (one for one in reply if one["what"] == "session" and not one["name"].startswith("mine ")):
            fields = {**stolen["fields"], "label": "mine", "project": None, "meta": {}}
            arrived = {"what": "session", "name": f"mine {stolen['fields']['uid']}", "version": 1, "fields": fields}
            answer = thief.client.post("/api/v1/sync/records", json={"records": [{**arrived, "history": []}]})
            assert answer.status_code == 200
            assert answer.json()["outcomes"][0]["result"] == "added"
        assert owner.state() == before
