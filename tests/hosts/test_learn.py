"""Rule files that are there become memories: once, with what they say about themselves, and none from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.errors import InvalidInput, NotFound
from commonplace.hosts.learn_rule_files import LearnedFile, learn
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.review import accept, list_proposals
from commonplace.model import Item, Scope

from .conftest import PROJECT, Generate, Say, tree


def put(root: Path, path: str, text: str | bytes) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def items_by_text(memory: LocalMemory) -> dict[str, Item]:
    return {item.body: item for item in browse_items(memory, Scope(), 1000).items}


def counts(reads: list[LearnedFile]) -> dict[str, tuple[int, int, str]]:
    return {read.path: (len(read.added), read.known, read.skipped) for read in reads}


def test_every_format_is_read(memory: LocalMemory, root: Path) -> None:
    put(root, "CLAUDE.md", "# Claude\n\n- from claude\n")
    put(root, ".claude/rules/deep/react.md", '---\npaths:\n  - "src/**/*.tsx"\n---\n- from claude rules\n')
    put(root, "AGENTS.md", "- from agents\n")
    put(root, "GEMINI.md", "- from gemini\n")
    put(root, ".cursor/rules/api.mdc", "---\nglobs: a/**, *.{b,c}\nalwaysApply: false\n---\n- from cursor\n")
    put(root, ".cursorrules", "- from old cursor\n")
    put(root, ".windsurf/rules/w.md", "---\ntrigger: glob\nglobs: w/**\n---\n- from windsurf\n")
    put(root, ".windsurfrules", "- from old windsurf\n")
    put(root, ".github/copilot-instructions.md", "- from copilot\n")
    put(root, ".github/instructions/py.instructions.md", '---\napplyTo: "**/*.py"\n---\n- from instructions\n')
    put(root, ".github/instructions/all.instructions.md", '---\napplyTo: "**"\n---\n- for every file\n')
    put(root, ".kiro/steering/k.md", '---\ninclusion: fileMatch\nfileMatchPattern: ["k/**"]\n---\n- from kiro\n')
    put(root, ".clinerules/c.md", "- from cline\n")
    put(root, ".roo/rules/r.md", "- from roo\n")
    put(root, ".roorules", "- from old roo\n")
    put(root, "README.md", "- not a rule\n")
    before = tree(root)
    reads = learn(memory, root, PROJECT)
    assert all(len(read.added) == 1 and not read.skipped for read in reads) and len(reads) == 15
    assert tree(root) == before
    found = {
        body: (item.type, item.details.get("category"), item.details.get("paths"), item.project)
        for body, item in items_by_text(memory).items()
    }
    assert found == {
        "from claude": ("rule", None, None, PROJECT),
        "from claude rules": ("rule", "deep-react", "src/**/*.tsx", PROJECT),
        "from agents": ("rule", None, None, PROJECT),
        "from gemini": ("rule", None, None, PROJECT),
        "from cursor": ("rule", "api", "a/**\n*.{b,c}", PROJECT),
        "from old cursor": ("rule", None, None, PROJECT),
        "from windsurf": ("rule", "w", "w/**", PROJECT),
        "from old windsurf": ("rule", None, None, PROJECT),
        "from copilot": ("rule", None, None, PROJECT),
        "from instructions": ("rule", "py", "**/*.py", PROJECT),
        "for every file": ("rule", "all", None, PROJECT),
        "from kiro": ("rule", "k", "k/**", PROJECT),
        "from cline": ("rule", "c", None, PROJECT),
        "from roo": ("rule", "r", None, PROJECT),
        "from old roo": ("rule", None, None, PROJECT),
    }
    assert items_by_text(memory)["from cursor"].meta == {"learned_from": ".cursor/rules/api.mdc"}


def test_learning_twice_adds_nothing(memory: LocalMemory, root: Path) -> None:
    put(root, "CLAUDE.md", "## Style\n\n- Two spaces\n- Use pnpm\n\nA paragraph:\n\n```\ncode\n```\n")
    put(root, ".claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Ship\n---\n# Deploy\n\nmake\n")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert counts(learn(memory, root, PROJECT))["CLAUDE.md"] == (3, 0, "")
    assert counts(learn(memory, root, PROJECT)) == {
        "CLAUDE.md": (0, 3, ""),
        ".claude/skills/deploy/SKILL.md": (0, 1, ""),
    }
    assert len(items_by_text(memory)) == 4
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_a_dry_run_keeps_nothing(memory: LocalMemory, root: Path) -> None:
    put(root, "CLAUDE.md", "- Use pnpm\n")
    assert counts(learn(memory, root, PROJECT, write=False)) == {"CLAUDE.md": (1, 0, "")}
    assert items_by_text(memory) == {}


def test_the_same_rule_in_several_files_is_one(memory: LocalMemory, root: Path, say: Say) -> None:
    say("Write tests first", project=None)
    put(root, "CLAUDE.md", "- Use pnpm\n- write  tests first.\n")
    put(root, "AGENTS.md", "## Tools\n\n- use pnpm.\n")
    put(root, ".roo/rules/r.md", "- Use pnpm\n")
    assert counts(learn(memory, root, PROJECT)) == {
        "AGENTS.md": (1, 0, ""),
        "CLAUDE.md": (0, 2, ""),
        ".roo/rules/r.md": (0, 1, ""),
    }


def test_a_short_rule_under_two_headings_is_two(memory: LocalMemory, root: Path) -> None:
    put(root, "CLAUDE.md", "## YAML\n\n- Two spaces\n\n## Python\n\n- Two spaces\n")
    put(root, "GEMINI.md", "## yaml\n\n- two spaces\n")
    assert counts(learn(memory, root, PROJECT)) == {"CLAUDE.md": (2, 0, ""), "GEMINI.md": (0, 1, "")}


def test_the_same_rule_for_other_files_is_another(memory: LocalMemory, root: Path) -> None:
    for name in ("a", "b"):
        put(root, f".claude/rules/{name}.md", f'---\npaths: "{name}/**"\n---\n- Use pnpm\n')
    assert sum(len(read.added) for read in learn(memory, root, PROJECT)) == 2


def test_skills_become_skills(memory: LocalMemory, root: Path) -> None:
    put(root, ".claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Ship it\n---\n# Deploy\n\n1. make\n")
    put(root, ".cursor/skills/Deploy/SKILL.md", "---\nname: deploy\n---\n# Deploy\n\n1. make\n")
    put(
        root,
        ".cursor/rules/review.mdc",
        "---\ndescription: How to review\nalwaysApply: false\n---\nLook twice.\n\nAsk.\n",
    )
    put(root, ".windsurf/rules/rare.md", "---\ntrigger: manual\n---\nRarely.\n")
    put(root, ".kiro/steering/auto.md", "---\ninclusion: auto\n---\nSometimes.\n")
    learn(memory, root, PROJECT)
    found = {
        item.details["category"]: (item.type, item.body, item.meta.get("description"))
        for item in items_by_text(memory).values()
    }
    assert found == {
        "deploy": ("skill", "# Deploy\n\n1. make", "Ship it"),
        "review": ("skill", "Look twice.\n\nAsk.", "How to review"),
        "rare": ("skill", "Rarely.", None),
        "auto": ("skill", "Sometimes.", None),
    }


def test_what_generate_wrote_is_not_learned(memory: LocalMemory, root: Path, say: Say, write: Generate) -> None:
    say("Use pnpm")
    say("make", "skill", category="deploy")
    put(root, "AGENTS.md", "Mine only\n")
    write("agents", "claude")
    assert counts(learn(memory, root, "another")) == {
        "AGENTS.md": (1, 0, ""),
        ".agents/skills/deploy/SKILL.md": (0, 0, "written by `commonplace generate`"),
        "CLAUDE.md": (0, 0, "written by `commonplace generate`"),
        ".claude/skills/deploy/SKILL.md": (0, 0, "written by `commonplace generate`"),
    }


def test_after_learning_each_tool_is_given_what_it_lacks(memory: LocalMemory, root: Path, write: Generate) -> None:
    put(root, "CLAUDE.md", "- Use pnpm\n")
    put(root, ".cursor/rules/api.mdc", "---\nglobs: api/**\nalwaysApply: false\n---\n- Validate input\n")
    before = (root / "CLAUDE.md").read_bytes(), (root / ".cursor/rules/api.mdc").read_bytes()
    learn(memory, root, PROJECT)
    assert write().changes == (), "what a file says holds once a person accepts it"
    accept(memory, [item.id for item in list_proposals(memory).items])
    made = write()
    assert {change.path: change.action for change in made.changes} == {
        ".claude/rules/api.md": "create",
        ".cursor/rules/commonplace.mdc": "create",
    }
    assert ((root / "CLAUDE.md").read_bytes(), (root / ".cursor/rules/api.mdc").read_bytes()) == before


def test_what_cannot_be_read_is_skipped_and_the_rest_is_kept(memory: LocalMemory, root: Path) -> None:
    secret = put(root.parent, "elsewhere/secret.md", "- stolen\n")
    put(root, "AGENTS.md", "- Use pnpm\n")
    put(root, ".roo/rules/latin.md", b"caf\xe9 latte\n")
    put(root, ".roo/rules/huge.md", b"x" * 1_000_001)
    put(root, ".roo/rules/empty.md", "---\na: b\n---\n\n")
    put(root, ".roo/rules/nothing.md", "---\n\n# Title only\n")
    put(root, ".roo/rules/marks.md", "<!-- commonplace:end -->\n- x y\n")
    put(root, ".claude/rules/up.md", '---\npaths: "../other/**"\n---\n- climb up\n')
    (root / ".roo/rules/link.md").symlink_to(secret)
    (root / ".roo/rules/gone.md").symlink_to("nowhere")
    (root / ".cursor").symlink_to(root.parent / "elsewhere")
    put(root.parent, "elsewhere/rules/x.mdc", "- stolen too\n")
    reads = counts(learn(memory, root, PROJECT))
    assert list(items_by_text(memory)) == ["Use pnpm"]
    why = {path: skipped for path, (_added, _known, skipped) in reads.items() if skipped}
    assert why == {
        ".claude/rules/up.md": "The path '../other/**' leaves the project",
        ".cursor/rules/x.mdc": ".cursor/rules/x.mdc is a link that leaves the project",
        ".roo/rules/empty.md": "empty",
        ".roo/rules/gone.md": ".roo/rules/gone.md cannot be read: No such file or directory",
        ".roo/rules/huge.md": ".roo/rules/huge.md has 1,000,001 bytes, more than 1,000,000",
        ".roo/rules/latin.md": ".roo/rules/latin.md is not UTF-8 text",
        ".roo/rules/link.md": ".roo/rules/link.md is a link that leaves the project",
        ".roo/rules/marks.md": "its markers are not one begin and one end: end in line 1",
        ".roo/rules/nothing.md": "it contains no rules",
    }


def test_paths_that_are_named_are_read_alone(memory: LocalMemory, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "CLAUDE.md", "- from claude\n")
    put(root, ".roo/rules/r.md", "- from roo\n")
    put(root, "packages/web/AGENTS.md", "- from web\n")
    put(root, "docs/style.md", "- from a page\n")
    put(root, "other/CLAUDE.md", "- from a project inside\n")
    outside = put(root.parent, "outside/.cursorrules", "- from outside\n").parent
    monkeypatch.chdir(root)
    given = [".roo", "packages/web/AGENTS.md", "docs/style.md", "other", str(outside), "./docs/../docs/style.md"]
    reads = learn(memory, root, PROJECT, [Path(path) for path in given])
    assert [read.path for read in reads] == [
        ".roo/rules/r.md",
        "packages/web/AGENTS.md",
        "docs/style.md",
        "CLAUDE.md",
        ".cursorrules",
    ]
    items = items_by_text(memory)
    assert set(items) == {"from roo", "from web", "from a page", "from a project inside", "from outside"}
    assert items["from web"].details == {"paths": "packages/web/**"} and items["from a page"].details == {}


def test_paths_that_lead_nowhere_or_out_are_refused(
    memory: LocalMemory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    put(root.parent, "elsewhere/CLAUDE.md", "- stolen\n")
    (root / "link").symlink_to(root.parent / "elsewhere")
    with pytest.raises(NotFound, match=r"missing\.md"):
        learn(memory, root, PROJECT, [Path("missing.md")])
    with pytest.raises(InvalidInput, match="link is a link that leaves the project"):
        learn(memory, root, PROJECT, [Path("link")])
    (read,) = learn(memory, root, PROJECT, [Path("link/CLAUDE.md")])
    assert "leaves the project" in read.skipped and items_by_text(memory) == {}


def test_secrets_in_a_rule_file_are_not_kept(memory: LocalMemory, root: Path) -> None:
    put(root, "CLAUDE.md", "- Deploy with token ghp_abcdefghijklmnopqrstuvwxyz0123456789\n")
    learn(memory, root, PROJECT)
    assert "ghp_" not in next(iter(items_by_text(memory)))
    assert counts(learn(memory, root, PROJECT)) == {"CLAUDE.md": (0, 1, "")}


def test_only_so_many_files_are_read(memory: LocalMemory, root: Path) -> None:
    for number in range(502):
        put(root, f".roo/rules/{number:03}.md", f"- rule number {number}\n")
    reads = learn(memory, root, PROJECT, write=False)
    assert [read.path for read in reads if read.skipped] == [".roo/rules/500.md", ".roo/rules/501.md"]


def test_a_skill_is_not_repeated_in_the_file_it_was_learned_from(
    memory: LocalMemory, root: Path, write: Generate
) -> None:
    text = "---\nname: release\ndescription: Ship it\n---\n# Release\n\n1. Tag.\n"
    file = put(root, ".claude/skills/release/SKILL.md", text)
    learn(memory, root, PROJECT)
    made = write("claude", "cursor")
    assert file.read_text(encoding="utf-8") == text
    assert [change.path for change in made.changed] == [".cursor/skills/release/SKILL.md"]
