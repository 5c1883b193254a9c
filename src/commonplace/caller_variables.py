"""The environment variables that tell who runs a command: which user, and which agent if one does.

A caller sends them to the resident process with every call, so both sides read them from here. Shells and editors
wait for this module, so it imports nothing.
"""

AGENT_VARIABLES = {
    "CLAUDECODE": "claude-code",
    "CURSOR_AGENT": "cursor",
    "GEMINI_CLI": "gemini-cli",
    # The first is set on macOS only, the second where the sandbox has no network; later versions set the others.
    "CODEX_SANDBOX": "codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "codex",
    "CODEX_THREAD_ID": "codex",
    "CODEX_CI": "codex",
    "OPENCODE": "opencode",
    "CLINE_ACTIVE": "cline",
    "COPILOT_CLI": "copilot",
    # Any other agent: the value is its name.
    "AI_AGENT": "",
}
"""What agents set for the commands that they run, and the names of the agents."""
USER_VARIABLES = ("LOGNAME", "USER", "USERNAME")
"""Where the name of the user is, the first that is set."""
