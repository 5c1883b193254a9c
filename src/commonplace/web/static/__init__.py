"""Static files: styles, scripts, pictures. Their URLs change with their content, so browsers can cache them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

TREE = "/static"
KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file ready to send."""

    content: bytes
    media: str
    mark: str


@cache
def static_files() -> dict[str, StaticFile]:
    """All of them, by name."""
    found = {}
    for file in files(__name__).iterdir():
        ending = "." + file.name.rpartition(".")[2]
        if ending in KINDS:
            content = file.read_bytes()
            found[file.name] = StaticFile(content, KINDS[ending], hashlib.sha256(content).hexdigest()[:12])
    return found


def address_of(name: str) -> str:
    """The URL of a file with its current content. Scripts import each other without a version."""
    return f"{TREE}/{name}?v={static_files()[name].mark}"


async def send(request: Request) -> Response:
    """Send the requested file."""
    file = static_files().get(request.path_params["name"])
    if file is None:
        return PlainTextResponse("There is no such file.\n", 404)
    tag = f'"{file.mark}"'
    headers = {"ETag": tag, "X-Content-Type-Options": "nosniff"}
    headers["Cache-Control"] = _FOR_EVER if request.query_params.get("v") == file.mark else "no-cache"
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media)
