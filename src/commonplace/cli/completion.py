"""`completion`: the script that lets a shell complete commands, options and values with Tab, and those values.

The script asks `commonplace` itself, with the words so far in the environment. click knows bash, zsh and fish;
PowerShell is added here. Projects, types, items, sessions and conversations are read from the store: the resident
process answers if there is one, else the store is opened and only read. Whatever goes wrong, Tab offers nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from commonplace.cli.command import Call, command
from commonplace.cli.terminal import environment, one_line
from commonplace.model import MEMORY_TYPES, Scope, SessionScope
from commonplace.text.project_names import base_name
from commonplace.text.sentences import shorten

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory
    from commonplace.model import Item

COMPLETE_VARIABLE = "_COMMONPLACE_COMPLETE"
PROGRAM = "commonplace"
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = $commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition }
    $env:COMP_WORDS = ($words | ForEach-Object { $_.ToString() }) -join "`n"
    $env:COMP_INCOMPLETE = $wordToComplete
    $env:%(complete_var)s = "powershell_complete"
    try {
        %(prog_name)s | ForEach-Object {
            $kind, $value, $about = $_ -split "`t", 3
            if ($kind -ne "plain") {
                Get-ChildItem -Path "$wordToComplete*" -Name | ForEach-Object {
                    [System.Management.Automation.CompletionResult]::new($_)
                }
            } else {
                if (-not $about) { $about = $value }
                [System.Management.Automation.CompletionResult]::new($value, $value, "ParameterValue", $about)
            }
        }
    } finally {
        Remove-Item Env:COMP_WORDS, Env:COMP_INCOMPLETE, Env:%(complete_var)s
    }
}
"""


class PowerShellComplete(ShellComplete):
    """PowerShell: words and values on lines of their own, since it has no arrays in variables."""

    name = "powershell"
    source_template = _POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        env = environment()
        words, incomplete = env.get("COMP_WORDS", "").splitlines(), env.get("COMP_INCOMPLETE", "")
        # The word under the cursor is the last one, unless a new one begins.
        return words[1:-1] if incomplete and words[-1:] == [incomplete] else words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type}\t{item.value}\t{item.help or ''}"


SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
    "powershell": PowerShellComplete,
}
# How each shell loads the script at its start.
_INSTALL = {
    "bash": "echo 'eval \"$(commonplace completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(commonplace completion zsh)\"' >> ~/.zshrc   (after compinit)",
    "fish": "commonplace completion fish > ~/.config/fish/completions/commonplace.fish",
    "powershell": "commonplace completion powershell >> $PROFILE",
}
add_completion_class(PowerShellComplete)


@command(
    "completion",
    "commonplace completion bash",
    "commonplace completion fish > commonplace.fish",
)
@click.argument("shell", required=False, type=click.Choice([*SHELLS]))
def completion(call: Call, shell: str | None) -> None:
    """Print the script that lets SHELL complete commands, options, projects, types and ids with Tab.

    SHELL is bash (4.4 or newer), zsh, fish or powershell; by default, the one you are using. To have it in every
    terminal:

    \b
      bash        echo 'eval "$(commonplace completion bash)"' >> ~/.bashrc
      zsh         echo 'eval "$(commonplace completion zsh)"' >> ~/.zshrc
      fish        commonplace completion fish > ~/.config/fish/completions/commonplace.fish
      powershell  commonplace completion powershell >> $PROFILE
    """
    chosen = shell or current_shell()
    if chosen is None:
        raise click.UsageError(f"Name your shell: {', '.join(SHELLS)}.", click.get_current_context())
    script = completion_script(chosen)
    call.answer({"shell": chosen, "script": script}, lambda: click.echo(script))
    call.note(f"To have it in every terminal: {_INSTALL[chosen]}")


def completion_script(shell: str) -> str:
    """What a shell has to run once."""
    names = {"prog_name": PROGRAM, "complete_var": COMPLETE_VARIABLE, "complete_func": f"_{PROGRAM}_completion"}
    return SHELLS[shell].source_template % names


