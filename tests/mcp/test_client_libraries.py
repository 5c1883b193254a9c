"""Real client libraries: each turns our tools into those of its model, and calls them the way strict clients do.

They are installed with the development dependencies, so that none is ever left out. `make judge` runs more of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from judges.client_libraries import SCRIPT
from judges.library_client import CALLS

from commonplace.config import PROFILES
from commonplace.dialects.profiles import tools_of

from .conftest import DEADLINE, Served, environment

LIBRARIES = ("google-genai", "anthropic", "openai-agents", "pydantic-ai-slim", "fastmcp-slim")


def tried(folder: Path, library: str, *where: str) -> dict[str, Any]:
    command = [sys.executable, str(SCRIPT), library, *where]
    done = subprocess.run(
        command,
        env=environment(folder),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=2 * DEADLINE,
        check=False,
    )
    assert done.stdout, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_converts_and_calls_every_tool_over_stdio(tmp_path: Path, library: str) -> None:
    told = tried(tmp_path, library, "--stdio", sys.executable, "-m", "commonplace", "mcp")
    assert told["failures"] == []
    assert (told["tools"], told["calls"]) == (len(tools_of("all")), len(CALLS))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_converts_and_calls_every_tool_over_http(served: Served, tmp_path: Path, library: str) -> None:
    told = tried(tmp_path, library, "--http", f"{served.url}/mcp", served.key)
    assert told["failures"] == []
    assert (told["tools"], told["calls"]) == (len(tools_of("all")), len(CALLS))


@pytest.mark.parametrize("profile", PROFILES)
def test_the_strictest_converter_takes_every_profile(tmp_path: Path, profile: str) -> None:
    command = (sys.executable, "-m", "commonplace", "mcp", "--profile", profile)
    told = tried(tmp_path, "google-genai", "--stdio", *command)
    assert told["tools"] == len(tools_of(profile))
    # Its calls are those of the profile `all`; in another one they may miss arguments or answers.
    assert not [failure for failure in told["failures"] if "lost arguments" in failure or "requires" in failure]
