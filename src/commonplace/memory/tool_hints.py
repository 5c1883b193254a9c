"""Hints before a tool is used, and after it failed: rules that are about to be broken, what concerns just this file or
command, and what made the same error go away.

A rule that an action seems to break is told each time, whatever the session was shown before; one that is obeyed never.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from commonplace.memory.hints import LONGEST, MOST_HINTS, NOTHING_SEEN, Hint, Seen, gist, make_hint
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.predict import errors_of_output, find_fix_by_rerun, items_with_error, session_items_after
from commonplace.memory.rule_checks import CHECKED_TYPES, Finding, check_rule, is_against
from commonplace.memory.rules import rule_paths
from commonplace.memory.told_to_agents import is_stated, scope_to_tell, that_may_be_told
from commonplace.model import Item, Scope
from commonplace.text.command_actions import Action
from commonplace.text.paths import any_glob_matches
from commonplace.text.sentences import brief_summary, content_stems, shorten
from commonplace.text.shell_commands import normalise_command
from commonplace.text.tokens import STOP_WORDS

# Decisions and heuristics concern a tool only if they name paths.
_WITH_PATHS = ("decision", "heuristic")
_MOST_LOOKED_AT = 500
# Programs that say nothing by themselves: with them, the next word has to be named too.
_GENERIC = frozenset(
    "git python python3 node bash sh zsh sudo docker cd ls cat echo grep sed awk find rg head tail cp mv rm mkdir touch"
    " chmod curl wget env export source test true which pwd kill ps tee xargs sort wc diff open code".split()
)


def tool_hints(memory: LocalMemory, project: str | None, action: Action, seen: Seen = NOTHING_SEEN) -> list[Hint]:
    """What a tool seems to break, else what concerns just its files or its command: rules for their paths, and
    constraints and rejected ideas that name them.
    """
    types = (*CHECKED_TYPES, *_WITH_PATHS)
    scope = scope_to_tell(Scope.around(project, kinds=("memory",), types=types))
    found = that_may_be_told(memory, memory.store.newest(scope, _MOST_LOOKED_AT))
    checked = [(item, check_rule(item, action)) for item in found]
    broken = [(item, finding) for item, finding in checked if finding.verdict == "breaks"]
    # What nobody agreed to does not speak against what somebody stated.
    stated = [item for item, finding in checked if finding.verdict != "unrelated" and is_stated(item)]
    broken = [one for one in broken if is_stated(one[0]) or not any(is_against(one[0], rule) for rule in stated)]
    # What is certain first, of the project before what holds everywhere, and the newest first.
    broken.sort(key=lambda pair: (not pair[1].certain, pair[0].project is None))
    hints = [_breach_hint(memory, item, finding, action) for item, finding in broken]
    hints = [hint for hint in hints if hint.breach not in seen.breaches]
    if broken:
        return hints[:MOST_HINTS]
    concerning = [item for item, finding in checked if finding.verdict == "unrelated" and _concerns(item, action, seen)]
    # What must not be done before what is usually done; rules of this very file before others.
    order = {"constraint": 0, "rejected": 0}
    concerning.sort(key=lambda item: (order.get(item.type, 1), not rule_paths(item)))
    return [make_hint(memory, item, gist(item, ())) for item in concerning[:MOST_HINTS]]


_LONGEST_ACTION = 60


def _breach_hint(memory: LocalMemory, item: Item, finding: Finding, action: Action) -> Hint:
    """The line of a rule that is broken, with what breaks it."""
    key = hashlib.sha256(f"{item.short_id} {action.kind}".encode("utf-8", "replace")).hexdigest()[:16]
    against = f"(against this: {shorten(finding.what, _LONGEST_ACTION)})"
    # That the agent does what the rule is against is no use of it.
    known = f"{against} {action.line} {action.added}"
    return replace(make_hint(memory, item, f"{gist(item, ())} {against}", known), breach=key)


def _concerns(item: Item, action: Action, seen: Seen) -> bool:
    if paths := rule_paths(item):
        # At the start of a session nobody knows which files it is about.
        return not seen.was_told(item) and any_glob_matches(paths, action.files)
    if item.type not in CHECKED_TYPES or item.short_id in seen.shown:
        return False
    text = f"{item.title}\n{item.text}".casefold()
    return any(_names_file(text, file) for file in action.files) or any(
        _names_command(text, part.split()) for part in normalise_command(action.line).split(" && ") if part
    )


def _names_file(text: str, file: str) -> bool:
    """Whether a text names a file: by its name with its ending, or by a folder and a name without one."""
    parts = [part for part in file.replace("\\", "/").casefold().split("/") if part]
    if not parts:
        return False
    name = parts[-1] if "." in parts[-1].strip(".") else "/".join(parts[-2:])
    return ("." in name or "/" in name) and bool(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text))


def _names_command(text: str, words: Sequence[str]) -> bool:
    """Whether a text names a command: its program with the same next word, or alone if that says enough."""
    program = words[0].casefold()
    if not re.fullmatch(r"[\w.+-]{2,40}", program):
        return False
    second = words[1].casefold() if len(words) > 1 else ""
    for named in re.finditer(rf"(?<![\w./-]){re.escape(program)}(?![\w-])(?:[ `]+([a-z][\w:-]*))?", text):
        following = named[1] or ""
        if following and following == second:
            return True
        if program not in _GENERIC and (not following or following in STOP_WORDS):
            return True
    return False


_MOST_ERRORS, _MOST_MEETINGS = 3, 8


def failure_hints(
    memory: LocalMemory, project: str | None, output: str, shown: Collection[str], session: str = ""
) -> list[Hint]:
    """What made the errors of an output go away the last time, with how it went; nothing if that is not known."""
    here = None if project is None else memory.store.find_project(project)
    for error in errors_of_output(output)[:_MOST_ERRORS]:
        scope = Scope.inside(None) if project is None else Scope.around(project)
        found = items_with_error(memory, error, (), scope)
        met = [item for item in found if item.project in (here, None) and item.session != session]
        for item in sorted(met, key=lambda one: -one.created_ms)[:_MOST_MEETINGS]:
            fix = find_fix_by_rerun(memory, session_items_after(memory, item), error)
            if fix is not None and fix.item.short_id not in shown:
                summary = brief_summary(fix.text, content_stems(output), LONGEST, cure=True) if fix.text else ""
                often = "Met several times, fixed" if len({one.session for one in met}) > 1 else "Fixed"
                return [make_hint(memory, fix.item, f"{often} before: {summary} {fix.how}", output)]
    return []
