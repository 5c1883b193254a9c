"""Asking a server for its tools: a real one is understood, and everything else is told by its reason."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import commonplace
from commonplace.doctor.doctor_context import DoctorContext
from commonplace.doctor.mcp_probe import ProbeResult, probe_process, probe_url

OURS = [sys.executable, "-m", "commonplace"]

EMPTY = """
for number in (1, 2, 3):
    input()
    print('{"id": %d, "result": {}}' % number, flush=True)
input()
"""


def ask(script: str, seconds: float = 60.0) -> ProbeResult:
    return probe_process([sys.executable, "-c", script], {}, seconds)


def test_a_real_server_tells_its_tools(context: DoctorContext) -> None:
    answer = probe_process([*OURS, "mcp", "--profile", "kiro"], {"COMMONPLACE_EMBEDDER": "off"})
    assert answer.why == ""
    assert set(answer.tools) == {"search", "timeline", "get_observations", "get_context"}
    assert answer.version == commonplace.__version__ and answer.seconds > 0


def test_what_cannot_be_started() -> None:
    assert "cannot be started" in probe_process(["/nowhere/commonplace", "mcp"], {}).why


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("import sys; print('Traceback: no module', file=sys.stderr)", "no module"),
        ("print('Welcome to my server')\ninput()", "'Welcome to my server', which no editor understands"),
        ("print('[1, 2]')\ninput()", "which no editor understands"),
        ('input(); print(\'{"id": 1, "error": {"code": -32603}}\')', "it refuses"),
        (EMPTY, "not come from an MCP server"),
    ],
)
def test_what_is_no_server(script: str, why: str) -> None:
    answer = ask(script)
    assert why in answer.why and answer.tools == ()


def test_one_that_says_nothing_is_not_waited_for_and_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "ended"
    script = f"import sys, pathlib; sys.stdin.read(); pathlib.Path({str(mark)!r}).touch()"
    assert "in time" in ask(script, seconds=0.5).why
    assert mark.exists()


@pytest.fixture
def served(context: DoctorContext) -> Iterator[tuple[str, str]]:
    """The address and the key of a running server."""
    process = subprocess.Popen(
        [*OURS, "serve", "--port", "0", "--profile", "kiro"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert process.stderr is not None
    address = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline().decode())
    assert address
    process.stderr.readline()
    yield f"{address[0]}/mcp", context.settings.key_file.read_text(encoding="utf-8").strip()
    process.terminate()
    process.wait(60)
    process.stderr.close()


def test_an_address_is_called_with_its_key(served: tuple[str, str]) -> None:
    url, key = served
    answer = probe_url(url, {"Authorization": f"Bearer {key}"})
    assert (answer.why, len(answer.tools), answer.version) == ("", 4, commonplace.__version__)
    assert "refuses the key (401)" in probe_url(url, {"Authorization": "Bearer sk-sekha-wrong"}).why
    assert "it answers with 404" in probe_url(url.replace("/mcp", "/nothing"), {"Authorization": f"Bearer {key}"}).why


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/mcp", "http://127.0.0.1:99999/mcp", "http:///mcp", "nonsense"])
def test_an_address_where_nobody_is(url: str) -> None:
    assert re.search("nothing answers|is not an address", probe_url(url, {}, 5.0).why)


class _Events(http.server.BaseHTTPRequestHandler):
    """A server that answers in events."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = {"serverInfo": {"version": "9"}, "tools": [{"name": "one"}]}
        body = f"event: message\ndata: {json.dumps({'id': request.get('id'), 'result': result})}\n\n".encode()
        self.send_response(200)
        self.send_header("Mcp-Session-Id", "s1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


def test_answers_in_events_are_understood() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), _Events) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        answer = probe_url(f"http://127.0.0.1:{server.server_port}/mcp", {})
        server.shutdown()
        thread.join()
    assert (answer.why, answer.tools, answer.version) == ("", ("one",), "9")
