"""The frame of every endpoint: who may, what was asked, doing it once, and what is answered."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from commonplace.config import Settings
from commonplace.errors import (
    CommonplaceError,
    Forbidden,
    InvalidInput,
    KeyMissing,
    NotFound,
    WrongMethod,
)
from commonplace.helper_processes import CallerLeft
from commonplace.memory.book import Book, reopened
from commonplace.memory.replies import Answered, once
from commonplace.model import Key
from commonplace.rest.endpoint import WRITING, Answer, Asked, Endpoint, House, caller_of
from commonplace.rest.reading import body_of, query_of
from commonplace.rest.refusal import JSON, as_bytes, error_style, refusal, rendered
from commonplace.rest.uploads import Received, is_large, received
from commonplace.text.redacted_data import redacted
from commonplace.workers import Workers

log = logging.getLogger(__name__)

IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,200}")
_TAG = re.compile(r'(?:W/)?("[^"]*")')


class Door:
    """One path, and the endpoints behind it by their methods."""

    def __init__(self, path: str, endpoints: Mapping[str, Endpoint], house: House) -> None:
        self._path, self._endpoints, self._house = path, endpoints, house
        also = ("HEAD", "OPTIONS") if "GET" in endpoints else ("OPTIONS",)
        self._allow = ", ".join((*endpoints, *also))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._response(Request(scope, receive))
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": self._allow})
        endpoint = self._endpoints.get("GET" if request.method == "HEAD" else request.method)
        try:
            if endpoint is None:
                raise WrongMethod(f"{request.method[:20]} is not for {self._path}.", f"There is {self._allow}.")
            key = _allowed(endpoint, request.scope)
            async with received(request, endpoint, self._house.workers, caller_of(key)) as body:
                answer = await self._answer(endpoint, key, request, body)
        except CommonplaceError as error:
            response = refusal(error)
            if isinstance(error, WrongMethod):
                response.headers["Allow"] = self._allow
            return response
        except (ClientDisconnect, CallerLeft):
            return Response(status_code=400)
        except Exception as error:
            log.exception("%s %s failed", request.method, self._path)
            return refusal(CommonplaceError(f"The call failed: {type(error).__name__}."))
        return _rendered(endpoint, answer, request)

    async def _answer(self, endpoint: Endpoint, key: Key | None, request: Request, body: Received) -> Answer:
        """Have it done where it delays nobody else: in threads of its kind, or by a helper if much was sent."""
        workers, state = self._house.workers, request.scope["state"]
        book = cast(Book, state.get("book"))
        sent = _Sent.of(request, body)
        if workers.helpers is not None and key is not None and is_large(body):
            return await workers.helpers.do(
                *(_answered_apart, book.settings, book.neighbours.home, endpoint.method, endpoint.path, key, sent),
                caller=key.id,
                left=state["left"],
            )
        asked = functools.partial(_answered, book, endpoint, key, sent, self._house, state.get("recheck", _unchecked))
        return await (workers.slow if endpoint.slow else workers).do(asked, caller_of(key))


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request as it was received, in a form that another process can be given."""

    method: str
    path: str
    params: Mapping[str, str]
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: Received

    @classmethod
    def of(cls, request: Request, body: Received) -> _Sent:
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
    book: Book, endpoint: Endpoint, key: Key | None, sent: _Sent, house: House, recheck: Callable[[], None]
) -> Answer:
    """Everything that takes time, in one piece of work."""
    if key is not None:
        book.meaning.somebody_asks()
    headers = Headers(raw=list(sent.headers))
    asked = Asked(
        path=sent.params,
        query=query_of(endpoint, sent.query),
        body=body_of(endpoint, sent.body.raw, headers.get("content-type", "")),
        headers=headers,
        house=house,
        key=key,
        files=sent.body.files,
        recheck=recheck,
    )
    name = headers.get("idempotency-key")
    if name is None or endpoint.method not in WRITING or key is None:
        return _safe(endpoint.call(book, asked))
    return _once(book, endpoint, asked, name, str(key.id), _fingerprint(sent))


