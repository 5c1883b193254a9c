"""The wheel alone, in an empty environment, without a network: it starts and knows what texts mean."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MODEL = "commonplace/embed/model/"

# For systems without network namespaces, and for a clear message on those that have them.
NO_NETWORK = """
import sys
def _forbid(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise RuntimeError(f"network used: {event}")
sys.addaudithook(_forbid)
"""

EMBED = """
from commonplace.embed.model_files import MiniLM
asked, near, far = MiniLM().embed(["postgres pool", "database connections are limited", "the cat sleeps"])
assert asked @ near > asked @ far
print("near", len(asked))
"""


def run(*command: str | Path, **options: object) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        **options,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of an environment with nothing but the wheel and its locked dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    locked = re.findall(r"^([\w.-]+==[^\\\n]+?) *\\?$", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE)
    (folder / "constraints.txt").write_text("\n".join(locked), encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "download", "--dest", folder / "wheelhouse", "--constraint", folder / "constraints.txt", wheel)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    scripts = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    offline = ("install", "--no-index", "--find-links", folder / "wheelhouse", "--no-compile", "commonplace")
    run(*pip, "--python", scripts / "python", *offline)
    packages = run(scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    Path(packages, "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    return scripts


@pytest.fixture(scope="module")
def unplugged() -> list[str]:
    """A prefix that runs a command without network interfaces, where the system lets us."""
    prefix = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") and subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
        return prefix
    return []


def test_the_wheel_carries_the_model_its_notice_the_sql_and_the_page(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    assert {MODEL + "tokenizer.json", MODEL + "NOTICE", "commonplace/py.typed"} <= names
    assert sizes[MODEL + "model.onnx"] > 20_000_000
    sources = ROOT / "src"
    data = [path for suffix in ("sql", "html", "js", "css", "txt") for path in sources.rglob(f"*.{suffix}")]
    assert len(data) > 8 and {path.relative_to(sources).as_posix() for path in data} <= names
    assert not [name for name in names if not name.startswith(("commonplace/", "commonplace-"))]


def test_the_source_distribution_can_build_it_but_does_not_carry_it(tmp_path: Path) -> None:
    run(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", tmp_path, cwd=ROOT)
    (built,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"packaging/hatch_build.py", "packaging/minilm_graph.py", "pyproject.toml", "LICENSE"} <= names
    assert not [name for name in names if name.endswith((".onnx", ".whl"))]


def test_the_installed_model_works_without_a_network(installed: Path, unplugged: list[str], tmp_path: Path) -> None:
    assert run(*unplugged, installed / "python", "-c", EMBED, cwd=tmp_path).split() == ["near", "384"]


def test_the_installed_command_starts_without_a_network(installed: Path, unplugged: list[str], tmp_path: Path) -> None:
    output = run(*unplugged, installed / "commonplace", "--version", cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"})
    assert re.search(r"\d+\.\d+\.\d+", output)
