"""Does a call of a program break a rule? Programs, packages, images, services, hosts, branches, files are compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from commonplace.text.command_actions import Call
from commonplace.text.known_tools import (
    BELONGING,
    CALLERS,
    ENVIRONMENTS,
    INTERPRETERS,
    LEAVING,
    SAME_DEED,
    SAME_NAME,
    are_alternatives,
    is_about,
    is_program,
)
from commonplace.text.paths import any_glob_matches
from commonplace.text.rule_statements import Rejection, RuleStatements, Word
from commonplace.text.tokens import fold, stem

Verdict = Literal["breaks", "obeys", "unrelated"]
# `.env.example` is no `.env`: it shows how one is written.
_TEMPLATES = (".example", ".sample", ".template", ".dist")


@dataclass(frozen=True, slots=True)
class Finding:
    """What an action is to a rule.

    `what` says of a breach what it is: the command or file, as `npm install`. It is `certain` if nothing in the rule
    was passed over that the action does not show, such as a purpose or a time.
    """

    verdict: Verdict
    what: str = ""
    certain: bool = False


UNRELATED = Finding("unrelated")


def check_call(rule: RuleStatements, call: Call) -> Finding:
    used, leaving = _what_is_used(call)
    wanted = any(_is_wanted(phrase, used) for phrase in rule.wanted)
    close = False
    for rejection in rule.rejected:
        if rejection.deed in ("edit", "change"):
            forbidden = rejection.deed == "edit" or "delete" in call.deeds
            if forbidden and _writes_files(call) and names_paths(rejection.words, call.files):
                return Finding("breaks", _said(call), rejection.is_exact)
            # Who must not touch a machine must not call it either.
            if rejection.deed == "edit" and call.program in CALLERS and _names_host(rejection.words, call):
                return Finding("breaks", _said(call), rejection.is_exact)
            continue
        # "Never delete the queue" is about what is removed; "No Redis" is not.
        part = call if any(stem_of(word.folded) in leaving for word in rejection.words) else used
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
    return UNRELATED


def _what_is_used(call: Call) -> tuple[Call, frozenset[str]]:
    """A call without what it removes, stops or only looks at, and the stems of the words that say so."""
    if call.program in CALLERS or "install" in call.deeds:
        return call, frozenset()
    if not call.words:
        removes = "delete" in call.deeds
        return (replace(call, files=()), LEAVING & {stem_of("delete")}) if removes else (call, frozenset())
    place = next((place for place, word in enumerate(call.words) if stem_of(word) in LEAVING), None)
    if place is None:
        return call, frozenset()
    left = replace(call, words=call.words[: place + 1], names=(), files=())
    return left, frozenset((stem_of(call.words[place]),))


def _said(call: Call) -> str:
    names = tuple(name for name in call.names if name not in call.words)
    said = (*names, *call.words) if call.program in INTERPRETERS else (*call.words, *names)
    return " ".join((call.program, *said)).strip()


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
    return any(word.is_name and any(same_thing(word.folded, name) for name in call.names) for word in phrase)


def _bare(program: str) -> str:
    return program.removeprefix("./")


def _replaces(phrase: Sequence[Word], call: Call) -> bool:
    """Whether a call uses a tool of the same kind as the one that is wanted."""
    names = [call.program, *map(bare_image, call.names)]
    return any(are_alternatives(word.folded, fold(name)) for word in phrase for name in names if name)


def bare_image(name: str) -> str:
    return name.rpartition("/")[2].partition(":")[0].partition("@")[0]


def _matches_call(word: Word, call: Call, *, exactly: bool = False) -> bool:
    """Whether a word names a part of a call; `exactly` by its very name, as its program is what the rule wants."""
    folded = word.folded.removesuffix("()").lstrip(":")
    if folded.startswith("-"):
        if exactly:
            return word.text in call.said
        return folded in call.options or word.text in call.options or _letters_in(word.text, call)
    if exactly:
        return any(folded == fold(bare_image(name)) for name in call.names)
    said = stem_of(folded)
    if said in {stem_of(one) for one in (*call.deeds, *call.words)}:
        return True
    if f"--{folded}" in call.options or f"--{said}" in call.options:
        return True
    if any(same_thing(folded, fold(name)) for name in (call.program, *call.words, *call.names) if name):
        return True
    if any(is_file(word, file) for file in call.files):
        return True
    pieces = [piece for piece in folded.split("-") if piece]
    return len(pieces) > 1 and all(stem_of(piece) in {stem_of(deed) for deed in call.deeds} for piece in pieces)


def _letters_in(option: str, call: Call) -> bool:
    """`-rf` is also `-f -r`."""
    return bool(re.fullmatch(r"-[A-Za-z]{2,4}", option)) and all(f"-{letter}" in call.options for letter in option[1:])


def stem_of(word: str) -> str:
    found = stem(word)
    return SAME_DEED.get(found, found)


@lru_cache(maxsize=1 << 14)
def same_thing(word: str, name: str) -> bool:
    """Whether a name is of what a word means, or has it as a part: `react-native-onesignal`, `renumber-invoices`."""
    if is_about(word, name) or name in map(str.casefold, BELONGING.get(word, ())):
        return True
    image = bare_image(name)
    if is_about(word, image) or (("." in word or "/" in word) and f"/{word}/" in f"/{name}/"):
        return True
    if is_program(word):
        # `npm-run-all` is not npm.
        return False
    parts = [part for part in re.split(r"[-_./@:+]", name) if part]
    if word in ENVIRONMENTS or SAME_NAME.get(word) in ENVIRONMENTS:
        return any(SAME_NAME.get(part, part) == SAME_NAME.get(word, word) for part in parts)
    return any(stem_of(part) == stem_of(word) or is_about(word, part) for part in parts)


_REMOTES = frozenset(("origin", "upstream"))
_GIT_TARGETS = frozenset("commit push merge rebase force".split())


def _holds_here(rejection: Rejection, call: Call) -> bool:
    """Whether what narrows a rejection fits a call: its branch, its environment, its files."""
    said = [part for one in call.said for part in re.split(r"[-_./@:+=,]", fold(one)) if part]
    here = {SAME_NAME.get(part, part) for part in said} & ENVIRONMENTS
    if call.program == "git" and call.deeds & _GIT_TARGETS:
        return _is_to(rejection.where, {fold(name) for name in (*call.names, *call.said)})
    for word in rejection.where:
        folded = SAME_NAME.get(word.folded, word.folded)
        if call.program == "git" and folded in _REMOTES and folded not in call.names:
            return False
        if "push" in call.words and folded not in ENVIRONMENTS:
            if _goes_elsewhere(word, call):
                return False
        elif call.program in CALLERS and call.names and word.is_name and not is_path(word):
            if not _names_host([word], call):
                return False
        elif folded in ENVIRONMENTS:
            if here and folded not in here:
                return False
        elif is_path(word) and call.files and not any(is_file(word, file) for file in call.files):
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
    return bool(names) and not any(same_thing(word.folded, name) for name in names)


def file_name(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def names_paths(words: Sequence[Word], files: Sequence[str]) -> bool:
    """Whether words name one of the files, or a folder that it is in."""
    telling = [word for word in words if word.folded not in ("and", "or")]
    return bool(telling) and any(all(is_file(word, file) for word in telling) for file in files)


def is_path(word: Word) -> bool:
    return "/" in word.text or "*" in word.text or word.text.startswith(".") or bool(re.search(r"\w\.\w", word.text))


def is_file(word: Word, file: str) -> bool:
    path = fold(file.replace("\\", "/")).removeprefix("./").rstrip("/")
    wanted = word.folded.replace("\\", "/").removeprefix("./")
    if "*" in wanted:
        return any_glob_matches([wanted.removeprefix("/")], [path])
    if is_path(word):
        tail = wanted.strip("/")
        name = path.rpartition("/")[2]
        is_variant = tail.startswith(".") and name.startswith(f"{tail}.") and not name.endswith(_TEMPLATES)
        return f"/{tail}/" in f"/{path}/" or is_variant
    pieces = [part for part in re.split(r"[-_./]", path) if part]
    return any(stem_of(piece) == stem_of(wanted) for piece in pieces)
