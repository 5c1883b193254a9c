"""Statements are found by their letters, whatever stands between them, on every engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.contract.conftest import THEN, make_draft

from commonplace.model import Scope
from commonplace.store.protocol import Store

HERE = Scope.inside("acme/api", kinds=("memory",))


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("Deploys happen on Fridays", "deploys happen, on fridays."),
        ("naïve Ärger über 30 µs", "Naïve\u00a0Ärger (über) 30 µs!"),
        ("数据库、在 Redis 里。", "数据库、在\u3000Redis 里。"),
        ("🦓 stays; 🦓", '"🦓" stays 🦓'),
        ("Łódź is the region", "łódź is the region".replace("ł", "Ł")),
        ("a\u1680b \\ % _ ' $1", "AB1"),
        ("?!", "..."),
        ("x " * 3_000, "X-" * 3_000),
    ],
)
def test_the_same_letters_in_the_same_order_are_found(store: Store, stored: str, asked: str) -> None:
    (made,) = store.put([make_draft(stored, project="acme/api")], THEN)
    store.put([make_draft("something else", project="acme/api")], THEN)
    assert [item.id for item in store.statements_like(asked, HERE, 9)] == [made.id]


def test_only_live_statements_of_the_place_and_type_are_found(store: Store) -> None:
    drafts = [
        make_draft("Walrus", project="acme/api"),
        make_draft("walrus.", project="acme/api", type="rule"),
        make_draft("walrus", project="acme/web"),
        make_draft("walrus", project="acme/api", kind="observation"),
        make_draft("walrus!", project="acme/api"),
        make_draft("walrus"),
    ]
    note, rule, _elsewhere, _seen, gone, everywhere = (one.id for one in store.put(drafts, THEN))
    store.forget([gone], THEN)

    def found(scope: Scope, limit: int = 9) -> list[int]:
        return [item.id for item in store.statements_like("Walrus", scope, limit)]

    assert found(HERE) == [note, rule] and found(HERE, 1) == [note]
    assert found(replace(HERE, types=("rule",))) == [rule]
    assert found(Scope.inside(None, kinds=("memory",))) == [everywhere]
    assert found(Scope.inside("acme/unknown", kinds=("memory",))) == []


def test_a_statement_is_found_by_what_it_says_now(store: Store) -> None:
    (made,) = store.put([make_draft("walrus", project="acme/api")], THEN)
    store.rewrite(made.id, make_draft("seal", project="acme/api"), THEN + 1)
    assert store.statements_like("walrus", HERE, 9) == []
    assert [item.id for item in store.statements_like("Seal.", HERE, 9)] == [made.id]
