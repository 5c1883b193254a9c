"""What an agent is about to do: the programs that a command line runs, and what each is used on; the file it writes.

A command is taken apart as a shell does. What is only mentioned, in quotes, a message or the arguments of a program
that prints or searches, is no action.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import filterfalse

from commonplace.text.known_tools import (
    CALLERS,
    CONTAINERS,
    CONTROLLERS,
    IMAGE_WORDS,
    INSTALLING,
    INTERPRETERS,
    OPTIONS,
    PROGRAM_RUNNERS,
    RUNNERS,
    SCRIPT_RUNNERS,
    SERVICE_WORDS,
    TASK_RUNNERS,
    WRITERS,
)
from commonplace.text.shell_commands import executed_commands, redirected_files

_MOST_CALLS = 20
_SUBCOMMAND = re.compile(r"[A-Za-z][\w:+-]*")
# Where the name of a package ends and its version or its extras begin.
_AFTER_NAME = re.compile(r"[@\[=<>!~^]")
_URL = re.compile(r"[a-z][a-z+.-]*://(?:[^/@\s]*@)?(?P<host>[^/:\s]+)")
_HOST = re.compile(r"(?:[\w-]+@)?(?P<host>[\w-]+(?:\.[\w-]+)*)(?::.*)?")
_ASKS_ONLY = frozenset("--version --help -h -V help version".split())
# Options whose value follows as a word of its own.
_TAKES_VALUE = frozenset(
    "-h -p -U -d -n -c -f -m -e -o -C -v -w -i -l -t -u --name --host --port --user --file --message --env --volume"
    " --namespace --context --profile --region --project --prefix --filter --workspace --dir --cwd --index-url"
    " --network --publish --label --output --branch".split()
)
# The same options without a value, of some programs.
_TAKES_NONE = {
    "git": frozenset("-f -d -n -i -u -v -p -w -l -h".split()),
    **dict.fromkeys(("rm", "npm", "pnpm"), frozenset("-f -d -n -i".split())),
    **dict.fromkeys(CONTAINERS, frozenset("-d -i -t".split())),
}
_HOST_OPTIONS = frozenset("-h --host --hostname".split())
# Their arguments are only looked at, or printed.
_ONLY_LOOK = frozenset(
    "cat ls grep egrep fgrep rg ag ack find fd echo printf head tail less more wc sort uniq which whereis type man cd"
    " pwd tree stat file du df diff sed awk cut tr jq yq test [ export mkdir code open vim nano".split()
)
# What changes files in place if it is told so: the first word that is no option is then the script, unless one is given
# with an option.
_STREAM_EDITORS = frozenset(("sed", "gsed", "perl"))
_IN_PLACE = re.compile(r"-[A-Za-z]{0,3}i|--in-place")
_WITH_SCRIPT = re.compile(r"-[A-Za-z0]{0,4}e|--expression|-f|--file")
# Where the files begin among the arguments of a program that writes them.
_FILES_FROM = {"chmod": 1, "chown": 1, "cp": -1, "ln": -1, "install": -1}
# What git does with files, to the branch it is on, and besides.
_GIT_RECORDS = frozenset("add commit stage rm mv checkout restore".split())
_GIT_ON_BRANCH = frozenset("commit merge rebase cherry-pick revert am reset".split())
_GIT_ALSO = {"add": {"commit"}, "stage": {"commit"}, "rm": {"delete"}}
# A line of a file that is a comment; and what is read of a text that is written.
COMMENT = re.compile(r"\s*(?:#(?!include)|//|/?\*|--(?!\w)|<!--|;)")
LONGEST_LINE, MOST_LINES = 300, 2_000
# The lines that hold a command in files of images, builds and pipelines. A shell script is one from its first line on.
_IN_IMAGE = re.compile(r"\s{0,40}(?:RUN|CMD|ENTRYPOINT)\s{1,9}(?=[^\[\s])")
_IN_BUILD = re.compile(r"(?:\t| {4})\s{0,40}[@-]?(?=\S)")
_IN_PIPELINE = re.compile(r"\s{0,40}(?:-\s{1,9})?(?:run|script|command):\s{1,9}(?=[^|>\s])")
_IN_SCRIPT = re.compile(r"\s{0,40}(?=\S)")
_MOST_WRITTEN_CALLS = 40


@dataclass(frozen=True, slots=True)
class Call:
    """One program that runs.

    `words` are those that say what it does (`push`, `compose up`), `names` what it does that with: packages, images,
    services, tasks, hosts, branches; `files` those that it writes, removes or records; `said` all its arguments.
    """

    program: str
    words: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    deeds: frozenset[str] = frozenset()
    said: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What tells this kind of action from others."""
        return " ".join((self.program, *self.words[:1]))


@dataclass(frozen=True, slots=True)
class Action:
    """What is about to be done: calls of programs by a command line, or the writing of files with a text.

    `creates` is None where nobody knows whether a file is new.
    """

    calls: tuple[Call, ...] = ()
    files: tuple[str, ...] = ()
    added: str = ""
    creates: bool | None = None
    line: str = ""

    @property
    def kind(self) -> str:
        """What tells this kind of action from others."""
        return ", ".join([*dict.fromkeys(call.kind for call in self.calls), *self.files])


