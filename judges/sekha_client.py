"""Drives Sekha's own packages against a server, in the environment that has them: its Python SDK and `sekha-mcp`.

Called with the server's address and a key; prints how many calls were made, and what was wrong, as JSON.
Every method of the SDK is called, and the values that its types promise are looked at. Left out is
`complete_with_memory`, which reads attributes of a dictionary and fails with every server.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OLD = "2025-01-01T00:00:00Z"
MISSING = "00000000-0000-0000-0000-000000000000"
SAID = [
    {"role": "user", "content": "How can we optimize our database queries?", "timestamp": OLD},
    {"role": "assistant", "content": "Add an index; that was decided.", "timestamp": OLD},
]


class Calls:
    """Counts calls, and keeps what went wrong."""

    def __init__(self) -> None:
        self.checks = 0
        self.failures: list[str] = []

    async def call(self, name: str, made: Awaitable[Any], holds: Callable[[Any], object] = lambda _value: True) -> Any:
        """Make a call, and look at what it returns."""
        self.checks += 1
        try:
            value = await made
            if not holds(value):
                self.failures.append(f"{name} returned {json.dumps(value, default=str)[:300]}")
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what is looked for
            self.failures.append(f"{name} raised {type(error).__name__}: {str(error)[:300]}")
            return None
        return value

    async def fails(self, name: str, made: Awaitable[Any], kind: type[Exception]) -> None:
        """Make a call that should raise one of the SDK's own errors."""
        self.checks += 1
        try:
            await made
            self.failures.append(f"{name} did not fail")
        except kind:
            pass
        except Exception as error:  # noqa: BLE001 - see above
            self.failures.append(f"{name} raised {type(error).__name__} in place of {kind.__name__}")


class Bridge(BaseHTTPRequestHandler):
    """Stands for Sekha's bridge to language models: repeats how many messages it was sent."""

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._answer({"choices": [{"message": {"role": "assistant", "content": str(len(sent["messages"]))}}]})

    def do_GET(self) -> None:
        self._answer({"status": "healthy"})

    def log_message(self, *_args: object) -> None:
        """Say nothing."""

    def _answer(self, data: dict[str, Any]) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


async def sdk(url: str, key: str, bridge: str, calls: Calls) -> None:
    """The Python SDK: its controller, its tools, and the two together with a bridge."""
    from sekha import SekhaClient
    from sekha.errors import SekhaNotFoundError, SekhaValidationError
    from sekha.models import ConversationResponse, MessageDto, NewConversation, QueryResponse

    async with SekhaClient(controller_url=url, api_key=key, bridge_url=bridge) as sekha:
        api = sekha.controller
        new = NewConversation(messages=[MessageDto(**one) for one in SAID], label="Databases", folder="/work")
        stored = await calls.call(
            "create_conversation", _created(api, new), lambda output: output["message_count"] == 2
        )
        id_ = stored["id"] if stored else MISSING
        read = await calls.call(
            "get_conversation", api.get_conversation(id_), lambda output: ConversationResponse(**output)
        )
        message = read["messages"][1]["id"] if read else MISSING
        await calls.call(
            "list_conversations", api.list_conversations(label="Databases"), lambda output: output["results"]
        )
        await calls.call("count_conversations", api.count_conversations(folder="/work"), lambda output: output >= 1)
        await calls.call("update_label", api.update_label(id_, "Indexes", "/work/db"))
        await calls.call("update_folder", api.update_folder(id_, "/work"))
        for name in ("query", "smart_query"):
            await calls.call(
                name, getattr(api, name)("webhook retries", limit=20), lambda output: QueryResponse(**output)
            )
        await calls.call(
            "full_text_search", api.full_text_search("index"), lambda output: output["results"][0]["rank"] == 1
        )
        await calls.call(
            "assemble_context",
            api.assemble_context("database index"),
            lambda output: (
                output["messages"] and output["token_count"] and output["conversation_ids"] and output["labels"]
            ),
        )
        for level in ("daily", "weekly", "monthly"):
            await calls.call(f"summarize {level}", api.summarize(id_, level), lambda output: output["token_count"] > 0)
        await calls.call("generate_summary", api.generate_summary(id_), lambda output: output["summary"])
        await calls.call("prune_dry_run", api.prune_dry_run(), lambda output: output["total_reviewed"] >= 1)
        await calls.call("get_pruning_suggestions", api.get_pruning_suggestions(threshold_days=1), _pruned)
        await calls.call("suggest_labels", api.suggest_labels(id_), lambda output: output["conversation_id"] == id_)
        await calls.call(
            "auto_label", api.auto_label(id_, 0.99), lambda output: output is None or isinstance(output, str)
        )
        await calls.call("export", api.export(format="markdown"), lambda output: output.startswith("# "))
        await calls.call("export as JSON", api.export(format="json"), json.loads)
        await calls.call(
            "score_message_importance",
            api.score_message_importance(message),
            lambda output: output["factors"] and 1 <= output["score"] <= 10,
        )
        await calls.call("get_mcp_tools", api.get_mcp_tools(), lambda output: len(output) == 7)
        await calls.call("rebuild_embeddings", api.rebuild_embeddings())
        await calls.call("memory_stats", sekha.mcp.memory_stats({}), lambda output: output["total_tokens"] > 0)
        dates = {"labels": ["Indexes"], "start_date": "2024-12-01T00:00:00Z", "end_date": "2025-02-01T23:59:59Z"}
        await calls.call(
            "memory_stats by dates", sekha.mcp.memory_stats(dates), lambda output: output["total_messages"] == 2
        )
        await calls.call("memory_search", sekha.mcp.memory_search("index", limit=5), lambda output: output["results"])
        # It cannot send times: the SDK would not write them as JSON.
        untimed = [{"role": one["role"], "content": one["content"]} for one in SAID]
        await calls.call(
            "store_and_query",
            sekha.store_and_query(untimed, "index", label="Again"),
            lambda output: output["conversation"]["id"] and QueryResponse(**output["results"]),
        )
        await calls.call(
            "complete_with_context",
            sekha.complete_with_context("What was decided?", "database index"),
            lambda output: int(output["choices"][0]["message"]["content"]) > 2,
        )
        await calls.call(
            "health_check", sekha.health_check(), lambda output: output["controller"]["status"] == "healthy"
        )
        await calls.call("pin_conversation", api.pin_conversation(id_))
        await calls.call("archive_conversation", api.archive_conversation(id_))
        await calls.call("prune_execute", api.prune_execute([id_]))
        await calls.call("delete_conversation", api.delete_conversation(id_))
        await calls.fails("get_conversation of none", api.get_conversation(MISSING), SekhaNotFoundError)
        await calls.fails("query of nothing", api.query(""), SekhaValidationError)
        wrong = {"messages": [], "label": "x"}
        await calls.fails("create_conversation of nothing", _created(api, wrong), SekhaValidationError)


