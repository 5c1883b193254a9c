"""Tool calls of any host: what a tool is for, its arguments and output, whether a command succeeded, and concepts.

Concepts say what an observation is about in a few words, by names of files, commands and code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from commonplace.hosts.hook_event import Event, find_exit_code
from commonplace.hosts.tool_text import (
    command_of,
    cut_middle,
    error_lines,
    exit_code_in_text,
    files_of,
    result_block,
    text_of,
)
from commonplace.text.redact import redact
from commonplace.text.shell_commands import hides_exit_status
from commonplace.text.untrusted_json import parse_if_json

MAX_CONCEPTS = 5
_MAX_TEXT = 4000

Rules = Mapping[str, str]
"""A concept by the regular expression that reveals it."""

# Names along a path: of folders, of files up to their first dot, and of their parts between - _ and dots.
_PATH_NAMES: Rules = {
    "testing": "tests?|specs?|__tests__|e2e|conftest|fixtures?",
    "documentation": "docs?|readme|changelog|license|contributing",
    "security": r"auth(?:n|z|enti\w+|ori[sz]\w+)?|login|oauth\w*|jwt|permissions?|crypto\w*|security\w*|csrf",
    "api": "api|routes?|router|controllers?|endpoints?|handlers?|graphql|openapi|rest",
    "database": "migrations?|models?|schema|db|database|prisma|repositor(?:y|ies)|sql",
    "ui-component": "components?|views?|pages?|screens?|widgets?",
    "middleware": "middlewares?",
    "hooks": "hooks?",
    "devops": r"\.github|\.gitlab|\.circleci|k8s|helm|terraform|ansible|deploy\w*",
    "build": "makefile|cmakelists|justfile|webpack|rollup|vite|esbuild",
    "configuration": r"config|settings|\.env|tsconfig|pyproject",
    "types": "types?|interfaces?",
    "cli": "cli|bin|cmd|commands?",
}
_FILE_NAMES: Rules = {
    "dependencies": r"package(?:-lock)?\.json|pnpm-lock\.yaml|yarn\.lock|requirements[^/]*\.txt|pyproject\.toml"
    r"|uv\.lock|poetry\.lock|cargo\.(?:toml|lock)|go\.(?:mod|sum)|gemfile.*|pom\.xml",
    "devops": r"dockerfile.*|(?:docker-)?compose\.ya?ml|\.gitlab-ci\.yml",
    "hooks": r"(?-i:use[A-Z]\w+)\.\w+",
}
_FILE_ENDINGS: Rules = {
    "documentation": "md|mdx|rst|adoc",
    "database": "sql|prisma",
    "ui-component": "tsx|jsx|vue|svelte",
    "styling": "css|scss|sass|less",
    "devops": "tf",
    "configuration": "toml|ya?ml|ini|cfg|conf|properties",
    "types": r"d\.ts|pyi",
    "scripts": "sh|bash|zsh|ps1|bat",
    "data": "csv|parquet|jsonl|ipynb",
}
# Programs in a command line, some with what they do.
_MANAGERS = "(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|cargo|gem|bundle|composer|brew|apt(?:-get)?)"
_RUNNERS = "(?:go|cargo|npm|pnpm|yarn|bun|make|mvnw?|gradlew?|dotnet|mix|deno)(?: run)?"
_PROGRAMS: Rules = {
    "testing": f"pytest|jest|vitest|mocha|tox|nox|rspec|phpunit|playwright|{_RUNNERS} tests?",
    "git": "git|gh|glab|jj",
    "code-quality": "ruff|eslint|prettier|mypy|pyright|black|flake8|clippy|rustfmt|gofmt|biome|tsc|pylint|stylelint"
    "|golangci-lint|shellcheck|run (?:lint|format|typecheck)",
    "dependencies": rf"{_MANAGERS} (?:\w+ )?(?:install|add|i|ci|sync|remove|uninstall|update|upgrade|lock)",
    "build": f"make|cmake|ninja|webpack|vite|esbuild|bazel|gradlew?|mvnw?|{_RUNNERS} build",
    "devops": "docker|docker-compose|podman|kubectl|helm|terraform|ansible|systemctl|aws|gcloud|flyctl|vercel|heroku",
    "database": "psql|mysql|sqlite3|mongosh?|redis-cli|alembic|prisma|pg_dump|migrate",
    "networking": "curl|wget|ssh|scp|ping|nslookup|dig|traceroute",
    "debugging": "gdb|lldb|strace|pdb|dlv|journalctl|dmesg",
    "performance": "hyperfine|perf|py-spy|cprofile|wrk|k6|locust|lighthouse",
    "search": "grep|rg|ag|fd|find",
}
# Phrases in code and in what people and agents write.
_PHRASES: Rules = {
    "error-handling": r"try\s*[:{]|except\b|catch\s*\(|raise\s+\w+|throw new|Result<",
    "security": r"jwt|oauth\w*|csrf|cors|bcrypt|passwords?|authenti\w+|authori[sz]\w+|encrypt\w*",
    "database": r"(?:INSERT INTO|(?:CREATE|ALTER) (?:TABLE|INDEX))|sqlite|postgres\w*|mysql|redis",
    "api": r"endpoints?|graphql|grpc|openapi|(?:app|router)\.(?:get|post|put|delete)|fetch\(",
    "performance": r"cach(?:e[ds]?|ing)\b|latency|throughput|slow(?:er)?\b|profil(?:ed|ing)|optimi[sz]\w+",
    "concurrency": "async def|asyncio|mutex|deadlock|race condition|threading|goroutines?|semaphore",
    "testing": r"def test_|describe\(|expect\(|assert|pytest|unit tests?|test suite",
    "debugging": r"traceback|stack ?trace|breakpoint|segfault|console\.log|root cause|bugs?\b|debug",
    "tech-debt": "TODO|FIXME|deprecated",
    "logging": r"logg(?:er|ing)|log\.(?:info|warn|error|debug)",
    "refactoring": r"refactor\w*|rename[ds]?\b",
    "deployment": r"deploy(?:s|ed|ment)?\b|rollback|staging",
}


def _compile(rules: Rules, before: str, after: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(f"{before}(?:{rule}){after}", re.IGNORECASE)) for name, rule in rules.items())


_IN_PATHS = (
    *_compile(_FILE_NAMES, r"(?:^|/)", "$"),
    *_compile(_PATH_NAMES, r"(?:^|[/_.-])", r"(?=[/_.-]|$)"),
    *_compile(_FILE_ENDINGS, r"\.", "$"),
)
_IN_COMMANDS = _compile(_PROGRAMS, r"(?:^|[\s;&|(/])", r"(?=$|[\s;&|)])")
_IN_TEXTS = _compile(_PHRASES, r"\b", "")


def find_concepts(files: Iterable[str] = (), command: str = "", text: str = "") -> str:
    """At most five concepts: those of the files first, then of the command, then of the text."""
    found: dict[str, None] = {}
    for file in list(files)[:MAX_CONCEPTS]:
        path = file.replace("\\", "/")
        found |= dict.fromkeys(name for name, rule in _IN_PATHS if rule.search(path))
    for rules, searched in ((_IN_COMMANDS, command[:_MAX_TEXT]), (_IN_TEXTS, text[:_MAX_TEXT])):
        if searched and len(found) < MAX_CONCEPTS:
            found |= dict.fromkeys(name for name, rule in rules if rule.search(searched))
    return ", ".join(list(found)[:MAX_CONCEPTS])


THINKING_TOOL = "thinking"
"""The type of tools for an agent's own lists and thoughts."""
OWN_MEMORY_TOOL = "own memory"
"""The type of Commonplace's own tools: what was recalled is not stored again."""
OTHER_TOOL = "tool-use"

