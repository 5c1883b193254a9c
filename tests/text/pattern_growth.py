"""Finds every regular expression of the package and measures how its work grows with the length of a text.

`python -m tests.text.pattern_growth` prints those whose work grows faster than about their text, as JSON. The shapes
are made from each pattern: what its repeats repeat, after what comes before them, and texts that nearly match.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants as op
from re import _parser as parser
from types import FrameType
from typing import Any

import commonplace

ROOT = Path(commonplace.__file__).parent
SMALL, MIDDLE, LARGE = 1 << 10, 1 << 12, 1 << 14
# A linear pattern takes less than the first of MIDDLE characters. Of one that takes longer the work is compared with
# that for LARGE, four times as many: 4 times as much is linear, 16 times is quadratic.
SECONDS_AT_ONCE, FASTEST_GROWTH, SECONDS_AT_MOST = 0.003, 8.0, 1.0
# A repeat that may go on for longer than this counts as endless.
ENDLESS = 64
WALKS = {"search": "search", "finditer": "search", "findall": "search", "sub": "search", "subn": "search"}
WALKS |= {"split": "search", "match": "match", "fullmatch": "fullmatch"}

# Patterns that only ever meet texts of at most this many characters: a module, or a name in one.
LIMITS = {
    "text.attributes": 200,  # _LONGEST
    "text.dates": 300,  # _LONGEST_QUESTION
    "text.redact:_STATE": 64,  # STREAM_STATE_CHARS
    "text.redact:_LAST": 6,  # where it is searched
    "text.rule_clauses:_TOKEN": 1000,  # _LOOKED_AT
    "text.secrets_by_context:_WORDS_BEFORE": 80,  # where it is searched
    "text.secrets_by_context:_NAME_BEFORE": 40,
    "text.shell_commands": 4000,  # _LOOKED_AT
    "text.validity": 600,  # _LONGEST
}
# Patterns for what only we write: file names of backups, SQL, HTML that we rendered.
OURS = {
    "memory.backup:_NAME",
    "store.sqlite.connection:_CHANGED",
    "store.postgres.connection",
    "web.conversations:_BLOCK",
}
OURS |= {"hosts.json_and_toml_edits:comments"}


# The lists of phrases that are looked for, and what stands around them.
PHRASES = (
    *(("for_now",), ("not_done",), ("not_wanted",), ("preambles",), ("reasons",)),
    *(("replies", r"^\W*"), ("beginnings_of_talk", r"^\W*")),
    ("step_headings", r"^[\s*_]*", r"[\s*_]*:[\s*_]*(?=\S)"),
    ("step_headings", r"^[\s#>*_-]*", r"[\s*_:]*"),
)


def make_later_patterns() -> None:
    """Compile what the package compiles on first need, from its tables."""
    from commonplace.capture.importers import formats
    from commonplace.text import attributes, query, redact, validity, word_lists
    from commonplace.text.attribute_phrases import ATTRIBUTES
    from commonplace.text.secret_values import KNOWN_TOKENS
    from commonplace.text.secrets_by_context import CONTEXT_PATTERNS

    for name in ATTRIBUTES:
        attributes._patterns.__wrapped__(name)
    query._attributes.__wrapped__()
    for pattern in (*(token.rest for token in KNOWN_TOKENS), *(one.pattern for one in CONTEXT_PATTERNS)):
        redact._compiled.__wrapped__(pattern)
    formats._match(formats.FORMATS, "")
    for phrases in PHRASES:
        word_lists.phrase_pattern.__wrapped__(*phrases)
    for words in ("not_holding", "things_that_end", "past_verbs"):
        validity._compiled.__wrapped__(word_lists.any_of(words))
    for name, written in vars(validity).items():
        for pattern in written if isinstance(written, tuple) else (written,):
            if re.fullmatch("_[A-Z_]+", name) and isinstance(pattern, str):
                validity._compiled.__wrapped__(pattern)


# Where a pattern is compiled that was given to a function, or taken from a table: those are in `make_later_patterns`,
# or are read where they are given. A pattern in any other place has to be read there, so that none is left out.
PASSED_ON = {
    "capture.importers.formats:_match",
    "text.attributes:_patterns",
    "text.dates:_compiled",
    "text.query:_attributes",
    "text.redact:_compiled",
    "text.redact:_near_hints",
    "text.redact:_token",
    "text.redact:_token_before",
    "text.validity:_compiled",
    "text.validity:_search",
    "text.validity:parse_moment",
    "text.word_lists:phrase_pattern",
}
# Patterns without a name of their own that are only ever tried at one place of a text.
ONLY_MATCHED = {"text.redact", "hosts.rules_markdown:_fenced"}


@dataclass(frozen=True)
class Found:
    """A pattern, where it is, by which name if it has one, and by which methods it is used."""

    module: str
    line: int
    name: str
    pattern: str
    flags: int
    methods: frozenset[str]

    @property
    def place(self) -> str:
        return f"{self.module}:{self.name or self.line}"


def all_patterns() -> list[Found]:
    """Every pattern that the package compiles when it is imported, and every one written into a call of `re`."""
    compiled = _compiled_by_now()
    found: dict[tuple[str, int, str], Found] = {}
    trees = {_module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}
    used = {module: _uses(tree) for module, tree in trees.items()}
    importers = _importers(trees)
    for module, tree in trees.items():
        names = _named_lines(tree)
        for pattern, flags, line in compiled.get(module, ()):
            name = names.get(line, "")
            methods = set().union(*(used[user].get(name, ()) for user in (module, *importers.get((module, name), ()))))
            if not name or not methods:
                # In a table, or passed on: by any method that its module calls on what has no name of its own.
                methods = used[module].get("", set(WALKS))
            walks = frozenset(WALKS[method] for method in methods)
            if not name and module in ONLY_MATCHED:
                walks = frozenset(["match"])
            found[module, line, pattern] = Found(module, line, name, pattern, flags, walks)
        for call, function, method in _written_patterns(tree):
            written = _text_of(call.args[0], module)
            if written is None:
                assert f"{module}:{function}" in PASSED_ON, f"{module}:{call.lineno}: which pattern is this?"
            else:
                flags = re.compile(written, _flags_of(call)).flags
                walks = frozenset([WALKS[method]] if method in WALKS else WALKS.values())
                if f"{module}:{function}" in ONLY_MATCHED:
                    walks = frozenset(["match"])
                found[module, call.lineno, written] = Found(module, call.lineno, function, written, flags, walks)
    return list(found.values())


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _compiled_by_now() -> dict[str, list[tuple[str, int, int]]]:
    compiled: dict[str, list[tuple[str, int, int]]] = {}
    really = re._compile  # type: ignore[attr-defined]

    def note(pattern: Any, flags: Any) -> Any:
        made = really(pattern, flags)
        frame = sys._getframe(2)
        module = frame.f_globals.get("__name__", "")
        if module.startswith("commonplace."):
            measured = made if isinstance(made.pattern, str) else really(made.pattern.decode("latin-1"), made.flags)
            compiled.setdefault(module.removeprefix("commonplace."), []).append(
                (measured.pattern, measured.flags, frame.f_lineno)
            )
        return made

    re._compile = note  # type: ignore[attr-defined]
    try:
        for module in pkgutil.walk_packages(commonplace.__path__, "commonplace."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
        make_later_patterns()
    finally:
        re._compile = really  # type: ignore[attr-defined]
    return compiled


def _uses(tree: ast.Module) -> dict[str, set[str]]:
    """By which methods each name in capitals is used, and by which anything else."""
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and node.attr in WALKS):
            continue
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name != "re":
            uses.setdefault(name if name.isupper() else "", set()).add(node.attr)
    return uses


def _importers(trees: dict[str, ast.Module]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("commonplace."):
                for name in node.names:
                    found.setdefault((node.module.removeprefix("commonplace."), name.name), []).append(module)
    return found


def _named_lines(tree: ast.Module) -> dict[int, str]:
    """The names that are given to `re.compile(...)`, by every line of the call."""
    lines: dict[int, str] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) else [value]
        for one, call in zip(targets, values, strict=False):
            if isinstance(one, ast.Name) and isinstance(call, ast.Call) and ast.unparse(call.func) == "re.compile":
                lines |= dict.fromkeys(range(call.lineno, (call.end_lineno or call.lineno) + 1), one.id)
    return lines


def _written_patterns(tree: ast.AST, function: str = "", method: str = "") -> Iterator[tuple[ast.Call, str, str]]:
    """Calls in functions that take a pattern as text, and by which method it is used there."""
    for node in ast.iter_child_nodes(tree):
        inside = node.name if isinstance(node, ast.FunctionDef) else function
        if inside and isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func)
            if re.fullmatch(r"re\.(?!escape)\w+", called):
                yield node, inside, called.removeprefix("re.")
            elif called.endswith("compiled"):
                yield node, inside, method
        yield from _written_patterns(node, inside, node.attr if isinstance(node, ast.Attribute) else "")


def _text_of(node: ast.expr, module: str) -> str | None:
    """What is written there, or in the constant that is named there; what is not known before it runs is a word."""
    if isinstance(node, ast.JoinedStr):
        parts = (_text_of(part.value if isinstance(part, ast.FormattedValue) else part, module) for part in node.values)
        return "".join("3" if part is None else part for part in parts)
    if isinstance(node, ast.Call):
        return "3" if "re.escape" in ast.unparse(node) else None
    if isinstance(node, ast.Name):
        value = getattr(sys.modules[f"commonplace.{module}"], node.id, None)
    else:
        value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return value if isinstance(value, str) else None


def _flags_of(call: ast.Call) -> int:
    written = [ast.unparse(one) for one in (*call.args[1:], *(word.value for word in call.keywords))]
    return sum(int(getattr(re, name)) for one in written for name in re.findall(r"re\.([A-Z]+)", one))


def shapes(pattern: str, flags: int) -> list[tuple[str, str]]:
    """Beginnings, and what is repeated after them."""
    tree = parser.parse(pattern, flags & ~int(re.DEBUG))
    blanks = [" ", "\n", "\t", " \n", "\r\n", "a", "A ", "1", "_", "-", ".", "/", "- ", "a-"]
    found = dict.fromkeys(("", one) for one in blanks)
    for before, body in _repeats(list(tree), lambda variant: ""):
        for variant in range(3):
            if repeated := _sample(body, variant):
                found |= dict.fromkeys(
                    [(before(variant), repeated), ("\n", repeated), ("", before(variant) + repeated)]
                )
    for variant in range(2):
        whole = _sample(tree, variant)
        found |= dict.fromkeys(("", one) for one in (whole, whole[:-1], whole[: len(whole) // 2]))
    return [shape for shape in found if shape[1]]


Before = Callable[[int], str]


def _repeats(tree: Any, before: Before) -> Iterator[tuple[Before, Any]]:
    """What each endless repeat repeats, with what may stand before it."""
    for code, value in tree:
        if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            _, most, body = value
            if most is op.MAXREPEAT or most >= ENDLESS:
                yield before, body
            yield from _repeats(body, before)
        elif code is op.SUBPATTERN:
            yield from _repeats(value[3], before)
        elif code is op.ATOMIC_GROUP:
            yield from _repeats(value, before)
        elif code is op.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        elif code in (op.ASSERT, op.ASSERT_NOT):
            yield from _repeats(value[1], before)
        before = _then(before, (code, value))


def _then(before: Before, node: Any) -> Before:
    return lambda variant: before(variant) + _sample([node], variant)


def _sample(tree: Any, variant: int) -> str:
    """A text that is about what the pattern matches."""
    text = ""
    for code, value in tree:
        if code is op.LITERAL:
            text += chr(value)
        elif code in (op.ANY, op.NOT_LITERAL):
            text += "a" if code is op.ANY or value != ord("a") else "b"
        elif code is op.IN:
            choices = _characters(value)
            text += choices[variant % len(choices)]
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            fewest, most, body = value
            times = max(fewest, 1 if variant % 2 == 0 and most else 0)
            text += _sample(body, variant) * min(times, 8)
        elif code is op.SUBPATTERN:
            text += _sample(value[3], variant)
        elif code is op.ATOMIC_GROUP:
            text += _sample(value, variant)
        elif code is op.BRANCH:
            text += _sample(value[1][variant % len(value[1])], variant)
    return text


_OF_CATEGORY = {
    op.CATEGORY_SPACE: " \n",
    op.CATEGORY_WORD: "a1_",
    op.CATEGORY_DIGIT: "1",
    op.CATEGORY_NOT_SPACE: "a-",
    op.CATEGORY_NOT_WORD: ' \n-"',
    op.CATEGORY_NOT_DIGIT: "a ",
}


def _characters(members: Any) -> str:
    named = ""
    for code, value in members:
        if code is op.LITERAL:
            named += chr(value)
        elif code is op.RANGE:
            named += chr(value[0])
        elif code is op.CATEGORY:
            named += _OF_CATEGORY[value]
    if members[0][0] is not op.NEGATE:
        return named
    return "".join(one for one in 'a \n1-."({A' if one not in named) or "\u00e9"


class TooLong(Exception):
    """One call took more than its limit."""


def _too_long(signal_number: int, frame: FrameType | None) -> None:
    raise TooLong


def _cost(walk: Callable[[str], object], text: str) -> float:
    """Seconds of processor time, at most about SECONDS_AT_MOST where a call can be broken off."""
    limited = hasattr(signal, "setitimer")
    try:
        if limited:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_AT_MOST)
        began = time.process_time()
        walk(text)
        taken = time.process_time() - began
    except TooLong:
        return SECONDS_AT_MOST
    finally:
        if limited:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return taken


def _least_cost(walk: Callable[[str], object], text: str) -> float:
    return min(_cost(walk, text) for _ in range(3))


def worst_growth(found: Found) -> str:
    """A shape at which the work grows faster than the text, in words; empty if there is none."""
    compiled = re.compile(found.pattern, found.flags)
    most = LIMITS.get(found.place, LIMITS.get(found.module, LARGE))
    walks: dict[str, Callable[[str], object]] = {
        "search": lambda text: sum(1 for _ in compiled.finditer(text)),
        "match": compiled.match,
        "fullmatch": compiled.fullmatch,
    }
    for before, repeated in shapes(found.pattern, found.flags):
        for end in ("", "\0", "!\n"):

            def text(length: int, before: str = before, repeated: str = repeated, end: str = end) -> str:
                return before + repeated * (length // len(repeated)) + end

            for name in found.methods:
                walk = walks[name]
                sizes = [size for size in (SMALL, MIDDLE) if size <= most] or [most]
                if all(_cost(walk, text(size)) < SECONDS_AT_ONCE for size in sizes):
                    continue
                if most < LARGE:
                    slow = _least_cost(walk, text(most)) > 20 * SECONDS_AT_ONCE
                else:
                    middle = _least_cost(walk, text(MIDDLE))
                    slow = middle > SECONDS_AT_ONCE and (
                        middle >= SECONDS_AT_MOST / 2 or _least_cost(walk, text(LARGE)) > FASTEST_GROWTH * middle
                    )
                if slow:
                    shape = f"{before!r} + {repeated!r} repeated + {end!r}"
                    return f"{found.place} ({name}): {shape} in {found.pattern[:90]!r}"
    return ""


def main() -> None:
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGVTALRM, _too_long)
    patterns = [one for one in all_patterns() if not {one.place, one.module} & OURS]
    only = sys.argv[1:]
    grown = [worst_growth(one) for one in patterns if not only or one.module in only]
    sys.stdout.write(json.dumps({"patterns": len(patterns), "grown": list(filter(None, grown))}))


if __name__ == "__main__":
    main()