def _answered_apart(settings: Settings, home: str, method: str, path: str, key: Key, sent: _Sent) -> Answer:
    """The same in a helper process."""
    from commonplace.rest.table import ENDPOINTS

    endpoint = next(one for one in ENDPOINTS if (one.method, one.path) == (method, path))
    return _answered(reopened(settings, home, key.project), endpoint, key, sent, _house_apart(), _unchecked)


@functools.cache
def _house_apart() -> House:
    """What endpoints can know in a helper process: nothing about the server."""
    return House(Workers(1), lambda: b"", lambda _book: b"", lambda: False)


class Nowhere:
    """Where nothing is: the same refusal as everywhere."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = NotFound(f"There is nothing at {scope['path'][:100]}.", "GET /api/v1/openapi.json lists what there is.")
        await refusal(error)(scope, receive, send)


def _allowed(endpoint: Endpoint, scope: Scope) -> Key | None:
    key: Key | None = scope.setdefault("state", {}).get("key")
    if endpoint.scope is None:
        return key
    if key is None:
        raise scope["state"].get("refused") or KeyMissing("A key is needed here.")
    if not key.allows(endpoint.scope):
        raise Forbidden(
            f"This key may only {key.scope}; {endpoint.method} {endpoint.path} takes one of scope {endpoint.scope}."
        )
    return key


def _unchecked() -> None:
    """For whoever needs no key."""


def _safe(answer: Answer) -> Answer:
    """The answer as bytes, with no secret in it but one that is to be told."""
    if answer.data is None:
        return answer
    shown = _shown(answer)
    data = {**shown, **answer.told_once} if isinstance(shown, dict) else shown
    return Answer(
        content=as_bytes(data), status=answer.status, etag=answer.etag, headers=answer.headers, media=answer.media
    )


def _shown(answer: Answer) -> Any:
    data = answer.data if isinstance(answer.data, list) else dict(answer.data or {})
    return data if answer.ours else redacted(data)


def _once(book: Book, endpoint: Endpoint, asked: Asked[object, object], name: str, who: str, print_: bytes) -> Answer:
    """Do it unless it was done under this name; then answer as the first time."""
    if not IDEMPOTENCY_KEY.fullmatch(name):
        raise InvalidInput("The Idempotency-Key is not a name.", "Use 1 to 200 visible ASCII characters.")
    made: list[Answer] = []
    refused: list[CommonplaceError] = []

    def work() -> Answered:
        try:
            answer = endpoint.call(book, asked)
        except CommonplaceError as error:
            refused.append(error)
            status, body = rendered(error, error.http_status, error_style(endpoint.path, asked.headers))
            return Answered(status, "{}", body)
        made.append(_safe(answer))
        kept = as_bytes(_shown(answer))
        headers = {**answer.headers, **({"ETag": answer.etag} if answer.etag else {})}
        return Answered(answer.status, json.dumps(headers), kept)

    first, repeated = once(book, who, name, print_, work)
    if refused:
        raise refused[0]
    if not repeated:
        return made[0]
    headers = {**json.loads(first.headers), "Idempotency-Replayed": "true"}
    return Answer(content=first.body, status=first.status, headers=headers)


def _fingerprint(sent: _Sent) -> bytes:
    asked = (sent.method.encode(), sent.path.encode(), sent.query, sent.body.raw)
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in asked)).digest()


def _rendered(endpoint: Endpoint, answer: Answer, request: Request) -> Response:
    headers = {"Cache-Control": "no-store" if endpoint.method in WRITING else "no-cache", **answer.headers}
    if answer.etag:
        headers["ETag"] = answer.etag
    if answer.stream is not None:
        return StreamingResponse(answer.stream(), answer.status, headers, endpoint.media)
    if endpoint.method == "GET" and answer.status == 200:
        tag = headers.setdefault("ETag", f'W/"{hashlib.blake2b(answer.content, digest_size=12).hexdigest()}"')
        if _has(request.headers, tag):
            return Response(status_code=304, headers=headers)
    media = (answer.media or endpoint.media) if answer.status < 400 else JSON
    response = Response(answer.content, answer.status, headers, media)
    if request.method == "HEAD":
        response.body = b""
    return response


def _has(headers: Headers, tag: str) -> bool:
    """Whether the caller has what this names already."""
    known = headers.get("if-none-match", "")
    return known.strip() == "*" or tag.removeprefix("W/") in _TAG.findall(known)
