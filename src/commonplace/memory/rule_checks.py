"""Does an action break a rule? It is compared with what the rule rejects and with what it wants.

Names are compared, not meanings: programs, packages, images, services, hosts, branches, files and what a file gets.
What a rule says beyond that is no reason to speak; so most rules are never found to be broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from commonplace.memory.rules import rule_paths
from commonplace.model import Item
from commonplace.text.command_actions import (
    COMMENT,
    LONGEST_LINE,
    MOST_LINES,
    Action,
    Call,
    command_action,
    edit_action,
    written_calls,
)
from commonplace.text.known_tools import (
    BELONGING,
    CALLERS,
    ENVIRONMENTS,
    LEAVING,
    MANIFEST,
    SAME_DEED,
    SAME_NAME,
    are_alternatives,
    is_about,
    is_program,
)
from commonplace.text.paths import any_glob_matches
from commonplace.text.rule_statements import Rejection, RuleStatements, Word, rule_statements
from commonplace.text.tokens import fold, stem, words_of

__all__ = ["Action", "Finding", "broken_rules", "check_rule", "command_action", "edit_action", "is_checkable"]

Verdict = Literal["breaks", "obeys", "unrelated"]
# What may forbid something. A decision or a fact tells how it is, not how it has to be.
CHECKED_TYPES = ("rule", "constraint", "rejected")
_PROSE = (".md", ".txt", ".rst", ".adoc", ".log", ".csv")
# `.env.example` is no `.env`: it shows how one is written.
_TEMPLATES = (".example", ".sample", ".template", ".dist")
# A line of code that brings in something from elsewhere.
_IMPORTS = re.compile(
    r"""^\s*(?:import\b|from\s+[\w.]+\s+import\b|export\b.*\bfrom\b|use\s|using\s|\#include\b|require\b|gem\s)"""
    r"""|\brequire\s*\(|\bimport\s*\(|\bfrom\s+['"]|\w://""",
)
_NAME = re.compile(r"[\w@./-]+")
# A line that names the image on which one is built, or which a service runs.
_IMAGE_LINE = re.compile(r"\s*(?:FROM\s|(?:-\s*)?image:)")


@dataclass(frozen=True, slots=True)
class Finding:
    """What an action is to a rule.

    `what` says of a breach what it is: the command or file, as `npm install`. It is `certain` if nothing in the rule
    was passed over that the action does not show, such as a purpose or a time.
    """

    verdict: Verdict
    what: str = ""
    certain: bool = False


_UNRELATED = Finding("unrelated")


def check_rule(rule: Item, action: Action) -> Finding:
    """Whether an action breaks a rule, a constraint or a rejected idea; a path rule only where it is about a file."""
    if rule.type not in CHECKED_TYPES:
        return _UNRELATED
    paths = rule_paths(rule)
    if paths and not any_glob_matches(paths, _files_of(action)):
        return _UNRELATED
    return check_statements(rule_statements(_text_of(rule), rule.type == "rejected"), action)


def broken_rules(rules: Iterable[Item], action: Action) -> list[Item]:
    """Those of some rules that an action seems to break."""
    return [rule for rule in rules if check_rule(rule, action).verdict == "breaks"]


def is_against(rule: Item, other: Item) -> bool:
    """Whether a rule rejects what another one wants, or wants what that rejects or something in its place."""
    one, two = (rule_statements(_text_of(item), item.type == "rejected") for item in (rule, other))
    return (
        _rejects_wanted(one, two)
        or _rejects_wanted(two, one)
        or any(
            are_alternatives(word.folded, wish.folded)
            for phrase in one.wanted
            for word in phrase
            for wanted in two.wanted
            for wish in wanted
        )
    )


def _rejects_wanted(one: RuleStatements, two: RuleStatements) -> bool:
    wanted = [{word.folded for word in phrase} for phrase in two.wanted]
    return any({word.folded for word in rejection.words} <= phrase for rejection in one.rejected for phrase in wanted)


def rejects_any(rule: Item, words: Sequence[Word]) -> bool:
    """Whether a rule rejects something that is proposed in words."""
    if rule.type not in CHECKED_TYPES or not words:
        return False
    statements = rule_statements(_text_of(rule), rule.type == "rejected")
    return any(
        rejection.deed == "use"
        and all(any(_same_thing(word.folded, one.folded) for one in words) for word in rejection.words)
        for rejection in statements.rejected
    )


def check_statements(rule: RuleStatements, action: Action) -> Finding:
    """The same for what a rule wants and rejects."""
    findings = [_of_call(rule, call) for call in action.calls]
    if action.files:
        findings.append(_of_edit(rule, action))
    for verdict in ("breaks", "obeys"):
        found = [finding for finding in findings if finding.verdict == verdict]
        if found:
            return next((finding for finding in found if finding.certain), found[0])
    return _UNRELATED