# Tool names without case and punctuation: ReadFile, read_file and read-file are one.
_TOOLS: Mapping[str, str] = {
    "file-write": "write edit multiedit notebookedit fswrite fsappend fsreplace fscreate writefile writetofile replace"
    " replacefilecontent applypatch applydiff patch editfile createfile deletefile renamefile movefile strreplace"
    " searchreplace searchandreplace strreplacebasededittool insertedit insertcontent editnotebook inserteditintofile"
    " replacestringinfile writecode applycodeaction",
    "file-read": "read fsread readfile readmanyfiles readmultiplefiles readfolder readcode viewfile view openfile"
    " glob grep ls listdir listdirectory listfiles listcodedefinitions grepsearch ripgrep searchfilecontent searchfiles"
    " codebasesearch codesearch filesearch semanticsearch findbyname findfiles readnotebook readlints lsp viewimage",
    "command": "bash shell executebash execute executecommand executeshell runshellcommand runterminalcmd runcommand"
    " runinterminal execcommand exec localshell containerexec shellcommand powershell executepwsh terminal bashoutput"
    " unifiedexec writestdin",
    "research": "websearch webfetch googlewebsearch searchweb readurlcontent fetch fetchurl browsepage websearchexa"
    " fetchwebpage",
    "delegation": "task agent delegate usesubagent subagent spawnagent dispatchagent newtask runsubagent"
    " invokesubagent",
    THINKING_TOOL: "todo todowrite todoread todolist writetodos updateplan updatetodolist managetodolist think thinking"
    " introspect sequentialthinking exitplanmode enterplanmode taskcreate taskupdate tasklist taskget reporttask"
    " toolsearch killshell killbash waitagent wait",
}
_TYPES: Mapping[str, str] = {name: type_ for type_, names in _TOOLS.items() for name in names.split()}
# Tools of an MCP server that can only mean one thing: its "search" or "task" may be about anything.
_UNAMBIGUOUS = frozenset(
    "writefile editfile createfile deletefile movefile readfile readmultiplefiles listdirectory searchfiles"
    " executecommand runcommand websearch fetch sequentialthinking".split()
)
_OURS = frozenset(
    "getobservations getcontext addmemory searchmemories getrules listmemories editmemory forgetmemory"
    " startmemorystream appendmemorychunk finalizememorystream cancelmemorystream memorystore memorysearch memoryupdate"
    " memorygetcontext memoryprune memoryexport memorystats".split()
)
# Names that others have too; they are ours on a server with a name like ours, or without a known name.
_PERHAPS_OURS = frozenset("search timeline recall explain predict".split())
_OUR_SERVER = re.compile(r"commonplace|kiro.?memory|memories|ecm|sekha|^mcp$", re.IGNORECASE)
_SERVER = re.compile(r"(?:mcp__)?(?P<server>[\w.-]{1,100}?)(?:__|[/:.]\s?)(?P<tool>[\w.-]+)", re.IGNORECASE)
_OUR_COMMAND = re.compile(r"(?:\S*[/\\])?(?:commonplace(?:\.exe)?|(?:uvx|pipx run) commonplace)(?:\s|$)")

