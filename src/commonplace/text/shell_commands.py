"""Shell command lines: which part does the work, and when two lines are the same command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile, pairwise, takewhile

_LOOKED_AT = 4000
_TOKEN = re.compile(
    r"(?P<joint>&&|\|[|&]?|;+|\n|&(?![\d>]))"
    r"""|(?P<word>(?:"(?:[^"\\]|\\.)*+"?|'[^']*+'?|\\.|(?<=>)&\d?|&>|[^\s"'\\;&|])++)""",
    re.DOTALL,
)
# A here-document; in a command substitution its first line stands for it.
_HERE = r"<<-?\s{0,3}(?P<mark>['\"]?\w++['\"]?)[^\n]*+\n"
_HERE_TEXT = re.compile(rf"\"?\$\(\s{{0,3}}cat\s{{0,3}}{_HERE}\s*+(?P<first>[^\n]*+)[^\0]*?\n[ \t]*+\w++\s*+\)\"?")
_PASSED_HERE = re.compile(rf"{_HERE}[^\0]*")
_REDIRECTION = re.compile(r"(?:\d?|&)(?:>>?|<)(?P<where>.*)", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_ASIDES = frozenset("cd export source set pushd popd mkdir . unset".split())
# Commands that only print or wait, that only wrap another, and that only show some of its output.
_CHATTER = frozenset("echo true sleep date printf exit".split())
_WRAPPERS = frozenset("time sudo env command nohup".split())
_FILTERS = frozenset("tail head tee cat grep egrep rg less more sort uniq wc sed awk cut tr".split())
_SHELLS = frozenset("bash sh zsh".split())
# What only starts a program from an environment: `uv run pytest` and `python -m pytest` are `pytest`.
_STARTERS = (
    *(("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run")),
    *(("pnpm", "exec"), ("yarn", "exec"), ("npx",), ("bunx",), ("python", "-m"), ("python3", "-m"), ("py", "-m")),
)
_PROGRAM_FOLDERS = ("bin", ".bin", "Scripts")
_PACKAGE_MANAGERS = frozenset("pnpm yarn bun".split())
# Programs that check whatever they are given, and everything if they are given nothing.
_CHECKERS = (
    *(("pytest",), ("py.test",), ("unittest",), ("tox",), ("nox",), ("jest",), ("vitest", "run"), ("vitest",)),
    *((tool, *script) for tool in ("npm", "yarn", "pnpm", "bun") for script in (("test",), ("run", "test"))),
    *(("mocha",), ("rspec",), ("phpunit",), ("cargo", "test"), ("cargo", "check"), ("cargo", "clippy")),
    *(("mypy",), ("ruff", "check"), ("eslint",), ("dotnet", "test"), ("go", "test"), ("go", "vet"), ("go", "build")),
)
# Given nothing, these check only the folder that they are run in.
_LOCAL = frozenset(("go",))


@dataclass(frozen=True, slots=True)
class CommandPart:
    """One command of a line: its words without redirections, and what joins it to the one before."""

    joint: str
    words: tuple[str, ...]

    @property
    def is_aside(self) -> bool:
        """Whether it only prepares the others: a change of folder, a variable, a `git add`."""
        return self.words[0] in _ASIDES or self.words[:2] == ("git", "add") or all(map(_ASSIGNMENT.match, self.words))

    @property
    def is_filter(self) -> bool:
        return self.joint in ("|", "|&") and self.words[0] in _FILTERS


def command_parts(line: str) -> list[CommandPart]:
    """The commands of a line in order; what stands in quotes is one word, however it is written."""
    return list(_split_commands(_folded(line[:_LOOKED_AT])))


def main_command(line: str) -> str:
    """The first command of a line that does something; the first of all if none does."""
    found = command_parts(line)
    chosen = next((part for part in found if not part.is_aside), found[0] if found else None)
    return " ".join(chosen.words) if chosen else ""


@lru_cache(maxsize=1024)
def normalise_command(line: str) -> str:
    """A command without its folder, verbosity and output options: the same for two runs of one command."""
    found = command_parts(line)
    telling = [part.words for part in found if not (part.is_aside or part.is_filter or part.joint == "||")]
    done = [words for words in map(_unwrapped, telling) if words and words[0] not in _CHATTER]
    return " && ".join(map(_gist, done)) or " ".join(line.split())


# How test runners name a test or a file that failed.
_FAILED_TEST = re.compile(r"(?<!\S)(?:FAILED|FAIL|ERROR) {1,4}(?P<test>[\w./\\@+-]*[/.][\w./\\@+:\[\]-]+)")


def shows_failures_fixed(passed: str, failed: str, output: str) -> bool:
    """Whether success of one command shows that what another one printed as failed passes now.

    It is the same command, a run that includes it, or a narrower one with every test that failed.
    """
    if command_covers(passed, failed):
        return True
    tests = list(dict.fromkeys(_FAILED_TEST.findall(output[:_LOOKED_AT])))
    words = next((part.split() for part in normalise_command(failed).split(" && ") if _checker(part.split())), [])
    runner = " ".join(words[: len(_checker(words))])
    return bool(tests and runner) and all(command_covers(passed, f"{runner} {test}") for test in tests)


def _checker(words: Sequence[str]) -> tuple[str, ...]:
    return next((one for one in _CHECKERS if tuple(words[: len(one)]) == one), ())


@lru_cache(maxsize=1024)
def command_covers(passed: str, failed: str) -> bool:
    """Whether success of one command implies success of another: the same one, or a test run that includes it."""
    wanted = normalise_command(failed).removesuffix("…").strip().split(" && ")
    ran = [part.split() for part in normalise_command(passed).split(" && ")]
    return all(any(_includes(one, part.split()) for one in ran) for part in wanted)


def is_full_test_run(line: str) -> bool:
    """Whether a command checks everything that its program knows of."""
    words = normalise_command(line).split()
    return words[0] not in _LOCAL and tuple(words) in _CHECKERS if words else False


_SUBSTITUTION = re.compile(r"\$\((?P<inner>[^()\n]{1,500})\)|`(?P<ticked>[^`\n]{1,500})`")
_SINGLE_QUOTED = re.compile(r"'[^']*'")
_MOST_NESTED = 3
# What runs the command that its arguments are, once its own options are passed.
_PASSES_ON = frozenset("sudo doas env nohup time nice ionice exec command builtin xargs timeout watch stdbuf".split())


def executed_commands(line: str, depth: int = 0) -> list[tuple[str, ...]]:
    """Every command that a line runs, as words without quotes: also in `bash -c`, `$(...)`, `sudo` and `xargs`.

    A starter is one command, and what it starts another: `npx jest` runs npx and jest.
    """
    found: list[tuple[str, ...]] = []
    for part in command_parts(line):
        words = [word for word in map(_unquoted, _without_brackets(part.words)) if word]
        found += _executed(words, depth)
    if depth < _MOST_NESTED:
        for match in _SUBSTITUTION.finditer(_SINGLE_QUOTED.sub("", line[:_LOOKED_AT])):
            found += executed_commands(match["inner"] or match["ticked"], depth + 1)
    return found


def redirected_files(line: str) -> list[str]:
    """The files that a line writes by redirection."""
    found: list[str] = []
    awaits = False
    for token in _TOKEN.finditer(_folded(line[:_LOOKED_AT])):
        word = token["word"] or ""
        redirection = _REDIRECTION.fullmatch(word) if ">" in word else None
        if redirection:
            found.append(_unquoted(redirection["where"]))
        elif awaits:
            found.append(_unquoted(word))
        awaits = redirection is not None and not redirection["where"]
    return [file for file in found if file and not file.startswith(("/dev/", "&"))]


def _executed(words: Sequence[str], depth: int) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    words = list(takewhile(lambda word: not word.startswith("#"), words))
    while words and (words[0] in _PASSES_ON or _ASSIGNMENT.match(words[0])):
        if words[0] in _PASSES_ON:
            found.append((words[0],))
        words = _after_passing_on(words)
    if not words:
        return found
    line = _line_of_shell(words)
    if depth < _MOST_NESTED and line is not None:
        return [*found, *executed_commands(line, depth + 1)]
    found.append(tuple(words))
    rest = words[_starter(words) :]
    if depth < _MOST_NESTED and len(rest) < len(words):
        found += _executed(list(dropwhile(lambda word: word.startswith("-"), rest)), depth + 1)
    return found


def _after_passing_on(words: Sequence[str]) -> list[str]:
    """The words after a variable, or after what passes its arguments on and its own options: `sudo -u app`."""
    passed, *rest = words
    if passed not in _PASSES_ON:
        return rest
    while rest and (rest[0].startswith("-") or rest[0].isdecimal()):
        takes_value = passed in ("sudo", "xargs", "nice") and rest[0] in ("-u", "-n", "-I", "-P", "-g")
        rest = rest[2:] if takes_value else rest[1:]
    if passed == "timeout" and rest and re.fullmatch(r"[\d.]+[smhd]?", rest[0]):
        return rest[1:]
    return rest


def _line_of_shell(words: Sequence[str]) -> str | None:
    """What follows `bash -c`."""
    if words[0] not in _SHELLS:
        return None
    return next((line for option, line in pairwise(words[1:]) if re.fullmatch(r"-\w*c", option)), None)


def _starter(words: Sequence[str]) -> int:
    """How many words only start a program that follows: `uv run`, `python -m`."""
    return next((len(one) for one in _STARTERS if tuple(words[: len(one)]) == one and len(words) > len(one)), 0)


def _without_brackets(words: Sequence[str]) -> list[str]:
    """The words of a command in a subshell or a group, without its brackets."""
    found = [word for word in words if word not in ("(", ")", "{", "}", "!", "then", "do", "else")]
    if found and found[0].startswith("("):
        found = [found[0].lstrip("("), *found[1:]]
        found = [*found[:-1], found[-1].rstrip(")")] if "$(" not in found[-1] else found
    elif found and found[-1].endswith(")") and "(" not in found[-1]:
        found = [*found[:-1], found[-1].rstrip(")")]
    return found


def _unquoted(word: str) -> str:
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        return word[1:-1]
    return re.sub(r"\\(.)|['\"]", lambda found: found[1] or "", word)


def _includes(ran: Sequence[str], failed: Sequence[str]) -> bool:
    ran, failed = _without_workers(ran), _without_workers(failed)
    if ran == failed:
        return True
    checker = _checker(ran)
    if not checker or checker != _checker(failed):
        return False
    given, wanted = ran[len(checker) :], failed[len(checker) :]
    if not given:
        return ran[0] not in _LOCAL
    return bool(wanted) and all(any(_lies_in(target, top) for top in given) for target in wanted)


def _without_workers(words: Sequence[str]) -> list[str]:
    """The words without how many workers there are, which is no target."""
    return [word for word in words if not (word.isdecimal() or word == "auto")]


def _lies_in(target: str, top: str) -> bool:
    """Whether a target of a test run is a part of another: a file in a folder, a test in a file."""
    tree = top.removesuffix("...").rstrip("/")
    return target == top or (bool(tree) and target.startswith((f"{tree}/", f"{tree}::")))


def hides_exit_status(line: str) -> bool:
    """Whether the exit status of a line is that of another command than the one that matters."""
    found = [part for part in command_parts(line) if not part.is_aside]
    return any(part.joint in ("|", "|&", "||", ";", "&", "\n") for part in found[1:])


def _gist(words: Sequence[str]) -> str:
    if words[0] in _SHELLS and len(words) > 2 and re.fullmatch(r"-\w*c", words[1]):
        return normalise_command(words[2].strip("'\""))
    # A commit with other words is another try of the same.
    if words[0] == "git":
        return " ".join(words[:2])
    return " ".join(word for word in words if not word.startswith("-"))


def _unwrapped(words: Sequence[str]) -> Sequence[str]:
    while words and (words[0] in _WRAPPERS or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if words[:1] == ("timeout",):
        words = words[2:]
    started = _starter(words)
    if words[:1] and words[0] in _PACKAGE_MANAGERS and _checker(words[1:]):
        # `pnpm jest` is `pnpm exec jest`.
        started = 1
    if started:
        return _unwrapped(words[started:])
    if not words:
        return words
    folder, _, program = words[0].rpartition("/")
    return [program if program and folder.rpartition("/")[2] in _PROGRAM_FOLDERS else words[0], *words[1:]]


def _split_commands(line: str) -> Iterator[CommandPart]:
    joint, words, skip = "", list[str](), False
    for token in _TOKEN.finditer(line):
        if token["joint"]:
            if words:
                yield CommandPart(joint, tuple(words))
            joint, words, skip = token["joint"], [], False
        elif redirection := _REDIRECTION.fullmatch(token["word"]):
            skip = not redirection["where"]
        elif skip:
            skip = False
        else:
            words.append(token["word"])
    if words:
        yield CommandPart(joint, tuple(words))


def _folded(line: str) -> str:
    line = line.replace("\\\n", " ")
    if "<<" not in line:
        return line
    line = _HERE_TEXT.sub(lambda here: f'"{here["first"].strip()}"', line)
    return _PASSED_HERE.sub("", line) if "<<" in line else line
