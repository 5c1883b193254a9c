"""The console script, and `python -m commonplace`: a hook is sent its short way before the command line is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    arguments = sys.argv[1:]
    if "hook" in arguments:
        from commonplace.capture.hooks.hook_command import is_hook_command
        from commonplace.capture.hooks.hook_command import main as fire

        if is_hook_command(arguments):
            fire(arguments)
    from commonplace.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
