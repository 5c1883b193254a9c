"""`completion`: the script that lets a shell complete commands, options and values with Tab.

The script asks `commonplace` itself, with the words so far in the environment. click knows bash, zsh and fish;
PowerShell is added here.
"""

from __future__ import annotations

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
from commonplace.cli.terminal import environment

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
