"""Figures of a run, printed as tables, kept as JSON, and compared with those of an earlier one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import commonplace
from benchmarks.measures import ALL, Answered, Figures, averages

SHOWN = ("recall@5", "recall@10", "recall@20", "recall@50", "hit@10", "ndcg@10", "mrr")


@dataclass(frozen=True, slots=True)
class Result:
    """One way to ask in one mode: means for groups of questions, and milliseconds of a call (0 if not taken)."""

    groups: Mapping[str, Figures]
    median_ms: float = 0.0
    p95_ms: float = 0.0

    @classmethod
    def of(cls, answered: Sequence[Answered], seconds: Sequence[float] = ()) -> Result:
        ordered = sorted(seconds) or [0.0]
        median, slow = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
        return cls(averages(answered), median * 1000, slow * 1000)


Results = Mapping[str, Mapping[str, Result]]
"""By the title of a table, then by the way that was asked."""


def table(title: str, ways: Mapping[str, Result], *, brief: Sequence[str] = ()) -> None:
    """Every group of questions in percent; of the ways in `brief` only all questions together."""
    print(f"\n### {title}\n")
    _head("how", "questions", "n", "depth", *SHOWN, "median", "p95")
    for how, result in ways.items():
        for group, values in result.groups.items():
            if group == ALL or how not in brief:
                cells = [
                    f"{values['n']:.0f}",
                    f"{values['depth']:.1f}",
                    *(f"{100 * values[name]:.1f}" for name in SHOWN),
                ]
                timed = group == ALL and result.median_ms
                _row(how, group, *cells, *(f"{ms:.1f} ms" if timed else "" for ms in (result.median_ms, result.p95_ms)))


def write(path: Path, results: Results) -> None:
    ways = {title: {how: asdict(result) for how, result in ways.items()} for title, ways in results.items()}
    made = {"version": commonplace.__version__, "commit": _commit(), "results": ways}
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def compare(path: Path, results: Results) -> None:
    """What is now, and how many points it is above an earlier run, over all questions."""
    earlier: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    print(f"\n### Now, and the change since {earlier['commit']}\n")
    _head("set", "how", *SHOWN, "median")
    for title, ways in results.items():
        for how, result in ways.items():
            was = earlier["results"].get(title, {}).get(how)
            if was:
                now, before = result.groups[ALL], was["groups"][ALL]
                cells = [f"{100 * now[name]:.1f} ({100 * (now[name] - before[name]):+.1f})" for name in SHOWN]
                _row(title, how, *cells, f"{result.median_ms:.1f} ms ({result.median_ms - was['median_ms']:+.1f})")


def _head(*names: str) -> None:
    _row(*names)
    print("|" + "---|" * len(names))


def _row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def _commit() -> str:
    """What the code is called in its repository; its version where there is none."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        output = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return commonplace.__version__
    return output.stdout.strip()
