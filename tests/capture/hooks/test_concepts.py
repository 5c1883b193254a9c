"""What observations are about, by names of files, commands and code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.capture.hooks.tool_calls import MAX_CONCEPTS, find_concepts


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/auth.ts", "security"),
        ("tests/test_login.py", "testing, security"),
        ("src/api/routes.ts", "api"),
        ("web/components/Button.tsx", "ui-component"),
        ("web/useLogin.ts", "hooks"),
        ("src/users.py", ""),
        ("src/author.py", ""),
        ("migrations/0007_captures.sql", "database"),
        ("package.json", "dependencies"),
        ("Dockerfile", "devops"),
        (".github/workflows/ci.yml", "devops, configuration"),
        ("docs/guide.md", "documentation"),
        ("src\\middleware\\cors.py", "middleware"),
        ("types/index.d.ts", "types"),
        ("theme.scss", "styling"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert find_concepts([path]) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npm test", "testing"),
        ("uv run pytest -q", "testing"),
        ("git commit -m 'x'", "git"),
        ("cd api && npm install left-pad", "dependencies"),
        ("ruff check . && mypy", "code-quality"),
        ("docker compose up", "devops"),
        ("psql -c 'x'", "database"),
        ("curl http://127.0.0.1", "networking"),
        ("echo digit", ""),
    ],
)
def test_commands(command: str, expected: str) -> None:
    assert find_concepts(command=command) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("try:\n    login(password)\nexcept KeyError: ...", "error-handling, security"),
        ("The endpoint is slow because of the cache", "api, performance"),
        ("The search became slow", "performance"),
        ("# TODO: remove this", "tech-debt"),
        ("Why is the sky blue?", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert find_concepts(text=text) == expected


@given(st.lists(st.text(max_size=40), max_size=8), st.text(max_size=200), st.text(max_size=200))
def test_never_more_than_five(files: list[str], command: str, text: str) -> None:
    found = [name for name in find_concepts(files, command, text).split(", ") if name]
    assert len(found) == len(set(found)) <= MAX_CONCEPTS
