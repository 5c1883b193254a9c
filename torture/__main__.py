"""`python -m torture`: scenario after scenario, each with its seed, until the time is over.

What fails is told with the command that does it again. Steps of one process are met again exactly; of crowds a seed
gives the same plan, and the system decides who runs when.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from random import Random

from torture.embedding_endpoint import endpoint
from torture.outcome import Outcome
from torture.scenarios import SCENARIOS
from torture.workspace import Scenario, Workspace


def played(scenario: Scenario, seed: int, address: str, times: float = 1.0) -> Outcome:
    """One run of a scenario on an arena of its own, with more or less effort than usual."""
    with tempfile.TemporaryDirectory(prefix="commonplace-torture-", ignore_cleanup_errors=True) as folder:
        effort = max(1, round(scenario.effort * times))
        workspace = Workspace(Path(folder), address, Random(f"{scenario.name}{seed}"), effort)
        try:
            scenario.play(workspace)
        except Exception:  # noqa: BLE001 - told as what it is, and the others go on
            workspace.outcome.unsound.append(traceback.format_exc())
        finally:
            workspace.close()
    return workspace.outcome


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, help="begin no scenario after so long (default 3)")
    parser.add_argument("--seed", type=int, default=None, help="begin with this seed (default: the clock's)")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this scenario, once; may be repeated")
    parser.add_argument("--times", type=float, default=1.0, help="the effort of each, times this")
    parser.add_argument("--kills", type=int, default=0, help="go on until so many were killed, however long it takes")
    parser.add_argument("--list", action="store_true", help="say which scenarios there are")
    options = parser.parse_args(arguments)
    if options.list:
        for one in SCENARIOS.values():
            print(f"{one.name:12} {one.says}")
        return 0
    if unknown := set(options.only or ()) - set(SCENARIOS):
        parser.error(f"there is no scenario {', '.join(unknown)}; --list tells which there are")
    return _all(options)


def _all(options: argparse.Namespace) -> int:
    seed = int(time.time()) % 100_000 if options.seed is None else options.seed
    began, total = time.monotonic(), Outcome()
    names = options.only or [name for name, one in SCENARIOS.items() if os.name == "posix" or not one.posix]
    print(f"seed {seed}", flush=True)
    with endpoint() as address:
        turn = 0
        while True:
            for name in names:
                if (turn or options.kills) and _is_over(options, began, total):
                    return _verdict(total, time.monotonic() - began)
                start = time.monotonic()
                outcome = played(SCENARIOS[name], seed + turn, address, options.times)
                total.add(outcome)
                print(
                    f"{name:12} seed {seed + turn}  {time.monotonic() - start:5.0f} s  {outcome.output()}", flush=True
                )
                for complaint in outcome.complaints()[:20]:
                    print(f"    {complaint}", flush=True)
                if outcome.failed:
                    print(f"    again: python -m torture --only {name} --seed {seed + turn}", flush=True)
            turn += 1
            if options.only and not options.kills:
                return _verdict(total, time.monotonic() - began)


def _is_over(options: argparse.Namespace, began: float, total: Outcome) -> bool:
    if options.kills:
        return total.done["kills"] >= int(options.kills)
    return time.monotonic() - began > float(options.minutes) * 60


def _verdict(total: Outcome, seconds: float) -> int:
    print(f"{'FAILED' if total.failed else 'sound'} after {seconds:.0f} s: {total.output()}")
    return int(total.failed)


if __name__ == "__main__":
    sys.exit(main())
