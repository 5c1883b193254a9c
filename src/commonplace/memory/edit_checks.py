"""Does the writing of files break a rule? By their names, the commands in them, and what they bring in."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from commonplace.memory.command_checks import (
    UNRELATED,
    Finding,
    bare_image,
    check_call,
    file_name,
    is_file,
    is_path,
    names_paths,
    same_thing,
    stem_of,
)
from commonplace.text.command_actions import COMMENT, LONGEST_LINE, MOST_LINES, Action, written_calls
from commonplace.text.known_tools import (
    BELONGING,
    MANIFEST,
    are_alternatives,
    is_about,
    is_known_tool,
    is_program,
)
from commonplace.text.rule_statements import Rejection, RuleStatements, Word
from commonplace.text.tokens import fold, words_of

_PROSE = (".md", ".txt", ".rst", ".adoc", ".log", ".csv")
# A line of code that brings in something from elsewhere.
_IMPORTS = re.compile(
    r"""^\s*(?:import\b|from\s+[\w.]+\s+import\b|export\b.*\bfrom\b|use\s|using\s|\#include\b|require\b|gem\s)"""
    r"""|\brequire\s*\(|\bimport\s*\(|\bfrom\s+['"]|\w://""",
)
_NAME = re.compile(r"[\w@./-]+")
# A line that names the image on which one is built, or which a service runs.
_IMAGE_LINE = re.compile(r"\s*(?:FROM\s|(?:-\s*)?image:)")


def check_edit(rule: RuleStatements, action: Action) -> Finding:
    obeys = False
    if len(action.files) == 1:
        calls, rest = written_calls(file_name(action.files[0]), action.added)
        found = [check_call(rule, call) for call in calls]
        if broken := next((finding for finding in found if finding.verdict == "breaks"), None):
            return Finding("breaks", f"{broken.what} in {action.files[0]}", broken.certain)
        obeys = any(finding.verdict == "obeys" for finding in found)
        action = replace(action, added=rest)
    for rejection in rule.rejected:
        if rejection.deed == "edit" and names_paths(rejection.words, action.files):
            return Finding("breaks", ", ".join(action.files), rejection.is_exact)
        if rejection.deed == "change" and names_paths(rejection.words, action.files):
            if action.creates is False:
                return Finding("breaks", ", ".join(action.files), rejection.is_exact)
            obeys = True
        elif rejection.deed in ("use", "do") and _edit_brings_in(rejection, action):
            return Finding("breaks", ", ".join(action.files), rejection.is_exact)
    if not obeys and (other := _brings_in_another(rule, action)):
        return Finding("breaks", f"{other} in {', '.join(action.files)}")
    return Finding("obeys") if obeys else UNRELATED


def _brings_in_another(rule: RuleStatements, action: Action) -> str:
    """The tool that an edit brings in where the rule wants another of its kind; empty if it brings in none."""
    wanted = [word.folded for phrase in rule.wanted for word in phrase if is_known_tool(word.text)]
    if not wanted:
        return ""
    file_names = {file_name(file) for file in action.files}
    used = [tool for tool, files in BELONGING.items() if file_names & {one for one in files if "." in one}]
    is_manifest = any(MANIFEST.fullmatch(name) for name in file_names)
    lines = list(_code_lines(action.added))
    names = _written(action.added).names if is_manifest else frozenset().union(*map(_modules_in, lines))
    if any(name.endswith(".py") for name in file_names):
        # What a language has itself nobody chooses: `from unittest import mock`.
        names = names - sys.stdlib_module_names
    used += [part for name in sorted(names) for part in (name, *name.removeprefix("@").split("/")[:2])]
    used = [bare_image(name) for name in used]
    if any(is_about(word, name) for word in wanted for name in used):
        return ""
    return next((name for name in used for word in wanted if are_alternatives(word, name)), "")


_QUOTED = re.compile(r"""['"]([\w@./-]+)['"]""")
_FROM_MODULE = re.compile(r"\s*from\s+([\w.]+)\s+import\b")


def _modules_in(line: str) -> set[str]:
    """From where a line brings something in: what it takes from there may have any name."""
    if not _IMPORTS.search(line):
        return set()
    if module := _FROM_MODULE.match(line):
        return {fold(module[1]), fold(module[1].partition(".")[0])}
    quoted = _QUOTED.findall(line)
    return {fold(name) for name in quoted} if quoted else _names_in(line)


