"""What each tool is given, word for word, and how it is told that a project uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.errors import Conflict, InvalidInput
from commonplace.hosts.host import TARGET_NAMES, rule_targets, rule_targets_in

from .conftest import Generate, Say, inner

GENERAL = "## Rules\n\n- Use pnpm, not npm\n- Write tests first\n\n## Decisions\n\n- PostgreSQL, for its JSONB"
API = "## Rules\n\n### Files matching `src/api/**`, `*.{ts,tsx}`\n\n- Validate input with zod"
TESTS = "## Rules\n\n### Files matching `tests/**`\n\n- No sleeps"
STYLE = "## Rules\n\n- Two spaces"
FLAT = (
    "## Rules\n\n- Use pnpm, not npm\n- Write tests first\n- Two spaces\n\n"
    "### Files matching `src/api/**`, `*.{ts,tsx}`\n\n- Validate input with zod\n\n"
    "### Files matching `tests/**`\n\n- No sleeps\n\n## Decisions\n\n- PostgreSQL, for its JSONB"
)
NONE = ""
PATHS_API = '---\npaths:\n  - "src/api/**"\n  - "**/*.{ts,tsx}"\n---\n'
PATHS_TESTS = '---\npaths:\n  - "tests/**"\n---\n'

# For each target: path, front matter, what is between the markers.
WANTED: dict[str, list[tuple[str, str, str]]] = {
    "agents": [("AGENTS.md", NONE, FLAT)],
    "gemini": [("GEMINI.md", NONE, FLAT)],
    "claude": [
        ("CLAUDE.md", NONE, GENERAL),
        (".claude/rules/api.md", PATHS_API, API),
        (".claude/rules/style.md", NONE, STYLE),
        (".claude/rules/tests.md", PATHS_TESTS, TESTS),
    ],
    "cursor": [
        (
            ".cursor/rules/commonplace.mdc",
            "---\ndescription: Rules of this project\nglobs:\nalwaysApply: true\n---\n",
            GENERAL,
        ),
        (
            ".cursor/rules/api.mdc",
            "---\ndescription: Rules about api\nglobs: src/api/**,**/*.ts,**/*.tsx\nalwaysApply: false\n---\n",
            API,
        ),
        (".cursor/rules/style.mdc", "---\ndescription: Rules about style\nglobs:\nalwaysApply: true\n---\n", STYLE),
        (
            ".cursor/rules/tests.mdc",
            "---\ndescription: Rules about tests\nglobs: tests/**\nalwaysApply: false\n---\n",
            TESTS,
        ),
    ],
    "windsurf": [
        (".windsurf/rules/commonplace.md", "---\ntrigger: always_on\n---\n", GENERAL),
        (".windsurf/rules/api.md", "---\ntrigger: glob\nglobs: src/api/**,**/*.ts,**/*.tsx\n---\n", API),
        (".windsurf/rules/style.md", "---\ntrigger: always_on\n---\n", STYLE),
        (".windsurf/rules/tests.md", "---\ntrigger: glob\nglobs: tests/**\n---\n", TESTS),
    ],
    "copilot": [
        (".github/copilot-instructions.md", NONE, GENERAL),
        (".github/instructions/api.instructions.md", '---\napplyTo: "src/api/**,**/*.ts,**/*.tsx"\n---\n', API),
        (".github/instructions/style.instructions.md", '---\napplyTo: "**"\n---\n', STYLE),
        (".github/instructions/tests.instructions.md", '---\napplyTo: "tests/**"\n---\n', TESTS),
    ],
    "kiro": [
        (".kiro/steering/commonplace.md", "---\ninclusion: always\n---\n", GENERAL),
        (
            ".kiro/steering/api.md",
            '---\ninclusion: fileMatch\nfileMatchPattern: ["src/api/**", "**/*.{ts,tsx}"]\n---\n',
            API,
        ),
        (".kiro/steering/style.md", "---\ninclusion: always\n---\n", STYLE),
        (".kiro/steering/tests.md", '---\ninclusion: fileMatch\nfileMatchPattern: "tests/**"\n---\n', TESTS),
    ],
    "cline": [
        (".clinerules/commonplace.md", NONE, GENERAL),
        (".clinerules/api.md", PATHS_API, API),
        (".clinerules/style.md", NONE, STYLE),
        (".clinerules/tests.md", PATHS_TESTS, TESTS),
    ],
    "roo": [
        (".roo/rules/commonplace.md", NONE, GENERAL),
        (".roo/rules/api.md", NONE, API),
        (".roo/rules/style.md", NONE, STYLE),
        (".roo/rules/tests.md", NONE, TESTS),
    ],
}
SKILLS = {
    "agents": ".agents",
    "claude": ".claude",
    "cursor": ".cursor",
    "windsurf": ".windsurf",
    "copilot": ".github",
    "gemini": ".gemini",
    "kiro": ".kiro",
    "cline": ".cline",
    "roo": ".roo",
}


@pytest.fixture
def rules(say: Say) -> None:
    say("Use pnpm, not npm")
    say("Validate input with zod", category="api", paths=("src/api/**", "*.{ts,tsx}"))
    say("Write tests first", project=None)
    say("Two spaces", category="style")
    say("No sleeps", paths=("tests/**",))
    say("PostgreSQL, for its JSONB", "decision")
    say("A note is not told unless asked for", "note")


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("target", TARGET_NAMES)
def test_each_target_gets_its_files_with_its_front_matter(write: Generate, root: Path, target: str) -> None:
    write(target)
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert files == {path for path, _front, _text in WANTED[target]}
    for path, front, text in WANTED[target]:
        written = (root / path).read_text(encoding="utf-8")
        assert written.startswith(f"{front}<!-- commonplace:begin -->\n"), path
        assert written.endswith("\n<!-- commonplace:end -->\n"), path
        assert inner(written) == text, path


@pytest.mark.parametrize("target", TARGET_NAMES)
def test_each_target_gets_skills_in_its_own_folder(write: Generate, say: Say, root: Path, target: str) -> None:
    say("1. make build\n2. make deploy", "skill", category="Deploy App", meta={"description": 'Ship it: "safely"'})
    write(target)
    (path,) = (path for path in root.rglob("*") if path.is_file())
    assert path == root / SKILLS[target] / "skills" / "deploy-app" / "SKILL.md"
    text = path.read_text(encoding="utf-8")
    assert text.startswith(
        '---\nname: deploy-app\ndescription: "Ship it: \\"safely\\""\n---\n<!-- commonplace:begin -->'
    )
    assert inner(text) == "1. make build\n2. make deploy"


@pytest.mark.parametrize(("host", "sign"), [(host, sign) for host in rule_targets() for sign in host.signs])
def test_a_tool_is_used_if_one_of_its_signs_is_there(root: Path, host: object, sign: str) -> None:
    (root / sign).parent.mkdir(parents=True, exist_ok=True)
    (root / sign).mkdir() if "." not in sign[1:] else (root / sign).touch()
    assert host in rule_targets_in(root, ())


def test_a_project_that_uses_no_tool_gets_agents_md(root: Path) -> None:
    (root / ".github" / "workflows").mkdir(parents=True)
    assert [host.name for host in rule_targets_in(root, ())] == ["agents"]


def test_a_second_name_for_a_file_is_no_second_tool(write: Generate, say: Say, root: Path) -> None:
    (root / "AGENTS.md").write_text("Mine\n", encoding="utf-8")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    say("Use pnpm")
    assert write().targets == ("agents",)
    assert (root / "CLAUDE.md").read_bytes() == (root / "AGENTS.md").read_bytes() and (root / "CLAUDE.md").is_symlink()
    (root / "GEMINI.md").symlink_to(root.parent / "elsewhere.md")
    (root.parent / "elsewhere.md").touch()
    with pytest.raises(Conflict, match=r"GEMINI\.md is a link"):
        write()


def test_named_targets_are_used_whatever_the_project_uses(root: Path) -> None:
    (root / "CLAUDE.md").touch()
    assert [host.name for host in rule_targets_in(root, ("kiro", "cursor"))] == ["cursor", "kiro"]
    with pytest.raises(InvalidInput, match="'emacs'"):
        rule_targets_in(root, ("emacs",))


def test_cline_with_a_single_rules_file_keeps_it_single(write: Generate, say: Say, root: Path) -> None:
    (root / ".clinerules").write_text("Mine\n", encoding="utf-8")
    say("Use pnpm")
    say("No sleeps", category="tests", paths=("tests/**",))
    write()
    text = (root / ".clinerules").read_text(encoding="utf-8")
    assert text.startswith("Mine\n\n<!-- commonplace:begin -->")
    assert inner(text) == "## Rules\n\n- Use pnpm\n\n### Files matching `tests/**`\n\n- No sleeps"


def test_windsurf_rules_are_spread_over_files_that_it_reads_whole(write: Generate, say: Say, root: Path) -> None:
    for number in range(60):
        say(f"Rule {number}: " + "never do what was done before without asking " * 5)
    write("windsurf")
    files = sorted((root / ".windsurf" / "rules").iterdir())
    assert [file.name for file in files[:2]] == ["commonplace-2.md", "commonplace-3.md"] and len(files) == 3
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert all(len(text) <= 6_000 and text.startswith("---\ntrigger: always_on\n---\n") for text in texts)
    assert sum(text.count("\n- Rule ") for text in texts) == 60


def test_a_rule_that_windsurf_would_cut_off_is_told(write: Generate, say: Say) -> None:
    say("Short")
    say("long " * 2_000)
    made = write("windsurf")
    assert [change.path for change in made.changes] == [
        ".windsurf/rules/commonplace-2.md",
        ".windsurf/rules/commonplace.md",
    ]
    (note,) = made.notes
    assert note.startswith(".windsurf/rules/commonplace-2.md has 10,") and "6,000" in note


def test_a_tool_whose_file_is_a_link_to_another_is_left_out_even_if_it_has_a_folder(root: Path) -> None:
    (root / "AGENTS.md").write_text("- Mine\n", encoding="utf-8")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    (root / ".claude").mkdir()
    assert [host.name for host in rule_targets_in(root, ())] == ["agents"]