@lru_cache(maxsize=256)
def command_action(line: str, branch: str = "") -> Action:
    """What a command line does; `branch` is the git branch on which it runs, if that is known."""
    found = [_call(words, branch) for words in executed_commands(line)[:_MOST_CALLS]]
    calls = [call for call in found if call is not None]
    written = tuple(redirected_files(line))
    if written:
        calls.append(Call(program="", files=written))
    return Action(tuple(calls), line=line)


def edit_action(files: Sequence[str], added: str = "", creates: bool | None = None) -> Action:
    """The writing of files, with the text that is added to them."""
    return Action(files=tuple(files), added=added, creates=creates)


@lru_cache(maxsize=8)
def written_calls(name: str, text: str) -> tuple[tuple[Call, ...], str]:
    """The calls that a text has as commands where a file of this name runs them, and the text without these lines."""
    begins = _how_commands_begin(name.casefold())
    if begins is None:
        return (), text
    calls: dict[Call, None] = {}
    kept: list[str] = []
    for line in text.splitlines()[:MOST_LINES]:
        start = begins.match(line)
        if start is None or COMMENT.match(line):
            kept.append(line)
        elif len(calls) < _MOST_WRITTEN_CALLS:
            calls |= dict.fromkeys(command_action(line[start.end() : LONGEST_LINE].strip()).calls)
    return tuple(calls)[:_MOST_WRITTEN_CALLS], "\n".join(kept)


def _how_commands_begin(name: str) -> re.Pattern[str] | None:
    """How a line with a command begins in a file of this name; None if it runs none."""
    ending = name.rpartition(".")[2]
    if "dockerfile" in name.split(".") or name == "containerfile":
        return _IN_IMAGE
    if name in ("makefile", "gnumakefile", "justfile") or ending == "mk":
        return _IN_BUILD
    if ending in ("yml", "yaml"):
        return _IN_PIPELINE
    return _IN_SCRIPT if ending in ("sh", "bash", "zsh", "ksh") else None


@dataclass(slots=True)
class _Used:
    """What a program is called with, and what it uses: `words` say what it does, `names` and `files` with what."""

    program: str
    plain: list[str]
    options: set[str]
    arguments: list[str]
    branch: str
    words: list[str]
    names: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    deeds: set[str] = field(default_factory=set)


def _call(words: Sequence[str], branch: str) -> Call | None:
    program = words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")
    program = re.sub(r"^(python|pip)3(?:\.\d+)?$", r"\1", program)
    arguments = list(words[1:])
    if not program or _asks_only(arguments):
        return None
    options, plain, values = _sorted_arguments(program, arguments)
    used = _Used(program, plain, options, arguments, branch, [] if program in _ONLY_LOOK else _leading(plain))
    _read(used)
    if program in CALLERS or program in CONTROLLERS:
        used.names += _hosts(program, plain, values)
    return Call(
        program=program,
        words=tuple(used.words),
        options=frozenset(options),
        names=tuple(dict.fromkeys(name for name in used.names if name)),
        files=tuple(used.files),
        deeds=frozenset(used.deeds),
        said=tuple(one for one in arguments if one and " " not in one),
    )


def _asks_only(arguments: Sequence[str]) -> bool:
    """Whether a program is only asked for its version or help; with other arguments -h is often a host."""
    return not _ASKS_ONLY.isdisjoint(arguments[:2] if len(arguments) == 1 else set(arguments[:2]) - {"-h"})


def _sorted_arguments(program: str, arguments: Sequence[str]) -> tuple[set[str], list[str], list[tuple[str, str]]]:
    """The options of a call with their long names, its other words, and options with their values."""
    options, plain, values = set[str](), list[str](), list[tuple[str, str]]()
    awaits = ""
    verb = next(filterfalse(lambda one: one.startswith("-"), arguments), "")
    takes_value = _TAKES_VALUE - _TAKES_NONE.get(program, frozenset())
    for one in arguments:
        if awaits:
            values.append((awaits, one))
            awaits = ""
        elif one.startswith("-") and one not in ("-", "--"):
            name, _, value = one.partition("=")
            options |= {name, OPTIONS.get((program, verb, name), name)}
            for letter in name[1:] if re.fullmatch(r"-[A-Za-z]{2,4}", name) else "":
                options |= {f"-{letter}", OPTIONS.get((program, verb, f"-{letter}"), name)}
            if value:
                values.append((name, value))
            elif name in takes_value:
                awaits = name
        elif " " not in one.strip() and one != "--":
            plain.append(one)
    return options, plain, values


def _leading(plain: Sequence[str]) -> list[str]:
    """The words right after a program that say what it does."""
    found: list[str] = []
    for one in plain[:2]:
        if not _SUBCOMMAND.fullmatch(one):
            break
        found.append(one)
    return found


