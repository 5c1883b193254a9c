"""`commonplace mcp` as an editor runs it: a process, its standard streams, and nothing else on them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from tests.mcp.conftest import DEADLINE, ERAS, data_of, environment, play, spawned
from tests.peak_memory import bounded_memory

from commonplace import config
from commonplace.errors import TooLarge
from commonplace.mcp import jsonrpc
from commonplace.mcp.jsonrpc import serve_lines
from commonplace.mcp.server import build_server
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.worker_threads import Workers

Message = dict[str, object]

INITIALIZE: Message = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    },
}
INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def calling(id_: int, name: str, **arguments: object) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def piped(
    folder: Path, *sent: Message | str, arguments: tuple[str, ...] = (), **env: str
) -> tuple[list[dict[str, Any]], subprocess.CompletedProcess[bytes]]:
    """Write lines, close the pipe, and read what came back: messages, and how the process ended."""
    raw = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in sent)
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "mcp", *arguments],
        input=raw.encode(),
        capture_output=True,
        env=environment(folder, **env),
        timeout=DEADLINE,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.promise("kiro:server:stdio", "kiro:server:command")
def test_a_client_writes_and_finds_over_stdio(tmp_path: Path, era: str) -> None:
    async def story() -> None:
        async with spawned(tmp_path, era=era) as client:
            assert client.protocol_version == ("2026-07-28" if era != "legacy" else "2025-11-25")
            assert {"search", "add_memory"} <= {tool.name for tool in (await client.list_tools()).tools}
            await client.call_tool("add_memory", {"content": "Deploy on Tuesdays", "project_id": "my-api"})
            found = data_of(await client.call_tool("search", {"query": "deploy", "project": "my-api"}))
            assert found["observations"][0]["text"] == "Deploy on Tuesdays"
            failed = await client.call_tool("timeline", {"anchor_id": 99})
            assert failed.is_error
            assert data_of(failed)["error"]["code"] == "NOT_FOUND"
        async with spawned(tmp_path, "--profile", "kiro", era=era) as client:
            assert len((await client.list_tools()).tools) == 4
            context = data_of(await client.call_tool("get_context", {"project": "my-api"}))
            assert context["items"][0]["content"] == "Deploy on Tuesdays"

    play(story)
    assert (tmp_path / "stderr.txt").read_text() == ""


def test_two_clients_on_one_store_see_each_others_writes(tmp_path: Path) -> None:
    async def story() -> None:
        async with spawned(tmp_path, era="legacy") as one, spawned(tmp_path) as other:
            writers: list[Client] = [one, other]

            async def write(client: Client, n: int) -> None:
                result = await client.call_tool("add_memory", {"content": f"zebra {n}", "project_id": "zoo"})
                assert not result.is_error

            async with anyio.create_task_group() as together:
                for n in range(20):
                    together.start_soon(write, writers[n % 2], n)
            for client in writers:
                found = data_of(await client.call_tool("search", {"query": "zebra AND zoo OR zebra", "limit": 50}))
                assert {o["text"] for o in found["observations"]} == {f"zebra {n}" for n in range(20)}

    play(story)


def test_a_question_is_understood_over_stdio(tmp_path: Path) -> None:
    settings = config.load({"data_dir": str(tmp_path / "data"), "embedder": "builtin"}, env={})
    with contextlib.closing(open_memory(settings)) as memory:
        remember(memory, NewItem(content="Sessions are kept in Redis and expire after thirty days", project="shop"))
        remember(memory, NewItem(content="Images are resized by a background worker", project="shop"))
        memory.embeddings.catch_up()

    async def story() -> None:
        async with spawned(tmp_path, COMMONPLACE_EMBEDDER="builtin") as client:
            arguments = {"query": "how long does a login last"}
            found = data_of(await client.call_tool("search", arguments))
            assert found["observations"][0]["text"].startswith("Sessions are kept")
            context = data_of(await client.call_tool("get_context", {"project": "shop", **arguments}))
            assert context["items"][0]["signals"]["semantic"] > 0.2

    play(story)


@pytest.mark.promise("kiro:server:data-dir")
def test_the_data_folder_of_the_reference_is_honoured(tmp_path: Path) -> None:
    theirs = tmp_path / "contextkit"
    sent = (INITIALIZE, INITIALIZED, calling(2, "add_memory", content="Kept there"))
    _replies, done = piped(tmp_path, *sent, COMMONPLACE_DATA_DIR="", KIRO_MEMORY_DATA_DIR=str(theirs))
    assert done.returncode == 0
    assert (theirs / "commonplace.db").exists()
    assert not (tmp_path / "data").exists()


def test_everything_asked_before_the_end_is_answered(tmp_path: Path) -> None:
    replies, done = piped(
        tmp_path,
        INITIALIZE,
        INITIALIZED,
        calling(2, "add_memory", content="The zebra arrived"),
        calling(3, "search", query="zebra"),
        {"jsonrpc": "2.0", "id": 4, "method": "tools/list"},
    )
    by_id = {reply["id"]: reply for reply in replies}
    assert by_id.keys() == {1, 2, 3, 4}
    assert by_id[3]["result"]["structuredContent"]["observations"][0]["text"] == "The zebra arrived"
    assert done.returncode == 0
    assert done.stderr == b""


def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(tmp_path: Path) -> None:
    replies, done = piped(
        tmp_path,
        INITIALIZE,
        INITIALIZED,
        "not json at all {",
        "",
        "[" * 100_000,
        '{"jsonrpc":"2.0","id":7,"method":5}',
        '{"jsonrpc":"2.0","id":8,"method":"no/such/method"}',
        "[1, 2]",
        '{"jsonrpc":"2.0","id":"half \\ud800"}',
        calling(9, "search", query="still alive"),
    )
    errors = [reply["error"] for reply in replies if reply["id"] is None]
    assert [error["code"] for error in errors] == [-32700, -32700, -32600]
    by_id = {reply["id"]: reply for reply in replies if reply["id"] is not None}
    assert by_id[7]["error"]["code"] == -32600
    assert by_id[8]["error"]["code"] == -32601
    assert by_id["half \ufffd"]["error"]["code"] == -32600
    assert by_id[9]["result"]["isError"] is False
    assert done.returncode == 0


def test_half_a_character_is_read_as_an_unknown_one(tmp_path: Path) -> None:
    halved = json.dumps(calling(2, "add_memory", content="zebra \ud800!"))
    replies, done = piped(
        tmp_path, INITIALIZE, INITIALIZED, halved, json.dumps(calling(3, "search", query="\udfff zebra"))
    )
    by_id = {reply["id"]: reply for reply in replies}
    assert by_id[2]["result"]["structuredContent"]["content"] == "zebra \ufffd!"
    assert len(by_id[3]["result"]["structuredContent"]["observations"]) == 1
    assert done.returncode == 0


def test_standard_output_carries_protocol_only(tmp_path: Path) -> None:
    noisy = tmp_path / "noisy"
    noisy.mkdir()
    # Python imports this first thing; it stands for libraries that print at the worst moment.
    (noisy / "sitecustomize.py").write_text(
        "import commonplace.memory.search_candidates as candidates, os, warnings\n"
        "plain = candidates.parse_query\n"
        "def loud(*arguments):\n"
        "    print('printed by a library')\n"
        "    os.write(1, b'written past Python\\n')\n"
        "    warnings.warn('a warning', stacklevel=2)\n"
        "    return plain(*arguments)\n"
        "candidates.parse_query = loud\n"
    )
    path = os.pathsep.join(filter(None, [str(noisy), os.environ.get("PYTHONPATH", "")]))
    replies, done = piped(
        tmp_path,
        INITIALIZE,
        INITIALIZED,
        calling(2, "search", query="zebra"),
        PYTHONPATH=path,
        PYTHONWARNINGS="always",
        PYTHONUNBUFFERED="1",
    )
    assert [reply["id"] for reply in replies] == [1, 2]
    assert b"printed by a library" in done.stderr
    assert b"written past Python" in done.stderr
    assert done.returncode == 0


def test_it_ends_when_nothing_was_ever_said(tmp_path: Path) -> None:
    replies, done = piped(tmp_path)
    assert (replies, done.returncode, done.stderr) == ([], 0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_although_nobody_closed_its_input(tmp_path: Path, by: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "commonplace", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(by)
        assert process.wait(DEADLINE) == -by
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_profile_that_does_not_exist_is_refused_on_standard_error(tmp_path: Path) -> None:
    replies, done = piped(tmp_path, INITIALIZE, arguments=("--profile", "nope"))
    assert replies == []
    assert done.returncode == 2
    assert b"nope" in done.stderr
    assert b"Traceback" not in done.stderr


def damaged(folder: Path) -> None:
    (folder / "commonplace.db").write_bytes(b"not a database " * 1000)


def of_a_newer_version(folder: Path) -> None:
    connection = apsw.Connection(str(folder / "commonplace.db"))
    connection.execute("CREATE TABLE later (x); PRAGMA user_version = 999; PRAGMA application_id = 0x436D506C")
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "code"), [(damaged, "DB_CORRUPT"), (of_a_newer_version, "DB_TOO_NEW")], ids=["damaged", "newer"]
)
def test_a_store_that_cannot_be_opened_is_told_at_each_call_until_it_is_mended(
    tmp_path: Path, spoil: Callable[[Path], None], code: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    spoil(folder)
    before = (folder / "commonplace.db").read_bytes()

    async def story() -> None:
        async with spawned(tmp_path) as client:
            assert (await client.list_tools()).tools
            for _ in range(2):
                failed = await client.call_tool("search", {"query": "anything"})
                assert failed.is_error
                assert data_of(failed)["error"]["code"] == code
            with pytest.raises(MCPError):
                await client.list_resources()
            assert (folder / "commonplace.db").read_bytes() == before
            for file in folder.iterdir():
                file.unlink()
            assert not (await client.call_tool("add_memory", {"content": "It works again"})).is_error

    play(story)


def test_a_folder_that_cannot_be_made_is_told_at_each_call(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be", encoding="utf-8")
    replies, done = piped(tmp_path, INITIALIZE, INITIALIZED, calling(2, "search", query="anything"))
    assert done.returncode == 0
    assert replies[1]["result"]["isError"]
    assert replies[1]["result"]["structuredContent"]["error"]["code"] == "DB_READ_ONLY"


# With metadata that it may know, the SDK answers a call.
FOR_THE_SDK = {"example.org/unknown": 1}
CALLS: dict[str, dict[str, Any]] = {
    "a reply": {"name": "search", "arguments": {"query": "Zürich 東京 \u2028 \U0001f993"}},
    "no arguments": {"name": "memory_stats"},
    "a wrong argument": {"name": "search", "arguments": {"query": 5}},
    "an unknown tool": {"name": "nothing", "arguments": {}},
    "arguments that are no object": {"name": "search", "arguments": [1]},
    "progress is asked for": {"name": "memory_stats", "_meta": {"progressToken": 7}},
    "a wrong token": {"name": "memory_stats", "_meta": {"progressToken": True}},
}


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_plain_calls_are_answered_as_the_sdk_answers_them(tmp_path: Path, version: str) -> None:
    handshake = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}
    sent = [calling(0, "memory_stats"), INITIALIZE | {"params": handshake}, INITIALIZED]
    for name, params in CALLS.items():
        by_sdk = params | {"_meta": params.get("_meta", {}) | FOR_THE_SDK}
        for way, given in (("plain", params), ("by the SDK", by_sdk)):
            sent.append({"jsonrpc": "2.0", "id": f"{name}, {way}", "method": "tools/call", "params": given})
    replies, _done = piped(tmp_path, *sent, COMMONPLACE_EMBEDDER="off")
    answers = {reply.pop("id"): reply for reply in replies}
    assert answers[0]["error"]["code"] == INVALID_PARAMS, "there was no handshake yet"
    for name in CALLS:
        assert answers[f"{name}, plain"] == answers[f"{name}, by the SDK"]
    found = answers["a reply, plain"]["result"]["structuredContent"]
    assert (found["observations"], found["summaries"]) == ([], [])


def for_the_sdk(call: Message) -> Message:
    params = call["params"]
    assert isinstance(params, dict)
    return call | {"params": params | {"_meta": FOR_THE_SDK}}


class _Lines:
    """A client of a server in this process: what it sends, and what it is answered."""

    def __init__(self, memory: LocalMemory) -> None:
        self.workers, self.may_go_on = Workers(), threading.Event()
        self.may_go_on.set()
        self._memory = memory
        self._server = build_server(self._reach, "all", self.workers)
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def _reach(self) -> LocalMemory:
        assert self.may_go_on.wait(DEADLINE)
        return self._memory

    async def run(self) -> None:
        async def write(line: bytes) -> None:
            self._answers.put_nowait(json.loads(line))

        await serve_lines(self._server, self._lines.get, write)

    def send(self, *messages: Message) -> None:
        for message in messages:
            self._lines.put_nowait(json.dumps(message).encode() + b"\n")

    async def receive(self) -> dict[str, Any]:
        return await self._answers.get()

    def end(self) -> None:
        self._lines.put_nowait(b"")


@pytest.mark.parametrize("plain", [True, False])
def test_a_call_that_is_cancelled_is_not_answered(memory: LocalMemory, plain: bool) -> None:
    async def story() -> None:
        client = _Lines(memory)
        call = calling(2, "add_memory", content="never answered")
        call = call if plain else for_the_sdk(call)
        cancel: Message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.run)
            client.send(INITIALIZE, INITIALIZED)
            assert (await client.receive())["id"] == INITIALIZE["id"]
            client.may_go_on.clear()
            client.send(call, cancel, {"jsonrpc": "2.0", "id": 3, "method": "ping"})
            assert (await client.receive())["id"] == 3, "by then the call is cancelled"
            client.may_go_on.set()
            client.send(calling(4, "memory_stats"))
            assert (await client.receive())["id"] == 4
            client.end()

    play(story)


def test_a_plain_call_does_not_overtake_what_the_sdk_answers(memory: LocalMemory) -> None:
    async def story() -> None:
        client = _Lines(memory)
        writes = [
            for_the_sdk(calling(2 * n, "add_memory", content=f"The deploy of part {n} waits")) for n in range(1, 6)
        ]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.run)
            client.send(INITIALIZE, INITIALIZED)
            await client.receive()
            for n, write in enumerate(writes, 1):
                client.send(write, calling(2 * n + 1, "search", query="deploy"))
                answers = {answer["id"]: answer for answer in [await client.receive() for _ in range(2)]}
                assert len(answers[2 * n + 1]["result"]["structuredContent"]["observations"]) == n
            client.end()

    play(story)


def test_a_tool_that_fails_unexpectedly_is_an_error_of_the_protocol(memory: LocalMemory) -> None:
    async def story() -> None:
        client = _Lines(memory)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.run)
            client.send(INITIALIZE, INITIALIZED)
            await client.receive()
            # Its workers have ended: nobody can do it.
            client.workers.close()
            client.send(calling(2, "memory_stats"))
            answer = await client.receive()
            assert (answer["id"], answer["error"]["code"]) == (2, INTERNAL_ERROR)
            client.end()

    play(story)


def test_unfinished_answers_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonrpc, "LAST_WORDS_SECONDS", 0.01)

    async def write(_line: bytes) -> None:
        pass

    async def story() -> None:
        answers = jsonrpc.OutgoingMessages(write)
        answers.expect(1)
        await answers.all_given()
        answers.settle(1)
        await answers.all_given()

    play(story)


# Arguments of megabytes, the id that their answer has, and what it says. They are made when they are sent.
LARGE: list[tuple[Callable[[], bytes], int | None, str]] = [
    (lambda: b"{" + b",".join(b'"k%d":1' % n for n in range(2_000_000)) + b"}", 2, "more than 250,000 values"),
    (lambda: b"[" + b"[]," * 9_000_000 + b"[]]", 2, "more than 250,000 values"),
    (lambda: b"[" * 9_000_000, 2, "nested too deeply to parse"),
    (lambda: b'{"content":"' + "\U0001f600".encode() + b"a" * 31_000_000 + b'"}', 2, "more than 1000000"),
    (lambda: b'{"content":"' + b"a" * 40_000_000 + b'"}', 2, "longer than 32 MB"),
    (lambda: b'{"content":"' + b"a" * 2_000_000 + b'\\ud800"}', None, "Not JSON"),
    (lambda: b'{"content":"a","title":"\\ud800 \xff"}', 2, "add_memory"),
]


def test_a_line_takes_no_more_memory_than_its_size_allows(tmp_path: Path) -> None:
    start = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add_memory","arguments":'
    with subprocess.Popen(
        [sys.executable, "-m", "commonplace", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(tmp_path),
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def answered(line: bytes) -> dict[str, Any]:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(line)
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            return answer

        assert answered(json.dumps(INITIALIZE).encode() + b"\n")["id"] == 1
        process.stdin.write(json.dumps(INITIALIZED).encode() + b"\n")
        assert answered(json.dumps(calling(1, "add_memory", content="the first thing")).encode() + b"\n")["id"] == 1
        for make_arguments, id_, says in LARGE:
            line = start + make_arguments() + b"}}\n"
            with bounded_memory(process.pid, len(line)):
                answer = answered(line)
            assert answer["id"] == id_, says
            assert says in json.dumps(answer) or (says == "add_memory" and "result" in answer)
            # The server goes on.
            assert answered(json.dumps(calling(3, "search", query="first")).encode() + b"\n")["id"] == 3
        process.stdin.close()
        process.wait(DEADLINE)


@pytest.mark.parametrize("layout", ['{"id": "x1", "jsonrpc": "2.0", %s}', '{%s, "jsonrpc": "2.0", "id": "x1"}'])
def test_a_message_that_is_not_parsed_is_refused_by_its_id(layout: str) -> None:
    raw = layout.replace("%s", '"method": "tools/call", "params": {"id": 5}').encode()
    assert jsonrpc.error_for_message(raw, TooLarge("It is too long.")).id == "x1"
    assert jsonrpc.error_for_message(b'{"params": {"id": 5}}', TooLarge("It is too long.")).id is None