def _edit_brings_in(rejection: Rejection, action: Action) -> bool:
    places = [word for word in rejection.where if is_path(word) or word.folded in _FOLDERS]
    if places and not any(is_file(word, file) for word in places for file in action.files):
        return False
    words = rejection.words
    if rejection.deed == "use" and action.creates is not False and any(_is_about(words, file) for file in action.files):
        return True
    if any(_owned(word, file) for word in words for file in action.files):
        return True
    is_manifest = any(MANIFEST.fullmatch(file_name(file)) for file in action.files)
    if not is_manifest and any(file.casefold().endswith(_PROSE) for file in action.files):
        return False
    if not _may_be_in(rejection, action.added, is_manifest):
        return False
    return any(_line_has(rejection, line, is_manifest) for line in _code_lines(action.added))


_FOLDERS = frozenset("src lib app tests test docs".split())


def _code_lines(text: str) -> Iterator[str]:
    for line in text.splitlines()[:MOST_LINES]:
        if line.strip() and not COMMENT.match(line):
            yield line[:LONGEST_LINE]


@dataclass(frozen=True, slots=True)
class _Written:
    """A text that is added to a file, read once for all rules: its stems, and the names that it brings in, or has."""

    stems: frozenset[str]
    imported: frozenset[str]
    names: frozenset[str]


@lru_cache(maxsize=8)
def _written(text: str) -> _Written:
    stems, imported, names = set[str](), set[str](), set[str]()
    for line in _code_lines(text):
        found = _names_in(line)
        names |= found
        imported |= found if _IMPORTS.search(line) else set()
        stems |= {stem_of(word) for word in words_of(line)} if "(" in line else set()
    return _Written(frozenset(stems), frozenset(imported), frozenset(names))


def _names_in(line: str) -> set[str]:
    """The names in a line, and the kind of thing that they are of where the line says it."""
    kind = {"image", "tag"} if _IMAGE_LINE.match(line) else set[str]()
    return {fold(name) for name in _NAME.findall(line)} | kind


def _may_be_in(rejection: Rejection, text: str, is_manifest: bool) -> bool:
    """Whether a text has everything that is rejected in some line or other: mostly it has not."""
    written = _written(text)
    if rejection.deed == "do" and not rejection.words[0].is_name:
        return all(stem_of(word.folded) in written.stems for word in rejection.words)
    names = written.names if is_manifest else written.imported
    return all(
        word.text.removesuffix("()") in text or any(same_thing(word.folded, name) for name in names)
        for word in rejection.words
    )


def _line_has(rejection: Rejection, line: str, is_manifest: bool) -> bool:
    """Whether a line has everything that is rejected: code as it is written, names where they are brought in."""
    words = rejection.words
    if rejection.deed == "do" and not words[0].is_name:
        said = {stem_of(word) for word in words_of(line)}
        return len(words) > 1 and "(" in line and all(stem_of(word.folded) in said for word in words)
    brings_in = is_manifest or bool(_IMPORTS.search(line))
    return all(_is_in_line(word, line, brings_in) for word in words)


def _is_in_line(word: Word, line: str, brings_in: bool) -> bool:
    text = word.text.removesuffix("()")
    if word.is_code or word.text.endswith("()") or re.search(r"\w\.\w|[a-z][A-Z]|_", text):
        start = r"(?<!\w)" if text[:1].isalnum() or text[:1] == "_" else ""
        end = r"(?!\w)" if text[-1:].isalnum() or text[-1:] == "_" else ""
        if re.search(f"{start}{re.escape(text)}{end}", line):
            return True
    if re.search(rf"(?<![\w.]){re.escape(text)}\(", line):
        return True
    return brings_in and any(same_thing(word.folded, name) for name in _names_in(line))


def _is_about(words: Sequence[Word], file: str) -> bool:
    """Whether the name of a new file, or its folders, say that it is about all these: `dynamodb.py`, `k8s/web.yaml`."""
    name = fold(file_name(file))
    if name.endswith(_PROSE) or not any(word.is_name for word in words):
        return False
    parts = [part for part in re.split(r"[-_.]", name.rpartition(".")[0] or name) if part]
    folders = fold(file.replace("\\", "/")).split("/")[:-1]

    def is_named(word: str) -> bool:
        # `terraform/` may hold what another program reads.
        return any(is_about(word, part) for part in (parts if is_program(word) else (*parts, *folders)))

    return all(word.folded not in BELONGING and is_named(word.folded) for word in words)


def _owned(word: Word, file: str) -> bool:
    """Whether only what is rejected has a file of this name."""
    return file_name(file) in (one for one in BELONGING.get(word.folded, ()) if "." in one or one[0].isupper())
