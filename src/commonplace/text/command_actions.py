"""What an agent is about to do: the programs that a command line runs, and what each is used on; the file it writes.

A command is taken apart as a shell does. What is only mentioned, in quotes, a message or the arguments of a program
that prints or searches, is no action.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

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
_HOST_OPTIONS = frozenset("-h --host --hostname".split())
# Their arguments are only looked at, or printed.
_ONLY_LOOK = frozenset(
    "cat ls grep egrep fgrep rg ag ack find fd echo printf head tail less more wc sort uniq which whereis type man cd"
    " pwd tree stat file du df diff sed awk cut tr jq yq test [ export mkdir code open vim nano".split()
)
# What changes files in place if it is told so: the first word that is no option is then the script, unless one is given
# with an option.
_STREAM_EDITORS = frozenset(("sed", "gsed", "perl"))
_IN_PLACE, _WITH_SCRIPT = (
    re.compile(r"-[A-Za-z]{0,3}i|--in-place"),
    re.compile(r"-[A-Za-z0]{0,4}e|--expression|-f|--file"),
)
_GIT_RECORDS = frozenset("add commit stage rm mv checkout restore".split())
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
    calls = [call for words in executed_commands(line)[:_MOST_CALLS] for call in _calls(words, branch)]
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


def _calls(words: Sequence[str], branch: str) -> Iterator[Call]:
    program = words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")
    program = re.sub(r"(?<=[a-z])3(?:\.\d+)?$", "", program) if program.startswith(("python3", "pip3")) else program
    arguments = list(words[1:])
    if not program or any(one in _ASKS_ONLY for one in arguments[:2] if one != "-h" or len(arguments) == 1):
        return
    options, plain, values = _sorted_arguments(program, arguments)
    leading = [] if program in _ONLY_LOOK else _leading(plain)
    names: list[str] = []
    files: list[str] = []
    deeds: set[str] = set()
    if program == "git":
        names, files, deeds = _git(plain, options, branch)
    elif installs := _installs(program, plain):
        names, deeds = [_package(one) for one in plain[installs:]], {"install", "add"}
        if any(names):
            deeds |= {"dependency", "package", "library"}
        leading = plain[:installs]
    elif program in RUNNERS:
        names = [_package(one) for one in plain[:1]]
    elif program in CONTAINERS or program in ("docker-compose", "podman-compose"):
        names = _container_names(program, plain)
        deeds = {"image", "tag", "container"} if names else set()
    elif program in TASK_RUNNERS:
        names, leading = [one for one in plain if "=" not in one], []
    elif program in SCRIPT_RUNNERS and plain[:1] == ["run"]:
        names = plain[1:2]
    elif program in PROGRAM_RUNNERS:
        # `yarn mocha` runs mocha.
        names = plain[:1]
    elif program in CONTROLLERS:
        names = [one for one in plain if "=" not in one]
    elif program in _STREAM_EDITORS and any(_IN_PLACE.match(one) for one in options):
        files, leading, deeds = _edited_in_place(arguments), [], {"edit"}
    elif program in INTERPRETERS and plain:
        # `python manage.py migrate`: the script is run, and told what to do.
        names, leading = [plain[0].rpartition("/")[2]], _leading(plain[1:])
    elif program in WRITERS:
        files = plain[1:] if program in ("chmod", "chown") else plain
        files = files[-1:] if program in ("cp", "ln", "install") else files
        leading, deeds = [], {"delete"} if program in ("rm", "rmdir", "unlink", "shred") else {"edit"}
    if program in CALLERS or program in CONTROLLERS:
        names = [*names, *_hosts(program, plain, values)]
    yield Call(
        program=program,
        words=tuple(leading),
        options=frozenset(options),
        names=tuple(dict.fromkeys(name for name in names if name)),
        files=tuple(files),
        deeds=frozenset(deeds),
        said=tuple(one for one in arguments if one and " " not in one),
    )


def _sorted_arguments(program: str, arguments: Sequence[str]) -> tuple[set[str], list[str], list[tuple[str, str]]]:
    """The options of a call with their long names, its other words, and options with their values."""
    options, plain, values = set[str](), list[str](), list[tuple[str, str]]()
    skip = ""
    verb = next((one for one in arguments if not one.startswith("-")), "")
    takes_value = _TAKES_VALUE - ({"-f", "-d", "-n", "-i"} if program in ("git", "rm", "npm", "pnpm") else set())
    takes_value -= {"-d", "-i", "-t"} if program in CONTAINERS else set()
    takes_value -= {"-u", "-v", "-p", "-w", "-l", "-h"} if program == "git" else set()
    for one in arguments:
        if skip:
            values.append((skip, one))
            skip = ""
        elif one == "--":
            continue
        elif one.startswith("-") and len(one) > 1:
            name, _, value = one.partition("=")
            options.add(name)
            options.add(OPTIONS.get((program, verb, name), name))
            if re.fullmatch(r"-[A-Za-z]{2,4}", name):
                options.update(f"-{letter}" for letter in name[1:])
                options.update(OPTIONS.get((program, verb, f"-{letter}"), name) for letter in name[1:])
            if value:
                values.append((name, value))
            elif name in takes_value:
                skip = name
        elif " " not in one.strip():
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


def _installs(program: str, plain: Sequence[str]) -> int:
    """After how many words packages are named; 0 if none are installed."""
    for phrase in INSTALLING.get(program, ()):
        words = phrase.split()
        if list(plain[: len(words)]) == words:
            return len(words)
    return 0


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


def _git(plain: Sequence[str], options: set[str], branch: str) -> tuple[list[str], list[str], set[str]]:
    """What a git command names: a remote and branches, files that it records; and what it does."""
    verb, rest = (plain[0], list(plain[1:])) if plain else ("", [])
    names: list[str] = []
    files: list[str] = []
    deeds = {verb} if verb else set()
    if verb == "push":
        if any(one.startswith("+") for one in rest[1:]):
            options.add("--force")
        to = [one.removeprefix("+").rpartition(":")[2].removeprefix("refs/heads/") for one in rest[1:]]
        names = [*rest[:1], *(branch if one == "HEAD" else one for one in to or [branch])]
        # What is pushed to a branch is committed there.
        deeds |= {"branch"} if "--delete" in options else {"commit"}
    elif verb in ("commit", "merge", "rebase", "cherry-pick", "revert", "am", "reset"):
        names = [branch]
    elif verb in ("branch", "tag", "switch", "fetch", "pull", "remote"):
        names = rest if verb in ("branch", "tag") else []
    if verb in _GIT_RECORDS:
        files = [one for one in rest if not one.startswith((".", "-")) or len(one) > 2]
        deeds |= {"commit"} if verb in ("add", "stage") else {"delete"} if verb == "rm" else set()
    deeds |= {option.lstrip("-") for option in options if option.startswith("--") and option.count("-") == 2}
    deeds |= {"skip", "hook"} if "--no-verify" in options else set()
    return [name for name in names if name], files, deeds
