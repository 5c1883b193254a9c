"""The console script, and `python -m commonplace`.

Hooks and the servers of editors take a short way, before the command line is loaded.
"""

from __future__ import annotations

import sys


def main() -> None:
    arguments = sys.argv[1:]
    if "hook" in arguments:
        from commonplace.capture.hooks.hook_command import is_hook_command
        from commonplace.capture.hooks.hook_command import main as fire

        if is_hook_command(arguments):
            fire(arguments)
    if arguments:
        from commonplace.resident_client.ask_resident import COMMANDS, run_command

        code = run_command(arguments) if arguments[0] in COMMANDS else None
        if code is not None:
            sys.exit(code)
    if "mcp" in arguments:
        from commonplace.resident_process.stdio_front_end import main as serve

        code = serve(arguments)
        if code is not None:
            sys.exit(code)
    from commonplace.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
