"""How each coding agent is run without a person and a network: its command, its settings, the names of its tools.

Every one gets a home of its own, in which a person has settled in already: `own_files` are what stood there before
`commonplace connect`. The address of the stand-in for its model stands in them or in the environment as `MODEL_URL`.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from judges.installed import MODULES, script
from judges.scripted_model import Call

MODEL_URL = "MODEL_URL"
Moment = Literal["start", "prompt", "tool", "failure"]
ALL_MOMENTS: frozenset[Moment] = frozenset(("start", "prompt", "tool", "failure"))


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent, with one way of calling its tools."""

    # What it is called here, and what `commonplace connect` calls it.
    name: str
    host: str
    package: str
    # The command line for a prompt.
    command: Callable[[str], list[str]]
    environment: Mapping[str, str]
    # How its model runs a command, writes a file and asks our memory.
    run: Callable[[str], Call]
    write: Callable[[str, str], Call]
    recall: Callable[[str], Call]
    # Files in the home that are there before it is connected.
    own_files: Mapping[str, str] = field(default_factory=dict)
    # When its hooks can show something to the model.
    moments: frozenset[Moment] = ALL_MOMENTS
    # Whether its sessions are read by `commonplace ingest`.
    transcripts: bool = True


def _native(name: str, program: str) -> str:
    """The program in the package of this system: npm is not allowed to run the script that would move it."""
    system = {"win32": "windows" if name.startswith("opencode") else "win32"}.get(sys.platform, sys.platform)
    machine = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x64"
    return str(MODULES / f"{name}-{system}-{machine}" / (program + (".exe" if sys.platform == "win32" else "")))


def _claude(prompt: str) -> list[str]:
    allowed = "Bash,Write,Edit,Read,mcp__commonplace"
    program = _native("@anthropic-ai/claude-code", "claude")
    return [program, "--print", prompt, "--model", "sonnet", "--allowedTools", allowed]


CLAUDE_CODE = Agent(
    name="claude-code",
    host="claude-code",
    package="@anthropic-ai/claude-code",
    command=_claude,
    environment={
        "ANTHROPIC_BASE_URL": MODEL_URL,
        "ANTHROPIC_API_KEY": "any",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    },
    run=lambda command: Call("Bash", {"command": command, "description": "Run a command"}),
    write=lambda path, content: Call("Write", {"file_path": path, "content": content}),
    recall=lambda query: Call("mcp__commonplace__recall", {"query": query}),
    own_files={
        ".claude.json": json.dumps({"hasCompletedOnboarding": True, "mcpServers": {}}, indent=2),
        ".claude/settings.json": json.dumps({"permissions": {"deny": ["WebFetch"]}}, indent=2),
    },
)

_CODEX_CONFIG = """# Settings of my own.
check_for_update_on_startup = false
model_provider = "scripted"
model = "MODEL"  # the one that I like

[model_providers.scripted]
name = "scripted"
base_url = "MODEL_URL/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[analytics]
enabled = false
"""


def _codex(prompt: str) -> list[str]:
    trusted = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
    return [*script("@openai/codex"), "exec", *trusted, "--skip-git-repo-check", prompt]


def _patch(path: str, content: str) -> str:
    return "\n".join(("*** Begin Patch", f"*** Add File: {path}", *(f"+{line}" for line in content.splitlines()),
                      "*** End Patch", ""))  # fmt: skip


def _in_script(tool: str, given: object) -> Call:
    """A tool that is called by a script, as newer models do."""
    return Call("exec", {}, text=f"const answer = await tools.{tool}({json.dumps(given)}); text(answer);")


CODEX = Agent(
    name="codex",
    host="codex",
    package="@openai/codex",
    command=_codex,
    environment={"SCRIPTED_KEY": "any"},
    run=lambda command: Call("exec_command", {"cmd": command}),
    write=lambda path, content: Call("apply_patch", {}, text=_patch(path, content)),
    recall=lambda query: Call("recall", {"query": query}, namespace="mcp__commonplace"),
    own_files={".codex/config.toml": _CODEX_CONFIG.replace('"MODEL"', '"gpt-5.5"')},
)
CODEX_SCRIPTS = Agent(
    name="codex-scripts",
    host="codex",
    package="@openai/codex",
    command=_codex,
    environment=CODEX.environment,
    run=lambda command: _in_script("exec_command", {"cmd": command}),
    write=lambda path, content: _in_script("apply_patch", _patch(path, content)),
    recall=lambda query: _in_script("mcp__commonplace__recall", {"query": query}),
    own_files={".codex/config.toml": _CODEX_CONFIG.replace('"MODEL"', '"gpt-6.1-sol"')},
)

_GEMINI_SETTINGS = """{
  // Signed in by a key.
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false}
}
"""


def _gemini(prompt: str) -> list[str]:
    # A model that is named is not chosen by another one.
    model = ["--model", "gemini-2.5-pro"]
    return [*script("@google/gemini-cli"), "--approval-mode", "yolo", "--skip-trust", *model, "--prompt", prompt]


GEMINI = Agent(
    name="gemini",
    host="gemini",
    package="@google/gemini-cli",
    command=_gemini,
    environment={"GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": MODEL_URL},
    run=lambda command: Call("run_shell_command", {"command": command}),
    write=lambda path, content: Call("write_file", {"file_path": path, "content": content}),
    recall=lambda query: Call("mcp_commonplace_recall", {"query": query}),
    own_files={".gemini/settings.json": _GEMINI_SETTINGS},
)

_OPENCODE_PROVIDER = {"anthropic": {"options": {"baseURL": f"{MODEL_URL}/v1", "apiKey": "any"}}}
_OPENCODE_SETTINGS = {"autoupdate": False, "share": "disabled", "permission": "allow", "provider": _OPENCODE_PROVIDER}


def _opencode(prompt: str) -> list[str]:
    return [_native("opencode", "bin/opencode"), "run", "--model", "anthropic/claude-sonnet-4-5", prompt]


OPENCODE = Agent(
    name="opencode",
    host="opencode",
    package="opencode-ai",
    command=_opencode,
    environment={
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        # With a plugin it asks npm for a library first, and would try again for minutes.
        "npm_config_fetch_retries": "0",
        "npm_config_offline": "true",
    },
    run=lambda command: Call("bash", {"command": command, "description": "Run a command"}),
    write=lambda path, content: Call("write", {"filePath": path, "content": content}),
    recall=lambda query: Call("commonplace_recall", {"query": query}),
    own_files={".config/opencode/opencode.json": json.dumps(_OPENCODE_SETTINGS, indent=2) + "\n"},
)

AGENTS = (CLAUDE_CODE, CODEX, CODEX_SCRIPTS, GEMINI, OPENCODE)
