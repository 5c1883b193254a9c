"""Real client libraries: each turns our tools into those of its model, and calls them the way strict clients do.

They are installed with the development dependencies, so that none is ever left out. `make judge` runs more of them.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from judges import library_client
from judges.library_client import CALLS
from tests.forked_process import command

from commonplace.config import PROFILES
from commonplace.dialects.tool_profiles import tools_of
from commonplace.memory.local_memory import LocalMemory

from .conftest import DEADLINE, Served, connected, environment, play

LIBRARIES = ("google-genai", "anthropic", "openai-agents", "pydantic-ai-slim", "fastmcp-slim")


def tried(folder: Path, library: str, *where: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, library_client.__file__, library, *where],
        env=environment(folder),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=2 * DEADLINE,
        check=False,
    )
    assert done.stdout, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_converts_and_calls_every_tool_over_stdio(tmp_path: Path, library: str) -> None:
    result = tried(tmp_path, library, "--stdio", *command("mcp"))
    assert result["failures"] == []
    assert (result["tools"], result["calls"]) == (len(tools_of("all")), len(CALLS))


# These bring HTTP clients of their own; the others use the SDK's.
@pytest.mark.parametrize("library", ["openai-agents", "fastmcp-slim"])
def test_a_library_converts_and_calls_every_tool_over_http(served: Served, tmp_path: Path, library: str) -> None:
    result = tried(tmp_path, library, "--http", f"{served.url}/mcp", served.key)
    assert result["failures"] == []
    assert (result["tools"], result["calls"]) == (len(tools_of("all")), len(CALLS))


def test_the_converter_that_takes_least_takes_every_profile(memory: LocalMemory) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        convert = importlib.import_module("google.genai._mcp_utils").mcp_to_gemini_tools

    async def story() -> None:
        for profile in PROFILES:
            async with connected(memory, profile=profile) as client:
                listed = (await client.list_tools()).tools
                declared = [one for tool in convert(listed) for one in tool.function_declarations]
                assert [one.name for one in declared] == [tool.name for tool in tools_of(profile)]
                for one, tool in zip(declared, listed, strict=True):
                    assert set(one.parameters.properties) == set(tool.input_schema["properties"])

    play(story)
