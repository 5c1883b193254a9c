"""How much is found and how much is spared, measured as benchmarks/secrets.py does it, on less."""

from __future__ import annotations

from collections import Counter

from benchmarks.planted_secrets import planted
from benchmarks.secrets import FOUND, TOUCHED, code, found, touched

from commonplace.text.redact import redact_counted
from commonplace.text.secret_values import KNOWN_TOKENS
from commonplace.text.secrets_by_context import CONTEXT_PATTERNS


def test_nearly_every_planted_secret_is_found() -> None:
    ones, left = found(range(3))
    missed = Counter(one.kind for one in left)
    assert len(ones) >= 100
    assert 100 * len(left) / ones.total() <= 100 - FOUND
    assert all(missed[kind] / number <= 0.1 for kind, number in ones.items()), missed


def test_hardly_a_line_of_the_standard_library_is_touched() -> None:
    total, taken, changed = touched(list(code(60_000, 5, packages=False)))
    assert total >= 60_000
    assert 100 * taken / total <= TOUCHED, changed


def test_every_kind_of_the_tables_is_planted() -> None:
    result: Counter[str] = Counter()
    for one in planted(0):
        result.update(redact_counted(one.text)[1])
    known = {token.kind for token in KNOWN_TOKENS} | {clue.kind for clue in CONTEXT_PATTERNS}
    assert known <= set(result) | {"sekha-key", "url-token", "bearer-token", "command-password"}, known - set(result)
