"""The letter of introduction adds the key, changes nothing else, and tells what it heard."""

from __future__ import annotations

import httpx2
from judges.key_proxy import introduced
from tests.mcp.conftest import DEADLINE, Served


def test_whoever_comes_with_it_is_known(served: Served) -> None:
    received: list[tuple[bytes, bytes]] = []
    port = int(served.url.rpartition(":")[2])
    with introduced(port, served.key, lambda question, answered: received.append((question, answered))) as url:
        body = {"content": "Carried by a letter"}
        stored = httpx2.post(f"{url}/api/v1/items", json=body, timeout=DEADLINE)
        assert stored.status_code == 201 and stored.json()["content"] == "Carried by a letter"
        assert httpx2.get(f"{url}/api/v1/items", timeout=DEADLINE).status_code == 200
        with introduced(port, "sk-sekha-wrong") as stranger:
            assert httpx2.get(f"{stranger}/api/v1/items", timeout=DEADLINE).status_code == 401
    assert [
        (b"Carried by a letter" in request, b"Carried by a letter" in message) for request, message in received
    ] == [
        (True, True),
        (False, True),
    ]
