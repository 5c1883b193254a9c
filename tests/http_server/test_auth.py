"""Who may come in: keys, what each may do, and where it may do it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from functools import partial
from itertools import product

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from tests.http_server.conftest import bearer, memory_of
from tests.mcp.conftest import DEADLINE, ERAS, Served, data_of, play
from tests.polling import until

from commonplace.dialects.tool_profiles import ALL, DIALECTS
from commonplace.http_server.auth import FRESH_SECONDS, WRONG_BURST
from commonplace.memory import api_keys, streamed_memories
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope
from commonplace.rest.endpoint_table import ENDPOINTS

Serve = Callable[..., Served]


@pytest.fixture(scope="module")
def made(served: Served) -> dict[str, str]:
    """Keys of each sort, made beside the running server."""
    with contextlib.closing(memory_of(served)) as memory:
        return {
            "read": api_keys.create_key(memory, "reader", "read")[1],
            "write": api_keys.create_key(memory, "writer", "write")[1],
            "ours": api_keys.create_key(memory, "ours", "write", "github.com/acme/ours")[1],
        }


def get(served: Served, path: str, **headers: str) -> httpx2.Response:
    return httpx2.get(f"{served.url}{path}", headers=headers, timeout=DEADLINE)


@pytest.mark.parametrize(
    "path", ["/mcp", "/nowhere", "/api/v1/search", "/api/v1/openapi.json/x", "/healthy", "/mcp/tools"]
)
def test_without_a_key_there_is_no_way_in(served: Served, path: str) -> None:
    for headers in ({}, {"authorization": "Bearer"}, {"authorization": "Basic eDp5"}, {"x-api-key": ""}):
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
            reply = httpx2.request(method, f"{served.url}{path}", headers=headers, timeout=DEADLINE)
            assert (reply.status_code, reply.headers["www-authenticate"]) == (401, 'Bearer realm="commonplace"')
            body = reply.json()
            result = body | {"code": body["error_code"]} if "error_code" in body else body["error"]
            assert result["code"] == "UNAUTHORIZED" and result.keys() >= {"code", "message", "details"}


@pytest.mark.parametrize("path", ["/", "/health"])
def test_some_pages_are_for_anybody(served: Served, path: str) -> None:
    assert get(served, path).status_code == 200
    assert get(served, path, authorization="Bearer wrong").status_code == 200


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER   "])
def test_a_key_is_sent_as_people_send_it(served: Served, scheme: str) -> None:
    assert "total" in get(served, "/health", authorization=f"{scheme}{served.key}").json()
    assert "total" in get(served, "/health", **{"x-api-key": served.key}).json()


def test_a_wrong_key_is_not_told_from_an_unknown_one(served: Served) -> None:
    wrong = served.key[:-1] + ("0" if served.key[-1] != "0" else "1")
    seen = {get(served, "/nowhere", authorization=f"Bearer {key}").text for key in (wrong, "x", "sk-sekha-" + "0" * 48)}
    assert len(seen) == 1 and "not known" in seen.pop()


def test_a_wrong_key_is_an_invalid_token(serve: Serve) -> None:
    server = serve()
    with contextlib.closing(memory_of(server)) as memory:
        key, revoked = api_keys.create_key(memory, "gone")
        api_keys.revoke_key(memory, key.id)
    wrong = ("x", "sk-sekha-" + "0" * 48, revoked)
    assert 3 * len(wrong) < WRONG_BURST, "nobody has to wait"
    for path, secret in product(("/mcp", "/api/v1/items", "/api/v1/events"), wrong):
        reply = get(server, path, **bearer(secret))
        assert reply.status_code == 401
        text = reply.headers["www-authenticate"]
        assert text.startswith('Bearer realm="commonplace", error="invalid_token", error_description="This key ')


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp",
        "/mcp/.well-known/openid-configuration",
    ],
)
def test_clients_that_look_for_another_way_to_sign_in_find_none(served: Served, path: str) -> None:
    for headers in ({}, served.headers, bearer("wrong"), {"accept": "text/html"}):
        reply = get(served, path, **headers)
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "NOT_FOUND")
        assert "www-authenticate" not in reply.headers


def visit_token(server: Served) -> str:
    """The value of the cookie of somebody who signed in with the first key, an admin's."""
    (token,) = httpx2.post(f"{server.url}/login", data={"key": server.key}, timeout=DEADLINE).cookies.values()
    return token


def cookie_of(server: Served, token: str) -> dict[str, str]:
    return {"cookie": f"commonplace_visit_{server.url.rpartition(':')[2]}={token}"}


