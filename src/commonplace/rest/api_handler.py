"""Handles requests to endpoints: checks key, query and body, runs the endpoint once, and renders its answer."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from commonplace.config import Settings
from commonplace.dialects.window_project import is_global
from commonplace.errors import (
    CommonplaceError,
    Forbidden,
    InvalidInput,
    KeyMissing,
    NotFound,
    WrongMethod,
)
from commonplace.http_responses import (
    JSON,
    MethodHandler,
    error_response,
    error_style,
    json_bytes,
    key_of,
    memory_of,
    rendered_error,
)
from commonplace.memory.idempotency import SavedReply, run_once
from commonplace.memory.local_memory import LocalMemory, reopen_memory
from commonplace.memory.projects import require_project
from commonplace.model import Author, Key
from commonplace.rest.endpoint import WRITING_METHODS, Answer, ApiRequest, Endpoint, ServerContext, caller_id
from commonplace.rest.endpoint_table import ENDPOINTS
from commonplace.rest.metrics import RequestMetrics
from commonplace.rest.openapi import document
from commonplace.rest.request_parsing import ReceivedBody, is_large, parse_body, parse_query, receive_body
from commonplace.text.redact import redact_data
from commonplace.worker_threads import Workers

IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,200}")
_TAG = re.compile(r'(?:W/)?("[^"]*")')


class ApiHandler(MethodHandler[Endpoint]):
    """One path, and the endpoints behind it by their methods."""

    def __init__(self, path: str, endpoints: Mapping[str, Endpoint], server: ServerContext) -> None:
        super().__init__(path, endpoints)
        self._server = server

    async def respond(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": self._allow})
        return await super().respond(request)

    async def answer(self, row: Endpoint, request: Request) -> Response:
        key = _allowed(row, request)
        async with receive_body(request, row, self._server.workers, caller_id(key)) as body:
            answer = await self._computed(row, key, request, body)
        return _rendered(row, answer, request)

    def refuse(self, error: CommonplaceError, request: Request, row: Endpoint | None) -> Response:
        response = error_response(error)
        if isinstance(error, WrongMethod):
            response.headers["Allow"] = self._allow
        return response

    async def _computed(self, endpoint: Endpoint, key: Key | None, request: Request, body: ReceivedBody) -> Answer[Any]:
        """Have it done where it delays nobody else: in threads of its kind, or by a helper if much was sent."""
        workers = self._server.workers
        state = request.scope["state"]
        memory = memory_of(request)
        sent = _ReceivedRequest.of(request, body)
        if workers.helpers is not None and key is not None and is_large(body):
            return await workers.helpers.do(
                _answered_in_helper,
                memory.settings,
                memory.open_spaces.home,
                memory.writer,
                endpoint.method,
                endpoint.path,
                key,
                sent,
                caller=key.id,
                left=state["left"],
            )
        recheck = state.get("recheck", _unchecked)
        work = functools.partial(_answered, memory, endpoint, key, sent, self._server, recheck)
        return await (workers.slow if endpoint.slow else workers).do(work, caller_id(key))


@dataclass(frozen=True, slots=True)
class _ReceivedRequest:
    """A request as it was received, in a form that another process can be given."""

    method: str
    path: str
    params: Mapping[str, str]
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: ReceivedBody

    @classmethod
    def of(cls, request: Request, body: ReceivedBody) -> _ReceivedRequest:
        scope = request.scope
        return cls(
            request.method,
            request.url.path,
            dict(request.path_params),
            scope["query_string"],
            tuple(scope["headers"]),
            body,
        )


def _answered(
    memory: LocalMemory,
    endpoint: Endpoint,
    key: Key | None,
    sent: _ReceivedRequest,
    server: ServerContext,
    recheck: Callable[[], None],
) -> Answer[Any]:
    """Everything that takes time, in one piece of work."""
    if key is not None:
        memory.embeddings.note_request()
    headers = Headers(raw=list(sent.headers))
    checked = ApiRequest(
        path=sent.params,
        query=parse_query(endpoint, sent.query),
        body=parse_body(endpoint, sent.body.raw, headers.get("content-type", "")),
        headers=headers,
        server=server,
        key=key,
        files=sent.body.files,
        recheck=recheck,
    )
    if endpoint.reads_known_project:
        _require_project(memory, checked)
    name = headers.get("idempotency-key")
    if name is None or endpoint.method not in WRITING_METHODS or key is None:
        return _redacted_answer(endpoint.call(memory, checked))
    return _answered_once(memory, endpoint, checked, name, str(key.id), _fingerprint(sent))


def _require_project(memory: LocalMemory, checked: ApiRequest[Any, Any]) -> None:
    """Refuse a project that nobody knows, as the command line does: rules of a misspelt project would be none."""
    named = getattr(checked.query, "project", None) or getattr(checked.body, "project", None)
    if named is not None and not is_global(named):
        require_project(memory, named)


def _answered_in_helper(
    settings: Settings, home: str, writer: Author, method: str, path: str, key: Key, sent: _ReceivedRequest
) -> Answer[Any]:
    """The same in a helper process."""
    endpoint = next(one for one in ENDPOINTS if (one.method, one.path) == (method, path))
    memory = reopen_memory(settings, home, key.project, writer)
    return _answered(memory, endpoint, key, sent, _helper_context(), _unchecked)


@functools.cache
def _helper_context() -> ServerContext:
    """What endpoints can know in a helper process: nothing about the server."""
    return ServerContext(Workers(1), lambda: b"", lambda _memory: b"", lambda: False)


class NotFoundHandler:
    """Answers for paths that do not exist."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = NotFound(f"There is nothing at {scope['path'][:100]}.", "GET /api/v1/openapi.json lists what there is.")
        await error_response(error)(scope, receive, send)


