"""Rule files follow the store without being asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace.errors import CommonplaceError
from commonplace.hosts.generate_rule_files import Generated, generate, watch
from commonplace.memory.local_memory import LocalMemory

from .conftest import PROJECT, Say


def run(memory: LocalMemory, root: Path, steps: Iterator[object]) -> tuple[list[Generated], list[str], int]:
    """Watch, doing one step in each pause, until there are no more."""
    lines: list[Generated] = []
    complaints: list[str] = []
    calls = 0

    def regenerate() -> Generated:
        nonlocal calls
        calls += 1
        return generate(memory, root, PROJECT, ("agents",))

    def wait() -> bool:
        return next(steps, "end") != "end"

    def complain(error: CommonplaceError) -> None:
        complaints.append(error.message)

    watch(memory, regenerate, wait, lines.append, complain)
    return lines, complaints, calls


def test_a_rule_that_is_added_meanwhile_is_written(
    memory: LocalMemory, root: Path, say: Say, open_again: Callable[[], LocalMemory]
) -> None:
    other = open_again()

    def steps() -> Iterator[object]:
        yield say("Use pnpm")
        assert "Use pnpm" in (root / "AGENTS.md").read_text(encoding="utf-8")
        yield other.store.forget([1], 1)
        assert not (root / "AGENTS.md").exists()

    outcome, complaints, _calls = run(memory, root, steps())
    assert [[change.action for change in made.changed] for made in outcome] == [[], ["create"], ["remove"]]
    assert complaints == []
    other.close()


def test_a_store_that_rests_costs_nothing(memory: LocalMemory, root: Path, say: Say) -> None:
    say("Use pnpm")
    outcome, _complaints, calls = run(memory, root, iter(range(50)))
    assert len(outcome) == 1 and calls == 2


def test_a_refusal_is_told_once_and_tried_again(memory: LocalMemory, root: Path, say: Say) -> None:
    say("Use pnpm")
    file = root / "AGENTS.md"
    file.write_text("<!-- commonplace:begin -->\n", encoding="utf-8")

    def steps() -> Iterator[object]:
        yield 1
        yield 2
        yield file.write_text("Mended\n", encoding="utf-8")
        assert "Use pnpm" in file.read_text(encoding="utf-8")

    _written, complaints, _calls = run(memory, root, steps())
    assert len(complaints) == 1 and "AGENTS.md" in complaints[0]
