"""The console script, and `python -m commonplace`: a hook is sent its short way before the command line is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    arguments = sys.argv[1:]
    if "hook" in arguments:
        from commonplace.capture.hooks.fire import is_hook
        from commonplace.capture.hooks.fire import main as fire

        if is_hook(arguments):
            fire(arguments)
    from commonplace.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
