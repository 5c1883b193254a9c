"""Folders: one spelling for each, in any language, and a tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.text.paths import MAX_FOLDER, folder_names, normalise_folder

names = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="/"), max_size=12)


@pytest.mark.parametrize(
    ("given_", "stored"),
    [
        ("/work/engineering", "/work/engineering"),
        ("work/engineering/", "/work/engineering"),
        ("//work///engineering//", "/work/engineering"),
        (" / work / engineering ", "/work/engineering"),
        ("/", "/"),
        ("/my notes/Q1 2026", "/my notes/Q1 2026"),
        ("/работа/проект", "/работа/проект"),
        ("/仕事/設計", "/仕事/設計"),
        ("/עבודה/🦓", "/עבודה/🦓"),
        ("/cafe\u0301", "/caf\u00e9"),
        ("/a.b/..c", "/a.b/..c"),
    ],
)
@pytest.mark.promise("sekha:decided:folder-unicode")
def test_each_folder_has_one_spelling(given_: str, stored: str) -> None:
    assert normalise_folder(given_) == stored


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("/a/../b", "not allowed"),
        ("/.", "not allowed"),
        ("/a\nb", "control"),
        ("/a\0b", "control"),
        ("/a\x1b[31m", "control"),
        ("/a\ud800", "control"),
        ("/" + "a" * MAX_FOLDER, f"{MAX_FOLDER + 1} characters"),
    ],
)
@pytest.mark.promise("sekha:bad-input:folder")
def test_what_is_no_folder_is_refused_with_an_example(given_: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        normalise_folder(given_)
    assert "/work/engineering" in refused.value.hint


def test_a_folder_of_the_greatest_length_is_kept() -> None:
    assert len(normalise_folder("/" + "a" * (MAX_FOLDER - 1))) == MAX_FOLDER


@given(parts=st.lists(names, max_size=5))
def test_the_normal_form_is_idempotent_and_has_no_empty_names(parts: list[str]) -> None:
    try:
        path = normalise_folder("/" + "/".join(parts))
    except InvalidInput:
        return
    assert normalise_folder(path) == path
    assert path.startswith("/") and "//" not in path
    assert path == "/" + "/".join(folder_names(path))
    assert all(name == name.strip() for name in folder_names(path))
