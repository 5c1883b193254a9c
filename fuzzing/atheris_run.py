"""One target under atheris, in a process of its own: it never comes back."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris


def main() -> None:
    """`python -m fuzzing.atheris_run TARGET FOLDER` and what libFuzzer takes; what does harm is left in the folder."""
    name, folder = sys.argv.pop(1), Path(sys.argv.pop(1))
    with atheris.instrument_imports(include=["commonplace"]):
        from fuzzing.oracle import hold
        from fuzzing.targets import TARGETS
    target = TARGETS[name]

    def take(data: bytes) -> None:
        try:
            hold(target, data)
        except BaseException:
            (folder / "input").write_bytes(data)
            raise

    # Once before anything is measured: what is loaded and opened on first use is no leak.
    target.take(b"")
    atheris.Setup(sys.argv, take, enable_python_coverage=True)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
