"""The arguments of the commands that have to start in milliseconds. The command line of click reads all the others."""

from __future__ import annotations

import os

from commonplace.data_folder import data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HELP = ("-h", "--help")
# Commands that the resident process runs for a shell: they may be done twice, and use no files of the shell.
RESIDENT_COMMANDS = frozenset(
    ("add", "search", "context", "timeline", "show", "list", "rules", "history", "recall", "explain", "predict")
)


class Arguments:
    """The two options that a fast command knows, and all other words in their order."""

    __slots__ = ("all", "data_dir", "profile", "words")

    def __init__(self, arguments: Sequence[str]) -> None:
        self.all = list(arguments)
        self.words: list[str] = []
        self.data_dir = self.profile = ""
        rest = list(arguments)
        while rest:
            word = rest.pop(0)
            name, equals, value = word.partition("=")
            # An option without its value is left for click to explain.
            if name not in ("--data-dir", "--profile") or not (equals or rest):
                self.words.append(word)
                continue
            value = value if equals else rest.pop(0)
            if name == "--profile":
                self.profile = value
            else:
                self.data_dir = value

    @property
    def command(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def asks_for_help(self) -> bool:
        return any(word in HELP for word in self.words)

    def data_folder(self, env: Mapping[str, str]) -> str:
        return os.path.expanduser(data_folder(self.data_dir, env))
