"""The rules of the package: which room imports which, who uses which library, how long a module is, where SQL is."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import LONGEST, ON_BOTH

import commonplace

# In a program that stands in a text.
IMPORT = re.compile(r"^ *from (commonplace(?:\.\w+)*) import ([\w, ]+)$", re.MULTILINE)
PACKAGE = Path(commonplace.__file__).parent
LONGEST_MODULE, LONGEST_FUNCTION = 500, 60
# Of our files, so many run code for one search over stdio.
MOST_FILES_OF_A_SEARCH = 31
# Modules that any room may import; they import only each other.
FOUNDATION = {
    "__init__",
    "caller_variables",
    "config",
    "data_folder",
    "detached_process",
    "errors",
    "helper_processes",
    "malloc",
    "model",
    "plugins",
    "temporary_files",
    "thread_waits",
    "watchdog",
    "worker_threads",
}
# The fast program: of ours it imports only itself and these, of the standard library only what loads as quickly.
FAST_IMPORTS = {"__init__", "caller_variables", "data_folder", "detached_process", "errors"}
SLOW_TO_LOAD = {
    *("asyncio", "contextlib", "dataclasses", "enum", "functools", "inspect", "json", "logging", "pathlib", "re"),
    *("socket", "ssl", "subprocess", "tempfile", "threading", "tomllib", "traceback", "typing", "urllib"),
}
# A room (a top-level folder) imports itself, the foundation, and these.
ROOMS: dict[str, set[str]] = {
    "text": set(),
    "ranking": {"text"},
    "embed": {"http_client", "text"},
    "store": {"text"},
    "memory": {"store", "ranking", "embed", "text"},
    "hosts": {"fast", "memory", "text"},
    "http_client": {"text"},
    "remote_sync": {"http_client", "memory", "text"},
    "fast": set(),
    "resident_client": {"fast", "text"},
    "capture": {"fast", "hosts", "http_client", "memory", "text"},
    "library": {"capture", "hosts", "http_client", "remote_sync", "memory", "text"},
    "dialects": {"library", "memory", "ranking", "text"},
    "doctor": {"fast", "http_client", "library", "hosts", "capture", "memory", "resident_client", "text"},
    "http_responses": {"memory", "text"},
    "mcp": {"dialects", "library", "memory", "capture", "text"},
    "rest": {"http_responses", "dialects", "library", "memory", "capture", "text"},
    "web": {"http_responses", "doctor", "library", "hosts", "capture", "memory", "text"},
    "http_server": {"http_responses", "mcp", "rest", "web", "library", "memory", "capture", "text"},
    "resident_process": {"fast", "resident_client", "mcp", "cli", "memory", "capture", "text"},
    "cli": {
        "dialects",
        "fast",
        "library",
        "hosts",
        "memory",
        "capture",
        "doctor",
        "resident_client",
        "text",
        "remote_sync",
    },
    "__main__": {"cli", "capture", "fast", "resident_process"},
}
# The command line starts the servers: it may import these modules of rooms that it cannot import otherwise.
SERVERS = {
    ("cli", "commonplace.mcp.stdio"),
    ("cli", "commonplace.http_server.server"),
    ("cli", "commonplace.http_server.workers"),
}
# Which rooms use which library.
LIBRARIES: dict[str, set[str]] = {
    # Other products keep their data in SQLite, which hosts and importers read.
    "apsw": {"store", "capture", "hosts"},
    "psycopg": {"store"},
    "mcp": {"mcp"},
    "mcp_types": {"mcp"},
    "anyio": {"mcp"},
    "starlette": {"mcp", "rest", "web", "http_server", "http_responses"},
    "jinja2": {"web"},
    "markupsafe": {"web"},
    "markdown_it": {"web"},
    "nh3": {"web"},
    "pygments": {"web"},
    "uvicorn": {"http_server"},
    "pydantic": {"library", "mcp", "rest"},
    "prometheus_client": {"rest"},
    "click": {"cli"},
    "rich": {"cli"},
    "onnxruntime": {"embed"},
    "tokenizers": {"embed"},
    "tomlkit": {"hosts"},
    "Stemmer": {"text"},
    "wcmatch": {"text"},
    "bracex": {"text"},
    "sqlite3": set(),
}
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "handler", "base", "core"}
# Statements for databases of other products.
FOREIGN_SQL = (PACKAGE / "hosts" / "cursor.py", PACKAGE / "hosts" / "opencode.py", PACKAGE / "capture")


@pytest.fixture(scope="module")
def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ("." * node.level + f"{node.module}.{alias.name}" for alias in node.names)


def modules_that_run(tree: ast.AST) -> Iterator[str]:
    """The modules that a module imports, or imports names from, and those names; not what only its types need."""
    if isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING":
        return
    if isinstance(tree, ast.ImportFrom) and tree.module:
        yield tree.module
        yield from (f"{tree.module}.{alias.name}" for alias in tree.names)
    if isinstance(tree, ast.Import):
        yield from (alias.name for alias in tree.names)
    for node in ast.iter_child_nodes(tree):
        yield from modules_that_run(node)


def is_allowed(room: str, name: str) -> bool:
    top, _, rest = name.partition(".")
    if top == "commonplace":
        target = rest.partition(".")[0] or "__init__"
        if room == "__init__" or any(room == who and name.startswith(server) for who, server in SERVERS):
            return True
        foundation = FAST_IMPORTS if room == "fast" else FOUNDATION
        allowed = foundation if room in FOUNDATION else foundation | ROOMS[room] | {room}
        return target in allowed or target.startswith("__version")
    if room == "fast":
        return top in sys.stdlib_module_names
    return top not in LIBRARIES or room in LIBRARIES[top]


def test_rooms_import_in_one_direction(modules: dict[Path, ast.Module]) -> None:
    rooms = {room_of(path) for path in modules}
    assert rooms <= ROOMS.keys() | FOUNDATION, "add the new room to ROOMS, and to docs/inside/architecture.md"
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path, tree in modules.items()
        for name in imports(tree)
        if name.startswith(".") or not is_allowed(room_of(path), name)
    ]
    assert not wrong


def test_modules_do_not_import_each_other_in_circles(modules: dict[Path, ast.Module]) -> None:
    """Imports inside functions count too: they would only hide a circle. Types alone may be imported both ways."""
    known = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): tree for path, tree in modules.items()}
    left: dict[str, set[str]] = {name: set() for name in known}
    for name, imported in left.items():
        imported |= set(modules_that_run(known[name])) & left.keys() - {name}
    while free := {name for name, imported in left.items() if not imported & left.keys()}:
        left = {name: imported for name, imported in left.items() if name not in free}
    assert not left, "these import each other, or one that does"


def test_modules_and_functions_are_short_and_modules_say_what_they_are(modules: dict[Path, ast.Module]) -> None:
    wrong = []
    for path, tree in modules.items():
        name = path.relative_to(PACKAGE)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_MODULE:
            wrong.append(f"{name} has {lines} lines")
        if path.stem in VAGUE:
            wrong.append(f"{name}: the name says nothing")
        if tree.body and path.stem != "__main__" and not ast.get_docstring(tree):
            wrong.append(f"{name} has no docstring")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    wrong.append(f"{name}:{node.lineno} {node.name} has {length} lines")
    assert not wrong


def test_sql_lives_in_the_store(modules: dict[Path, ast.Module]) -> None:
    wrong = []
    for path, tree in modules.items():
        if room_of(path) == "store" or any(path.is_relative_to(foreign) for foreign in FOREIGN_SQL):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                # One word alone is an HTTP method.
                first, _, rest = node.value.strip().partition(" ")
                if rest and first in {"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "PRAGMA"}:
                    wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert not wrong


def test_only_the_memory_room_uses_the_store(modules: dict[Path, ast.Module]) -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, tree in modules.items()
        if room_of(path) not in ("store", "memory")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "store"
    ]
    assert not wrong


def test_the_memory_room_imports_nothing_heavy() -> None:
    verbs = [f"commonplace.memory.{path.stem}" for path in (PACKAGE / "memory").glob("*.py")]
    heavy = {"numpy", "onnxruntime", "tokenizers", "mcp", "starlette", "rich", "click", "pydantic"}
    script = (
        f"import sys, commonplace.store.sqlite.store, {', '.join(verbs)}; print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_fast_program_loads_quickly() -> None:
    # One module has types only, and is never loaded.
    fast = [f"commonplace.fast.{path.stem}" for path in (PACKAGE / "fast").glob("*.py") if path.stem != "whole_program"]
    script = (
        f"import sys; before = set(sys.modules); import {', '.join(fast)}; print(*sorted(set(sys.modules) - before))"
    )
    # -S: what the set-up of an interpreter imports is not ours.
    python = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]; {script}"]
    loaded = set(subprocess.run(python, capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & SLOW_TO_LOAD
    ours = {name.removeprefix("commonplace.") for name in loaded if name.startswith("commonplace.")}
    assert {name for name in ours if name.partition(".")[0] != "fast"} <= FAST_IMPORTS


def test_a_search_runs_code_of_few_files() -> None:
    """Whoever wants to understand a search has to read these."""
    root = Path(__file__).parent.parent
    walk = [sys.executable, "-m", "tests.mcp.search_walk"]
    report = subprocess.run(walk, cwd=root, capture_output=True, text=True, check=True).stdout
    assert int(report.splitlines()[-1].split()[0]) <= MOST_FILES_OF_A_SEARCH, report


def test_files_that_the_set_up_of_the_tests_names_exist() -> None:
    folder = Path(__file__).parent
    assert [name for name in (*ON_BOTH, *LONGEST) if not (folder / name).is_file()] == []


def test_programs_in_texts_import_what_exists() -> None:
    """Tests and measurements start small programs that stand in texts, where neither types nor lint look."""
    top = Path(__file__).parent.parent
    missing = []
    for folder in ("src", "tests", "benchmarks", "torture", "judges", "fuzzing"):
        for path in (top / folder).rglob("*.py"):
            texts = (node.value for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Constant))
            for text in texts:
                for module, names in IMPORT.findall(text) if isinstance(text, str) else ():
                    missing += [
                        f"{path.relative_to(top)}: {module}.{name}"
                        for name in names.split(", ")
                        if not _exists(module, name)
                    ]
    assert not missing


def _exists(module: str, name: str) -> bool:
    """Whether a module has this name in it, or a module of this name."""
    name = name.partition(" as ")[0]
    try:
        return hasattr(importlib.import_module(module), name) or bool(importlib.import_module(f"{module}.{name}"))
    except ModuleNotFoundError:
        return False