def test_the_cookie_of_a_visit_is_no_key(serve: Serve) -> None:
    server = serve(trusted_proxies="127.0.0.0/8")
    token = visit_token(server)
    assert get(server, "/search", **cookie_of(server, token)).status_code == 200
    addresses = (f"192.0.2.{n}" for n in range(250))
    ours = [one for one in ENDPOINTS if one.scope and one.path != "/api/v1/events"]
    routes = [(one.method, re.sub(r"{\w+(:\w+)?}", "1", one.path)) for one in ours]
    routes += [("POST", "/mcp"), ("POST", "/login")]
    with httpx2.Client(base_url=server.url, timeout=DEADLINE) as client:
        for headers in (bearer(token), {"x-api-key": token}):
            for method, path in routes:
                # Each from another address: many wrong keys from one make it wait.
                sent = headers | {"x-forwarded-for": next(addresses)}
                reply = client.request(method, path, headers=sent, data={"key": token} if path == "/login" else None)
                assert reply.status_code == 401, path
            assert client.get("/api/v1/events", headers=headers).status_code == 401
            assert client.get("/search", headers=headers).status_code == 303
        # Its cookie opens pages and what they listen to, and nothing else of the API.
        for method, path in routes:
            reply = client.request(
                method, path, headers=cookie_of(server, token), data={} if path == "/login" else None
            )
            assert reply.status_code == 401, path


@pytest.mark.parametrize("headers", [{}, {"authorization": "Basic eDp5"}, {"authorization": "Bearer"}])
def test_a_visit_makes_keys_only_by_a_form_of_its_own(served: Served, headers: dict[str, str]) -> None:
    token = visit_token(served)
    form = {"name": "stolen", "role": "admin"}
    sent = headers | cookie_of(served, token)
    reply = httpx2.post(f"{served.url}/settings/keys", data=form, headers=sent, timeout=DEADLINE)
    assert reply.status_code == 403
    with contextlib.closing(memory_of(served)) as memory:
        assert "stolen" not in [key.name for key in api_keys.list_keys(memory)]


def test_a_key_is_no_visit(served: Served) -> None:
    assert get(served, "/search", **cookie_of(served, served.key)).status_code == 303


def test_a_revoked_key_stops_working_within_seconds(serve: Serve) -> None:
    server = serve()
    with contextlib.closing(memory_of(server)) as memory:
        _key, secret = api_keys.create_key(memory, "short")
        assert get(server, "/nowhere", **bearer(secret)).status_code == 404
        api_keys.revoke_key(memory, secret)
    until(lambda: get(server, "/nowhere", **bearer(secret)).status_code == 401)
    assert FRESH_SECONDS < 5
    assert "revoked" in get(server, "/nowhere", **bearer(secret)).json()["error"]["message"]


def test_a_visit_that_ended_at_one_server_ends_at_all(serve: Serve) -> None:
    one, two = serve(), serve()
    (visit,) = httpx2.post(f"{one.url}/login", data={"key": one.key}, timeout=DEADLINE).cookies.values()

    def page(server: Served, method: str = "GET", path: str = "/search") -> httpx2.Response:
        cookie = f"commonplace_visit_{server.url.rpartition(':')[2]}={visit}"
        return httpx2.request(method, f"{server.url}{path}", headers={"cookie": cookie}, timeout=DEADLINE)

    assert [page(server).status_code for server in (one, two)] == [200, 200]
    assert page(one, "POST", "/logout").status_code == 303
    assert page(one).status_code == 303
    until(lambda: page(two).status_code == 303)


def test_an_expired_key_stops_working_at_once(serve: Serve) -> None:
    server = serve()
    with contextlib.closing(memory_of(server)) as memory:
        _key, secret = api_keys.create_key(memory, "short", expires_ms=memory.clock() + 3000)
        seen = set()
        while memory.clock() < api_keys.list_keys(memory)[-1].expires_ms + 10:  # type: ignore[operator]
            seen.add(get(server, "/nowhere", **bearer(secret)).status_code)
    assert 404 in seen
    assert "expired" in get(server, "/nowhere", **bearer(secret)).json()["error"]["message"]


def test_the_use_of_a_key_is_noted(served: Served) -> None:
    with contextlib.closing(memory_of(served)) as memory:
        _key, secret = api_keys.create_key(memory, "used")
        get(served, "/nowhere", **bearer(secret))
        until(lambda: api_keys.list_keys(memory)[-1].used_ms is not None)


