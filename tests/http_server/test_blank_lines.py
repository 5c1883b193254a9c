"""Captured events with thousands of blank lines are stored at once, and hold up nobody else."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import httpx2
from tests.mcp.conftest import DEADLINE, Served

BLANK = "\n" * 20_000


def event(number: int, kind: str, **more: object) -> dict[str, Any]:
    return {
        "host": "claude-code",
        "kind": kind,
        "id": f"an-event-{number}",
        "session": "s1",
        "at_ms": 1_742_049_000_000 + number,
        "cwd": "/srv/api",
        "folder": {"path": "/srv/api", "project": "github.com/acme/api", "root": "/srv/api"},
        **more,
    }


def test_blank_lines_hold_up_neither_their_request_nor_another(served: Served) -> None:
    begun = [
        event(1, "prompt", text="Add a metric to the login service"),
        event(2, "stop", text="I added the endpoint.\n\nNext steps:\n- Add a metric for logins\n- Write the migration"),
    ]
    # In a prompt, in an answer, and between what looks like the beginning and the end of a list.
    ended = [
        event(3, "prompt", text=f"And the rest of it?{BLANK}Please."),
        event(4, "stop", text=f"I looked at it.{BLANK}That is all."),
        event(5, "prompt", text="What is left?"),
        event(6, "stop", text=f"Next steps:{BLANK}- [x] Add a metric for logins{BLANK}# {BLANK}- [ ] {BLANK}done"),
    ]
    replies: list[httpx2.Response] = []

    def send() -> None:
        with httpx2.Client(base_url=served.url, headers=served.headers, timeout=DEADLINE) as client:
            post = partial(client.post, "/api/v1/hooks/events")
            replies.extend(post(json={"events": events}) for events in (begun, ended))

    sending = threading.Thread(target=send)
    sending.start()
    with httpx2.Client(base_url=served.url, timeout=DEADLINE) as client:
        while sending.is_alive():
            assert client.get("/ready").status_code == 200
    sending.join()
    assert [(reply.status_code, reply.json()["stored"]) for reply in replies] == [(200, 2), (200, 4)]
