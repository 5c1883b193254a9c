"""`python -m fuzzing [TARGET ...] --seconds N`: let atheris look for input that does harm. Needs the group `fuzz`.

What it finds goes into the corpus, where the tests replay it; `--list` names the targets.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzzing.target import CORPUS, Target
from fuzzing.targets import TARGETS

MEMORY_MB, TIMEOUT_SECONDS = 2_048, 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all of them if omitted")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=0, help="the same one takes the same course; 0 is any")
    parser.add_argument("--list", action="store_true", help="name the targets")
    options = parser.parse_args()
    if options.list:
        for target in TARGETS.values():
            print(f"{target.name:20} {target.what}")
        return 0
    if unknown := sorted(set(options.targets) - set(TARGETS)):
        parser.error(f"no target {', '.join(unknown)}; those that exist: {', '.join(TARGETS)}")
    if importlib.util.find_spec("atheris") is None:
        parser.error("atheris is missing: `pip install --group fuzz` (Linux and macOS)")
    found = [name for name in options.targets or TARGETS if not _runs(TARGETS[name], options.seconds, options.seed)]
    print(f"Look at: {', '.join(found)}" if found else "No harm was found.")
    return 1 if found else 0


def _runs(target: Target, seconds: int, seed: int) -> bool:
    """Whether a target takes everything that is thought of in that time."""
    print(f"\n## {target.name}: {target.what}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fuzzing-") as made:
        folder = Path(made)
        words = folder / "words"
        words.write_text("".join(f"{_quoted(word)}\n" for word in target.words), encoding="utf-8")
        fresh, harmful = folder / "fresh", folder / "harmful"
        fresh.mkdir()
        harmful.mkdir()
        corpus_files = CORPUS / target.name
        folders = [fresh, *([corpus_files] if corpus_files.is_dir() else [])]
        command = [sys.executable, "-m", "fuzzing.atheris_run", target.name, str(harmful), *map(str, folders)]
        command += [f"-max_total_time={seconds}", f"-dict={words}", f"-artifact_prefix={harmful}/", f"-seed={seed}"]
        command += [f"-timeout={TIMEOUT_SECONDS}", f"-rss_limit_mb={MEMORY_MB}", f"-max_len={target.longest}"]
        ended = subprocess.run([*command, "-print_final_stats=1"], check=False).returncode
        written = [_keep(target, artefact.read_bytes()) for artefact in harmful.iterdir()]
    for path in written:
        print(f"harm, kept as {path}")
    if ended and not written:
        print(f"it ended before its time, with {ended}")
    return ended == 0


def _keep(target: Target, data: bytes) -> Path:
    path = CORPUS / target.name / f"harm-{hashlib.sha256(data).hexdigest()[:12]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _quoted(word: str) -> str:
    """A word as libFuzzer's dictionaries have it."""
    return '"' + "".join(f"\\x{byte:02X}" for byte in word.encode()) + '"'


if __name__ == "__main__":
    sys.exit(main())