CommandOutcome = Literal["success", "failed", ""]
# Concepts of commands whose output reports their own failures, not those in a file or log that they print.
_CHECKS = frozenset(("testing", "build", "code-quality", "dependencies"))
_OUTPUT_TAIL = 20_000
_NUMBER = r"(?<![\d.,:/-])[1-9]\d*"
_FAILED = re.compile(
    rf"{_NUMBER} (?:[a-z]+ )?(?:failed|failing|failures?|errors?)\b(?!.{{0,20}}\bfixed)"
    r"|\b(?:Failed|Failures|Errors): {0,8}[1-9]|^FAIL(?:ED|URES)?\b|: FAILED\b|\berror TS\d|\berror\[E\d"
    r"|\bBUILD FAIL(?:ED|URE)\b|\bBuild failed\b|^npm (?:ERR!|error)|^make(?:\[\d+\])?: \*\*\*"
    r"|^error: (?:test failed|could not compile)",
    re.MULTILINE,
)
_PASSED = re.compile(
    rf"{_NUMBER} (?:[a-z]+ )?(?:passed|passing)\b|\btest result: ok\b|^ok\s+\S+\s+(?:[\d.]+s|\(cached\))"
    r"|\bBUILD SUCCESS(?:FUL)?\b|^OK(?: \(|$)|\b0 (?:failures|errors)\b|\bAll checks passed|^Success: no issues",
    re.MULTILINE,
)
_COUNT = re.compile(r"(?<![\d.])(\d{1,7}) (?:[a-z]+ )?(passed|passing|failed|failing|failures?|errors?|examples?)\b")
_MOST_COUNTS = 4
LONGEST_COMMAND = 4000
_LONGEST_EDIT = 200_000
_BEGIN_PATCH = "*** Begin Patch"
_COMMANDS = ("command_line", "commandLine", "script", "code", "input", "chars")
_OLD = ("old_string", "old_str", "oldStr", "oldText", "search", "old_source", "target_content", "TargetContent")
_NEW = (
    *("new_string", "new_str", "newStr", "newText", "replace", "content", "file_text", "contents", "text"),
    *("new_source", "code_edit", "replacement_content", "ReplacementContent", "insert_text", "fileText"),
)
_EDITS = ("edits", "replacements", "ReplacementChunks", "operations")
_QUERIES = ("query", "pattern", "regex", "search_term", "explanation", "q", "prompt", "url", "Query", "queries")
_TASKS = ("description", "task", "prompt", "message", "instructions", "objective", "query")
_AGENTS = ("subagent_type", "agent_type", "agent", "agent_name", "agentName", "name", "role")
_PATCHED = re.compile(
    r"^\*\*\* (?:(?P<kind>Update|Add|Delete) File: (?P<file>.*\S)|Move to: (?P<moved>.*\S))[^\S\n]*$", re.MULTILINE
)
_VERBS = {"Update": "Modified", "Add": "Created", "Delete": "Deleted"}