def _text_of(rule: Item) -> str:
    text = rule.text or rule.title
    if rule.type == "rejected" and rule.title and not text.startswith(rule.title.rstrip("…. ")[:40]):
        return f"{rule.title}. {text}"
    return text


def _files_of(action: Action) -> list[str]:
    return [*action.files, *(file for call in action.calls for file in call.files)]


# --- commands


def _of_call(rule: RuleStatements, call: Call) -> Finding:
    used, leaving = _what_is_used(call)
    wanted = any(_is_wanted(phrase, used) for phrase in rule.wanted)
    close = False
    for rejection in rule.rejected:
        if rejection.deed in ("edit", "change"):
            forbidden = rejection.deed == "edit" or "delete" in call.deeds
            if forbidden and _writes_files(call) and _names_paths(rejection.words, call.files):
                return Finding("breaks", _said(call), rejection.is_exact)
            # Who must not touch a machine must not call it either.
            if rejection.deed == "edit" and call.program in CALLERS and _names_host(rejection.words, call):
                return Finding("breaks", _said(call), rejection.is_exact)
            continue
        # "Never delete the queue" is about what is removed; "No Redis" is not.
        part = call if any(_stem_of(word.folded) in leaving for word in rejection.words) else used
        matched = [_matches_call(word, part, exactly=wanted) for word in rejection.words]
        close = close or any(matched)
        if not all(matched) or not _holds_here(rejection, call):
            continue
        if rejection.unless and any(_matches_call(word, call) for word in rejection.unless):
            close = True
            continue
        return Finding("breaks", _said(call), rejection.is_exact)
    if wanted or close:
        return Finding("obeys")
    if any(_replaces(phrase, used) for phrase in rule.wanted):
        return Finding("breaks", _said(call))
    return _UNRELATED


def _what_is_used(call: Call) -> tuple[Call, frozenset[str]]:
    """A call without what it removes, stops or only looks at, and the stems of the words that say so."""
    if call.program in CALLERS or "install" in call.deeds:
        return call, frozenset()
    if not call.words:
        removes = "delete" in call.deeds
        return (replace(call, files=()), LEAVING & {_stem_of("delete")}) if removes else (call, frozenset())
    place = next((place for place, word in enumerate(call.words) if _stem_of(word) in LEAVING), None)
    if place is None:
        return call, frozenset()
    left = replace(call, words=call.words[: place + 1], names=(), files=())
    return left, frozenset((_stem_of(call.words[place]),))


def _said(call: Call) -> str:
    return " ".join((call.program, *call.words, *(name for name in call.names if name not in call.words))).strip()


def _writes_files(call: Call) -> bool:
    """Whether a call changes its files; `git add` only records them."""
    return bool(call.files) and (call.program != "git" or "delete" in call.deeds)


def _names_host(words: Sequence[Word], call: Call) -> bool:
    """Whether words name one of the machines that a call is about, by its name or the first part of it."""
    hosts = {part for name in call.names for part in (fold(name), fold(name).partition(".")[0])}
    return bool(words) and all(word.folded in hosts for word in words)


def _is_wanted(phrase: Sequence[Word], call: Call) -> bool:
    """Whether a call is what is wanted: the program itself, or the command that begins with these words."""
    words = [word.folded for word in phrase if word.folded not in ("and", "or")]
    if not words:
        return False
    if words[0].startswith("-"):
        return any(word.text in call.said for word in phrase)
    begins = [fold(call.program), *map(fold, call.words), *map(fold, call.names)]
    if words[0] in (begins[0], _bare(begins[0])) or (is_about(words[0], begins[0]) and begins[0]):
        return all(word in begins or f"--{word}" in call.options for word in words[1:] if not word.startswith("-"))
    return any(word.is_name and any(_same_thing(word.folded, name) for name in call.names) for word in phrase)


def _bare(program: str) -> str:
    return program.removeprefix("./")


def _replaces(phrase: Sequence[Word], call: Call) -> bool:
    """Whether a call uses a tool of the same kind as the one that is wanted."""
    names = [call.program, *map(_bare_image, call.names)]
    return any(are_alternatives(word.folded, fold(name)) for word in phrase for name in names if name)


def _bare_image(name: str) -> str:
    return name.rpartition("/")[2].partition(":")[0].partition("@")[0]


