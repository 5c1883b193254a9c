"""Runs the judges that are named, or all of them; fails if one found what nobody explained."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from judges import axe, client_libraries, coding_agents, conformance, fuzzer, inspector, rest, scanner, sekha_packages
from judges.installed import install
from judges.report import Report, Verdict, judged, keep, output

JUDGES: dict[str, Callable[[Path], Report]] = {
    "conformance": conformance.judge,
    "inspector": inspector.judge,
    "client-libraries": client_libraries.judge,
    "sekha": sekha_packages.judge,
    "mcp-fuzzer": fuzzer.judge,
    "mcp-scanner": scanner.judge,
    "schemathesis": rest.judge,
    "axe": axe.judge,
    **coding_agents.JUDGES,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m judges", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(JUDGES)}; all if omitted")
    names = parser.parse_args().names or list(JUDGES)
    if unknown := [name for name in names if name not in JUDGES]:
        parser.error(f"there is no judge called {', '.join(unknown)}")
    install()
    verdicts: list[Verdict] = []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="judge-") as folder:
            verdicts.append(judged(JUDGES[name](Path(folder))))
    print(output(verdicts))
    keep(verdicts)
    return 0 if all(verdict.clean for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
