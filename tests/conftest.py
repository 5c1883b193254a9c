"""No test touches the real home; every test has its own clock and store.

`--engine postgres` (or COMMONPLACE_TEST_ENGINE) has the store of every test in PostgreSQL.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from tests.postgres_server import PostgresServer, running_server
from tests.store_template import write_new_store

from commonplace import config
from commonplace.caller_variables import AGENT_VARIABLES
from commonplace.config import Settings
from commonplace.memory.local_memory import LocalMemory, Models, open_memory

# A server with pgvector to use in place of one of our own: an address whose user may make databases.
POSTGRES = os.environ.get("COMMONPLACE_TEST_POSTGRES")
ENGINES = ("sqlite", "postgres")
# In every run on both engines: of each dialect what it writes, reads and finds, and that spaces stay apart.
ON_BOTH = (
    "dialects/test_ecm_recall.py",
    "dialects/test_memories_changing.py",
    "dialects/test_search.py",
    "dialects/test_sekha_organising.py",
    "dialects/test_sekha_titles.py",
    "dialects/test_space_isolation.py",
    "memory/test_embedding_before_search.py",
    "memory/test_check.py",
    "memory/test_entities.py",
    "memory/test_profile.py",
)

# What takes longest is begun first, so that nobody waits for the last worker at the end.
LONGEST = (
    "journeys/test_two_weeks_of_a_team.py",
    "rest/test_fuzzing.py",
    "torture/test_torture.py",
    "leaks/test_rest.py",
    "benchmarks/test_recall_quality.py",
    "web/test_every_page.py",
    "http_server/test_spaces_apart.py",
    "mcp/test_client_libraries.py",
    "packaging/test_wheel.py",
    "store/postgres/test_failover.py",
    "memory/test_embedding_before_search.py",
    "web/test_item.py",
)

# Tests and the processes they start are compiled once, also where PYTHONDONTWRITEBYTECODE says otherwise: compiling the
# tests takes each worker longer than collecting them, and a process that compiles the program takes twice as long.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell starts what runs in the background with SIGINT ignored, and so would every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Temporary files are kept in memory where there is plenty: a store is synced at every write, and the tests would mostly
# wait for the disk. Setting TMPDIR keeps them elsewhere.
IN_MEMORY, PLENTY = Path("/dev/shm"), 4 << 30
if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > PLENTY:
    os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)

# Every run tries the same examples. For others, and many more: make unit ARGS="--hypothesis-profile thorough".
hypothesis_settings.register_profile(
    "commonplace",
    derandomize=True,
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
hypothesis_settings.register_profile(
    "thorough", hypothesis_settings.get_profile("commonplace"), derandomize=False, max_examples=1000
)
hypothesis_settings.load_profile("commonplace")

_numbers = itertools.count()
# 2025-03-15T14:30:00.000Z, the moment of the references' examples.
THEN = 1_742_049_000_000


def pytest_addoption(parser: pytest.Parser) -> None:
    usual = os.environ.get("COMMONPLACE_TEST_ENGINE") or ENGINES[0]
    parser.addoption("--engine", choices=ENGINES, default=usual, help="where the stores of the tests are")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_name" in metafunc.fixturenames and metafunc.module.__file__.replace(os.sep, "/").endswith(ON_BOTH):
        metafunc.parametrize("engine_name", ENGINES, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        path = item.path.as_posix()
        return next((n for n, name in enumerate(LONGEST) if path.endswith(f"/tests/{name}")), len(LONGEST))

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # Eleven thousand tests stay until the end: the garbage collector need not look through them again and again.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "promise(*ids): the promises of tests/promises that this test proves")
    config.addinivalue_line("markers", "no_store: this test of a command begins without a data folder")


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: int = THEN) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def forward(self, *, days: float = 0, minutes: float = 0, ms: int = 0) -> int:
        self.now += int(days * 86_400_000) + int(minutes * 60_000) + ms
        return self.now


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary home, and no setting of whoever runs the tests."""
    # `mktemp` looks through all that were made before.
    folder = tmp_path_factory.getbasetemp() / "homes" / str(next(_numbers))
    folder.mkdir(parents=True)
    for name in list(os.environ):
        of_others = name.startswith(("COMMONPLACE_", "KIRO_MEMORY_", "XDG_", "CLAUDE_", "CODEX_", "GEMINI_"))
        if of_others or name in AGENT_VARIABLES:
            monkeypatch.delenv(name)
    # A hook leaves no process behind; tests/capture/hooks/test_spawn_drain.py has what it does otherwise.
    monkeypatch.setenv("COMMONPLACE_HOOKS_DRAIN", "off")
    # No resident process is started or asked; tests/resident/ has what it does.
    monkeypatch.setenv("COMMONPLACE_RESIDENT", "off")
    # A busy machine changes nothing: a test of what a hook does when it has waited long enough takes this away.
    monkeypatch.setenv("COMMONPLACE_HOOKS_SECONDS", "60")
    monkeypatch.setenv("COMMONPLACE_NICENESS", "0")
    monkeypatch.setenv("COMMONPLACE_WATCHDOG_SECONDS", "120")
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA"):
        monkeypatch.setenv(name, str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL, started when the first test asks for it."""
    with running_server(POSTGRES) as server:
        yield server


@pytest.fixture
def engine_name(request: pytest.FixtureRequest) -> str:
    """The engine that this test is for."""
    return str(getattr(request, "param", request.config.getoption("--engine")))


@pytest.fixture(scope="session")
def data_folder(request: pytest.FixtureRequest) -> Callable[..., Path]:
    """Makes a data folder for an engine: one for PostgreSQL says where its database is."""

    def made(folder: Path, engine: str = request.config.getoption("--engine")) -> Path:
        if engine == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres")
            folder.mkdir(parents=True)
            setting = f"database_url = {json.dumps(server.database(folder))}\n"
            (folder / "config.toml").write_text(setting, encoding="utf-8")
        return folder

    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(
    tmp_path: Path, engine_name: str, data_folder: Callable[..., Path], request: pytest.FixtureRequest
) -> Iterator[Settings]:
    """Settings of a store of its own, searched by words only."""
    server: PostgresServer | None = request.getfixturevalue("postgres") if engine_name == "postgres" else None
    yield config.load({"data_dir": str(data_folder(tmp_path / "data", engine_name)), "embedder": "off"})
    if server is not None:
        server.leave(tmp_path)


@pytest.fixture
def memory(settings: Settings, clock: Clock) -> Iterator[LocalMemory]:
    """An open memory that knows words but not meaning."""
    write_new_store(settings)
    opened = open_memory(settings, clock)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def models() -> Models:
    """The built-in models, loaded with the first test that uses them."""
    return Models()


@pytest.fixture
def memory_with_model(settings: Settings, clock: Clock, models: Models) -> Iterator[LocalMemory]:
    """An open memory with the built-in model."""
    write_new_store(settings)
    opened = open_memory(replace(settings, embedder="builtin"), clock, models=models)
    yield opened
    opened.close()


@pytest.fixture
def memory_with_unused_model(settings: Settings, clock: Clock) -> Iterator[LocalMemory]:
    """An open memory with a built-in model of its own, which nothing has loaded."""
    write_new_store(settings)
    opened = open_memory(replace(settings, embedder="builtin"), clock)
    yield opened
    opened.close()


@pytest.fixture
def open_again(settings: Settings, clock: Clock) -> Callable[[], LocalMemory]:
    """Opens the same store once more, as another process would."""
    return lambda: open_memory(settings, clock)
