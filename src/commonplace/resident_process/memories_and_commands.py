"""The memories that the resident process has open, and the command lines that it runs for shells.

There is one memory for each set of settings, all with the same model. A command runs in the folder of its shell, with
its settings, and prints to streams that stand for those of the shell; what it printed goes back with its exit code.
"""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from commonplace.capture.hooks.drain_inline import BackgroundDrain
from commonplace.cli.terminal import CallerTerminal, caller_terminal
from commonplace.config import Settings, load
from commonplace.errors import CommonplaceError, InvalidInput, StoreBusy
from commonplace.fast.context_cache import settings_stamp
from commonplace.memory.background_tasks import BackgroundTasks, Task
from commonplace.memory.callers import local_writer, person_named
from commonplace.memory.hints import warm_up
from commonplace.memory.local_memory import LazyMemory, LocalMemory, Models
from commonplace.model import Author

# Callers whose settings differ in nothing else share a memory.
OF_THE_CALLER = (
    *("profile", "project", "author", "agent_memories", "mcp_max_response", "opening_tokens", "max_body_mb"),
    *("hooks_recall", "user_profile"),
    *("log_format", "log_level"),
)
# Different stores, spaces or models that are open at a time; whoever asks for more works alone.
MAX_OPEN = 16


@dataclass(frozen=True, slots=True)
class Caller:
    """A window, a command or a hook: what it wants, from which folder, with which settings."""

    kind: str
    cwd: str
    env: Mapping[str, str]
    settings: Settings
    request: Mapping[str, object]

    @classmethod
    def of(cls, hello: Mapping[str, object]) -> Caller:
        """From the first line of its connection; CommonplaceError if its settings are not valid."""
        env, cwd = hello.get("env"), hello.get("cwd")
        if not isinstance(env, dict) or not isinstance(cwd, str):
            raise InvalidInput("The first line of the connection is not complete.")
        settings = load({"data_dir": hello.get("data_dir"), "profile": hello.get("profile")}, env)
        if settings.encryption_key_file:
            # Relative to where the caller is, and not to where we are.
            settings = replace(settings, encryption_key_file=str(Path(cwd, settings.encryption_key_file)))
        return cls(str(hello.get("kind")), cwd, env, settings, hello)


