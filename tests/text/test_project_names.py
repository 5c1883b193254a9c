"""One project has one name, however it is spelt."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.text.project_names import (
    base_name,
    normalise_project,
    same_project,
    short_names,
)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("git@github.com:acme/my-api.git", "github.com/acme/my-api"),
        ("https://user:tok@github.com/acme/my-api.git/", "github.com/acme/my-api"),
        ("https://GitHub.com/acme/My-API", "github.com/acme/My-API"),
        ("https://www.github.com/acme/x?tab=readme#top", "github.com/acme/x"),
        ("ssh://git@host:22/acme/x.git", "host/acme/x"),
        ("ssh://git@ssh.github.com:443/acme/x.git", "github.com/acme/x"),
        ("git+ssh://git@example.org/~me/x.git", "example.org/~me/x"),
        ("git://example.org/x.git", "example.org/x"),
        ("example.org:acme/x.git", "example.org/acme/x"),
        ("git@[::1]:acme/x.git", "::1/acme/x"),
        ("https://gitlab.com/group/sub/x.git", "gitlab.com/group/sub/x"),
        ("github.com/acme/my-api", "github.com/acme/my-api"),
        ("GITHUB.com/acme/my-api.git", "github.com/acme/my-api"),
        ("file:///srv/git/x.git", "x"),
        ("file:///C:/code/x", "x"),
        ("/srv/code/my-api", "my-api"),
        ("/srv/code/my-api/.git", "my-api"),
        ("~/code/my-api/", "my-api"),
        ("./my-api", "my-api"),
        ("C:\\work\\my-api\\", "my-api"),
        ("C:/code/my-api", "my-api"),
        ("\\\\server\\share\\my-api", "my-api"),
        ("  my-api  ", "my-api"),
        ("my api", "my api"),
        ("my.api", "my.api"),
        ("acme/my-api", "acme/my-api"),
        ("@acme/my-api", "@acme/my-api"),
        ("日本語", "日本語"),
        ("cafe\u0301", "café"),
        ("https://example.org/a%20b.git", "example.org/a b"),
    ],
)
def test_every_spelling_has_its_canonical_name(raw: str, name: str) -> None:
    assert normalise_project(raw) == name


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "  ",
        "x" * 201,
        "x" * 5000,
        "a\0b",
        "a\nb",
        "a\ud800",
        "..",
        "a/../b",
        "../x",
        "/",
        "C:\\",
        ".",
        "~",
        "/.git",
        "//",
    ],
)
def test_what_names_nothing_is_refused(raw: str) -> None:
    with pytest.raises(InvalidInput):
        normalise_project(raw)


def test_a_deep_folder_may_have_a_short_name() -> None:
    assert normalise_project("/" + "deep/" * 100 + "x") == "x"


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.one_of(st.text(), st.text(alphabet="ab.:/\\@~[]-C%20git ", max_size=30)))
def test_a_canonical_name_is_its_own(raw: str) -> None:
    try:
        name = normalise_project(raw)
    except InvalidInput:
        return
    assert name
    assert name == name.strip()
    assert normalise_project(name) == name


def test_the_base_name_is_what_people_say() -> None:
    assert base_name("github.com/acme/my-api") == base_name("my-api") == "my-api"


@pytest.mark.parametrize(
    ("projects", "names"),
    [
        ([("github.com/acme/my-api", ())], ["my-api"]),
        ([("notes", ())], ["notes"]),
        ([("github.com/acme/web", ()), ("github.com/other/web", ())], ["acme/web", "other/web"]),
        ([("github.com/acme/web", ()), ("gitlab.com/acme/web", ())], ["github.com/acme/web", "gitlab.com/acme/web"]),
        # A project of just this name keeps it.
        ([("web", ()), ("github.com/acme/web", ())], ["web", "acme/web"]),
        ([("github.com/acme/Web", ()), ("github.com/acme/site", ("web",))], ["acme/Web", "site"]),
    ],
)
def test_a_short_name_means_no_other_project(projects: list[tuple[str, tuple[str, ...]]], names: list[str]) -> None:
    assert list(short_names(projects).values()) == names


def test_names_of_one_project_are_recognised() -> None:
    assert same_project("my-api", "github.com/acme/My-API")
    assert same_project("acme/my-api", "github.com/acme/my-api")
    assert same_project("x", "X")
    assert not same_project("api", "github.com/acme/my-api")
    assert not same_project("github.com/acme/x", "gitlab.com/acme/x")
    assert not same_project("", "x")
