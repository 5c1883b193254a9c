"""Every promise of every reference we speak. A new reference adds its module here."""

from __future__ import annotations

from tests.promises import ecm, kiro, memories, sekha
from tests.promises.promise import Promise

BOOKS: tuple[tuple[Promise, ...], ...] = (kiro.PROMISES, memories.PROMISES, ecm.PROMISES, sekha.PROMISES)

LEDGER: dict[str, Promise] = {promise.id: promise for memory in BOOKS for promise in memory}
