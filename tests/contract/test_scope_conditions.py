"""The conditions of a scope say the same to the database and of an item at hand (store/sql/scope_filter.py)."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import cycle, islice

from hypothesis import given
from hypothesis import strategies as st
from tests.contract.conftest import THEN, make_draft

from commonplace.model import KINDS, ORIGINS, Draft, Scope, SessionScope
from commonplace.store.protocol import Store
from commonplace.store.sql.scope_filter import CONDITIONS, Filter

PROJECTS = (None, "github.com/acme/api", "gitlab.com/other/api", "github.com/acme/web")
TYPES = ("note", "rule", "decision")
TAGS: tuple[tuple[str, ...], ...] = ((), ("Auth",), ("login", "ÄUTH"), ("a,b",))
SESSIONS = (None, "monday", "tuesday")
AUTHORS = (None, "anna", "Anna via claude-code", "bo via codex", "none", "Änne")
REVIEWS = (None, "proposed", "accepted")
BOUNDS = (None, THEN + 3, THEN + 6)
ASKED = THEN + 5

scopes = st.builds(
    Scope,
    project=st.sampled_from((None, "api", "github.com/acme/api", "ACME/web", "web", "unknown")),
    with_global=st.booleans(),
    with_unfiled=st.booleans(),
    only_global=st.booleans(),
    kinds=st.one_of(st.just(()), st.lists(st.sampled_from(KINDS), max_size=5, unique=True).map(tuple)),
    types=st.one_of(st.just(()), st.lists(st.sampled_from(TYPES), max_size=2, unique=True).map(tuple)),
    tag=st.sampled_from(("", "", "auth", "LOG", "x, auth", ",", " , ", "äuth", "a,b")),
    sessions=st.sampled_from(
        (None, None, SessionScope(), SessionScope(empty=True), SessionScope(project="web", empty=True))
    ),
    since_ms=st.sampled_from((None, None, 0, THEN - 2)),
    until_ms=st.sampled_from((None, None, THEN - 1, THEN + 1)),
    author=st.sampled_from(("", "", "anna", "ANNA", "claude-code", "bo", "none", "änne", "ann")),
    origins=st.one_of(st.just(()), st.lists(st.sampled_from(ORIGINS), max_size=2, unique=True).map(tuple)),
    review=st.sampled_from(("", "", "proposed", "settled")),
    at_ms=st.sampled_from((THEN + 2, ASKED, THEN + 8)),
    lapsed=st.booleans(),
    coming=st.booleans(),
)


def drafts() -> list[Draft]:
    """Items that differ in everything a scope asks for; no two fields go round in step."""
    number = 150
    columns = (PROJECTS, KINDS, TYPES, TAGS, SESSIONS, AUTHORS, (*ORIGINS, None), REVIEWS, BOUNDS)
    made = []
    rows = zip(*(islice(cycle(column), place, place + number) for place, column in enumerate(columns)), strict=True)
    for row_number, (project, kind, type_, tags, session, author, origin, review, bound) in enumerate(rows):
        draft = make_draft(f"walrus {row_number}", kind=kind, project=project, tags=tags)
        made.append(
            replace(
                draft,
                type=type_,
                session=session,
                author=author,
                origin=origin,
                review=review,
                created_ms=THEN - row_number % 4,
                valid_from_ms=bound if row_number % 7 < 2 else None,
                valid_until_ms=THEN + 6 + row_number % 3 if row_number % 5 == 0 else None,
                expires_ms=THEN + 4 if row_number % 11 == 0 else None,
            )
        )
    return made


def test_every_condition_of_a_scope_means_the_same_to_the_database_and_of_an_item(store: Store) -> None:
    ids = [one.id for one in store.put(drafts(), THEN)]
    # They are there as they were, and their history has what they were, which is looked at one by one.
    store.forget(ids, THEN + 10)
    store.restore(ids, THEN + 20)

    @given(scopes)
    def check(scope: Scope) -> None:
        by_database = {item.id for item in store.newest(scope, 1_000)}
        states = store.states_at(scope, 1_000)
        assert states.keys() == set(ids)
        assert {id_ for id_, item in states.items() if item is not None} == by_database

    check()


def test_every_field_of_a_filter_has_a_condition() -> None:
    """What belongs to no project is narrowed by the condition on projects."""
    assert {condition.field for condition in CONDITIONS} | {"global_kinds"} == {field.name for field in fields(Filter)}
