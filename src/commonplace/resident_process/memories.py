"""The memories that the resident process has open: one for each set of settings, all with the same model."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from commonplace.capture.hooks.drain_inline import BackgroundDrain
from commonplace.config import Settings, load
from commonplace.errors import CommonplaceError, InvalidInput, StoreBusy
from commonplace.memory.authors import local_writer
from commonplace.memory.background_tasks import BackgroundTasks
from commonplace.memory.hints import warm_up
from commonplace.memory.local_memory import LazyMemory, LocalMemory, Models

# Callers whose settings differ in nothing else share a memory.
_OF_THE_CALLER = (
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
        import_module("commonplace.cli.search_and_recall")

    def open_soon(self, settings: Settings, env: Mapping[str, str], seconds: float) -> None:
        self._lazy(settings, env).open_soon(seconds)

    def _lazy(self, settings: Settings, env: Mapping[str, str]) -> LazyMemory:
        usual = Settings(data_dir=settings.data_dir)
        key = replace(settings, **{name: getattr(usual, name) for name in _OF_THE_CALLER})
        with self._lock:
            if key not in self._open:
                if len(self._open) >= MAX_OPEN:
                    raise StoreBusy("The resident process has too many memories open.", "Work without it.")
                tasks = BackgroundTasks((BackgroundDrain(env),))
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
