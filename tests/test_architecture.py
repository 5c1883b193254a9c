"""The house keeps its rooms: who may import whom, how long a module is, what its name may not be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import commonplace

PACKAGE = Path(commonplace.__file__).parent
GROUND = {
    "model",
    "errors",
    "config",
    "data_folder",
    "identity",
    "input_limits",
    "allocation",
    "temporary_files",
    "workers",
    "helper_processes",
    "__init__",
}
# A room may import itself, the ground floor, and these.
DOORS: dict[str, set[str]] = {
    "model": set(),
    "errors": set(),
    "identity": set(),
    "input_limits": set(),
    "temporary_files": set(),
    "config": set(),
    "data_folder": set(),
    "allocation": set(),
    "workers": set(),
    "helper_processes": set(),
    "__init__": set(),
    "text": set(),
    "ranking": set(),
    "embed": set(),
    "store": {"text"},
    "memory": {"store", "ranking", "embed", "text"},
    "dialects": {"memory", "ranking", "text"},
    "hosts": {"memory", "text"},
    "remote": {"memory", "text"},
    "capture": {"memory", "text"},
    "doctor": {"hosts", "capture", "memory", "text"},
    "mcp": {"dialects", "memory", "capture", "text"},
    "rest": {"dialects", "memory", "capture", "text"},
    "web": {"doctor", "hosts", "capture", "memory", "text"},
    "site": {"mcp", "rest", "web", "memory", "capture", "text"},
    "cli": {"dialects", "hosts", "memory", "capture", "doctor", "text", "remote"},
    "__main__": {"cli", "capture"},
}
# The command line starts the servers; it may open that one door.
STARTS = {("cli", "commonplace.mcp.stdio"), ("cli", "commonplace.site.server")}
OUTSIDE: dict[str, set[str]] = {
    # Other products keep what we take over in SQLite; capture/transcripts/cursor.py and capture/move_in read that.
    "apsw": {"store", "capture"},
    "psycopg": {"store"},
    "mcp": {"mcp"},
    "mcp_types": {"mcp"},
    "anyio": {"mcp"},
    "starlette": {"mcp", "rest", "web", "site"},
    "jinja2": {"web"},
    "markupsafe": {"web"},
    "markdown_it": {"web"},
    "nh3": {"web"},
    "pygments": {"web"},
    "uvicorn": {"site"},
    "pydantic": {"mcp", "rest"},
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


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_doors_open_one_way(path: Path) -> None:
    room = room_of(path)
    assert room in DOORS, f"the room {room} is not on the plan in DESIGN and here"
    for name in imported(path):
        top = name.split(".")[0]
        if top == "commonplace":
            target = name.split(".")[1] if "." in name else "__init__"
            if target.startswith("__version"):
                continue
            allowed = DOORS[room] | GROUND | {room}
            opened = any(room == who and name.startswith(door) for who, door in STARTS)
            assert target in allowed or opened, f"{room} imports {name}"
        elif top in OUTSIDE:
            assert room in OUTSIDE[top], f"{room} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_are_short_and_named_for_what_they_do(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 500, f"{path.name} has {len(lines)} lines"
    assert path.stem not in VAGUE
    tree = ast.parse("\n".join(lines))
    if tree.body and path.stem != "__main__":
        assert ast.get_docstring(tree), f"{path} does not say what it is"


# Questions to databases that are not ours: their tables are of no concern to the store.
FOREIGN_SQL = (PACKAGE / "capture" / "transcripts" / "cursor.py", PACKAGE / "capture" / "move_in")


def test_sql_lives_in_the_store() -> None:
    for path in modules():
        if room_of(path) == "store" or any(path.is_relative_to(foreign) for foreign in FOREIGN_SQL):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                # A word alone is a method of HTTP.
                first, _, rest = node.value.strip().partition(" ")
                assert not rest or first not in {"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "PRAGMA"}, path


def test_only_the_verbs_ask_the_store() -> None:
    for path in modules():
        if room_of(path) in ("store", "memory"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Attribute) and node.attr == "store"), f"{path}:{node.lineno}"


def test_the_verbs_import_nothing_heavy() -> None:
    verbs = [f"commonplace.memory.{path.stem}" for path in (PACKAGE / "memory").glob("*.py")]
    heavy = {"numpy", "onnxruntime", "tokenizers", "mcp", "starlette", "rich", "click", "pydantic"}
    script = (
        f"import sys, commonplace.store.sqlite.store, {', '.join(verbs)}; print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
