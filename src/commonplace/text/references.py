"""What a text refers to: files, errors, names in code, and earlier messages. The graph links by these.

Pure and fast, since every passage goes through it. Each kind is bounded, the most informative first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Reach = Literal["error", "turn", "session"]
"""Where a back-reference points: the last error, the message before, or the session before this one."""

MOST_FILES, MOST_ERRORS, MOST_NAMES = 6, 3, 8
# Back-references stand at the beginning of a message.
_OPENING = 600
_LONGEST_CHUNK, _LONGEST_NAME, _LONGEST_ERROR = 260, 80, 200
_FEWEST_LETTERS, _FEWEST_LETTERS_OF_ERROR = 6, 12

# The first matching rule decides, anywhere in the opening.
BACK_REFERENCES: tuple[tuple[Reach, str], ...] = (
    ("session", r"(?:like|as|from|since) (?:the )?last (?:time|session)|(?:last|previous|earlier) session"),
    ("session", r"where we (?:left|stopped|were)|pick(?:ing)? (?:it |this )?up (?:again|where)|yesterday"),
    ("error", r"(?:that|this|the same|the previous) (?:\w+ )?(?:error|exception|failure|bug|crash|traceback)"),
    ("error", r"(?:same|that) (?:issue|problem)|still (?:fails|failing|broken|crashes|crashing)|fails again"),
    ("error", r"(?:happens|happened|appears|appeared|comes up|came up|is back|occurs|occurred) again|is back again"),
    ("turn", r"as (?:we )?(?:discussed|agreed|decided|mentioned|said|planned|before)|we (?:discussed|agreed on)"),
    ("turn", r"(?:like|as|than) before|(?:earlier|previously) (?:you|we|i) |(?:you|i) (?:said|mentioned|suggested)"),
    ("turn", r"(?:your|the|that|my) (?:previous|earlier|last) (?:message|answer|suggestion|change|fix|attempt|plan)"),
    ("turn", r"\A\W*(?:please )?(?:continue|go on|go ahead|keep going|proceed|carry on|resume|try again)\b"),
)
_BACK = tuple((reach, re.compile(rule)) for reach, rule in BACK_REFERENCES)

_EXTENSIONS = frozenset(
    "astro bat c cc cfg cjs clj conf cpp cs css csv dart db ex exs fs gd go gradle graphql h hpp hs html ini ipynb java"
    " jl js json json5 jsonl jsx kt less lock log lua m md mdx mjs mm mts nix php pl plist po prisma properties proto"
    " ps1 py pyi r rb rs rst sass scala scss sh sln sol sql sqlite svelte svg swift tex tf toml ts tsv tsx txt vb vue"
    " wasm xml yaml yml zig zsh".split()
)
_BARE_FILES = frozenset("dockerfile makefile gemfile rakefile jenkinsfile procfile justfile vagrantfile".split())
# File names that occur in many folders of one project: one more folder tells them apart.
_EVERYWHERE = frozenset("__init__ index main mod lib page route layout readme package conftest test types".split())
# Products spelt like files or like names of code, and names that stand in all code.
_ORDINARY = frozenset(
    "node.js next.js vue.js nuxt.js express.js three.js d3.js react.js ember.js javascript typescript github gitlab"
    " graphql postgresql mysql mongodb openai youtube linkedin iphone macos webassembly websocket websockets devops"
    " bitbucket powershell intellij pycharm clickhouse dynamodb bigquery fastapi pytorch tensorflow console.log"
    " typeerror valueerror keyerror attributeerror assertionerror runtimeerror syntaxerror importerror indexerror"
    " referenceerror nullpointerexception function return print.".split()
)
# Names of tool arguments occur in every session, and are not worth linking.
_NO_NAMES = _ORDINARY | frozenset(
    "absolute_path activeform cell_id code_edit dir_path edit_mode exit_code file_path filepath file_text head_limit"
    " insert_line insert_text is_background is_error multiselect new_source new_str new_string notebook_path old_str"
    " old_string output_mode relative_workspace_path replace_all run_in_background subagent_type target_file targetfile"
    " tool_use_id view_range workdir".split()
)

_CODE = re.compile(r"[/\\_.(]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_AROUND = " \t\"'`“”‘’()[]{}<>,;:!?*|="
_PLACE = re.compile(r"(?:[:#]L?\d{1,9}(?:[:,-]L?\d{1,9}){0,4}|\(\d+(?:,\d+)?)$|::.*$")
_PATH = re.compile(r"(?:[A-Za-z]:)?[/\\]*[\w.@+~$-]+(?:[/\\]+[\w.@+~$\[\]()-]+)*")
_BETWEEN_PATHS = re.compile(r"[(\[{=,;|<>\"'`]")
_SLASHES = re.compile(r"[/\\]+")
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_]\w*)*(?=(\((?!s\)))?)")
_JOINED = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}|[A-Za-z0-9]_+[A-Za-z0-9]")

# Looked for first, since most texts have none of them.
_ALARMING = (
    "rror",
    "ERR",
    "xception: ",
    "ailure: ",
    "iolation: ",
    "FAILED",
    "atal: ",
    "panic",
    "not found",
    "enied",
    "o such",
    "xit",
)
_ERROR_SIGN = re.compile(
    r"(?:Error|Exception|Failure|Violation)(?:\[\w+\])?: |\berror(?:\[\w+\]| [A-Z]{1,4}\d{2,6})?: |\bERROR[: ]"
    r"|\bFAILED |npm ERR! |\bfatal: |\bpanic: |\bpanicked at |command not found|[Pp]ermission denied|No such file"
    r"|\b[Ee]xit(?:ed with)? (?:code|status)[: ]+[1-9]"
)
# Of these the words before tell what is wrong.
_AFTERWARDS = ("command not found", "permission denied", "no such file")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?z?)?|\d\d:\d\d:\d\d(?:[.,]\d+)?")
_PATH_IN_ERROR = re.compile(r"(?<![\w.@~+/\\-])(?:[a-z]:)?(?:[\w.@~+-]*[/\\])+([\w.@+-]+)")
_HEX = re.compile(r"\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b")
_NUMBER = re.compile(r"(?<![a-z_\d])\d+(?:[.,:]\d+)*")
_QUOTES = str.maketrans("", "", "\"'`“”‘’")


@dataclass(frozen=True, slots=True)
class References:
    """What one text refers to. `back` is set when it refers to an earlier message."""

    files: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    back: Reach | None = None


def references(text: str) -> References:
    """Read a passage once."""
    files: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for chunk, times in Counter(text.split()).items():
        file, called = _read(chunk)
        if file:
            files[file] += times
        for name in called:
            names[name] += times
    return References(
        files=_most(files, MOST_FILES),
        errors=errors_in(text)[:MOST_ERRORS],
        names=_most(names, MOST_NAMES),
        back=_back(text[:_OPENING].casefold()),
    )


def errors_in(text: str) -> tuple[str, ...]:
    """Only the errors, each in a form that is the same wherever and whenever it occurs."""
    return tuple(dict.fromkeys(_errors(text)))


def error_key(line: str) -> str:
    """The key of a line with an error, whether it looks like one or not."""
    return _fingerprint(line.strip()[:_LONGEST_ERROR])


def file_key(path: str) -> str:
    """The same key for absolute and relative paths of one file: its name and its folder."""
    parts = path.casefold().split("/")
    stem = parts[-1].split(".")[0]
    return "/".join(parts[-3:] if stem in _EVERYWHERE else parts[-2:])


def _most(found: Counter[str], most: int) -> tuple[str, ...]:
    """The most informative: frequent ones first, then long ones."""
    return tuple(sorted(found, key=lambda name: (-min(found[name], 3), -len(name)))[:most])


# The same chunks come again and again.
@lru_cache(maxsize=1 << 13)
def _read(chunk: str) -> tuple[str, tuple[str, ...]]:
    """The file that a chunk of text names; if none, the names of code in it."""
    if not _CODE.search(chunk) or len(chunk) > _LONGEST_CHUNK:
        return "", ()
    file = _file(chunk)
    return file, () if file or "/" in chunk else tuple(_names(chunk))


def _file(chunk: str) -> str:
    """The path in a chunk of text without its line numbers, or nothing."""
    if "://" in chunk:
        if not chunk.startswith("file://"):
            return ""
        chunk = chunk.removeprefix("file://")
    bare = _PLACE.sub("", chunk.strip(_AROUND).rstrip(".").rstrip(_AROUND))
    if "." not in bare and bare.rsplit("/", 1)[-1].casefold() not in _BARE_FILES:
        return ""
    if not _PATH.fullmatch(bare):
        # As in [label](path) or key=path: the last part that could be one.
        bare = _BETWEEN_PATHS.split(bare)[-1]
        if not _PATH.fullmatch(bare):
            return ""
    path = _SLASHES.sub("/", bare)
    while path.startswith(("./", "../")):
        path = path.split("/", 1)[1]
    return path if _is_file(path) else ""


def _is_file(path: str) -> bool:
    folder, _slash, name = path.casefold().rpartition("/")
    stem, dot, extension = name.rpartition(".")
    if name in _BARE_FILES or not dot or path.casefold() in _ORDINARY:
        return name in _BARE_FILES
    if extension in _EXTENSIONS:
        return bool(stem)
    return bool(folder) and len(stem) > 1 and len(extension) <= 8 and extension.isalnum() and extension[0].isalpha()


def _names(chunk: str) -> Iterator[str]:
    """Names of code in a chunk: spelt as no ordinary word is, or called."""
    for match in _NAME.finditer(chunk):
        name = match[0].strip("_$")
        if not _FEWEST_LETTERS <= len(name) <= _LONGEST_NAME or name.casefold() in _NO_NAMES:
            continue
        if not (match[1] or _JOINED.search(name) or _is_dotted(name)):
            continue
        letters = sum(map(str.isalpha, name))
        if letters >= _FEWEST_LETTERS and letters * 3 >= len(name) * 2:
            yield name


def _is_dotted(name: str) -> bool:
    """Whether parts are joined as in code; "done.Then" is two sentences."""
    first, dot, rest = name.partition(".")
    return bool(dot) and len(first) > 1 and len(rest) > 1 and not (first.islower() and rest[0].isupper())


def _errors(text: str) -> Iterator[str]:
    if not any(word in text for word in _ALARMING):
        return
    end = -1
    for sign in _ERROR_SIGN.finditer(text):
        if sign.start() < end:
            continue
        line_start = text.rfind("\n", 0, sign.start()) + 1
        end = text.find("\n", sign.end())
        end = len(text) if end < 0 else end
        start = sign.start()
        if sign[0].casefold() in _AFTERWARDS:
            start = max(line_start, start - _LONGEST_ERROR // 2)
        else:
            while start > line_start and (text[start - 1].isalnum() or text[start - 1] in "_."):
                start -= 1
        error = _fingerprint(text[start : min(end, start + _LONGEST_ERROR)])
        if sum(map(str.isalpha, error)) >= _FEWEST_LETTERS_OF_ERROR:
            yield error


def _fingerprint(error: str) -> str:
    """The same for the same error at another line, time or address."""
    error = error.split(". ", 1)[0].casefold().translate(_QUOTES)
    error = _TIME.sub("#", error)
    error = _PATH_IN_ERROR.sub(r"\1", error)
    error = _HEX.sub("#", error)
    error = _NUMBER.sub("#", error)
    return " ".join(error.split()).rstrip(" .,:;")


def _back(opening: str) -> Reach | None:
    return next((reach for reach, rule in _BACK if rule.search(opening)), None)