def _matches_call(word: Word, call: Call, *, exactly: bool = False) -> bool:
    """Whether a word names a part of a call; `exactly` by its very name, as its program is what the rule wants."""
    folded = word.folded.removesuffix("()").lstrip(":")
    if folded.startswith("-"):
        if exactly:
            return word.text in call.said
        return folded in call.options or word.text in call.options or _letters_in(word.text, call)
    if exactly:
        return any(folded == fold(_bare_image(name)) for name in call.names)
    said = _stem_of(folded)
    if said in {_stem_of(one) for one in (*call.deeds, *call.words)}:
        return True
    if f"--{folded}" in call.options or f"--{said}" in call.options:
        return True
    if any(_same_thing(folded, fold(name)) for name in (call.program, *call.words, *call.names) if name):
        return True
    if any(_is_file(word, file) for file in call.files):
        return True
    pieces = [piece for piece in folded.split("-") if piece]
    return len(pieces) > 1 and all(_stem_of(piece) in {_stem_of(deed) for deed in call.deeds} for piece in pieces)


def _letters_in(option: str, call: Call) -> bool:
    """`-rf` is also `-f -r`."""
    return bool(re.fullmatch(r"-[A-Za-z]{2,4}", option)) and all(f"-{letter}" in call.options for letter in option[1:])


def _stem_of(word: str) -> str:
    found = stem(word)
    return SAME_DEED.get(found, found)


@lru_cache(maxsize=1 << 14)
def _same_thing(word: str, name: str) -> bool:
    """Whether a name is of what a word means, or has it as a part: `react-native-onesignal`, `renumber-invoices`."""
    if is_about(word, name) or name in map(str.casefold, BELONGING.get(word, ())):
        return True
    image = _bare_image(name)
    if is_about(word, image) or (("." in word or "/" in word) and f"/{word}/" in f"/{name}/"):
        return True
    if is_program(word):
        # `npm-run-all` is not npm.
        return False
    parts = [part for part in re.split(r"[-_./@:+]", name) if part]
    if word in ENVIRONMENTS or SAME_NAME.get(word) in ENVIRONMENTS:
        return any(SAME_NAME.get(part, part) == SAME_NAME.get(word, word) for part in parts)
    return any(_stem_of(part) == _stem_of(word) or is_about(word, part) for part in parts)


_GIT_TARGETS = frozenset("commit push merge rebase force".split())


def _holds_here(rejection: Rejection, call: Call) -> bool:
    """Whether what narrows a rejection fits a call: its branch, its environment, its files."""
    said = [part for one in call.said for part in re.split(r"[-_./@:+=,]", fold(one)) if part]
    here = {SAME_NAME.get(part, part) for part in said} & ENVIRONMENTS
    if call.program == "git" and call.deeds & _GIT_TARGETS:
        return _is_to(rejection.where, {fold(name) for name in (*call.names, *call.said)})
    for word in rejection.where:
        folded = SAME_NAME.get(word.folded, word.folded)
        if "push" in call.words and folded not in ENVIRONMENTS:
            if _goes_elsewhere(word, call):
                return False
        elif call.program in CALLERS and call.names and word.is_name and not _is_path(word):
            if not _names_host([word], call):
                return False
        elif folded in ENVIRONMENTS:
            if here and folded not in here:
                return False
        elif _is_path(word) and call.files and not any(_is_file(word, file) for file in call.files):
            return False
    return True


def _is_to(where: Sequence[Word], named: set[str]) -> bool:
    """Whether a git command names the branch, or one of several: "to the main branch", "to main or master"."""
    words = [word.folded for word in where if word.folded not in ("origin", "branch", "branches")]
    branches = [word for word in words if word not in ("and", "or")]
    return (any if len(branches) < len(words) else all)(word in named for word in branches)


def _goes_elsewhere(word: Word, call: Call) -> bool:
    """Whether a call names where it sends something, and that is another place: `ghcr.io/acme/web` is not docker.io."""
    names = [fold(name) for name in call.names]
    if "." in word.text:
        names = [name for name in names if "." in name.partition("/")[0]]
    return bool(names) and not any(_same_thing(word.folded, name) for name in names)


# --- edits


def _of_edit(rule: RuleStatements, action: Action) -> Finding:
    obeys = False
    if len(action.files) == 1:
        calls, rest = written_calls(_file_name(action.files[0]), action.added)
        found = [_of_call(rule, call) for call in calls]
        if broken := next((finding for finding in found if finding.verdict == "breaks"), None):
            return Finding("breaks", f"{broken.what} in {action.files[0]}", broken.certain)
        obeys = any(finding.verdict == "obeys" for finding in found)
        action = replace(action, added=rest)
    for rejection in rule.rejected:
        if rejection.deed == "edit" and _names_paths(rejection.words, action.files):
            return Finding("breaks", ", ".join(action.files), rejection.is_exact)
        if rejection.deed == "change" and _names_paths(rejection.words, action.files):
            if action.creates is False:
                return Finding("breaks", ", ".join(action.files), rejection.is_exact)
            obeys = True
        elif rejection.deed in ("use", "do") and _edit_brings_in(rejection, action):
            return Finding("breaks", ", ".join(action.files), rejection.is_exact)
    return Finding("obeys") if obeys else _UNRELATED


