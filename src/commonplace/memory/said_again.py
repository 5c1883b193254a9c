"""What a prompt says again: a rule that holds already is not proposed once more, but noted as said again.

People mostly repeat a rule because it was broken: the action of the session that broke it is noted with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonplace.errors import CommonplaceError
from commonplace.memory.contradictions import compare_statement
from commonplace.memory.draft import NewItem, make_draft
from commonplace.memory.edit_and_forget import enrich_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.rule_checks import check_rule, command_action
from commonplace.memory.told_to_agents import (
    BROKEN_BY,
    SAID_AGAIN,
    is_stated,
    may_be_known,
    scope_to_tell,
    times_said_again,
)
from commonplace.model import Item, Scope
from commonplace.text.rule_statements import RuleStatements, rule_statements

# What is compared with a prompt's statements, the newest.
_COMPARED_TYPES = ("rule", "constraint", "decision", "heuristic", "rejected")
_MOST_COMPARED, _MOST_TIMES = 200, 20


def repeats(new: str, known: str) -> bool:
    """Whether all that a statement wants and rejects is what another one wants and rejects."""
    one, other = rule_statements(new, False), rule_statements(known, False)
    wanted, rejected = _names(one)
    known_wanted, known_rejected = _names(other)
    if not wanted | rejected or not all(rejection.is_exact for rejection in one.rejected):
        return False
    return wanted <= known_wanted and rejected <= known_rejected


def without_repeats(texts: Sequence[str]) -> list[str]:
    """The statements of a prompt without those that another one holds: "Use pnpm! Always use pnpm, never npm." """
    kept: list[str] = []
    for place, text in enumerate(texts):
        later = any(repeats(text, other) and not repeats(other, text) for other in texts[place + 1 :])
        if not later and not any(repeats(text, other) for other in kept):
            kept.append(text)
    return kept


def find_repeated(memory: LocalMemory, note: NewItem) -> Item | None:
    """What a person stated or accepted, and a note says again, in the same words or others; None if it is new."""
    scope = scope_to_tell(Scope.around(note.project, kinds=("memory",), types=_COMPARED_TYPES))
    newest = memory.store.newest(scope, _MOST_COMPARED)
    agreed = (item for item in newest if is_stated(item) and may_be_known(memory, item))
    said = next((item for item in agreed if repeats(note.content, item.text)), None)
    if said is not None:
        return said
    twins = compare_statement(memory, make_draft(note, memory.clock())).twins
    return next((item for item in twins if is_stated(item) and may_be_known(memory, item)), None)


def note_said_again(memory: LocalMemory, item: Item, at_ms: int, commands: Iterable[str]) -> None:
    """Note that a statement was said again at a time, and the last of a session's commands that broke it."""
    times = [one for one in times_said_again(item) if one != at_ms]
    findings = (check_rule(item, command_action(command)) for command in commands)
    broken = [finding.what for finding in findings if finding.verdict == "breaks"]
    noted: dict[str, object] = {SAID_AGAIN: [*times, at_ms][-_MOST_TIMES:]}
    try:
        enrich_item(memory, item, (), noted | ({BROKEN_BY: broken[-1]} if broken else {}))
    except CommonplaceError:
        # It changed meanwhile: that it was said again is not worth more.
        return


def _names(statements: RuleStatements) -> tuple[set[tuple[str, ...]], set[tuple[object, ...]]]:
    wanted = {tuple(word.folded for word in phrase) for phrase in statements.wanted}
    rejected: set[tuple[object, ...]] = {
        (
            tuple(word.folded for word in one.words),
            one.deed,
            frozenset(word.folded for word in one.where),
            frozenset(word.folded for word in one.unless),
        )
        for one in statements.rejected
    }
    return wanted, rejected
