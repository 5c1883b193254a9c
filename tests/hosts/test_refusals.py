"""What must not be written is refused with a clear error, and then nothing at all is written."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace.errors import CommonplaceError, Conflict, InvalidInput, TooLarge
from commonplace.hosts.generate_rule_files import plan_rule_files
from commonplace.hosts.host import rule_targets_in
from commonplace.hosts.project_files import Change, write_all
from commonplace.memory.rules import Rule, RuleSet, Skill

from .conftest import Generate, Say, tree

BEGIN, END = "<!-- commonplace:begin -->", "<!-- commonplace:end -->"

Prepare = Callable[[Path], object]


def elsewhere(root: Path) -> Path:
    folder = root.parent / "elsewhere"
    folder.mkdir(exist_ok=True)
    return folder


def put(path: str, data: str | bytes) -> Prepare:
    def prepare(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data.encode() if isinstance(data, str) else data)

    return prepare


def linked_file(root: Path) -> None:
    (elsewhere(root) / "theirs.md").write_text("Theirs\n", encoding="utf-8")
    (root / "GEMINI.md").symlink_to(elsewhere(root) / "theirs.md")


def linked_inside(root: Path) -> None:
    (root / "AGENTS.md").write_text("Mine\n", encoding="utf-8")
    (root / "GEMINI.md").symlink_to("AGENTS.md")


def linked_folder(root: Path) -> None:
    (root / ".kiro").symlink_to(elsewhere(root))


def dangling_folder(root: Path) -> None:
    (root / ".kiro").symlink_to("nowhere")


def circle(root: Path) -> None:
    (root / ".kiro").symlink_to(".kiro")


def read_only(root: Path) -> None:
    put("GEMINI.md", "Mine\n")(root)
    (root / "GEMINI.md").chmod(0o444)


CASES: dict[str, tuple[Prepare, type[CommonplaceError], str]] = {
    "an end without a begin": (put("GEMINI.md", f"a\n{END}\n"), Conflict, "end in line 2"),
    "a begin without an end": (put("GEMINI.md", f"{BEGIN}\nours?"), Conflict, "begin in line 1"),
    "an end before its begin": (put("GEMINI.md", f"{END}\n{BEGIN}\n"), Conflict, "GEMINI.md"),
    "two blocks": (put("GEMINI.md", f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n"), Conflict, "begin in line 3"),
    "a block in a block": (put("GEMINI.md", f"{BEGIN}\n{BEGIN}\n{END}\n{END}\n"), Conflict, "GEMINI.md"),
    "a stale file with bad markers": (put(".kiro/steering/x.md", f"{BEGIN}\n"), Conflict, "x.md"),
    "a link that leaves the project": (linked_file, Conflict, "GEMINI.md is a link to .*theirs.md"),
    "a link inside the project": (linked_inside, Conflict, "GEMINI.md is a link to AGENTS.md"),
    "a folder that leaves the project": (linked_folder, Conflict, ".kiro leads out of the project"),
    "a folder that leads nowhere": (dangling_folder, Conflict, ".kiro is a link to nothing"),
    "a folder that leads in a circle": (circle, Conflict, ".kiro"),
    "a folder in place of a file": (lambda root: (root / "GEMINI.md").mkdir(), Conflict, "GEMINI.md is a folder"),
    "a file in place of a folder": (put(".kiro", "file"), Conflict, ".kiro is not a folder"),
    "a pipe in place of a file": (lambda root: os.mkfifo(root / "GEMINI.md"), Conflict, "not an ordinary file"),
    "a read-only file": (read_only, Conflict, "GEMINI.md is read-only"),
    "a file that is not UTF-8": (put("GEMINI.md", b"caf\xe9\n"), Conflict, "GEMINI.md is not UTF-8"),
    "a file in UTF-16": (put("GEMINI.md", "Mine".encode("utf-16")), Conflict, "GEMINI.md is not UTF-8"),
    "a huge file": (put("GEMINI.md", b"x" * 1_000_001), TooLarge, "1,000,001 bytes"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_leaves_every_file_as_it_was(write: Generate, say: Say, root: Path, case: str) -> None:
    prepare, error, message = CASES[case]
    say("Use pnpm")
    (root / "AGENTS.md").touch()
    prepare(root)
    before = tree(root.parent)
    with pytest.raises(error, match=message):
        write("agents", "claude", "gemini", "kiro", "roo")
    assert {k: v for k, v in tree(root.parent).items() if not k.startswith("data")} == {
        k: v for k, v in before.items() if not k.startswith("data")
    }


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only a superuser can give files away")
def test_a_file_of_someone_else_is_refused(write: Generate, say: Say, root: Path) -> None:
    say("Use pnpm")
    (root / "GEMINI.md").write_text("Theirs\n", encoding="utf-8")
    os.chown(root / "GEMINI.md", 12345, -1)
    before = tree(root)
    with pytest.raises(Conflict, match=r"GEMINI\.md belongs to another user"):
        write("agents", "gemini")
    assert tree(root) == before


@contextlib.contextmanager
def sealed(folder: Path) -> Iterator[None]:
    """A folder that nobody can write to; a superuser is stopped by the file system only."""
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], check=False, capture_output=True
        )
        if mounted.returncode:
            pytest.skip("this superuser may not mount a file system")
        try:
            yield
        finally:
            subprocess.run(["umount", folder], check=True)
    else:
        yield


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such mode")
def test_a_folder_that_cannot_be_written_is_refused(write: Generate, say: Say, root: Path) -> None:
    say("Use pnpm")
    with sealed(root / ".kiro"):
        with pytest.raises(Conflict, match=r"\.kiro is not writable"):
            write("agents", "kiro")
        assert not (root / "AGENTS.md").exists()


# Refused when remembered, too; but a store may have been filled by an older version.
@pytest.mark.parametrize(
    "category",
    [
        *("../../etc/cron", "..", ".", "/etc/passwd", "a/b", "a\\b", "C:\\x", "C:x", "~root", ".hidden", "-rf"),
        *("con", "NUL", "aux.md", "COM1", "lpt9.txt", "name.", "a\x00b", "a\nb", "what?", "a*b", '"', "x" * 101),
    ],
)
@pytest.mark.parametrize("type_", ["rule", "skill"])
def test_a_category_that_is_no_file_name_is_refused(root: Path, category: str, type_: str) -> None:
    result = RuleSet(
        "my-api",
        (Rule(1, "rule", "Use pnpm"), *((Rule(2, "rule", "Bad", category=category),) if type_ == "rule" else ())),
        (Skill(2, category, "Bad", "Bad"),) if type_ == "skill" else (),
    )
    with pytest.raises(InvalidInput, match=r"of memory 2 cannot name a (file|skill)") as refused:
        plan_rule_files(result, root, rule_targets_in(root, ("agents", "claude")))
    assert "edit 2 --category NAME" in refused.value.hint
    assert tree(root) == {}


@pytest.mark.parametrize("category", ["../up", "a/b", "NUL"])
def test_such_a_category_is_not_even_remembered(say: Say, category: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a category"):
        say("Bad", category=category)


def test_two_categories_for_one_file_are_refused(write: Generate, say: Say, root: Path) -> None:
    for number in range(60):
        say(f"Rule {number}: " + "never do what was done before without asking " * 5)
    say("Taken", category="commonplace-2")
    with pytest.raises(InvalidInput, match=r"commonplace-2\.md are the same file"):
        write("windsurf")
    assert tree(root) == {}


def test_a_write_that_fails_in_the_middle_is_undone(root: Path) -> None:
    (root / "a.md").write_text("old a", encoding="utf-8")
    (root / "b.md").write_text("old b", encoding="utf-8")
    (root / "full").mkdir()
    before = tree(root)
    changes = [
        Change("a.md", b"old a", b"new a"),
        Change("b.md", b"old b", None),
        Change("new/deep/c.md", None, b"c"),
        # A folder appeared there after the plan was made.
        Change("full", None, b"x"),
        Change("never.md", None, b"x"),
    ]
    with pytest.raises(CommonplaceError, match=r"full could not be written: .*\. Everything is as it was\."):
        write_all(root, changes)
    assert tree(root) == before
