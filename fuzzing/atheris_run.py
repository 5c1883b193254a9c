"""One target under atheris, in a process of its own: it never comes back."""

from __future__ import annotations

import sys

import atheris


def main() -> None:
    """`python -m fuzzing.atheris_run TARGET` and what libFuzzer takes."""
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["commonplace"]):
        from fuzzing.oracle import hold
        from fuzzing.targets import TARGETS
    target = TARGETS[name]
    # Once before anything is measured: what is loaded and opened on first use is no leak.
    target.take(b"")
    atheris.Setup(sys.argv, lambda data: hold(target, data), enable_python_coverage=True)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