def _allowed(endpoint: Endpoint, request: Request) -> Key | None:
    key = key_of(request)
    if endpoint.scope is None:
        return key
    if key is None:
        raise request.scope["state"].get("refused") or KeyMissing("A key is needed here.")
    if not key.allows(endpoint.scope):
        raise Forbidden(
            f"This key can only {key.scope}; {endpoint.method} {endpoint.path} takes one of scope {endpoint.scope}."
        )
    return key


def _unchecked() -> None:
    """For whoever needs no key."""


def _redacted_answer(answer: Answer[Any]) -> Answer[Any]:
    """The answer as bytes, without secrets, except one that the caller asked to be made."""
    if answer.data is None:
        return answer
    shown = _redacted_data(answer)
    data = {**shown, **answer.shown_once} if isinstance(shown, dict) else shown
    return Answer(
        content=json_bytes(data), status=answer.status, etag=answer.etag, headers=answer.headers, media=answer.media
    )


def _redacted_data(answer: Answer[Any]) -> Any:
    return answer.data if answer.trusted else redact_data(answer.data)


def _answered_once(
    memory: LocalMemory, endpoint: Endpoint, checked: ApiRequest[object, object], name: str, who: str, print_: bytes
) -> Answer[Any]:
    """Do it unless it was done under this name; then answer as the first time."""
    if not IDEMPOTENCY_KEY.fullmatch(name):
        raise InvalidInput("The Idempotency-Key is not a name.", "Use 1 to 200 visible ASCII characters.")
    made: list[Answer[Any]] = []
    refused: list[CommonplaceError] = []

    def work() -> SavedReply:
        try:
            answer = endpoint.call(memory, checked)
        except CommonplaceError as error:
            refused.append(error)
            status, body = rendered_error(error, error.http_status, error_style(endpoint.path, checked.headers))
            return SavedReply(status, "{}", body)
        made.append(_redacted_answer(answer))
        saved = json_bytes(_redacted_data(answer))
        headers = {**answer.headers, **({"ETag": answer.etag} if answer.etag else {})}
        return SavedReply(answer.status, json.dumps(headers), saved)

    first, repeated = run_once(memory, who, name, print_, work)
    if refused:
        raise refused[0]
    if not repeated:
        return made[0]
    headers = {**json.loads(first.headers), "Idempotency-Replayed": "true"}
    return Answer(content=first.body, status=first.status, headers=headers)


def _fingerprint(sent: _ReceivedRequest) -> bytes:
    parts = (sent.method.encode(), sent.path.encode(), sent.query, sent.body.raw)
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).digest()


def _rendered(endpoint: Endpoint, answer: Answer[Any], request: Request) -> Response:
    headers = {"Cache-Control": "no-store" if endpoint.method in WRITING_METHODS else "no-cache", **answer.headers}
    if answer.etag:
        headers["ETag"] = answer.etag
    if answer.stream is not None:
        return StreamingResponse(answer.stream(), answer.status, headers, endpoint.media)
    if endpoint.method == "GET" and answer.status == 200:
        tag = headers.setdefault("ETag", f'W/"{hashlib.blake2b(answer.content, digest_size=12).hexdigest()}"')
        if _is_cached(request.headers, tag):
            return Response(status_code=304, headers=headers)
    media = (answer.media or endpoint.media) if answer.status < 400 else JSON
    response = Response(answer.content, answer.status, headers, media)
    if request.method == "HEAD":
        response.body = b""
    return response


def _is_cached(headers: Headers, tag: str) -> bool:
    """Whether the caller has what this names already."""
    known = headers.get("if-none-match", "")
    return known.strip() == "*" or tag.removeprefix("W/") in _TAG.findall(known)


# Below this a reply travels as fast as it is; streams of events are never held back to be packed.
_COMPRESSED = Middleware(GZipMiddleware, minimum_size=4096, compresslevel=3)


def routes(workers: Workers, requests: RequestMetrics, ending: Callable[[], bool]) -> list[BaseRoute]:
    """Everything under /api/v1 and /api/sdk, and /metrics.

    `ending` tells those who listen that the server is about to stop.
    """
    server = ServerContext(
        workers=workers,
        document=functools.cache(lambda: json_bytes(document(ENDPOINTS))),
        counted=requests.text,
        ending=ending,
    )
    handlers = [
        Route(path, ApiHandler(path, behind, server), middleware=[_COMPRESSED])
        for path, behind in _endpoints_by_path().items()
    ]
    not_found = NotFoundHandler()
    elsewhere = [Route(path, not_found) for root in ("/api/v1", "/api/sdk") for path in (root, root + "/{rest:path}")]
    return [*handlers, *elsewhere]


def _endpoints_by_path() -> dict[str, dict[str, Endpoint]]:
    """Endpoints by path and method; a path that says more comes before one with a gap in its place."""
    found: dict[str, dict[str, Endpoint]] = {}
    for endpoint in sorted(ENDPOINTS, key=lambda one: one.path.replace("{", "\uffff")):
        found.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return found
