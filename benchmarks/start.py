"""How quickly and how lightly the stdio server starts, against a bare SDK server and a bare interpreter."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.client import StdioClient, commonplace_server, environment, median_ms

ROUNDS = 9

BARE_SDK = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")
@server.tool()
def echo(text: str) -> str:
    return text
server.run("stdio")
"""

BARE_PYTHON = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}), flush=True)
"""


def start() -> list[tuple[str, str, str]]:
    """Rows of (what, figure, ratio): spawn to the answer of tools/list, rounds interleaved."""
    with tempfile.TemporaryDirectory() as folder:
        command, env = commonplace_server(Path(folder))
        candidates = {
            "commonplace mcp": (command, env),
            "bare SDK server": ([sys.executable, "-c", BARE_SDK], environment()),
            "bare interpreter": ([sys.executable, "-c", BARE_PYTHON], environment()),
        }
        seconds: dict[str, list[float]] = {name: [] for name in candidates}
        megabytes: dict[str, float] = {}
        for round_ in range(ROUNDS + 1):
            for name, (argv, variables) in candidates.items():
                with StdioClient(argv, variables) as client:
                    client.request("tools/list")
                    if round_:
                        seconds[name].append(time.perf_counter() - client.started)
                    megabytes[name] = client.megabytes()
    base = median_ms(seconds["bare SDK server"])
    rows = []
    for name, taken in seconds.items():
        rows.append((f"start to tools/list: {name}", f"{median_ms(taken):.0f} ms", f"{median_ms(taken) / base:.2f} x"))
    for name, used in megabytes.items():
        rows.append((f"memory at tools/list: {name}", f"{used:.0f} MB", f"{used / megabytes['bare SDK server']:.2f} x"))
    return rows
