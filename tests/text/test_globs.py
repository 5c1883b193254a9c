"""Globs of path-scoped rules: what is kept, what is refused, and which files each one means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.text.paths import MAX_GLOB, any_glob_matches, check_glob


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("src/api/**", "src/api/**"),
        ("  src/api/**  ", "src/api/**"),
        ("./src/*.py", "src/*.py"),
        ("src\\api\\*.ts", "src/api/*.ts"),
        ("*.{ts,tsx}", "*.{ts,tsx}"),
        ("[a-z]*.py", "[a-z]*.py"),
        ("a..b/*.md", "a..b/*.md"),
        ("файлы/**", "файлы/**"),
        ("x" * MAX_GLOB, "x" * MAX_GLOB),
    ],
)
def test_a_glob_is_kept_relative_and_with_forward_slashes(given: str, stored: str) -> None:
    assert check_glob(given) == stored


@pytest.mark.parametrize(
    ("glob", "problem"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("/etc/**", "is absolute"),
        ("~/code/**", "is absolute"),
        ("C:\\code\\**", "is absolute"),
        ("../secrets/**", "leaves the project"),
        ("src/../../x", "leaves the project"),
        ("src\\..\\x", "leaves the project"),
        ("src/[a", "unbalanced bracket"),
        ("src/{a,b", "unbalanced bracket"),
        ("src/a}", "unbalanced bracket"),
        ("a\nb", "control character"),
        ("a\u2028b", "control character"),
        ("a\0b", "control character"),
        ("x" * (MAX_GLOB + 1), "more than 300 characters"),
        ("{a,b}" * 12, "more than 100 patterns"),
        ("{1..1000000}", "more than 100 patterns"),
        ("**/a/**/b/**/c/**/d", "of any depth"),
    ],
)
def test_what_is_no_glob_of_a_project_is_refused_with_its_reason(glob: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as refused:
        check_glob(glob)
    assert "src/api/**" in refused.value.hint
    assert len(refused.value.message) < 200


@pytest.mark.parametrize(
    ("glob", "file"),
    [
        ("src/api/**", "src/api/users.ts"),
        ("src/api/**", "src/api/v2/deep/users.ts"),
        ("src/api/**", "./src/api/users.ts"),
        ("src/api/**", "src\\api\\users.ts"),
        ("src/api/**", "/home/me/shop/src/api/users.ts"),
        ("src/api/**", "file:///home/me/shop/src/api/users.ts"),
        ("src/api/**", "C:\\shop\\src\\api\\users.ts"),
        ("src/**/*.py", "src/a.py"),
        ("src/**/*.py", "src/a/b/c.py"),
        ("*.py", "deep/down/a.py"),
        ("*.py", "a.py"),
        ("*.{ts,tsx}", "web/page.tsx"),
        ("Dockerfile", "services/api/Dockerfile"),
        (".github/**", ".github/workflows/ci.yml"),
        ("**/.env*", "apps/web/.env.local"),
        ("src/?.py", "src/a.py"),
        ("src/[ab].py", "src/b.py"),
    ],
)
def test_a_glob_means_this_file(glob: str, file: str) -> None:
    assert any_glob_matches([glob], [file])


@pytest.mark.parametrize(
    ("glob", "file"),
    [
        ("src/api/**", "src/web/users.ts"),
        ("src/api/**", "src/apis/users.ts"),
        ("src/api/**", "lib/src/api/users.ts"),
        ("src/*.py", "src/deep/a.py"),
        ("*.py", "a.pyc"),
        ("*.{ts,tsx}", "page.js"),
        ("Dockerfile", "Dockerfile.old"),
        ("src/[ab].py", "src/c.py"),
        ("src/**", ""),
        ("src/**", "src/" + "a/" * 3000 + "x"),
        # Kept by an earlier version; it must not fail a read.
        ("{a,b}" * 12, "a" * 12),
    ],
)
def test_a_glob_does_not_mean_this_file(glob: str, file: str) -> None:
    assert not any_glob_matches([glob], [file])


def test_one_glob_and_one_file_are_enough() -> None:
    assert any_glob_matches(["docs/**", "src/**"], ["README.md", "src/a.py"])
    assert not any_glob_matches([], ["src/a.py"])
    assert not any_glob_matches(["src/**"], [])


@given(glob=st.text("ab*?[]{}!,./\\-\0\n ", max_size=20) | st.text(max_size=20), file=st.text(max_size=30))
def test_any_text_is_a_glob_or_refused_and_any_file_can_be_asked_about(glob: str, file: str) -> None:
    try:
        stored = check_glob(glob)
    except InvalidInput:
        return
    assert check_glob(stored) == stored
    any_glob_matches([stored], [file])
