"""A stand-in for the models of coding agents: it plays a script, and keeps every request so that one can look into it.

One server speaks the three interfaces that the agents use: Anthropic's Messages, OpenAI's Responses and Gemini's
generateContent. A script is a list of steps, each a tool call or a text; every request of an agent at work takes the
next one. Requests on the side (titles, summaries), which offer no tools to work with, get a short answer.
"""

from __future__ import annotations

import contextlib
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Json = dict[str, Any]
# The answer to a request on the side, and to one after the end of the script.
SIDE_ANSWER, END_OF_SCRIPT = "ok", "The script has ended."
# With fewer tools a request is not that of an agent at work.
FEWEST_TOOLS = 3


@dataclass(frozen=True, slots=True)
class Call:
    """A step in which the model calls a tool, by the agent's own name of it."""

    tool: str
    arguments: Json
    # Where Codex lists the tool: the name of its MCP server's namespace.
    namespace: str = ""
    # A tool of Codex that takes text instead of arguments.
    text: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """A step in which the model answers, which ends the turn."""

    text: str


# A function does something at this moment of the session, and says what the model does then.
Step = Call | Say | Callable[[], Call | Say]


class Given(NamedTuple):
    """What a model reads at a request: everything but the tools, and what of it is new since the request before."""

    text: str
    new: str


@dataclass(slots=True)
class ScriptedModel:
    """What is still to be played, and what was asked for."""

    url: str = ""
    steps: list[Step] = field(default_factory=list)
    # The bodies of the requests of agents at work, in their order, and the paths of all requests.
    requests: list[Json] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, steps: Iterable[Step]) -> None:
        """Start another script; the requests that were kept are dropped."""
        with self._lock:
            self.steps, self.requests = list(steps), []

    def answer(self, path: str, body: Json) -> Call | Say:
        """The next step, if this is an agent at work."""
        with self._lock:
            self.paths.append(path)
            if count_tools(body) < FEWEST_TOOLS:
                return Say(SIDE_ANSWER)
            self.requests.append(body)
            step = self.steps.pop(0) if self.steps else Say(END_OF_SCRIPT)
            return step if isinstance(step, (Call, Say)) else step()

    def given(self) -> list[Given]:
        """What the model was given at each of its requests."""
        read, before = list[Given](), 0
        for body in self.requests:
            messages = body.get("messages") or body.get("input") or body.get("contents") or []
            instructions = [body.get(name) for name in ("system", "instructions", "systemInstruction")]
            spoken = [one for one in messages if not isinstance(one, dict) or one.get("type") != "additional_tools"]
            read.append(Given("\n".join(_texts([instructions, spoken])), "\n".join(_texts(messages[before:]))))
            before = len(messages)
        return read


@contextlib.contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    """A stand-in on a free port of the loopback interface."""
    model = ScriptedModel()

    class Handler(_Handler):
        played = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


def count_tools(body: Json) -> int:
    """How many tools a request offers. Gemini and Codex group them; newer models of Codex get them as an input."""
    given = [one for one in body.get("input") or [] if isinstance(one, dict) and one.get("type") == "additional_tools"]
    return sum(_count(tool) for holder in (body, *given) for tool in holder.get("tools") or [])


def _count(tool: Json) -> int:
    return sum(map(_count, tool.get("functionDeclarations") or tool.get("tools") or ())) or 1


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    played: ScriptedModel

    def log_message(self, *_args: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        self.played.paths.append(self.path)
        self._send(b'{"data": [], "models": []}')

    def do_HEAD(self) -> None:
        self._send(b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("count_tokens"):
            self._send(b'{"input_tokens": 10}')
        elif path.endswith("countTokens"):
            self._send(b'{"totalTokens": 10}')
        elif path.endswith("/messages"):
            events = anthropic_events(self.played.answer(path, body), str(body.get("model")))
            self._reply(events, bool(body.get("stream")))
        elif path.endswith("/responses"):
            self._reply(responses_events(self.played.answer(path, body)), streamed=True)
        elif path.endswith((":streamGenerateContent", ":generateContent")):
            streamed = path.endswith(":streamGenerateContent")
            self._reply([gemini_answer(self.played.answer(path, body))], streamed)
        else:
            self.played.paths.append(path)
            self._send(b"{}")

    def _reply(self, events: list[Json], streamed: bool) -> None:
        """As a stream of events, or as the last one of them, which holds the whole answer."""
        if not streamed:
            self._send(json.dumps(events[-1].get("message", events[-1])).encode())
            return
        events = [event for event in events if event.get("type") != "whole"]
        named = ((f"event: {event['type']}\n" if "type" in event else "", json.dumps(event)) for event in events)
        self._send("".join(f"{name}data: {data}\n\n" for name, data in named).encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _name(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:24]}"


def anthropic_events(step: Call | Say, model: str) -> list[Json]:
    """A streamed message, and at the end the message whole, for who does not want a stream."""
    usage = {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"id": _name("msg"), "type": "message", "role": "assistant", "model": model, "usage": usage}
    block: Json
    empty: Json
    if isinstance(step, Say):
        block, empty, stop = {"type": "text", "text": step.text}, {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": step.text}
    else:
        block = {"type": "tool_use", "id": _name("toolu"), "name": step.tool, "input": step.arguments}
        empty, stop = {**block, "input": {}}, "tool_use"
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
    begun = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    ended = {"stop_reason": stop, "stop_sequence": None}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
        {"type": "whole", "message": {**message, "content": [block], **ended}},
    ]


def responses_events(step: Call | Say) -> list[Json]:
    """A streamed response with one item."""
    response = {"id": _name("resp"), "object": "response", "output": []}
    usage = {
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120,
    }  # fmt: skip
    item: Json
    if isinstance(step, Say):
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        item = {"type": "message", "id": _name("msg"), "role": "assistant", "content": content}
    elif step.text:
        item = {"type": "custom_tool_call", "call_id": _name("call"), "name": step.tool, "input": step.text}
    else:
        arguments = json.dumps(step.arguments)
        item = {"type": "function_call", "call_id": _name("call"), "name": step.tool, "arguments": arguments}
        item |= {"namespace": step.namespace} if step.namespace else {}
    return [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "output": [item], "usage": usage}},
    ]


def gemini_answer(step: Call | Say) -> Json:
    """One candidate; a stream has it as its only part."""
    part: Json = {"text": step.text} if isinstance(step, Say) else {
        "functionCall": {"name": step.tool, "args": step.arguments}
    }  # fmt: skip
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