def _pruned(output: dict[str, Any]) -> bool:
    known = {"archive", "review", "keep"}
    return all(one["recommendation"] in known and one["reason"] for one in output["suggestions"])


async def _created(api: Any, new: Any) -> Any:
    """The SDK cannot write the times of its own messages as JSON."""
    if hasattr(new, "model_dump"):
        return await api.create_conversation({**new.model_dump(mode="json")})
    return await api.create_conversation(new)


async def bridge_to_agents(url: str, key: str, calls: Calls) -> None:
    """`sekha-mcp`, which turns tools of the protocol into calls over HTTP; its failures begin with a cross."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    env = {**os.environ, "CONTROLLER_URL": url, "CONTROLLER_API_KEY": key, "LOG_LEVEL": "ERROR"}
    started = StdioServerParameters(command=sys.executable, args=["-m", "sekha_mcp.main"], env=env)
    async with stdio_client(started) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        await calls.call("list_tools", session.list_tools(), lambda output: len(output.tools) == 7)

        async def tool(name: str, **arguments: Any) -> str:
            result = await session.call_tool(name, arguments)
            return " ".join(getattr(part, "text", "") for part in result.content)

        def fine(text: str) -> bool:
            return bool(text) and not text.lstrip().startswith("\N{CROSS MARK}")

        store = tool("memory_store", label="Bridge", folder="/work", messages=[{"role": "user", "content": "hello"}])
        text = await calls.call("memory_store", store, fine) or ""
        words = text.replace("`", " ").split()
        id_ = next((word for word in words if len(word) == len(MISSING) and word.count("-") == 4), MISSING)
        await calls.call("memory_search", tool("memory_search", query="webhook retries"), lambda output: fine(output))
        await calls.call("memory_update", tool("memory_update", conversation_id=id_, importance_score=3.0), fine)
        await calls.call("memory_get_context", tool("memory_get_context", conversation_id=id_), fine)
        await calls.call("memory_prune", tool("memory_prune", threshold_days=30), fine)
        for form in ("json", "markdown"):
            await calls.call(f"memory_export {form}", tool("memory_export", conversation_id=id_, format=form), fine)
        await calls.call("memory_stats", tool("memory_stats", folder="/work"), fine)


async def main(which: str, url: str, key: str) -> Calls:
    calls = Calls()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bridge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        if which == "sekha-mcp":
            await bridge_to_agents(url, key, calls)
        else:
            await sdk(url, key, f"http://127.0.0.1:{server.server_port}", calls)
    finally:
        server.shutdown()
    return calls


if __name__ == "__main__":
    made = asyncio.run(main(*sys.argv[1:4]))
    print(json.dumps({"checks": made.checks, "failures": made.failures}))
