"""`commonplace mcp` with the resident process: the same answers, whatever happens to that process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import apsw
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.mcp.conftest import ERAS, connected, data_of, play
from tests.mcp.test_stdio import INITIALIZE, INITIALIZED, Message, calling
from tests.polling import until

from commonplace.detached_process import take_lock
from commonplace.fast.ask_resident import ask, hello
from commonplace.fast.find_or_start import (
    FOLDER,
    SECONDS_VARIABLE,
    connect,
    is_running,
    read_address,
    resident_file,
    start,
)
from commonplace.fast.prepared_replies import PreparedReplies, window_file, window_name
from commonplace.fast.settings import RESIDENT_VARIABLE
from commonplace.mcp.stdio import static_replies
from commonplace.memory.local_memory import LocalMemory
from commonplace.resident_client.list_and_stop import stop_residents
from commonplace.worker_threads import Workers

from .conftest import Status

Resident = Callable[[], Status]
PING: Message = {"jsonrpc": "2.0", "id": "p", "method": "ping"}


class Window:
    """An editor with its `commonplace mcp`."""

    def __init__(self, *arguments: str, **env: str) -> None:
        command = [sys.executable, "-m", "commonplace", "mcp", *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **env})

    def send(self, *messages: Message) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        return reply

    def greet(self) -> dict[str, Any]:
        self.send(INITIALIZE, INITIALIZED)
        return self.read()

    def call(self, name: str, **arguments: object) -> Any:
        self.send(calling(7, name, **arguments))
        reply = self.read()
        assert reply["id"] == 7, reply
        return reply["result"]["structuredContent"] if "result" in reply else reply["error"]

    def threads(self) -> int:
        """One, unless it runs a server of its own."""
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/task").iterdir())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]

    def close(self) -> int:
        _out, err = self.process.communicate(timeout=60)
        assert err == b""
        return self.process.returncode


@pytest.fixture
def window(data: str) -> Iterator[Callable[..., Window]]:
    """Opens windows, and closes them at the end."""
    with ExitStack() as opened:

        def made(*arguments: str, **env: str) -> Window:
            one = Window(*arguments, **env)
            opened.callback(one.kill)
            return one

        yield made


Open = Callable[..., Window]


@pytest.mark.parametrize("era", ERAS)
def test_a_client_has_the_same_lists_and_writes_and_finds(data: str, era: str, memory: LocalMemory) -> None:
    async def story() -> None:
        server = StdioServerParameters(command=sys.executable, args=["-m", "commonplace", "mcp"], env=dict(os.environ))
        for _ in ("nothing runs", "it runs"):
            async with (
                Client(stdio_client(server), mode=era, cache=None) as client,
                connected(memory, era) as direct,
            ):
                assert (await client.list_tools()) == (await direct.list_tools())
                assert (await client.list_prompts()) == (await direct.list_prompts())
                assert (await client.list_resource_templates()) == (await direct.list_resource_templates())
                await client.call_tool("add_memory", {"content": "Deploy on Tuesdays", "project_id": "my-api"})
                found = data_of(await client.call_tool("search", {"query": "deploy", "project": "my-api"}))
                assert found["observations"][0]["text"] == "Deploy on Tuesdays"
                failed = await client.call_tool("timeline", {"anchor_id": 99})
                assert data_of(failed)["error"]["code"] == "NOT_FOUND"

    play(story)


def test_windows_share_a_process_and_each_has_its_settings(data: str, window: Open) -> None:
    one, two = window(), window("--profile", "kiro", COMMONPLACE_SPACE="nobody")
    for each in (one, two):
        each.greet()
    one.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    two.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert len(one.read()["result"]["tools"]) > len(two.read()["result"]["tools"]) == 4
    assert one.call("add_memory", content="Deploy on Tuesdays", project_id="x")
    assert one.call("search", query="deploy", project="x")["observations"]
    assert not two.call("search", query="deploy", project="x").get("observations")
    status = ask("status", timeout_s=60)
    assert status is not None
    assert status["windows"] == 2
    assert one.threads() == two.threads() == 1
    assert one.close() == two.close() == 0
    until(lambda: (ask("status", timeout_s=60) or status)["windows"] == 0)


def test_prepared_replies_are_those_of_the_server(data: str, resident: Resident, window: Open) -> None:
    resident()
    window().greet()
    replies = asyncio.run(static_replies("all", Workers()))
    until(lambda: len(list(Path(data, FOLDER).glob("*.replies"))) == len(replies))
    assert set(dict(replies["2025-06-18"])) == {
        *("initialize", "tools/list", "prompts/list", "resources/templates/list")
    }
    for version, results in replies.items():
        prepared = PreparedReplies(data, "all")
        modern = "server/discover" in dict(results)
        for method, result in results:
            about = {"_meta": {"io.modelcontextprotocol/protocolVersion": version}} if modern else {}
            params = {"protocolVersion": version} if method == "initialize" else about
            assert prepared.result({"method": method, "params": params}) == result
        assert prepared.result({"method": "tools/list", "params": {"cursor": "x"}}) is None
        assert prepared.result({"method": "tools/list", "params": {"_meta": {"unknown": 1}}}) is None
        assert prepared.result({"method": "resources/list"}) is None
    assert PreparedReplies(data, "all").result({"method": "initialize", "params": {"protocolVersion": "../x"}}) is None


def test_the_first_questions_are_answered_while_it_starts(data: str, resident: Resident, window: Open) -> None:
    resident()
    here, zoo = window().greet(), window(COMMONPLACE_PROJECT="zoo").greet()
    assert "project is zoo" in zoo["result"]["instructions"] and here != zoo
    for env in ({}, {"COMMONPLACE_PROJECT": "zoo"}):
        until(lambda env=env: Path(window_file(data, "all", window_name(str(Path.cwd()), env))).exists())  # type: ignore[misc]
    until(lambda: PreparedReplies(data, "all").result(INITIALIZE))
    ask("stop", timeout_s=60)
    until(lambda: not is_running(data))
    # A process that starts and never gets ready: nobody but the prepared replies can answer.
    lock = take_lock(resident_file(data, "lock"))
    assert lock is not None
    assert window(COMMONPLACE_PROJECT="zoo").greet() == zoo
    one = window()
    assert one.greet() == here
    os.close(lock)
    assert one.call("add_memory", content="Deploy on Tuesdays", project_id="x")
    assert one.threads() == 1


def test_what_cannot_be_read_is_answered_and_the_last_lines_too(data: str, window: Open) -> None:
    one = window()
    assert one.process.stdin is not None
    one.greet()
    one.process.stdin.write(b"{not json\n\n" + json.dumps(PING).encode())
    one.process.stdin.close()
    assert one.process.stdout is not None
    replies = [json.loads(line) for line in one.process.stdout]
    assert {reply["id"] for reply in replies} == {None, "p"}
    assert one.process.wait(60) == 0


def test_a_long_message_passes_and_a_longer_one_is_refused(data: str, window: Open) -> None:
    one = window(COMMONPLACE_MAX_BODY_MB="1")
    one.greet()
    assert "error" not in one.call("add_memory", content="long " * 100_000, project_id="x")
    assert one.call("add_memory", content="x" * (2 << 20))["data"]["code"] == "TOO_LARGE"
    assert one.call("add_memory", content="short", project_id="x")


@contextmanager
def connected_by(kind: str) -> Iterator[tuple[IO[bytes], IO[bytes], int, int]]:
    """What an editor reads and writes, and the standard input and output that it gives to a server."""
    if kind == "socket":
        ours, theirs = socket.socketpair()
        with ours, theirs, ours.makefile("rb") as reads, ours.makefile("wb") as writes:
            yield reads, writes, theirs.fileno(), theirs.fileno()
        return
    (server_in, to_server), (from_server, server_out) = os.pipe(), os.pipe()
    if kind == "small pipe" and sys.platform == "linux":
        import fcntl

        fcntl.fcntl(server_out, fcntl.F_SETPIPE_SZ, 4096)
    with os.fdopen(from_server, "rb") as reads, os.fdopen(to_server, "wb") as writes:
        yield reads, writes, server_in, server_out
    os.close(server_in)
    os.close(server_out)


@pytest.mark.skipif(sys.platform == "win32", reason="editors use pipes there")
@pytest.mark.parametrize("kind", ["socket", "pipe", "small pipe"])
def test_an_editor_that_reads_slowly_misses_nothing(data: str, resident: Resident, kind: str) -> None:
    """Most editors connect standard streams by sockets, and none of them reads a reply before it has time for it."""
    resident()
    command = [sys.executable, "-m", "commonplace", "mcp"]
    with (
        connected_by(kind) as (reads, writes, stdin, stdout),
        subprocess.Popen(command, stdin=stdin, stdout=stdout) as process,
    ):
        lists: list[Message] = [{"jsonrpc": "2.0", "id": n, "method": "tools/list"} for n in range(2, 30)]
        for message in (INITIALIZE, INITIALIZED, *lists):
            writes.write(json.dumps(message).encode() + b"\n")
        writes.flush()
        replies = [json.loads(reads.readline()) for _ in range(29)]
        process.terminate()
    assert [reply["id"] for reply in replies] == list(range(1, 30))
    assert all(reply["result"] == replies[1]["result"] for reply in replies[1:])


def test_a_killed_process_is_replaced_and_its_calls_are_answered(data: str, resident: Resident, window: Open) -> None:
    one = window()
    one.greet()
    assert one.call("add_memory", content="First", project_id="x")
    pid = resident()["pid"]
    with closing(apsw.Connection(str(Path(data, "commonplace.db")))) as locked:
        locked.execute("BEGIN IMMEDIATE")
        one.send(calling(8, "add_memory", content="Second", project_id="x"))
        until(lambda: (ask("status", timeout_s=60) or {}).get("calls"))
        os.kill(pid, signal.SIGKILL)
        failed = one.read()
        locked.execute("ROLLBACK")
    assert failed["id"] == 8
    assert failed["error"]["data"]["code"] == "INTERRUPTED"
    assert "repeat it" in failed["error"]["data"]["details"]
    assert [found["text"] for found in one.call("search", query="first", project="x")["observations"]] == ["First"]
    assert resident()["pid"] != pid
    assert one.threads() == 1


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSTOP])
def test_a_call_that_only_reads_is_made_again(data: str, resident: Resident, window: Open, by: signal.Signals) -> None:
    pid = resident()["pid"]
    one = window(**{SECONDS_VARIABLE: "3"})
    one.greet()
    assert one.call("add_memory", content="First", project_id="x")
    os.kill(pid, signal.SIGSTOP)
    try:
        one.send(calling(8, "search", query="first", project="x"))
        if by is signal.SIGKILL:
            os.kill(pid, by)
        found = one.read()
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert found["id"] == 8 and "error" not in found
    assert "First" in json.dumps(found["result"])


def test_a_long_call_is_known_by_its_own_id(data: str, resident: Resident, window: Open) -> None:
    pid = resident()["pid"]
    one = window(**{SECONDS_VARIABLE: "3"})
    one.greet()
    memory = one.call("add_memory", content="First", project_id="x")
    os.kill(pid, signal.SIGSTOP)
    try:
        # In the order of the Python SDK, with the id of a memory among the arguments.
        arguments = {"id": memory["id"], "content": "word " * 80_000}
        params = {"name": "edit_memory", "arguments": arguments}
        one.send({"method": "tools/call", "params": params, "jsonrpc": "2.0", "id": 9})
        failed = one.read()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert (failed["id"], failed["error"]["data"]["code"]) == (9, "INTERRUPTED")


def test_a_call_that_was_never_taken_goes_to_the_next_process(data: str, resident: Resident, window: Open) -> None:
    one = window()
    one.greet()
    assert one.call("add_memory", content="First", project_id="x")
    pid = resident()["pid"]
    os.kill(pid, signal.SIGSTOP)
    one.send(calling(8, "add_memory", content="Second", project_id="x"), PING)
    os.kill(pid, signal.SIGKILL)
    assert {one.read()["id"], one.read()["id"]} == {8, "p"}
    assert len(one.call("search", query="second", project="x")["observations"]) == 1


def test_one_that_hangs_is_done_without(data: str, resident: Resident, window: Open) -> None:
    pid = resident()["pid"]
    one = window(**{SECONDS_VARIABLE: "3"})
    one.greet()
    assert one.call("add_memory", content="First", project_id="x")
    try:
        os.kill(pid, signal.SIGSTOP)
        one.send(calling(8, "add_memory", content="Second", project_id="x"))
        assert one.read()["error"]["data"]["code"] == "INTERRUPTED"
        assert one.call("search", query="first", project="x")["observations"]
        two = window(**{SECONDS_VARIABLE: "0.5"})
        two.greet()
        assert two.call("search", query="first", project="x")["observations"]
        assert one.threads() > 1 < two.threads()
        assert one.close() == two.close() == 0
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("gone", ["the data folder", "the store, and then the process"])
def test_windows_begin_no_empty_store_where_one_was(data: str, resident: Resident, window: Open, gone: str) -> None:
    windows = window(), window()
    for one in windows:
        one.greet()
    assert windows[0].call("add_memory", content="Deploy on Tuesdays", project_id="x")
    until(lambda: ask("status", timeout_s=60)["windows"] == len(windows))  # type: ignore[index]
    if gone == "the data folder":
        Path(data).rename(moved := Path(f"{data}-moved"))
    else:
        # What the second window has heard of the store is all that it knows.
        assert windows[1].call("search", query="deploy", project="x")["observations"]
        moved = Path(f"{data}-moved")
        moved.mkdir()
        for path in Path(data).glob("commonplace.db*"):
            path.rename(moved / path.name)
        os.kill(resident()["pid"], signal.SIGKILL)

    def refusals() -> list[str]:
        answers = [one.call("add_memory", content="Deploy never", project_id="x") for one in windows]
        return [json.dumps(answer) for answer in answers]

    # The process that served them ends by itself when its folder is gone.
    until(lambda: not is_running(str(moved)))
    assert all("DB_MISSING" in refused for refused in refusals() + refusals())
    assert not Path(data, "commonplace.db").exists()
    if gone == "the data folder":
        assert not Path(data).exists()
        moved.rename(data)
    else:
        for path in moved.iterdir():
            path.rename(Path(data, path.name))
    for one in windows:
        found = one.call("search", query="deploy", project="x")["observations"]
        assert [each["text"] for each in found] == ["Deploy on Tuesdays"]


@pytest.mark.parametrize("why", ["off", "setting", "environment", "folder"])
def test_without_it_everything_is_done_here(data: str, resident: Resident, window: Open, why: str) -> None:
    if why == "folder":
        Path(data).mkdir()
        Path(data, FOLDER).touch()
    elif why == "setting":
        Path(data).mkdir()
        Path(data, "config.toml").write_text('resident = "off"\n', encoding="utf-8")
    elif why == "environment":
        resident()
    env = {"off": {RESIDENT_VARIABLE: "off"}, "environment": {"TZ": "Asia/Tokyo"}}.get(why, {})
    one = window(**env)
    assert one.greet()["result"]["serverInfo"]["name"] == "commonplace"
    assert one.call("add_memory", content="Deploy on Tuesdays", project_id="x")
    assert one.threads() > 1
    assert one.close() == 0


def test_wrong_settings_are_reported_as_without_it(data: str, resident: Resident) -> None:
    resident()
    texts = [
        subprocess.run(
            [sys.executable, "-m", "commonplace", "mcp"],
            input=json.dumps(INITIALIZE).encode(),
            capture_output=True,
            env={**os.environ, "COMMONPLACE_RERANKER": "none", RESIDENT_VARIABLE: resident_},
            timeout=60,
            check=False,
        )
        for resident_ in ("on", "off")
    ]
    assert (texts[0].returncode, texts[0].stdout, texts[0].stderr) == (
        texts[1].returncode,
        texts[1].stdout,
        texts[1].stderr,
    )
    assert texts[0].returncode == 2


@pytest.fixture
def deep(
    data: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], str]]:
    """A data folder whose path is too long for a socket; so may be that of the folder for temporary files."""
    folder = tmp_path / ("d" * 100) / "data"

    def made(kind: str) -> str:
        runtime = tmp_path_factory.getbasetemp() / ("r" if kind == "unix" else "r" * 100)
        runtime.mkdir(exist_ok=True)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        monkeypatch.setenv("COMMONPLACE_DATA_DIR", str(folder))
        return str(folder)

    yield made
    stop_residents(str(folder))


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_a_long_path_is_no_obstacle(deep: Callable[[str], str], window: Open, kind: str) -> None:
    folder = deep(kind)
    one = window()
    one.greet()
    assert one.call("add_memory", content="Deploy on Tuesdays", project_id="x")
    assert one.threads() == 1
    assert (read_address(folder) or [])[0] == kind


def test_a_port_tells_and_takes_nothing_without_the_token(deep: Callable[[str], str], resident: Resident) -> None:
    folder = deep("tcp")
    assert start(folder)
    until(lambda: ask("status", timeout_s=60))
    address = Path(resident_file(folder, "address"))
    port = int((read_address(folder) or [])[1])
    with socket.create_connection(("127.0.0.1", port)) as caller, caller.makefile("rw") as lines:
        lines.write("ours\n")
        lines.flush()
        assert len(lines.readline().split()) == 2, "a number, and a proof"
        lines.write(hello("ask", folder, "guessed", os.environ, method="status", params={}).decode())
        lines.flush()
        assert json.loads(lines.readline())["error"]["code"] == "FORBIDDEN"
    # Somebody else listens on the port of an address that was left behind.
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        left_behind = address.with_name("old.address")
        left_behind.write_text(f"tcp {stranger.getsockname()[1]} token\n", encoding="utf-8")
        texts: list[bytes] = []

        def listen() -> None:
            connection, _ = stranger.accept()
            with connection:
                texts.append(connection.recv(1000))
                connection.sendall(b"theirs proof\n")
                texts.append(connection.recv(1000))

        listening = threading.Thread(target=listen)
        listening.start()
        assert connect(folder, 60, str(left_behind)) is None
        listening.join(60)
    assert [len(part) for part in texts] == [33, 0], "a number, and nothing more"
