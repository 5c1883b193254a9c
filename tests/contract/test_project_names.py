"""Projects and the names they answer to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.model import Draft, Scope
from commonplace.store.protocol import Store

Make = Callable[..., Draft]
NOW = 1_742_049_000_000


def bodies(store: Store, project: str) -> list[str]:
    return sorted(item.body for item in store.newest(Scope(project=project), 100))


def names(store: Store) -> dict[str, tuple[str, ...]]:
    return {project.name: project.aliases for project in store.projects()}


def test_a_short_name_means_the_project_that_ends_in_it(store: Store, draft: Make) -> None:
    store.put([draft("long", project="github.com/acme/my-api")], NOW)
    store.put([draft("short", project="my-api")], NOW)
    for name in ("my-api", "MY-API", "acme/my-api", "github.com/acme/my-api", "https://github.com/Acme/My-API.git"):
        assert bodies(store, name) == ["long", "short"], name
        assert store.find_project(name) == "github.com/acme/my-api", name
    assert names(store) == {"github.com/acme/my-api": ("my-api",)}
    assert bodies(store, "api") == []


def test_a_longer_name_that_comes_later_becomes_the_canonical_one(store: Store, draft: Make) -> None:
    store.put([draft("short", project="my-api")], NOW)
    assert store.find_project("github.com/acme/my-api") == "my-api"
    store.put([draft("long", project="github.com/acme/my-api")], NOW)
    assert names(store) == {"github.com/acme/my-api": ("my-api",)}
    assert bodies(store, "my-api") == bodies(store, "github.com/acme/my-api") == ["long", "short"]
    assert {item.project for item in store.newest(Scope(), 10)} == {"github.com/acme/my-api"}


def test_a_second_project_with_the_same_last_name_is_its_own(store: Store, draft: Make) -> None:
    store.put([draft("short", project="api")], NOW)
    store.put([draft("acme", project="github.com/acme/api")], NOW)
    store.put([draft("rival", project="github.com/rival/api")], NOW)
    assert bodies(store, "github.com/rival/api") == ["rival"]
    assert bodies(store, "api") == ["acme", "short"]
    store.put([draft("more", project="api")], NOW)
    assert bodies(store, "github.com/acme/api") == ["acme", "more", "short"]


def test_a_short_name_that_two_projects_share_reads_both(store: Store, draft: Make) -> None:
    store.put([draft("acme", project="github.com/acme/api"), draft("rival", project="github.com/rival/api")], NOW)
    assert bodies(store, "api") == ["acme", "rival"]
    assert store.find_project("api") is None
    assert store.find_project("rival/api") == "github.com/rival/api"


def test_names_end_at_a_border(store: Store, draft: Make) -> None:
    store.put([draft("one", project="github.com/acme/my-api")], NOW)
    assert bodies(store, "pi") == bodies(store, "y-api") == []
    store.put([draft("two", project="y-api")], NOW)
    assert bodies(store, "y-api") == ["two"]


@pytest.mark.parametrize("spelling", ["Straße", "STRASSE", "strasse"])
def test_case_does_not_matter_in_any_script(store: Store, draft: Make, spelling: str) -> None:
    store.put([draft("one", project="Straße")], NOW)
    store.put([draft("two", project="ЖУРНАЛ")], NOW)
    assert bodies(store, spelling) == ["one"]
    assert bodies(store, "журнал") == ["two"]
    assert names(store) == {"Straße": (), "ЖУРНАЛ": ()}


def test_an_alias_is_another_name_for_the_same_place(store: Store, draft: Make) -> None:
    store.put([draft("one", project="github.com/acme/my-api")], NOW)
    store.alias_project("my-api", "Backend")
    store.put([draft("two", project="backend")], NOW)
    assert bodies(store, "BACKEND") == ["one", "two"]
    assert store.find_project("backend") == "github.com/acme/my-api"
    assert "backend" in names(store)["github.com/acme/my-api"]
    store.alias_project("backend", "backend")


def test_a_name_of_another_project_cannot_become_an_alias(store: Store, draft: Make) -> None:
    store.put([draft("one", project="one"), draft("two", project="two")], NOW)
    with pytest.raises(Conflict):
        store.alias_project("one", "two")
    with pytest.raises(NotFound):
        store.alias_project("nowhere", "elsewhere")
    with pytest.raises(InvalidInput):
        store.alias_project("one", "  ")
    assert names(store) == {"one": (), "two": ()}


def test_projects_are_listed_by_last_use_with_what_they_hold(store: Store, draft: Make) -> None:
    assert store.projects() == []
    stored = store.put(
        [
            draft("a1", project="a", at=10),
            draft("b1", project="b", at=30),
            draft("a2", project="a", at=20),
            draft("global", at=99),
        ],
        NOW,
    )
    assert [(p.name, p.items, p.last_ms) for p in store.projects()] == [("b", 1, 30), ("a", 2, 20)]
    store.forget([stored[1].id], NOW)
    assert [(p.name, p.items, p.last_ms) for p in store.projects()] == [("a", 2, 20), ("b", 0, None)]


def test_reading_makes_no_project(store: Store) -> None:
    assert bodies(store, "nowhere") == []
    assert store.find_project("nowhere") is None
    assert store.projects() == []
