"""What a tool is for, whichever host gave it its name: to write, to read, to run, to look up, to delegate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

THINKING = "thinking"
"""The type of tools that an agent keeps its own thoughts with."""
OWN = "own memory"
"""The type of our own tools: what was recalled is not remembered again."""
OTHER = "tool-use"

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
    THINKING: "todo todowrite todoread todolist writetodos updateplan updatetodolist managetodolist think thinking"
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
def type_of(tool: str) -> str:
    """The type of observation that a use of the tool makes."""
    server, name = parts_of(tool)
    bare, whole = _bare(name), _bare(tool)
    if _is_ours(server, bare) or whole.startswith("mcpcommonplace"):
        return OWN
    if whole not in _TYPES and server and bare not in _PLAIN:
        return OTHER
    return _TYPES.get(whole) or _TYPES.get(bare, OTHER)


@lru_cache(maxsize=1024)
def parts_of(tool: str) -> tuple[str, str]:
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
