"""Prints which of our files one `add_memory` over stdio runs, and which functions of each.

`python -m tests.mcp.write_walk` serves MCP as `search_walk` does, in a process that has stored other statements.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections import defaultdict

from tests.mcp.search_walk import STATEMENTS, Client, Walk, report

# Asked one after the other; the shortest walk counts. None of them repeats or contradicts what is there.
STATED = (
    "Deploys go out on Tuesdays.",
    "Logs are kept for two weeks in Loki.",
    "The mobile app is written in Kotlin.",
    "Invoices are sent on the first of each month.",
)


def walk() -> dict[str, set[str]]:
    """What storing a statement runs in a process that has stored and found others."""
    seen = Walk()
    threading.setprofile(seen)
    with tempfile.TemporaryDirectory() as folder:
        client = Client(folder)
        for text in STATEMENTS:
            client.call("add_memory", content=text)
        # Waits for the vectors.
        client.call("search", query="who reviews migrations?")
        walks = []
        for text in STATED:
            seen.functions, seen.on = defaultdict(set), True
            stored = client.call("add_memory", content=text)
            seen.on = False
            assert not stored["duplicate"] and not stored["contradicts"], stored
            walks.append(seen.functions)
        client.close()
    return min(walks, key=lambda functions: sum(map(len, functions.values())))


if __name__ == "__main__":
    functions = walk()
    number = sum(map(len, functions.values()))
    sys.stdout.write("\n".join([*report(functions), f"{number} functions", ""]))