def _edit_brings_in(rejection: Rejection, action: Action) -> bool:
    places = [word for word in rejection.where if _is_path(word) or word.folded in _FOLDERS]
    if places and not any(_is_file(word, file) for word in places for file in action.files):
        return False
    words = rejection.words
    if rejection.deed == "use" and action.creates is not False and any(_is_about(words, file) for file in action.files):
        return True
    if any(_owned(word, file) for word in words for file in action.files):
        return True
    is_manifest = any(MANIFEST.fullmatch(_file_name(file)) for file in action.files)
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
        stems |= {_stem_of(word) for word in words_of(line)} if "(" in line else set()
    return _Written(frozenset(stems), frozenset(imported), frozenset(names))


def _names_in(line: str) -> set[str]:
    """The names in a line, and the kind of thing that they are of where the line says it."""
    kind = {"image", "tag"} if _IMAGE_LINE.match(line) else set[str]()
    return {fold(name) for name in _NAME.findall(line)} | kind


def _may_be_in(rejection: Rejection, text: str, is_manifest: bool) -> bool:
    """Whether a text has everything that is rejected in some line or other: mostly it has not."""
    written = _written(text)
    if rejection.deed == "do" and not rejection.words[0].is_name:
        return all(_stem_of(word.folded) in written.stems for word in rejection.words)
    names = written.names if is_manifest else written.imported
    return all(
        word.text.removesuffix("()") in text or any(_same_thing(word.folded, name) for name in names)
        for word in rejection.words
    )


def _line_has(rejection: Rejection, line: str, is_manifest: bool) -> bool:
    """Whether a line has everything that is rejected: code as it is written, names where they are brought in."""
    words = rejection.words
    if rejection.deed == "do" and not words[0].is_name:
        said = {_stem_of(word) for word in words_of(line)}
        return len(words) > 1 and "(" in line and all(_stem_of(word.folded) in said for word in words)
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
    return brings_in and any(_same_thing(word.folded, name) for name in _names_in(line))


def _is_about(words: Sequence[Word], file: str) -> bool:
    """Whether the name of a new file says that it is about all these: `dynamodb.py`."""
    name = fold(_file_name(file))
    if name.endswith(_PROSE) or not any(word.is_name for word in words):
        return False
    parts = [part for part in re.split(r"[-_.]", name.rpartition(".")[0] or name) if part]
    return all(word.folded not in BELONGING and any(is_about(word.folded, part) for part in parts) for word in words)


def _owned(word: Word, file: str) -> bool:
    """Whether only what is rejected has a file of this name."""
    return _file_name(file) in (one for one in BELONGING.get(word.folded, ()) if "." in one or one[0].isupper())


def _file_name(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def _names_paths(words: Sequence[Word], files: Sequence[str]) -> bool:
    """Whether words name one of the files, or a folder that it is in."""
    telling = [word for word in words if word.folded not in ("and", "or")]
    return bool(telling) and any(all(_is_file(word, file) for word in telling) for file in files)


def _is_path(word: Word) -> bool:
    return "/" in word.text or "*" in word.text or word.text.startswith(".") or bool(re.search(r"\w\.\w", word.text))


def _is_file(word: Word, file: str) -> bool:
    path = fold(file.replace("\\", "/")).removeprefix("./").rstrip("/")
    wanted = word.folded.replace("\\", "/").removeprefix("./")
    if "*" in wanted:
        return any_glob_matches([wanted.removeprefix("/")], [path])
    if _is_path(word):
        tail = wanted.strip("/")
        name = path.rpartition("/")[2]
        is_variant = tail.startswith(".") and name.startswith(f"{tail}.") and not name.endswith(_TEMPLATES)
        return f"/{tail}/" in f"/{path}/" or is_variant
    pieces = [part for part in re.split(r"[-_./]", path) if part]
    return any(_stem_of(piece) == _stem_of(wanted) for piece in pieces)


def is_checkable(rule: Item) -> bool:
    """Whether a rule says anything that an action could break."""
    found = rule_statements(_text_of(rule), rule.type == "rejected")
    return rule.type in CHECKED_TYPES and bool(found.wanted or found.rejected)
