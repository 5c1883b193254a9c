"""Command lines: what they do, told alike however they are dressed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.shell_commands import (
    command_covers,
    command_parts,
    hides_exit_status,
    main_command,
    normalise_command,
)


@pytest.mark.parametrize(
    "dressed",
    [
        "npm test",
        " npm  test ",
        "cd /x && npm test",
        "cd '/a b'; npm test",
        "npm test 2>&1 | tail -5",
        "npm test > log.txt 2>&1",
        "npm test &> log.txt",
        "npm test 2>/dev/null | tee out | grep -v warn",
        "CI=1 npm test",
        "export CI=1; npm test",
        "time npm test || true",
        "timeout 60 npm test; echo $?",
        "npm test --silent",
        "bash -lc 'cd /x && npm test'",
        "cd /x \\\n  && npm test",
    ],
)
def test_one_command_in_many_dresses(dressed: str) -> None:
    assert normalise_command(dressed) == "npm test"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("npm test", "npm run build"),
        ("npm run build", "npm run lint"),
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("python a.py", "python b.py"),
        ("make && make test", "make"),
        ("git commit -m x", "git push"),
        ("cd a", "cd b"),
    ],
)
def test_other_commands_stay_others(one: str, other: str) -> None:
    assert normalise_command(one) != normalise_command(other)


def test_another_try_of_a_commit_is_the_same() -> None:
    assert (
        normalise_command("git add -A && git commit -m 'a && b'")
        == normalise_command('git commit -m "other words"')
        == "git commit"
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git commit -m \"$(cat <<'EOF'\nfix: a thing\n\nbody; more\nEOF\n)\"", 'git commit -m "fix: a thing"'),
        ('cd x && git commit -m "$(cat <<EOF\nfix: a\nEOF\n)" && git push', 'git commit -m "fix: a"'),
        ("git commit -m 'one; two && three'", "git commit -m 'one; two && three'"),
        ("python - <<'EOF'\nimport x\nprint(1 > 2)\nEOF", "python -"),
        ("cat > a.txt <<EOF\nhello\nEOF", "cat"),
        ("export A=1; python build.py > log.txt", "python build.py"),
        ("cd api", "cd api"),
        ("", ""),
    ],
)
def test_the_part_that_tells(line: str, expected: str) -> None:
    assert main_command(line) == expected


def test_what_hides_a_failure() -> None:
    for line in ("npm test | tail -5", "npm test || true", "npm test; echo done", "make &\nsleep 5"):
        assert hides_exit_status(line)
    for line in ("npm test", "cd x && npm test", "cd x; npm test", "npm ci && npm test 2>&1", "git commit -m 'a; b'"):
        assert not hides_exit_status(line)


@given(st.text(alphabet="ab \"'\\|&;<>\n$()EOF=-cd", max_size=60))
def test_no_line_breaks_it(line: str) -> None:
    assert all(part.words for part in command_parts(line))
    normalise_command(line), main_command(line), hides_exit_status(line)


@pytest.mark.parametrize(
    ("passed", "failed", "covered"),
    [
        ("pytest -q", "pytest -q", True),
        ("cd api && .venv/bin/pytest -q -n 2", "python -m pytest", True),
        ("uv run pytest", "pytest tests/test_a.py", True),
        ("pytest tests/", "pytest -q tests/test_a.py::test_b", True),
        ("npm run lint && npm test", "npm test", True),
        ("go test ./...", "go test ./pkg", True),
        ("pytest tests/test_a.py", "pytest -q", False),
        ("pytest -k login", "pytest", False),
        ("go test", "go test ./pkg", False),
        ("npm test", "npm run lint && npm test", False),
        ("make", "make test", False),
        ("npm run build", "npm test", False),
        ("", "pytest", False),
    ],
)
def test_a_run_that_passed_covers_what_it_includes(passed: str, failed: str, covered: bool) -> None:
    assert command_covers(passed, failed) is covered