def test_whoever_guesses_has_to_wait_and_nobody_else(serve: Serve) -> None:
    server = serve(trusted_proxies="127.0.0.0/8")
    get(server, "/nowhere", **bearer(server.key))

    def guess(address: str) -> httpx2.Response:
        return get(server, "/nowhere", authorization="Bearer guess", **{"x-forwarded-for": address})

    with httpx2.Client(base_url=server.url, timeout=DEADLINE) as client:
        headers = {"authorization": "Bearer guess", "x-forwarded-for": "192.0.2.1"}
        replies = [client.get("/nowhere", headers=headers)]
        while replies[-1].status_code == 401 and len(replies) < 10 * WRONG_BURST:
            replies.append(client.get("/nowhere", headers=headers))
    refused = replies[-1]
    assert refused.status_code == 429 and len(replies) > WRONG_BURST
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert guess("192.0.2.2").status_code == 401
    known = {"x-forwarded-for": "192.0.2.1"}
    assert get(server, "/nowhere", **bearer(server.key), **known).status_code == 404
    assert get(server, "/health", **known).status_code == 200


def test_a_good_key_comes_in_while_its_address_sends_wrong_ones(serve: Serve) -> None:
    server = serve()
    with contextlib.closing(memory_of(server)) as memory:
        secrets = [api_keys.create_key(memory, f"new {n}")[1] for n in range(24)]
    with httpx2.Client(base_url=server.url, timeout=DEADLINE) as client:
        wrong = [bearer("sk-sekha-" + f"{n:048x}") for n in range(10 * WRONG_BURST)]
        assert any(client.get("/nowhere", headers=headers).status_code == 429 for headers in wrong)
        # Keys that this server has not seen before.
        assert [client.get("/nowhere", headers=bearer(secret)).status_code for secret in secrets] == [404] * 24


def test_a_visit_that_is_over_costs_its_browser_nothing(served: Served) -> None:
    token = visit_token(served)
    with httpx2.Client(base_url=served.url, timeout=DEADLINE) as client:
        assert client.post("/logout", headers=cookie_of(served, token)).status_code == 303
        replies = [client.get("/search", headers=cookie_of(served, token)) for _ in range(2 * WRONG_BURST)]
    assert {reply.status_code for reply in replies} == {303}


def test_what_strangers_say_of_their_address_is_not_believed(serve: Serve) -> None:
    server = serve()
    with httpx2.Client(base_url=server.url, timeout=DEADLINE) as client:
        guesses = (
            client.get("/nowhere", headers={"authorization": "Bearer x", "x-forwarded-for": f"192.0.2.{n}"})
            for n in range(10 * WRONG_BURST)
        )
        assert any(reply.status_code == 429 for reply in guesses)


@pytest.mark.parametrize("era", ERAS)
def test_a_key_that_may_only_read_writes_nothing(served: Served, made: dict[str, str], era: str) -> None:
    async def story() -> None:
        async with served.client(era, made["read"]) as client:
            tools = (await client.list_tools()).tools
            refused = 0
            for tool in tools:
                assert tool.annotations is not None
                if not tool.annotations.read_only_hint:
                    done = await client.call_tool(tool.name, {})
                    assert done.is_error and data_of(done)["error"]["code"] == "FORBIDDEN", tool.name
                    assert data_of(done)["error"].keys() in (
                        {"code", "message", "details"},
                        {"code", "message", "suggestion"},
                    )
                    refused += 1
            assert refused >= 7
            assert not (await client.call_tool("search", {"query": "anything"})).is_error
        async with served.client(era, made["write"]) as client:
            assert not (await client.call_tool("add_memory", {"content": f"By a writer, {era}"})).is_error

    play(story)


# Besides everything, those whose tools are not the same there.
OWN_TOOLS = [name for name, tools in DIALECTS.items() if any(tool not in ALL for tool in tools)]


