"""What we depend on: locked with hashes, free of what is known to be bad, under licences that we may use."""

from __future__ import annotations

import pytest

from licences import EXCEPTIONS, is_allowed, licence_of
from licences import faults as licence_faults
from locked import BLOCKED, LOCK, faults, pinned

HASH = "--hash=sha256:" + "a" * 64
GOOD = f"pytest==9.2.0 \\\n    {HASH}\nrich==15.0.0 ; sys_platform == 'win32' \\\n    {HASH} \\\n    {HASH}\n"


def test_the_lock_is_sound() -> None:
    lock = LOCK.read_text(encoding="utf-8")
    assert list(faults(lock, BLOCKED.read_text(encoding="utf-8"))) == []
    assert len(pinned(lock)) > 80


def test_every_licence_will_do_and_every_exception_has_its_reason() -> None:
    assert list(licence_faults(LOCK.read_text(encoding="utf-8"))) == []
    assert all(known.licence and known.why for known in EXCEPTIONS.values())


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("pytest==9.2.0\n", "no hash"),
        (f"pytest>=9 {HASH}\n", "not pinned"),
        (f"pytest @ https://example.com/pytest.whl {HASH}\n", "address"),
        ("--index-url https://example.com/simple\n", "address"),
        ("--extra-index-url=x\n", "address"),
        (f"-e .  {HASH}\n", "address"),
        (f"pytest==9.2.0 --hash=md5:{'a' * 32}\n", "no hash"),
        (f"Evil_Pkg==1.0 {HASH}\n", "blocked: it was taken over"),
    ],
)
def test_what_is_wrong_with_a_lock_is_told(line: str, wrong: str) -> None:
    blocked = "# why\nevil-pkg<2  # it was taken over\n"
    assert list(faults(GOOD, blocked)) == []
    (fault,) = faults(GOOD + line, blocked)
    assert wrong in fault


def test_a_block_without_a_reason_is_no_block() -> None:
    with pytest.raises(ValueError, match="or why"):
        list(faults(GOOD, "pytest<1\n"))


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT AND Zlib", True),
        ("GPL-3.0-only OR Apache-2.0", True),
        ("(MIT AND PSF-2.0)", True),
        ("GPL-3.0-or-later", False),
        ("MIT AND MPL-2.0", False),
        ("Proprietary", False),
        ("", False),
    ],
)
def test_a_licence_will_do_if_all_of_one_choice_does(expression: str, allowed: bool) -> None:
    assert is_allowed(expression) == allowed


def test_a_licence_that_is_new_or_unknown_is_told() -> None:
    lock = LOCK.read_text(encoding="utf-8") + f"no-such-package==1.0 {HASH}\n"
    (fault,) = licence_faults(lock)
    assert "no-such-package does not tell its licence" in fault
    assert {one.split()[0] for one in licence_faults(GOOD)} == EXCEPTIONS.keys()
    assert licence_of("pytest") == "MIT"