@lru_cache(maxsize=1024)
def tool_type(tool: str) -> str:
    """The type of observation that a call of the tool becomes."""
    server, name = server_and_tool(tool)
    bare, whole = _bare(name), _bare(tool)
    if _is_ours(server, bare) or whole.startswith(("mcpcommonplace", "commonplace")):
        return OWN_MEMORY_TOOL
    if whole not in _TYPES and server and bare not in _UNAMBIGUOUS:
        return OTHER_TOOL
    return _TYPES.get(whole) or _TYPES.get(bare, OTHER_TOOL)


@lru_cache(maxsize=1024)
def server_and_tool(tool: str) -> tuple[str, str]:
    """The server that a tool belongs to, empty for the host's own, and the tool's name there."""
    name = tool.strip().lstrip("@").removeprefix("functions.")
    found = _SERVER.fullmatch(name)
    return (found["server"], found["tool"]) if found else ("", name)


def is_our_command(command: str) -> bool:
    """Whether a command line runs Commonplace."""
    return bool(_OUR_COMMAND.match(command.strip()))


def _is_ours(server: str, bare: str) -> bool:
    if "commonplace" in server.lower() or bare in _OURS:
        return True
    return bare in _PERHAPS_OURS and bool(_OUR_SERVER.search(server))


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def command_outcome(event: Event, line: str, output: str) -> CommandOutcome:
    """Whether a command line succeeded: by its host, its exit code or a test runner's words. Empty if unknown."""
    code = find_exit_code(event.output)
    if code is None:
        code = exit_code_in_text(output)
    if event.failed or code:
        return "failed"
    hidden = hides_exit_status(line)
    if code == 0 and not hidden:
        return "success"
    if _CHECKS.intersection(find_concepts(command=line).split(", ")) and (outcome := _outcome_in_output(output)):
        return outcome
    return "success" if event.succeeded and not hidden else ""


def runner_count_line(output: str) -> str:
    """The line in which a test runner counts: the one with most failures, else with most tests; empty if none."""
    best, found = (0, 0), ""
    for line in output[-_OUTPUT_TAIL:].splitlines():
        counts = [(int(number), word) for number, word in _COUNT.findall(line[:400])]
        failed = sum(number for number, word in counts if word.startswith(("fail", "error")))
        score = (failed, sum(number for number, _ in counts))
        if score > best:
            best, found = score, line.strip()
    return found


def test_counts(text: str) -> str:
    """`1 failed, 46 passed`: what a test runner counts in a text, and no other word of it."""
    return ", ".join(f"{number} {word}" for number, word in _COUNT.findall(text[:400])[:_MOST_COUNTS])


def _outcome_in_output(output: str) -> CommandOutcome:
    tail = output[-_OUTPUT_TAIL:]
    return "failed" if _FAILED.search(tail) else "success" if _PASSED.search(tail) else ""


@dataclass(frozen=True, slots=True)
class Edits:
    """What a tool wrote: whether the file is new, how many lines were removed and added, and the new text.

    `verbs` says what was done to each file of a patch. Lines of an incomplete event are not counted.
    """

    verb: str
    removed: int
    added: int
    text: str
    verbs: Mapping[str, str] = field(default_factory=dict)


def command_line(event: Event) -> str:
    """The command line; empty if there is none."""
    given = dict(event.input)
    return cut_middle((command_of(given) or first_text(given, *_COMMANDS)).strip(), LONGEST_COMMAND)


def named_files(event: Event) -> tuple[str, ...]:
    """The files that a call names."""
    given = dict(event.input)
    within = (file for entry in _entries(given, *_EDITS) for file in files_of(entry))
    return tuple(dict.fromkeys((*files_of(given), *within, *texts(given, "TargetFile", "AbsolutePath", "uri"))))


def is_patch(event: Event) -> bool:
    """Whether a shell was used to apply a patch, as some agents do."""
    return _BEGIN_PATCH in command_line(event)[:LONGEST_COMMAND]


