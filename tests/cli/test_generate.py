"""`generate` from the command line, as people, programs and CI use it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Run, wait_for_output
from .test_lightness import HEAVY, modules_of


@pytest.fixture
def repository(folder: Path) -> Path:
    """The current folder, as the repository of the project `here`."""
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return folder


def test_one_rule_reaches_both_editors_of_a_project(spawn: Run, run: Run, repository: Path) -> None:
    claude, cursor = repository / "CLAUDE.md", repository / ".cursor" / "rules" / "api.mdc"
    claude.write_text("# Our app\n\n- Write tests first\n", encoding="utf-8")
    cursor.parent.mkdir(parents=True)
    cursor.write_text("---\nglobs: src/api/**\nalwaysApply: false\n---\n- Validate input\n", encoding="utf-8")
    assert spawn("learn", "--accept").code == 0
    assert spawn("add", "Use pnpm, not npm", "--type", "rule", "--project", "here").code == 0
    assert spawn("add", "Use cargo", "--type", "rule", "--project", "another").code == 0
    done = spawn("generate")
    assert done.code == 0 and done.out.splitlines() == [
        "file\twhat",
        ".claude/rules/api.md\tcreated",
        ".cursor/rules/commonplace.mdc\tcreated",
        "CLAUDE.md\tupdated",
    ]
    for file in (claude, cursor.with_name("commonplace.mdc")):
        text = file.read_text(encoding="utf-8")
        assert text.count("Use pnpm, not npm") == 1 and "cargo" not in text
    assert claude.read_text(encoding="utf-8").startswith(
        "# Our app\n\n- Write tests first\n\n<!-- commonplace:begin -->"
    )
    assert cursor.read_text(encoding="utf-8").endswith("---\n- Validate input\n")
    assert "Use pnpm, not npm" in run("context", "here", "--json").out
    assert "Use pnpm, not npm" not in run("context", "another", "--json").out
    assert spawn("generate", "--check").code == 0
    assert run("learn", "--json").data["added"] == 0


def test_checking_tells_ci_by_the_exit_code(run: Run, repository: Path) -> None:
    run("add", "Use pnpm", "--type", "rule")
    stale = run("generate", "--check")
    assert stale.code == 1 and stale.out == "file\twhat\nAGENTS.md\twould be created\n"
    assert not (repository / "AGENTS.md").exists()
    assert run("generate", "--check", "--json").code == 1
    run("generate")
    fresh = run("generate", "--check")
    assert fresh.code == 0 and fresh.out == "" and "up to date" in fresh.err


def test_a_diff_shows_what_would_change(run: Run, repository: Path) -> None:
    (repository / "GEMINI.md").write_text("Mine", encoding="utf-8")
    run("add", "Use pnpm", "--type", "rule")
    done = run("generate", "--diff")
    assert done.code == 0 and (repository / "GEMINI.md").read_text(encoding="utf-8") == "Mine"
    lines = done.out.splitlines()
    assert lines[:2] == ["--- a/GEMINI.md", "+++ b/GEMINI.md"]
    assert lines[3:6] == ["-Mine", "\\ No newline at end of file", "+Mine"]
    assert "+- Use pnpm" in lines
    (change,) = run("generate", "--diff", "--json").data["changes"]
    assert change["path"] == "GEMINI.md" and change["action"] == "update" and "+- Use pnpm" in change["diff"]
    (other,) = run("generate", "agents", "--diff", "--json").data["changes"]
    assert other["diff"].startswith("--- /dev/null\n+++ b/AGENTS.md\n")


def test_programs_are_told_everything(run: Run, repository: Path) -> None:
    run("add", "Use pnpm", "--type", "rule")
    run("add", "Somehow", "--type", "skill")
    data = run("generate", "kiro", "--json").data
    (note,) = data.pop("notes")
    assert "Skill 2 has no category" in note
    assert data == {
        "project": "here",
        "root": str(repository.resolve()),
        "targets": ["kiro"],
        "written": True,
        "changed": 1,
        "changes": [{"path": ".kiro/steering/commonplace.md", "action": "create"}],
    }


def test_it_works_from_any_folder_of_the_repository(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("add", "Use pnpm", "--type", "rule")
    (repository / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(repository / "src" / "deep")
    assert run("generate").code == 0 and (repository / "AGENTS.md").exists()
    assert run("generate", "--root", ".", "--project", "here").code == 0
    assert (repository / "src" / "deep" / "AGENTS.md").exists()


def test_outside_of_a_repository_only_what_holds_everywhere_is_written(run: Run, folder: Path) -> None:
    run("add", "Use pnpm", "--type", "rule", "--project", "elsewhere")
    run("add", "Never log bodies", "--type", "rule", "--global")
    done = run("generate")
    text = (folder / "AGENTS.md").read_text(encoding="utf-8")
    assert "Never log bodies" in text and "pnpm" not in text and "--project names one" in done.err
    run("add", "Use tabs", "--type", "rule", "--project", folder.name)
    assert "--project names one" not in run("generate").err
    assert "Use tabs" in (folder / "AGENTS.md").read_text(encoding="utf-8")


def test_types_may_be_listed_in_either_way(run: Run, repository: Path) -> None:
    for type_ in ("rule", "note", "fact"):
        run("add", f"This is a {type_}", "--type", type_)
    run("generate", "--types", "note,fact")
    first = (repository / "AGENTS.md").read_text(encoding="utf-8")
    assert "a note" in first and "a fact" in first and "a rule" not in first
    assert run("generate", "--types", "note", "--types", "fact", "--check").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("generate", "emacs"), 2, "emacs"),
        (("generate", "--types", "banana"), 2, "banana"),
        (("generate", "--project", "unknown"), 3, "unknown"),
        (("generate", "--root", "nowhere"), 2, "nowhere"),
        (("generate", "--root", "file"), 2, "file"),
        (("generate", "--watch", "--check"), 2, "--watch"),
        (("generate", "gemini"), 4, "GEMINI.md"),
        (("learn", "nowhere"), 3, "nowhere"),
        (("learn", "--global", "--project", "x"), 2, "--global"),
    ],
)
def test_bad_input_is_a_clear_error_and_writes_nothing(
    run: Run, repository: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    run("add", "Use pnpm", "--type", "rule")
    (repository / "file").touch()
    (repository / "GEMINI.md").write_text("<!-- commonplace:end -->\n", encoding="utf-8")
    before = sorted(path.name for path in repository.iterdir())
    done = run(*arguments)
    assert done.code == code and message in done.err and done.err.startswith("error: "), done
    failure = run(*arguments, "--json")
    assert failure.code == code and message in failure.error["message"]
    assert sorted(path.name for path in repository.iterdir()) == before


def test_a_short_name_of_two_projects_is_refused(run: Run, repository: Path) -> None:
    for name in ("github.com/a/api", "github.com/b/api"):
        run("add", "Use pnpm", "--type", "rule", "--project", name)
    done = run("generate", "--project", "api")
    assert done.code == 4 and "github.com/a/api" in done.err and not (repository / "AGENTS.md").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_watching_follows_the_store_until_ctrl_c(run: Run, repository: Path) -> None:
    run("add", "Use pnpm", "--type", "rule")
    process = subprocess.Popen(
        [sys.executable, "-m", "commonplace", "generate", "agents", "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(os.environ),
    )
    assert process.stdout is not None

    try:
        wait_for_output(process.stdout, b"Watching")
        run("add", "Write tests first", "--type", "rule")
        wait_for_output(process.stdout, b"AGENTS.md\tupdated")
        assert "Write tests first" in (repository / "AGENTS.md").read_text(encoding="utf-8")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("arguments", [("generate", "--json"), ("learn", "--json")])
def test_nothing_heavy_is_imported(run: Run, arguments: tuple[str, ...]) -> None:
    run("add", "Use pnpm", "--type", "rule")
    assert not modules_of(*arguments) & HEAVY