class Memories:
    """Opens memories when they are first needed, and keeps them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Settings, LazyMemory] = {}
        self._models = Models()

    def reach(self, settings: Settings, env: Mapping[str, str]) -> Callable[[], LocalMemory]:
        """How to reach the memory of these settings."""
        lazy, writer = self._lazy(settings, env), local_writer(settings, env)
        memory: LocalMemory | None = None

        def reach() -> LocalMemory:
            nonlocal memory
            opened = lazy.memory()
            if memory is None:
                memory = replace(opened, settings=settings, writer=writer)
            return memory

        return reach

    def warm_up(self, settings: Settings, env: Mapping[str, str]) -> None:
        """Load the models and the command line: hooks and shells ask soon, and wait for neither."""
        with contextlib.suppress(CommonplaceError):
            memory = self.reach(settings, env)()
            if settings.embedder == "builtin":
                warm_up(memory)
        import_module("commonplace.cli.search_and_context")

    def open_soon(self, settings: Settings, env: Mapping[str, str], seconds: float) -> None:
        self._lazy(settings, env).open_soon(seconds)

    def _lazy(self, settings: Settings, env: Mapping[str, str]) -> LazyMemory:
        usual = Settings(data_dir=settings.data_dir)
        key = replace(settings, **{name: getattr(usual, name) for name in OF_THE_CALLER})
        with self._lock:
            if key not in self._open:
                if len(self._open) >= MAX_OPEN:
                    raise StoreBusy("The resident process has too many memories open.", "Work without it.")
                tasks = BackgroundTasks((UnderOwnSettings(BackgroundDrain(env), env),))
                self._open[key] = LazyMemory(key, background=tasks, models=self._models)
            return self._open[key]

    def states(self) -> list[str]:
        """Whether the model of each is loaded."""
        with self._lock:
            return [state for lazy in self._open.values() if (state := lazy.embedding_state)]

    def close(self) -> None:
        with self._lock:
            for lazy in self._open.values():
                lazy.close()


class UnderOwnSettings:
    """A background task under the settings of the data folder, read again when they change.

    The memory that callers share has none of theirs, and nobody's call is behind this work.
    """

    def __init__(self, task: Task, env: Mapping[str, str]) -> None:
        self._task, self._env = task, env
        self._stamp, self._own = "", Settings(Path())

    def __call__(self, memory: LocalMemory) -> bool:
        data = memory.settings.data_dir
        stamp = settings_stamp(str(data), self._env)
        if stamp != self._stamp:
            self._own, self._stamp = load({"data_dir": data}, self._env), stamp
        of_caller = {name: getattr(self._own, name) for name in OF_THE_CALLER}
        settings = replace(memory.settings, **of_caller)
        person = person_named(local_writer(settings, self._env).name)
        return self._task(replace(memory, settings=settings, writer=Author(person or None, "person")))


class NeedsInput(BaseException):
    """The command reads its standard input, which only the shell has."""


class Printed:
    """What a command printed, on which stream, in order; and which streams of its shell are terminals."""

    def __init__(self, terminals: Mapping[str, bool]) -> None:
        self.terminals = terminals
        self.parts: list[tuple[int, str]] = []

    def write(self, stream: int, text: str) -> None:
        if self.parts and self.parts[-1][0] == stream:
            self.parts[-1] = (stream, self.parts[-1][1] + text)
        else:
            self.parts.append((stream, text))


_printed: ContextVar[Printed | None] = ContextVar("printed", default=None)


class _Output(io.TextIOBase):
    """Standard output or error: of the shell while one of its commands runs, else of this process."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, number: int, own: TextIO) -> None:
        self._number, self._own = number, own

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            # So click finds out that this is a stream of text.
            raise TypeError("This stream takes text.")
        printed = _printed.get()
        if printed is None:
            return self._own.write(text)
        printed.write(self._number, text)
        return len(text)

    def flush(self) -> None:
        if _printed.get() is None:
            self._own.flush()

    def isatty(self) -> bool:
        printed = _printed.get()
        return self._own.isatty() if printed is None else printed.terminals.get(str(self._number), False)

    def writable(self) -> bool:
        return True


class _Input(io.TextIOBase):
    """Standard input, of which nothing can be read here."""

    encoding, errors = "utf-8", "replace"

    def isatty(self) -> bool:
        printed = _printed.get()
        return printed is not None and printed.terminals.get("0", False)

    @property
    def buffer(self) -> _Input:
        return self

    def read(self, _size: int | None = -1, /) -> Any:
        raise NeedsInput

    readline = read

    def readable(self) -> bool:
        return True


def take_streams() -> None:
    """From now on, what a command prints can be told from what this process prints."""
    sys.stdin, sys.stdout, sys.stderr = _Input(), _Output(1, sys.stdout), _Output(2, sys.stderr)


def run_command(memories: Memories, caller: Caller) -> dict[str, Any]:
    """Run the command line of a shell; what it printed and its exit code, or nothing if the shell has to run it."""
    # Windows are served before commands; `warm_up` loads it, too.
    from commonplace.cli import main as command_line

    arguments, terminals = caller.request.get("arguments"), caller.request.get("terminals")
    assert isinstance(arguments, list) and isinstance(terminals, dict)
    printed = Printed(terminals)

    _printed.set(printed)
    caller_terminal.set(CallerTerminal(caller.cwd, caller.env, lambda settings: memories.reach(settings, caller.env)()))
    try:
        code = command_line.run(arguments)
    except NeedsInput:
        return {}
    return {"printed": printed.parts, "code": code}