def edits_of(event: Event) -> Edits:
    """What was written, by the arguments or the patch in them."""
    given = dict(event.input)
    patch = next((text for text in _patches(given) if _BEGIN_PATCH in text), "")
    made = _patched(patch) if patch else _edited(event, given)
    return replace(made, removed=0, added=0) if event.partial else made


def _edited(event: Event, given: Mapping[str, object]) -> Edits:
    parts = _entries(given, *_EDITS) or [dict(given)]
    removed = sum(_lines(first_text(part, *_OLD)) for part in parts)
    new = [first_text(part, *_NEW) for part in parts]
    verb = "Created" if _is_new(event, given, removed) else "Modified"
    return Edits(verb, removed, sum(map(_lines, new)), "\n".join(text[:_LONGEST_EDIT] for text in new if text))


def search_query(event: Event) -> str:
    return first_text(event.input, *_QUERIES)


def delegated_task(event: Event) -> str:
    return first_text(event.input, *_TASKS)


def delegated_agent(event: Event) -> str:
    return first_text(event.input, *_AGENTS)


def output_and_error(event: Event, *, shell: bool = False) -> tuple[str, str]:
    """The output of a tool, cut if it is long, and what went wrong if it failed; a shell's output may say that too."""
    try:
        block = result_block(event.tool, "", _unwrap_output(event.output), event.failed)
    except (TypeError, ValueError, RecursionError):
        # No host writes such an output.
        return "", "It failed." if event.failed else ""
    # Redacted again: a name and its value may only together be a secret.
    text = redact(block.text)
    failed = command_outcome(event, command_line(event), text) == "failed" if shell else event.failed
    return text, (error_lines(text) or "It failed.") if failed else ""


def output_lines(event: Event) -> int:
    """How many lines of output there were; 0 if unknown."""
    try:
        return 0 if event.partial else _lines(text_of(_unwrap_output(event.output)))
    except (TypeError, ValueError, RecursionError):
        return 0


def has_empty_output(event: Event) -> bool:
    """Whether a tool is known to have returned nothing."""
    return event.output is not None and not output_and_error(event)[0] and not event.failed


def first_text(given: Mapping[str, object], *names: str) -> str:
    """The first of these arguments that holds some text."""
    return next(texts(given, *names), "")


def texts(given: Mapping[str, object], *names: str) -> Iterator[str]:
    for name in names:
        value = given.get(name)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = ", ".join(value)
        if isinstance(value, str) and value.strip():
            yield value


def input_text(given: Mapping[str, object]) -> str:
    """All arguments, as one text."""
    try:
        return text_of(dict(given))
    except (TypeError, ValueError, RecursionError):
        return ""


def _entries(given: Mapping[str, object], *names: str) -> list[dict[str, object]]:
    for name in names:
        value = given.get(name)
        if isinstance(value, list):
            return [entry for entry in value if isinstance(entry, dict)]
    return []


def _patches(given: Mapping[str, object]) -> Iterator[str]:
    yield from texts(given, "patch", "input", "diff", "patch_text", "patchText")
    yield command_of(given)


def _patched(patch: str) -> Edits:
    lines = patch.splitlines()
    added = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    verbs: dict[str, str] = {}
    for match in _PATCHED.finditer(patch):
        if match["moved"] and verbs:
            # The line before it has its old name.
            verbs[next(reversed(verbs))] = verbs[match["moved"]] = "Moved"
        elif match["file"]:
            verbs[match["file"]] = _VERBS[match["kind"]]
    done = set(verbs.values())
    verb = done.pop() if len(done) == 1 else "Modified"
    return Edits(verb, removed, len(added), "\n".join(added)[:_LONGEST_EDIT], verbs)


def _is_new(event: Event, given: Mapping[str, object], removed: int) -> bool:
    """Whether a file was created: an edit names what it replaces, and some hosts say which it was."""
    output = event.output if isinstance(event.output, dict) else {}
    if output.get("type") in ("create", "update"):
        return bool(output["type"] == "create")
    if given.get("command") in ("create", "append", "insert", "str_replace"):
        return given["command"] == "create"
    is_edit = any(word in event.tool.lower() for word in ("edit", "replace", "append", "insert", "patch"))
    return not removed and not is_edit and not any(name in given for name in (*_OLD, *_EDITS))


def _unwrap_output(output: object) -> object:
    """What the model got, if the host tells that apart from what it showed on the screen, or from the exit code."""
    found = parse_if_json(output) if find_exit_code(output) is not None else output
    return found.get("llmContent", found) if isinstance(found, dict) else found


def _lines(text: str) -> int:
    return len(text.splitlines())
