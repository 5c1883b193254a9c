"""`learn` from the command line, and the page about rule files, run as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

from .conftest import Run
from .test_help import execute

PAGE = Path(__file__).parents[2] / "docs" / "use" / "rule-files.md"


def test_a_person_is_shown_what_was_read_and_why_not(run: Run, folder: Path) -> None:
    (folder / "CLAUDE.md").write_text("- Use pnpm\n- Write tests first\n", encoding="utf-8")
    (folder / ".windsurfrules").write_bytes(b"\xff\xfe")
    run("add", "Use pnpm", "--type", "rule", "--project", "here")
    done = run("learn", "--project", "here")
    assert done.code == 0 and done.out.splitlines() == [
        "file\tadded\tknown\tskipped",
        "CLAUDE.md\t1\t1\t",
        ".windsurfrules\t0\t0\t.windsurfrules is not UTF-8 text",
    ]
    waits = "The rules wait for your review: `commonplace review`. `--accept` lets them hold at once.\n"
    assert done.err == f"Learned 1; 1 were already known.\n{waits}"
    assert run("learn", "--project", "here").err == "Learned 0; 2 were already known.\n"


def test_a_dry_run_shows_the_rules(run: Run, folder: Path) -> None:
    (folder / "CLAUDE.md").write_text("- Use pnpm\n\n## Facts\n\n- The port is 8080\n", encoding="utf-8")
    done = run("learn", "--project", "here", "--dry-run")
    assert "rule: Use pnpm\nfact: The port is 8080\n" in done.out and done.err.startswith("Would learn 2")
    assert run("list", "--json").data["items"] == []


def test_programs_are_told_everything(run: Run, folder: Path) -> None:
    rules = folder / ".cursor" / "rules"
    rules.mkdir(parents=True)
    (rules / "api.mdc").write_text("---\nglobs: a/**, b/**\n---\n## Input\n\n- Validate it\n", encoding="utf-8")
    data = run("learn", "--global", "--json").data
    assert data == {
        "project": None,
        "root": str(folder.resolve()),
        "written": True,
        "added": 1,
        "known": 0,
        "skipped": 0,
        "files": [
            {
                "path": ".cursor/rules/api.mdc",
                "target": "cursor",
                "added": [
                    {
                        "type": "rule",
                        "content": "Validate it",
                        "category": "api",
                        "topic": "Input",
                        "paths": ["a/**", "b/**"],
                    }
                ],
                "known": 0,
                "skipped": None,
            }
        ],
    }
    (item,) = run("list", "--json").data["items"]
    assert item["project"] is None and item["metadata"] == {"learned_from": ".cursor/rules/api.mdc"}


def test_a_folder_without_rule_files_is_nothing_to_worry_about(run: Run) -> None:
    done = run("learn", "--global")
    assert done.code == 0 and done.out == "" and done.err == "No rule files were found.\n"


def test_the_examples_of_the_page_about_rule_files_run_in_order(run: Run, folder: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert len(lines) >= 8
    for line in lines:
        done = execute(line, run)
        assert done.code == 0, f"{line}: {done}"
    assert "Use pnpm, not npm" in (folder / "CLAUDE.md").read_text(encoding="utf-8")
    assert "Validate input with zod" in (folder / ".cursor" / "rules" / "api.mdc").read_text(encoding="utf-8")


def test_the_page_names_every_target() -> None:
    """The site lists their files (tests/test_docs_site.py)."""
    from commonplace.hosts.host import rule_targets

    text = PAGE.read_text(encoding="utf-8")
    for host in rule_targets():
        assert f"`{host.name}`" in text
