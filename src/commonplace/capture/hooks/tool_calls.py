"""What a tool is for, whichever host gave it its name: to write, to read, to run, to look up, to delegate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from commonplace.capture.hooks.concepts import find_concepts
from commonplace.hosts.hook_event import Event, find_exit_code, parse_json_text
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

THINKING_TOOL = "thinking"
"""The type of tools that an agent keeps its own thoughts with."""
OWN_MEMORY_TOOL = "own memory"
"""The type of our own tools: what was recalled is not remembered again."""
OTHER_TOOL = "tool-use"

# Names without case and signs: ReadFile, read_file and read-file are one.
_NAMES: Mapping[str, str] = {
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
_TYPES: Mapping[str, str] = {name: type_ for type_, names in _NAMES.items() for name in names.split()}
# Of another program's server, only what cannot mean anything else: its "search" or "task" may be about anything.
_PLAIN = frozenset(
    "writefile editfile createfile deletefile movefile readfile readmultiplefiles listdirectory searchfiles"
    " executecommand runcommand websearch fetch sequentialthinking".split()
)
_OURS = frozenset(
    "getobservations getcontext addmemory searchmemories getrules listmemories editmemory forgetmemory"
    " startmemorystream appendmemorychunk finalizememorystream cancelmemorystream memorystore memorysearch memoryupdate"
    " memorygetcontext memoryprune memoryexport memorystats".split()
)
# Names that others have too; they are ours on a server that is called like one of ours, or that is not told.
_PERHAPS_OURS = frozenset("search timeline recall explain predict".split())
_OUR_SERVER = re.compile(r"commonplace|kiro.?memory|memories|ecm|sekha|^mcp$", re.IGNORECASE)
_SERVER = re.compile(r"(?:mcp__)?(?P<server>[\w.-]+?)(?:__|[/:.]\s?)(?P<tool>[\w.-]+)", re.IGNORECASE)
_OUR_COMMAND = re.compile(r"(?:\S*[/\\])?(?:commonplace(?:\.exe)?|(?:uvx|pipx run) commonplace)(?:\s|$)")


@lru_cache(maxsize=1024)
def tool_type(tool: str) -> str:
    """The type of observation that a use of the tool makes."""
    server, name = server_and_tool(tool)
    bare, whole = _bare(name), _bare(tool)
    if _is_ours(server, bare) or whole.startswith("mcpcommonplace"):
        return OWN_MEMORY_TOOL
    if whole not in _TYPES and server and bare not in _PLAIN:
        return OTHER_TOOL
    return _TYPES.get(whole) or _TYPES.get(bare, OTHER_TOOL)


@lru_cache(maxsize=1024)
def server_and_tool(tool: str) -> tuple[str, str]:
    """The server that a tool belongs to, empty for the host's own, and the tool's name there."""
    name = tool.strip().lstrip("@").removeprefix("functions.")
    named = _SERVER.fullmatch(name)
    return (named["server"], named["tool"]) if named else ("", name)


def is_our_command(command: str) -> bool:
    """Whether a command line asks this memory."""
    return bool(_OUR_COMMAND.match(command.strip()))


def _is_ours(server: str, bare: str) -> bool:
    if "commonplace" in server.lower() or bare in _OURS:
        return True
    return bare in _PERHAPS_OURS and bool(_OUR_SERVER.search(server))


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


CommandOutcome = Literal["success", "failed", ""]
# Commands whose words about failures are their own, and not those of a file or a log that they show.
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


def command_outcome(event: Event, line: str, answer: str) -> CommandOutcome:
    """How a command line went, given what it printed. Empty if nothing tells."""
    code = find_exit_code(event.output)
    if code is None:
        code = exit_code_in_text(answer)
    if event.failed or code:
        return "failed"
    hidden = hides_exit_status(line)
    if code == 0 and not hidden:
        return "success"
    if _CHECKS.intersection(find_concepts(command=line).split(", ")) and (told := _outcome_in_output(answer)):
        return told
    return "success" if event.succeeded and not hidden else ""


def test_count_line(answer: str) -> str:
    """The line in which a test runner counts: that with failures, else that which counts most; empty if none does."""
    best, found = (0, 0), ""
    for line in answer[-_OUTPUT_TAIL:].splitlines():
        counts = [(int(number), word) for number, word in _COUNT.findall(line[:400])]
        failed = sum(number for number, word in counts if word.startswith(("fail", "error")))
        weight = (failed, sum(number for number, _ in counts))
        if weight > best:
            best, found = weight, line.strip()
    return found


def _outcome_in_output(answer: str) -> CommandOutcome:
    said = answer[-_OUTPUT_TAIL:]
    return "failed" if _FAILED.search(said) else "success" if _PASSED.search(said) else ""


LONGEST_COMMAND = 4000
_LOOKED_AT = 200_000
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
    r"^\*\*\* (?:(?P<kind>Update|Add|Delete) File: (?P<file>.+?)|Move to: (?P<moved>.+?))\s*$", re.MULTILINE
)
_VERBS = {"Update": "Modified", "Add": "Created", "Delete": "Deleted"}


@dataclass(frozen=True, slots=True)
class Edits:
    """What a tool wrote: whether the file was there before, the lines that went and came, and the new text.

    `verbs` says what was done to each file of a patch. Of a call that was told in part, the lines are not counted.
    """

    verb: str
    removed: int
    added: int
    text: str
    verbs: Mapping[str, str] = field(default_factory=dict)


def command_line(event: Event) -> str:
    """The command line; empty where there is none."""
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
    """What was written, told from the arguments, or from the patch in them."""
    given = dict(event.input)
    patch = next((text for text in _patches(given) if _BEGIN_PATCH in text), "")
    made = _patched(patch) if patch else _edited(event, given)
    return replace(made, removed=0, added=0) if event.partial else made


def _edited(event: Event, given: Mapping[str, object]) -> Edits:
    parts = _entries(given, *_EDITS) or [dict(given)]
    removed = sum(_lines(first_text(part, *_OLD)) for part in parts)
    new = [first_text(part, *_NEW) for part in parts]
    verb = "Created" if _is_new(event, given, removed) else "Modified"
    return Edits(verb, removed, sum(map(_lines, new)), "\n".join(text[:_LOOKED_AT] for text in new if text))


def search_query(event: Event) -> str:
    """What was looked for."""
    return first_text(dict(event.input), *_QUERIES)


def delegated_task(event: Event) -> str:
    """What another agent was asked to do."""
    return first_text(dict(event.input), *_TASKS)


def delegated_agent(event: Event) -> str:
    """Who was asked."""
    return first_text(dict(event.input), *_AGENTS)


def output_and_error(event: Event, *, shell: bool = False) -> tuple[str, str]:
    """What a tool answered, cut if it is long, and what went wrong if it failed. Of a shell, more tells how it went."""
    try:
        told = result_block(event.tool, "", _unwrapped(event.output), event.failed)
    except (TypeError, ValueError, RecursionError):
        # No host writes such a thing; what cannot be told is no answer.
        return "", "It failed." if event.failed else ""
    text = redact(told.text)
    failed = command_outcome(event, command_line(event), text) == "failed" if shell else event.failed
    return text, (error_lines(text) or "It failed.") if failed else ""


def output_lines(event: Event) -> int:
    """How many lines a tool answered with; 0 if that is not known."""
    try:
        return 0 if event.partial else _lines(text_of(_unwrapped(event.output)))
    except (TypeError, ValueError, RecursionError):
        return 0


def has_empty_output(event: Event) -> bool:
    """Whether a tool is known to have answered, and with nothing."""
    return event.output is not None and not output_and_error(event)[0] and not event.failed


def first_text(given: Mapping[str, object], *names: str) -> str:
    """The first of the arguments that says something."""
    return next((text for text in texts(given, *names)), "")


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
            # It was named before, by its old name.
            verbs[next(reversed(verbs))] = verbs[match["moved"]] = "Moved"
        elif match["file"]:
            verbs[match["file"]] = _VERBS[match["kind"]]
    done = set(verbs.values())
    verb = done.pop() if len(done) == 1 else "Modified"
    return Edits(verb, removed, len(added), "\n".join(added)[:_LOOKED_AT], verbs)


def _is_new(event: Event, given: Mapping[str, object], removed: int) -> bool:
    """Whether a file was made: an edit names what it replaces, and some hosts say whether there was one."""
    output = event.output if isinstance(event.output, dict) else {}
    if output.get("type") in ("create", "update"):
        return bool(output["type"] == "create")
    if given.get("command") in ("create", "append", "insert", "str_replace"):
        return given["command"] == "create"
    named = event.tool.lower()
    edits_it = any(word in named for word in ("edit", "replace", "append", "insert", "patch"))
    return not removed and not edits_it and not any(name in given for name in (*_OLD, *_EDITS))


def _unwrapped(output: object) -> object:
    """What a tool told the model, where a host tells that apart from what it showed, or from how it went."""
    told = parse_json_text(output) if find_exit_code(output) is not None else output
    return told.get("llmContent", told) if isinstance(told, dict) else told


def _lines(text: str) -> int:
    return len(text.splitlines())
