"""For whatever rules and whatever text around them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.hosts import rule_file_parts
from commonplace.hosts.generate_rule_files import Generated, generate, plan_rule_files
from commonplace.hosts.host import TARGET_NAMES, rule_targets, rule_targets_in
from commonplace.hosts.learn_rule_files import learn
from commonplace.hosts.project_files import write_all
from commonplace.hosts.rules_markdown import statements
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.rules import Rule, RuleSet, Skill

from .conftest import tree

letters = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029")
any_text = st.text(st.one_of(st.sampled_from("ab -*#>`:.\n\r\t<!"), st.characters(exclude_categories=["Cs"])))
words = st.lists(st.sampled_from("use pnpm not npm tests first zod never log always".split()), min_size=2, max_size=8)
sentences = words.map(" ".join)
globs = st.sampled_from(["src/**", "*.{ts,tsx}", "tests/*_test.py", "a,b/**", "**/*.md", "[ab]/?.c", "it's", 'a"b'])
categories = st.sampled_from(["", "api", "API", "tests", "commonplace", "Über uns", "a.b_c", "true"])
rules = st.builds(
    Rule,
    id=st.integers(1, 10_000),
    type=st.sampled_from(["rule", "decision", "fact", "note"]),
    text=st.one_of(sentences, any_text.filter(str.strip).map(str.strip)),
    topic=st.sampled_from(["", "Style", "API"]),
    category=categories,
    paths=st.lists(globs, max_size=3, unique=True).map(tuple),
)
skills = st.builds(
    Skill,
    id=st.integers(1, 10_000),
    category=st.sampled_from(["deploy", "Release Notes"]),
    text=any_text.filter(str.strip),
    description=st.text(letters, max_size=30),
)
rule_sets = st.builds(
    RuleSet,
    project=st.just("my-api"),
    rules=st.lists(rules, max_size=6, unique_by=lambda rule: rule.id).map(tuple),
    skills=st.lists(skills, max_size=2).map(tuple),
)
around = st.one_of(any_text, any_text.map(lambda text: text.replace("\n", "\r\n"))).filter(
    lambda text: "commonplace:" not in text
)


@contextmanager
def project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder).resolve()


def write(rules: RuleSet, root: Path, *targets: str) -> Generated:
    made = plan_rule_files(rules, root, rule_targets_in(root, targets or TARGET_NAMES))
    write_all(root, made.changes)
    return made


@settings(max_examples=40)
@given(rule_sets)
def test_generating_twice_is_generating_once(rules: RuleSet) -> None:
    with project() as root:
        write(rules, root)
        before = tree(root)
        assert not write(rules, root).changed and tree(root) == before


@settings(max_examples=40)
@given(rule_sets, rule_sets)
def test_what_is_written_depends_on_the_rules_alone(first: RuleSet, second: RuleSet) -> None:
    with project() as used, project() as fresh:
        write(first, used)
        write(second, used)
        write(second, fresh)
        files = [{path: entry for path, entry in tree(root).items() if entry[0] != "folder"} for root in (used, fresh)]  # type: ignore[index]
        assert files[0] == files[1]


@settings(max_examples=150)
@given(rule_sets.filter(lambda text: bool(text.rules)), around, st.booleans())
def test_what_is_outside_of_the_markers_stays_byte_for_byte(rules: RuleSet, text: str, bom: bool) -> None:
    with project() as root:
        file = root / "AGENTS.md"
        before = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
        file.write_bytes(before)
        made = write(rules, root, "agents")
        after = file.read_bytes()
        assert after.startswith(before)
        assert not write(rules, root, "agents").changed
        write(RuleSet(None, (), ()), root, "agents")
        if made.changed and text.strip():
            assert file.read_bytes() == before


@settings(max_examples=100)
@given(rule_sets.filter(lambda text: bool(text.rules)), around, around)
def test_text_above_and_below_a_block_stays_byte_for_byte(rules: RuleSet, above: str, below: str) -> None:
    text = f"{above}\n<!-- commonplace:begin -->\nold\n<!-- commonplace:end -->\n{below}"
    with project() as root:
        (root / "GEMINI.md").write_bytes(text.encode())
        write(rules, root, "gemini")
        if (root / "GEMINI.md").exists():
            after = (root / "GEMINI.md").read_bytes()
            assert after.startswith(f"{above}\n".encode()) and after.endswith(f"\n{below}".encode())
            assert not write(rules, root, "gemini").changed


@settings(max_examples=25)
@given(st.lists(rules, min_size=1, max_size=5), st.data())
def test_learning_what_was_generated_adds_nothing(memory: LocalMemory, some: list[Rule], data: st.DataObject) -> None:
    name = f"p{data.draw(st.integers(0, 10**9))}"
    with project() as root:
        remember_all(memory, [note_of(rule, name) for rule in some])
        generate(memory, root, name, TARGET_NAMES, ("rule", "decision", "fact", "note"))
        assert sum(len(read.added) for read in learn(memory, root, name)) == 0


@settings(max_examples=25)
@given(
    st.lists(
        rules.filter(
            lambda rule: (
                rule.text.isascii() and "\n" not in rule.text and len(rule.text.split()) > 1 and rule.text[0].isalpha()
            )
        ),
        min_size=1,
        max_size=5,
    ),
    st.data(),
)
def test_a_rule_that_was_generated_is_the_same_when_its_markers_are_gone(
    memory: LocalMemory, some: list[Rule], data: st.DataObject
) -> None:
    name = f"q{data.draw(st.integers(0, 10**9))}"
    with project() as root:
        remember_all(memory, [note_of(rule, name) for rule in some])
        generate(memory, root, name, TARGET_NAMES, ("rule", "decision", "fact", "note"))
        for host in rule_targets():
            for pattern in host.patterns:
                for file in root.glob(pattern):
                    if file.is_file():
                        cut = rule_file_parts.parts(file.read_text(encoding="utf-8"))
                        inside = "\n".join((cut.block or "").split("\n")[1:-1])
                        file.write_text(cut.before + inside, encoding="utf-8")
        assert [note.content for read in learn(memory, root, name) for note in read.added] == []


@given(any_text)
def test_any_text_can_be_taken_apart(text: str) -> None:
    for one in statements(text):
        assert one.text.strip() == one.text or one.text.startswith("-")


def note_of(rule: Rule, project_name: str) -> NewItem:
    details = {"category": rule.category, "paths": "\n".join(rule.paths), "subtitle": rule.topic}
    details = {name: value for name, value in details.items() if value}
    return NewItem(rule.text, type=rule.type, project=project_name, details=details)