def _read(used: _Used) -> None:
    """What a call names and does, by its program."""
    program, plain = used.program, used.plain
    if program == "git":
        _git(used)
    elif phrase := _installing_phrase(program, plain):
        used.words, used.deeds = phrase, {"install", "add"}
        used.names = list(map(_package, plain[len(phrase) :]))
        if any(used.names):
            used.deeds |= {"dependency", "package", "library"}
    elif program in RUNNERS:
        used.names = list(map(_package, plain[:1]))
    elif program in CONTAINERS or program in ("docker-compose", "podman-compose"):
        used.names = _container_names(program, plain)
        used.deeds = {"image", "tag", "container"} if used.names else set()
    elif program in TASK_RUNNERS:
        used.words, used.names = [], _without_variables(plain)
    elif program in SCRIPT_RUNNERS and plain[:1] == ["run"]:
        used.names = plain[1:2]
    elif program in PROGRAM_RUNNERS:
        # `yarn mocha` runs mocha.
        used.names = plain[:1]
    elif program in CONTROLLERS:
        used.names = _without_variables(plain)
    elif program in _STREAM_EDITORS and any(map(_IN_PLACE.match, used.options)):
        used.words, used.files, used.deeds = [], _edited_in_place(used.arguments), {"edit"}
    elif program in INTERPRETERS and plain:
        # `python manage.py migrate`: the script is run, and told what to do.
        used.words, used.names = _leading(plain[1:]), [plain[0].rpartition("/")[2]]
    elif program in WRITERS:
        used.words, used.files = [], plain[_FILES_FROM.get(program, 0) :]
        used.deeds = {"delete"} if program in ("rm", "rmdir", "unlink", "shred") else {"edit"}


def _installing_phrase(program: str, plain: Sequence[str]) -> list[str]:
    """The words before the packages that are installed; empty if none are."""
    for phrase in INSTALLING.get(program, ()):
        words = phrase.split()
        if plain[: len(words)] == words:
            return words
    return []


def _without_variables(plain: Sequence[str]) -> list[str]:
    return [one for one in plain if "=" not in one]


def _package(word: str) -> str:
    """The name of a package without its version."""
    if word.startswith((".", "/")) or word.endswith((".txt", ".in", ".whl", ".tgz")):
        return ""
    scope, slash, rest = word.rpartition("/") if word.startswith("@") else ("", "", word)
    return f"{scope}{slash}{_AFTER_NAME.split(rest, maxsplit=1)[0]}"


def _container_names(program: str, plain: Sequence[str]) -> list[str]:
    if program.endswith("-compose") or plain[:1] == ["compose"]:
        rest = list(plain[1:] if plain[:1] == ["compose"] else plain)
        return rest[1:] if rest and rest[0] in SERVICE_WORDS else []
    rest = list(plain[1:] if plain[:1] in (["image"], ["container"]) else plain)
    return rest[1:2] if rest and rest[0] in IMAGE_WORDS else []


def _edited_in_place(arguments: Sequence[str]) -> list[str]:
    """The files of `sed -i` and `perl -pi`: what follows the script."""
    files: list[str] = []
    has_script = is_script = False
    for one in arguments:
        if is_script:
            is_script = False
        elif one.startswith("-") and len(one) > 1:
            name, _, value = one.partition("=")
            if _WITH_SCRIPT.fullmatch(name):
                has_script, is_script = True, not value
        elif has_script:
            files.append(one)
        else:
            has_script = True
    return files


def _hosts(program: str, plain: Sequence[str], values: Sequence[tuple[str, str]]) -> list[str]:
    found = [match["host"] for one in plain if (match := _URL.match(one))]
    found += [value for name, value in values if name in _HOST_OPTIONS]
    if program in ("ssh", "sftp", "ping", "telnet", "nc") and plain and (match := _HOST.fullmatch(plain[0])):
        found.append(match["host"])
    if program in ("scp", "rsync"):
        found += [one.partition(":")[0].rpartition("@")[2] for one in plain if ":" in one and "://" not in one]
    return found


def _git(used: _Used) -> None:
    """What a git command names: a remote and branches, files that it records; and what it does."""
    verb, rest = (used.plain[0], used.plain[1:]) if used.plain else ("", [])
    used.deeds = {verb} if verb else set()
    if verb == "push":
        # What is pushed to a branch is committed there.
        used.deeds |= {"branch"} if "--delete" in used.options else {"commit"}
        if any(one.startswith("+") for one in rest[1:]):
            used.options.add("--force")
        to = [one.removeprefix("+").rpartition(":")[2].removeprefix("refs/heads/") for one in rest[1:]]
        used.names = [*rest[:1], *(used.branch if one == "HEAD" else one for one in to or [used.branch])]
    elif verb in _GIT_ON_BRANCH:
        used.names = [used.branch]
    elif verb in ("branch", "tag"):
        used.names = rest
    if verb in _GIT_RECORDS:
        used.files = [one for one in rest if not one.startswith((".", "-")) or len(one) > 2]
    used.deeds |= _GIT_ALSO.get(verb, set())
    used.deeds |= {option[2:] for option in used.options if re.fullmatch("--[^-]*", option)}
    used.deeds |= {"skip", "hook"} if "--no-verify" in used.options else set()
