"""A home in which coding agents worked: two sessions of Claude Code in one project."""

from __future__ import annotations

from pathlib import Path

from tests.capture.transcripts.corpus import Claude, write

LOGIN, LIMITS = "0a1b2c3d-1111-4222-8333-444455556666", "0a1b2c3d-1111-4222-8333-777788889999"


def login() -> Claude:
    claude = Claude(LOGIN)
    claude.user("Why does the login test fail?")
    claude.calls("Bash", "t1", command="pytest tests/test_login.py")
    claude.answers("t1", "E   TimeoutError: no answer in 30 s\nexit code: 1", error=True)
    claude.calls("Edit", "t2", file_path="/srv/code/my-api/src/login.py", old_string="30", new_string="60")
    claude.answers("t2", "The file was changed.")
    claude.says("The token server is slow, so the login gets sixty seconds now.")
    return claude


def limits() -> Claude:
    claude = Claude(LIMITS)
    claude.user("Add rate limiting to the public API")
    claude.calls("Read", "t1", file_path="/srv/code/my-api/src/server.py")
    claude.answers("t1", "\n".join(f"line {number} of the server" for number in range(40)))
    claude.says("Every key may make a hundred requests a minute; the limiter is a token bucket.")
    claude.user("And for the admin pages?")
    claude.says("They are limited by address: ten a minute.")
    for record in claude.records:
        record["timestamp"] = record["timestamp"].replace("2026-03-15", "2026-03-16")
    return claude


def furnish(home: Path) -> Path:
    """Write the sessions where Claude Code would; the folder they are in."""
    folder = home / ".claude" / "projects" / "-srv-code-my-api"
    for session, claude in ((LOGIN, login()), (LIMITS, limits())):
        write(folder / f"{session}.jsonl", claude.records)
    return folder
