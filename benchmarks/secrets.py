"""What the redactor finds, what it touches without need, and how fast it is: `python -m benchmarks.secrets`.

Secrets of every kind are planted in every place they may stand in, over several seeds; a secret counts as found when
no half of it can be read any more. The clean lines are the Python code that is installed here, whole files at a time;
what is touched in them is listed with --show, since fixtures of tests hold real secrets too. The speed is measured in
the same run as a plain search for a few words, so that two machines can be compared.
"""

from __future__ import annotations

import argparse
import random
import re
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.planted_secrets import Planted, is_left, planted
from commonplace.text.redact import redact_counted

FOUND, TOUCHED = 99.0, 0.1
_WORDS = re.compile("password|secret|token", re.IGNORECASE)


def found(seeds: Sequence[int]) -> tuple[Counter[str], list[Planted]]:
    """How many secrets of each kind were planted, and those that are left."""
    planted_ones: Counter[str] = Counter()
    left = []
    for seed in seeds:
        for one in planted(seed):
            planted_ones[one.kind] += 1
            if is_left(one, redact_counted(one.text)[0]):
                left.append(one)
    return planted_ones, left


def code(lines: int, seed: int, *, packages: bool) -> Iterator[str]:
    """Installed Python files in an order that the seed decides, until there are so many lines."""
    places = ["stdlib", *(["purelib"] if packages else [])]
    files = {path for place in places for path in Path(sysconfig.get_path(place)).rglob("*.py")}
    if not packages:
        files = {path for path in files if "site-packages" not in path.parts}
    chosen = sorted(files)
    random.Random(seed).shuffle(chosen)
    for path in chosen:
        if lines <= 0:
            return
        text = path.read_text(encoding="utf-8", errors="replace")
        lines -= text.count("\n") + 1
        yield text


def touched(texts: Sequence[str]) -> tuple[int, int, list[tuple[str, str]]]:
    """How many lines there are, how often something was taken out of them, and those lines before and after."""
    total, taken, changed = 0, 0, []
    for text in texts:
        total += text.count("\n") + 1
        if counts := redact_counted(text)[1]:
            taken += sum(counts.values())
            for line in text.split("\n"):
                redacted = redact_counted(line)[0]
                if redacted != line:
                    changed.append((line.strip(), redacted.strip()))
    return total, taken, changed


def speed(texts: Sequence[str]) -> tuple[float, float]:
    """Megabytes a second, and how many times as long as looking for three words takes; the best of three rounds."""
    size = sum(map(len, texts)) / 1e6
    best = {"redact": float("inf"), "words": float("inf")}
    for _ in range(3):
        for name, work in (("redact", redact_counted), ("words", _WORDS.findall)):
            started = time.process_time()
            for text in texts:
                work(text)
            best[name] = min(best[name], time.process_time() - started)
    return size / best["redact"], best["redact"] / best["words"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--lines", type=int, default=300_000)
    parser.add_argument("--show", action="store_true", help="list what was left and what was touched")
    options = parser.parse_args()
    ones, left = found(range(options.seeds))
    missed = Counter(one.kind for one in left)
    print(f"| {'kind':26} | planted | found |\n|{'-' * 28}|--------:|------:|")
    for kind, number in sorted(ones.items()):
        print(f"| {kind:26} | {number:7} | {100 - 100 * missed[kind] / number:5.1f} |")
    share = 100 - 100 * len(left) / ones.total()
    print(f"\n{share:.2f} % of {ones.total()} secrets of {len(ones)} kinds found (at least {FOUND} %)")
    texts = list(code(options.lines, 1, packages=True))
    total, taken, changed = touched(texts)
    print(f"{100 * taken / total:.4f} % of {total} clean lines touched (at most {TOUCHED} %)")
    rate, ratio = speed(texts[:300])
    print(f"{rate:.1f} MB/s, {ratio:.1f} times a search for three words")
    if options.show:
        for one in left:
            print(f"left: {one.kind}, {one.place}: {one.text!r}")
        for before, after in changed:
            print(f"- {before[:160]}\n+ {after[:160]}")


if __name__ == "__main__":
    main()
