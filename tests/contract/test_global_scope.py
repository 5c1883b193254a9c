"""What applies everywhere: statements that belong to no project, and nothing else that belongs to none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from commonplace.model import KINDS, Draft, Kind, Scope, TextHit
from commonplace.store.protocol import Store
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.query import parse_query

if TYPE_CHECKING:
    import numpy as np
    from tests.contract.conftest import Embed, Pointing

Make = Callable[..., Draft]
NOW = 1_742_049_000_000
PLACES = ("here", "elsewhere", None)
EVER = (-1, NOW)


@pytest.fixture
def store_of_all_kinds(store: Store, draft: Make, embed: Embed) -> Store:
    """One item of each kind in a project, in another one and in none; and many chats that belong to none."""

    def toward(passage: object) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        import numpy as np

        return np.asarray([1.0, *[0.0] * 7], np.float32)

    drafts = [
        draft(f"walrus {kind} {place}", kind=kind, type=kind, project=place, at=n)
        for place in PLACES
        for n, kind in enumerate(KINDS)
    ]
    chats = [draft(f"walrus chat {n}", kind="message", type="message", at=50 + n) for n in range(60)]
    store.put([*drafts, *chats], NOW)
    embed(store, toward)
    return store


def told(store: Store, scope: Scope, pointing: Pointing) -> dict[str, set[str]]:
    """What each way of reading finds in a scope."""

    def first(text: str) -> Sequence[TextHit]:
        return store.search_text(parse_query(text, QUERY_COLUMNS), scope, 10).hits

    ids = {
        "a question": [hit.item_id for hit in first("where is the walrus")],
        "a filter": [hit.item_id for hit in first("walrus AND NOT unicorn")],
        "by meaning": [hit.item_id for hit in store.search_vectors(pointing(1.0), scope, 10)],
        "the newest": [item.id for item in store.newest(scope, 20)],
        "a period": [item.id for item in store.items_between(scope, *EVER, 20)],
    }
    return {way: {item.body for item in store.get(found).values()} for way, found in ids.items()}


def test_a_project_with_what_applies_everywhere_has_none_of_the_chats(
    store_of_all_kinds: Store, pointing: Pointing
) -> None:
    own = {f"walrus {kind} here" for kind in KINDS}
    for way, found in told(store_of_all_kinds, Scope.around("here"), pointing).items():
        assert found == own | {"walrus memory None"}, way


@pytest.mark.parametrize("kinds", [("message", "memory"), ("memory",), ("summary",)])
def test_kinds_narrow_both_parts(store_of_all_kinds: Store, pointing: Pointing, kinds: tuple[Kind, ...]) -> None:
    expected = {f"walrus {kind} here" for kind in kinds} | ({"walrus memory None"} if "memory" in kinds else set())
    for way, found in told(store_of_all_kinds, Scope.around("here", kinds=kinds), pointing).items():
        assert found == expected, way


def test_outside_any_project_only_statements_apply(store_of_all_kinds: Store, pointing: Pointing) -> None:
    for way, found in told(store_of_all_kinds, Scope.around(None), pointing).items():
        assert found == {"walrus memory None"}, way
    for way, found in told(store_of_all_kinds, Scope.around(None, kinds=("message",)), pointing).items():
        assert found == set(), way


def test_who_asks_for_what_belongs_to_no_project_gets_all_of_it(store_of_all_kinds: Store) -> None:
    found = store_of_all_kinds.newest(Scope.inside(None), 100)
    assert len(found) == 60 + len(KINDS)
    of_chats = replace(Scope.inside(None), kinds=("message",))
    assert len(store_of_all_kinds.newest(of_chats, 100)) == 61