def current_shell() -> str | None:
    """The shell of whoever calls, if it is one of ours."""
    name = environment().get("SHELL", "").replace("\\", "/").rpartition("/")[2]
    if name in SHELLS:
        return name
    return "powershell" if environment().get("PSModulePath") else None


# How many are offered, and how many of the newest are looked at for a number that was begun.
OFFERED, LOOKED_AT = 25, 500
HELP_CHARACTERS = 60
# Nobody waits longer than this for a writer.
_BUSY_SECONDS = 0.05
Value = tuple[str, str]


def stored_values(ctx: click.Context, what: str, incomplete: str) -> list[CompletionItem]:
    """The values that begin like this, each with a few words about it."""
    from commonplace.fast.ask_resident import ask

    call = ctx.ensure_object(Call)
    params = {"what": what, "incomplete": incomplete}
    with contextlib.suppress(Exception):
        settings = call.settings()
        answer = ask("completion", params, data=str(settings.data_dir), env=environment())
        if answer is None:
            answer = _read_from_store(call, params)
        return [CompletionItem(value, help=about or None) for value, about in answer["values"]]
    return []


def answer_completion(memory: LocalMemory, params: Mapping[str, Any]) -> dict[str, Any]:
    """What the resident process answers."""
    incomplete = str(params.get("incomplete", ""))
    values = _VALUES[str(params["what"])](memory, incomplete)
    found = [(value, about) for value, about in values if value.startswith(incomplete)]
    return {"values": [(value, shorten(one_line(about), HELP_CHARACTERS)) for value, about in found[:OFFERED]]}


def _read_from_store(call: Call, params: Mapping[str, Any]) -> dict[str, Any]:
    from commonplace.memory.local_memory import open_memory

    settings = call.settings(embedder="off")
    if not settings.has_store:
        known = MEMORY_TYPES if params["what"] == "types" else ()
        return {"values": [(name, "") for name in known if name.startswith(str(params["incomplete"]))]}
    quick = replace(settings, busy_timeout=_BUSY_SECONDS)
    with contextlib.closing(open_memory(quick, migrate=False)) as memory:
        return answer_completion(memory, params)


def _projects(memory: LocalMemory, incomplete: str) -> Iterator[Value]:
    """The short name of each, or the whole one where two projects share it or it is being typed."""
    from commonplace.memory.projects import list_projects

    projects = list_projects(memory)
    short = [base_name(project.name) for project in projects]
    for project, name in zip(projects, short, strict=True):
        whole = short.count(name) > 1 or not name.startswith(incomplete)
        yield project.name if whole else name, f"{project.name}, {project.items:,} items"


def _types(memory: LocalMemory, _incomplete: str) -> Iterator[Value]:
    """The usual types, and those of the newest items."""
    used = sorted({item.type for item in _newest(memory, LOOKED_AT)})
    yield from ((name, "") for name in dict.fromkeys((*MEMORY_TYPES, *used)))


def _items(memory: LocalMemory, incomplete: str) -> Iterator[Value]:
    for item in _newest(memory, LOOKED_AT if incomplete else OFFERED):
        yield str(item.id), f"{item.type}: {item.title}"


def _newest(memory: LocalMemory, count: int) -> Sequence[Item]:
    from commonplace.memory.items import browse_items

    return browse_items(memory, Scope(), count).items


def _latest(memory: LocalMemory, incomplete: str, scope: SessionScope) -> Iterator[Value]:
    from commonplace.memory.conversations import latest_conversations

    for session in latest_conversations(memory, scope, LOOKED_AT if incomplete else OFFERED).sessions:
        yield session.short_id, session.label or session.key


_VALUES: dict[str, Callable[[LocalMemory, str], Iterator[Value]]] = {
    "projects": _projects,
    "types": _types,
    "items": _items,
    "sessions": partial(_latest, scope=SessionScope(empty=True)),
    "conversations": partial(_latest, scope=SessionScope()),
}
