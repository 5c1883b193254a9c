"""Keys: a secret is told once, opens the door as long as its key works, and tells nobody anything else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Clock

from commonplace.errors import InvalidInput, NotFound, Unauthorized
from commonplace.memory import keys
from commonplace.memory.book import Book
from commonplace.model import KEY_SCOPES

DAY = 86_400_000


def test_a_key_opens_the_door(book: Book) -> None:
    key, secret = keys.create(book, "laptop")
    assert re.fullmatch(r"sk-sekha-[0-9a-f]{48}", secret)
    assert 32 <= len(secret) <= 128
    assert keys.check(book, secret) == key
    assert (key.name, key.scope, key.project, key.expires_ms) == ("laptop", "write", None, None)
    assert keys.listed(book) == keys.working(book) == [key]


def test_the_secret_is_kept_nowhere(book: Book) -> None:
    _key, secret = keys.create(book, "laptop")
    book.close()
    files = [path.read_bytes() for path in book.settings.data_dir.iterdir() if path.is_file()]
    assert files
    assert not any(secret.encode() in content or secret[17:].encode() in content for content in files)


def test_no_two_keys_are_alike(book: Book) -> None:
    assert len({keys.create(book, "same name")[1] for _ in range(20)}) == 20


@pytest.mark.parametrize("wrong", ["", "x", "sk-sekha-", "sk-sekha-" + "0" * 48, "Bearer x", "sk-sekha-" + "é" * 48])
def test_what_is_no_key_of_ours_is_not_let_in(book: Book, wrong: str) -> None:
    keys.create(book, "laptop")
    with pytest.raises(Unauthorized, match="not known"):
        keys.check(book, wrong)


def test_the_right_beginning_is_not_enough(book: Book) -> None:
    key, secret = keys.create(book, "laptop")
    other = "0" if secret[-1] != "0" else "1"
    for wrong in (secret[:-1] + other, key.prefix, secret + "0", secret.upper(), f" {secret}"):
        with pytest.raises(Unauthorized, match="not known"):
            keys.check(book, wrong)


def test_only_who_has_the_whole_key_is_told_what_is_wrong_with_it(book: Book, clock: Clock) -> None:
    _short, expiring = keys.create(book, "short", expires_ms=clock() + DAY)
    gone, revoked = keys.create(book, "gone")
    keys.revoke(book, gone.id)
    assert keys.check(book, expiring).name == "short"
    clock.forward(days=1)
    for secret, why in ((expiring, "expired"), (revoked, "revoked")):
        with pytest.raises(Unauthorized, match=why):
            keys.check(book, secret)
        with pytest.raises(Unauthorized, match="not known"):
            keys.check(book, secret[:-4] + "beef" if not secret.endswith("beef") else secret[:-4] + "cafe")
    assert keys.working(book) == []
    assert len(keys.listed(book)) == 2


@pytest.mark.parametrize("scope", KEY_SCOPES)
def test_a_higher_scope_includes_the_lower_ones(book: Book, scope: str) -> None:
    key, _secret = keys.create(book, "k", scope)
    allowed = [known for known in KEY_SCOPES if key.allows(known)]
    assert allowed == list(KEY_SCOPES[: KEY_SCOPES.index(scope) + 1])


def test_a_key_is_revoked_by_number_by_beginning_or_whole(book: Book) -> None:
    made = [keys.create(book, f"k{n}") for n in range(3)]
    named: list[int | str] = [made[0][0].id, made[1][0].prefix, made[2][1]]
    for (key, secret), name in zip(made, named, strict=True):
        assert keys.revoke(book, name).id == key.id
        with pytest.raises(Unauthorized):
            keys.check(book, secret)
    assert keys.working(book) == []


@pytest.mark.parametrize("name", ["77", "sk-sekha-ffff0000", "laptop", "", "sk-sekha-"])
def test_a_key_that_is_not_there_is_not_revoked(book: Book, name: str) -> None:
    keys.create(book, "laptop")
    with pytest.raises(NotFound):
        keys.revoke(book, name)
    assert len(keys.working(book)) == 1


def test_a_beginning_that_means_several_keys_revokes_none(book: Book) -> None:
    beginnings: dict[str, int] = {}
    while max(beginnings.values(), default=0) < 2:
        key, _secret = keys.create(book, "k")
        beginnings[key.prefix[:10]] = beginnings.get(key.prefix[:10], 0) + 1
    shared = max(beginnings, key=lambda name: beginnings[name])
    with pytest.raises(InvalidInput, match="means 2 keys"):
        keys.revoke(book, shared)
    assert len(keys.working(book)) == len(keys.listed(book))


def test_the_last_use_is_written_at_most_once_a_minute(book: Book, clock: Clock) -> None:
    _key, secret = keys.create(book, "laptop")
    first = clock()
    keys.note_use(book, keys.check(book, secret))
    clock.forward(ms=59_999)
    keys.note_use(book, keys.check(book, secret))
    assert keys.check(book, secret).used_ms == first
    clock.forward(ms=1)
    keys.note_use(book, keys.check(book, secret))
    assert keys.check(book, secret).used_ms == first + 60_000


def test_a_key_for_a_project_knows_its_canonical_name(book: Book) -> None:
    key, secret = keys.create(book, "k", project="git@github.com:acme/My-API.git")
    assert key.project == keys.check(book, secret).project
    assert key.project is not None
    assert key.project.casefold() == "github.com/acme/my-api"


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("", {}),
        (" ", {}),
        ("x" * 101, {}),
        ("a\x1b[31mb", {}),
        ("k", {"scope": "root"}),
        ("k", {"expires_ms": 5}),
        ("k", {"expires_ms": 10**17}),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(book: Book, name: str, more: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        keys.create(book, name, **more)  # type: ignore[arg-type]
    assert keys.listed(book) == []


@given(st.text(max_size=80))
def test_no_text_opens_the_door_or_breaks_it(book: Book, text: str) -> None:
    with pytest.raises(Unauthorized):
        keys.check(book, text)
