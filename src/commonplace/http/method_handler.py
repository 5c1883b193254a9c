"""One path of the server: finds what answers a method, and turns whatever goes wrong into a response."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from commonplace.errors import CommonplaceError, WrongMethod
from commonplace.helper_processes import CallerLeft
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Key

log = logging.getLogger(__name__)

Row = TypeVar("Row")


class MethodHandler(ABC, Generic[Row]):
    """An ASGI application for one path, with the rows of a table (endpoints or pages) by their methods."""

    # What is answered here, as an error calls it.
    answers_with: ClassVar[str] = "call"

    def __init__(self, path: str, rows: Mapping[str, Row]) -> None:
        self._path, self._rows = path, rows
        also = ("HEAD", "OPTIONS") if "GET" in rows else ("OPTIONS",)
        self._allow = ", ".join((*rows, *also))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.respond(Request(scope, receive))
        await response(scope, receive, send)

    async def respond(self, request: Request) -> Response:
        """The response to a request, also to one that fails."""
        row = self._rows.get("GET" if request.method == "HEAD" else request.method)
        try:
            if row is None:
                raise WrongMethod(f"{request.method[:20]} is not for {self._path}.", self.wrong_method_hint())
            return await self.answer(row, request)
        except CommonplaceError as error:
            return self.refuse(error, request, row)
        except (ClientDisconnect, CallerLeft):
            # Nobody reads it.
            return Response(status_code=400)
        except Exception as error:
            log.exception("%s %s failed", request.method, self._path)
            failure = CommonplaceError(f"The {self.answers_with} failed: {type(error).__name__}.")
            return self.refuse(failure, request, row)

    @abstractmethod
    async def answer(self, row: Row, request: Request) -> Response:
        """What the row answers; errors may be raised."""

    @abstractmethod
    def refuse(self, error: CommonplaceError, request: Request, row: Row | None) -> Response:
        """An error as whoever calls here reads it; `row` is None if nothing here answers the method."""

    def wrong_method_hint(self) -> str:
        return f"There is {self._allow}."


def key_of(request: Request) -> Key | None:
    """The caller's key, if they showed one that works."""
    return cast(Key | None, request.scope.setdefault("state", {}).get("key"))


def memory_of(request: Request) -> LocalMemory:
    """The memory that the caller's key opens."""
    return cast(LocalMemory, request.scope["state"].get("memory"))