@pytest.mark.parametrize("profile", ["all", *OWN_TOOLS])
def test_a_key_for_one_project_sees_no_other_through_any_tool(serve: Serve, profile: str) -> None:
    server = serve(profile=profile)
    ours, theirs = "github.com/acme/ours", "github.com/acme/theirs"
    with contextlib.closing(memory_of(server)) as memory:
        _key, secret = api_keys.create_key(memory, "ours", "write", ours)
        mine = remember(memory, NewItem("A zebra of ours", type="rule", project=ours)).id
        their = remember(memory, NewItem("A zebra of theirs", type="rule", project=theirs)).id
        remember(memory, NewItem("A zebra of theirs was seen", kind="observation", project=theirs))
        remember(memory, NewItem("A zebra of theirs and of all", type="rule"))
        messages = [NewMessage("user", "A zebra of theirs said")]
        talk = store_conversation(memory, NewConversation("A zebra of theirs", messages, project=theirs)).session.uid
        stream = streamed_memories.start_stream(memory, project=theirs).id
        streamed_memories.append_to_stream(memory, stream, "A zebra of theirs")

    # Arguments that reach for what is not ours, by their names; each tool gets those it has.
    reaching = {
        "query": "zebra",
        "topic": "zebra",
        "context": "What about the zebra?",
        "minScore": 0.0,
        "id": str(their),
        "ids": [their],
        "anchor_id": their,
        "project": "theirs",
        "project_id": theirs,
        "stream_id": stream,
        "chunk": "zebra",
        "content": "A new zebra",
        "title": "zebra",
        "conversation_id": talk,
        "label": "zebra",
        "folder": "/",
        "messages": [{"role": "user", "content": "A new zebra"}],
    }

    async def story(era: str) -> None:
        async with server.client(era, secret) as client:
            for tool in (await client.list_tools()).tools:
                known = set(tool.input_schema["properties"])
                needed = set(tool.input_schema.get("required", ()))
                for wanted in (known & reaching.keys(), (known & reaching.keys() - {"project", "project_id"}) | needed):
                    done = await client.call_tool(tool.name, {name: reaching[name] for name in wanted})
                    assert "zebra of theirs" not in str(done.content) + str(done.structured_content), tool.name
            names = {tool.name for tool in (await client.list_tools()).tools}
            if "search" in names:
                found = data_of(await client.call_tool("search", {"query": "zebra"}))
                assert (
                    found["results"] if profile == "chatgpt" else mine in [row["id"] for row in found["observations"]]
                )
            if "add_memory" in names:
                refused = await client.call_tool("add_memory", {"content": "Not there", "project_id": theirs})
                assert refused.is_error and data_of(refused)["error"]["code"] == "FORBIDDEN"
            for uri in (
                "memory://rules",
                f"memory://item/{their}",
                "memory://project/theirs/context",
                "memory://project/theirs/rules",
                "memory://project/ours/rules",
            ):
                with contextlib.suppress(MCPError):
                    assert "of theirs" not in str(await client.read_resource(uri))
            assert "theirs" not in str(await client.list_resources())
            assert "of theirs" not in str(await client.get_prompt("start_task", {"project": "theirs", "task": "zebra"}))

    for era in ERAS:
        play(partial(story, era))
    with contextlib.closing(memory_of(server)) as memory:
        assert memory.store.get([their])[their].body == "A zebra of theirs"
        assert {item.body for item in memory.store.newest(Scope(project=theirs), 10)} == {
            "A zebra of theirs",
            "A zebra of theirs said",
            "A zebra of theirs was seen",
        }
        assert [one.chunks for one in memory.store.streams(0) if one.id == stream] == [1]


def test_a_key_for_one_project_sees_no_other_through_any_route(serve: Serve) -> None:
    server = serve()
    ours, theirs = "github.com/acme/ours", "github.com/acme/theirs"
    with contextlib.closing(memory_of(server)) as memory:
        _key, secret = api_keys.create_key(memory, "ours", "admin", ours)
        their = remember(memory, NewItem("A zebra of theirs", type="rule", project=theirs))
        remember(memory, NewItem("A zebra of ours", type="rule", project=ours))
        talk = store_conversation(
            memory, NewConversation("A zebra of theirs", [NewMessage("user", "A zebra of theirs")], project=theirs)
        ).session
    request_count = 0
    with httpx2.Client(base_url=server.url, headers=bearer(secret), timeout=DEADLINE) as client:
        for endpoint in ENDPOINTS:
            if endpoint.method != "GET" or "events" in endpoint.path:
                continue
            ids = (str(their.id), their.uid, talk.uid, str(talk.id), theirs, "theirs")
            for path in {re.sub(r"{\w+(:\w+)?}", id_, endpoint.path) for id_ in ids}:
                for query in ({}, {"query": "zebra", "q": "zebra"}, {"project": theirs, "query": "zebra"}):
                    reply = client.get(path, params=query)
                    assert "zebra of theirs" not in reply.text, f"{path} {query}"
                    request_count += reply.status_code == 200
        assert "zebra of ours" in client.get("/api/v1/items").text
        assert client.get("/api/v1/keys").status_code in (403, 404)
    assert request_count > 5
