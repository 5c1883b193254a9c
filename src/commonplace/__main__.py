"""The console script, and `python -m commonplace`.

Hooks, the servers of editors and what shells ask the resident process are the fast program (fast/). Everything else,
and what that cannot do itself, is loaded only when it is needed: each import stands where that is known.
"""

from __future__ import annotations

import sys

from commonplace.fast.arguments import RESIDENT_COMMANDS, Arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.fast.whole_program import WholeProgramForEditors, WholeProgramForHooks


def main() -> None:
    arguments = Arguments(sys.argv[1:])
    if arguments.command == "hook" and not arguments.asks_for_help:
        from commonplace.fast.hook_command import main as run_hook

        run_hook(arguments, load_for_hooks)
    if arguments.command in RESIDENT_COMMANDS:
        from commonplace.fast.ask_resident import run_command

        code = run_command(arguments)
        if code is not None:
            sys.exit(code)
    if arguments.command == "mcp":
        from commonplace.fast.editor_proxy import main as serve_editor

        code = serve_editor(arguments, load_for_editors)
        if code is not None:
            sys.exit(code)
    from commonplace.cli.main import main as command_line

    command_line()


def load_for_hooks() -> WholeProgramForHooks:
    """What hooks need of the whole program."""
    from commonplace.capture.hooks import for_fast_hooks

    return for_fast_hooks


def load_for_editors() -> WholeProgramForEditors:
    """What the servers of editors need of the whole program."""
    from commonplace.resident_process import for_fast_editors

    return for_fast_editors


if __name__ == "__main__":
    main()
