"""REST: any request is answered, within the one shape of errors, and never as a fault of ours."""

from __future__ import annotations

import json

from commonplace.rest.endpoint_table import ENDPOINTS
from fuzzing.server import fuzz_server
from fuzzing.target import must

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# What never ends by itself, or would take away the key that we call with.
_LEFT_OUT = ("/api/v1/events", "/api/v1/keys")
WORDS = (
    *(f"{endpoint.method} {endpoint.path}\n" for endpoint in ENDPOINTS if not endpoint.path.startswith(_LEFT_OUT)),
    *('{"content": "x"}', '"title"', '"project"', '"tags"', '"type"', '"kind"', '"session"', '"messages"', '"role"'),
    *('"label"', '"folder"', '"importance"', '"limit"', '"query"', '"ids"', "?limit=", "&offset=", "%00", "%ff", "1"),
    *("null", "true", "{}", "[]", "1e999", "-1", "99999999999999999999", '"\\ud800"', '"\\u0000"', '""', ",", ":", "{"),
)


def take(data: bytes) -> None:
    """The first line is the method and the address, what follows is the body."""
    first, _, body = data.partition(b"\n")
    method, _, address = first.decode("utf-8", "replace").partition(" ")
    path = "/api/v1/" + address.removeprefix("/").removeprefix("api/v1/")
    if path.startswith(_LEFT_OUT):
        return
    method = method if method in METHODS else METHODS[len(method) % len(METHODS)]
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    answer = fuzz_server().call(method, path.replace("\n", ""), body, headers)
    must(100 <= answer.status < 600, "an answer has a status")
    if answer.status >= 400 and answer.headers.get("content-type", "").startswith("application/json"):
        reply = json.loads(answer.body)
        # Sekha's routes answer with a sentence, all others with an object.
        error = reply["error"]
        message, code = (error, reply["error_code"]) if isinstance(error, str) else (error["message"], error["code"])
        must(reply["code"] == answer.status and bool(message), "an error has its shape")
        must(code != "INTERNAL_ERROR", f"{method} {path[:80]} is a fault of ours: {reply}")
    must(answer.status != 500, f"{method} {path[:80]} answers 500")
