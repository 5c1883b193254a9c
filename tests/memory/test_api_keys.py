"""Keys: a secret is told once, opens the door as long as its key works, and tells nobody anything else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Clock

from commonplace.errors import InvalidInput, NotFound, Unauthorized
from commonplace.memory import api_keys
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import KEY_SCOPES

DAY = 86_400_000


def test_a_key_opens_the_door(memory: LocalMemory) -> None:
    key, secret = api_keys.create_key(memory, "laptop")
    assert re.fullmatch(r"sk-sekha-[0-9a-f]{48}", secret)
    assert 32 <= len(secret) <= 128
    assert api_keys.check_key(memory, secret) == key
    assert (key.name, key.scope, key.project, key.expires_ms) == ("laptop", "write", None, None)
    assert api_keys.list_keys(memory) == api_keys.working_keys(memory) == [key]


def test_the_secret_is_kept_nowhere(memory: LocalMemory) -> None:
    _key, secret = api_keys.create_key(memory, "laptop")
    memory.close()
    files = [path.read_bytes() for path in memory.settings.data_dir.iterdir() if path.is_file()]
    assert files
    assert not any(secret.encode() in content or secret[17:].encode() in content for content in files)


def test_no_two_keys_are_alike(memory: LocalMemory) -> None:
    assert len({api_keys.create_key(memory, "same name")[1] for _ in range(20)}) == 20


def test_no_two_valid_keys_are_one_author(memory: LocalMemory) -> None:
    keys = [api_keys.create_key(memory, name)[0] for name in ("anna", "Anna", " anna ")]
    assert [key.name for key in keys] == ["anna", "Anna 2", "anna 3"]
    api_keys.revoke_key(memory, keys[0].id)
    assert api_keys.create_key(memory, "anna")[0].name == "anna"
    with pytest.raises(InvalidInput, match="like an agent"):
        api_keys.create_key(memory, "anna via claude-code")


@pytest.mark.parametrize("wrong", ["", "x", "sk-sekha-", "sk-sekha-" + "0" * 48, "Bearer x", "sk-sekha-" + "é" * 48])
def test_what_is_no_key_of_ours_is_not_let_in(memory: LocalMemory, wrong: str) -> None:
    api_keys.create_key(memory, "laptop")
    with pytest.raises(Unauthorized, match="not known"):
        api_keys.check_key(memory, wrong)


def test_the_right_beginning_is_not_enough(memory: LocalMemory) -> None:
    key, secret = api_keys.create_key(memory, "laptop")
    other = "0" if secret[-1] != "0" else "1"
    for wrong in (secret[:-1] + other, key.prefix, secret + "0", secret.upper(), f" {secret}"):
        with pytest.raises(Unauthorized, match="not known"):
            api_keys.check_key(memory, wrong)


def test_only_who_has_the_whole_key_is_told_what_is_wrong_with_it(memory: LocalMemory, clock: Clock) -> None:
    _short, expiring = api_keys.create_key(memory, "short", expires_ms=clock() + DAY)
    gone, revoked = api_keys.create_key(memory, "gone")
    api_keys.revoke_key(memory, gone.id)
    assert api_keys.check_key(memory, expiring).name == "short"
    clock.forward(days=1)
    for secret, why in ((expiring, "expired"), (revoked, "revoked")):
        with pytest.raises(Unauthorized, match=why):
            api_keys.check_key(memory, secret)
        with pytest.raises(Unauthorized, match="not known"):
            api_keys.check_key(memory, secret[:-4] + "beef" if not secret.endswith("beef") else secret[:-4] + "cafe")
    assert api_keys.working_keys(memory) == []
    assert len(api_keys.list_keys(memory)) == 2


@pytest.mark.parametrize("scope", KEY_SCOPES)
def test_a_higher_scope_includes_the_lower_ones(memory: LocalMemory, scope: str) -> None:
    key, _secret = api_keys.create_key(memory, "k", scope)
    allowed = [known for known in KEY_SCOPES if key.allows(known)]
    assert allowed == list(KEY_SCOPES[: KEY_SCOPES.index(scope) + 1])


def test_a_key_is_revoked_by_number_by_beginning_or_whole(memory: LocalMemory) -> None:
    made = [api_keys.create_key(memory, f"k{n}") for n in range(3)]
    named: list[int | str] = [made[0][0].id, made[1][0].prefix, made[2][1]]
    for (key, secret), name in zip(made, named, strict=True):
        assert api_keys.revoke_key(memory, name).id == key.id
        with pytest.raises(Unauthorized):
            api_keys.check_key(memory, secret)
    assert api_keys.working_keys(memory) == []


@pytest.mark.parametrize("name", ["77", "sk-sekha-ffff0000", "laptop", "", "sk-sekha-"])
def test_a_key_that_is_not_there_is_not_revoked(memory: LocalMemory, name: str) -> None:
    api_keys.create_key(memory, "laptop")
    with pytest.raises(NotFound):
        api_keys.revoke_key(memory, name)
    assert len(api_keys.working_keys(memory)) == 1


def test_a_beginning_that_means_several_keys_revokes_none(memory: LocalMemory) -> None:
    beginnings: dict[str, int] = {}
    while max(beginnings.values(), default=0) < 2:
        key, _secret = api_keys.create_key(memory, "k")
        beginnings[key.prefix[:10]] = beginnings.get(key.prefix[:10], 0) + 1
    shared = max(beginnings, key=lambda name: beginnings[name])
    with pytest.raises(InvalidInput, match="means 2 keys"):
        api_keys.revoke_key(memory, shared)
    assert len(api_keys.working_keys(memory)) == len(api_keys.list_keys(memory))


def test_the_last_use_is_written_at_most_once_a_minute(memory: LocalMemory, clock: Clock) -> None:
    _key, secret = api_keys.create_key(memory, "laptop")
    first = clock()
    api_keys.record_key_use(memory, api_keys.check_key(memory, secret))
    clock.forward(ms=59_999)
    api_keys.record_key_use(memory, api_keys.check_key(memory, secret))
    assert api_keys.check_key(memory, secret).used_ms == first
    clock.forward(ms=1)
    api_keys.record_key_use(memory, api_keys.check_key(memory, secret))
    assert api_keys.check_key(memory, secret).used_ms == first + 60_000


def test_a_key_for_a_project_knows_its_canonical_name(memory: LocalMemory) -> None:
    key, secret = api_keys.create_key(memory, "k", project="git@github.com:acme/My-API.git")
    assert key.project == api_keys.check_key(memory, secret).project
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
def test_a_key_that_makes_no_sense_is_not_made(memory: LocalMemory, name: str, more: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        api_keys.create_key(memory, name, **more)  # type: ignore[arg-type]
    assert api_keys.list_keys(memory) == []


@given(st.text(max_size=80))
def test_no_text_opens_the_door_or_breaks_it(memory: LocalMemory, text: str) -> None:
    with pytest.raises(Unauthorized):
        api_keys.check_key(memory, text)
