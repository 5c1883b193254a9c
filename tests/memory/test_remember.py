"""Remember: what is refused, what is cleaned, what is the same thing said twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, InvalidInput, StoreReplaced, TooLarge
from commonplace.memory.draft import MAX_TAGS, MAX_TEXT, MAX_TITLE, make_draft
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember, remember_all, written_item
from commonplace.model import DETAIL_FIELDS, KINDS, Kind, Scope, Stored
from commonplace.text.dates import EARLIEST_MS, LATEST_MS

if TYPE_CHECKING:
    from tests.conftest import Clock

AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
GITHUB = "ghp_" + "a1B2c3D4e5F6" * 3


def everything(memory: LocalMemory) -> list[str]:
    return [item.body for item in memory.store.newest(Scope(), 100)]


@pytest.mark.parametrize(
    ("note", "error"),
    [
        (NewItem(), InvalidInput),
        (NewItem("   \n\t "), InvalidInput),
        (NewItem("x", kind="thought"), InvalidInput),  # type: ignore[arg-type]
        (NewItem("x", details={"colour": "red"}), InvalidInput),
        (NewItem("x", kind="message", details={"narrative": "not of a message"}), InvalidInput),
        (NewItem("x", type="semi;colon"), InvalidInput),
        (NewItem("x", type="t" * 101), InvalidInput),
        (NewItem("x", title="t" * (MAX_TITLE + 1)), TooLarge),
        (NewItem("x" * (MAX_TEXT + 1)), TooLarge),
        (NewItem("x", details={"facts": "f" * (MAX_TEXT + 1)}), TooLarge),
        (NewItem("x", details={"facts": 3}), InvalidInput),  # type: ignore[dict-item]
        (NewItem("x", tags=["t"] * (MAX_TAGS + 1)), TooLarge),
        (NewItem("x", tags=["fine", " "]), InvalidInput),
        (NewItem("x", tags=["t" * 101]), InvalidInput),
        (NewItem("x", importance=10.5), InvalidInput),
        (NewItem("x", importance=-0.1), InvalidInput),
        (NewItem("x", importance=float("nan")), InvalidInput),
        (NewItem("x", session=" "), InvalidInput),
        (NewItem("x", session="s" * 201), InvalidInput),
        (NewItem("x", project=""), InvalidInput),
        (NewItem("x", project="a/../b"), InvalidInput),
        (NewItem("x", project="p" * 300), InvalidInput),
        (NewItem("x", created_ms=EARLIEST_MS - 1), InvalidInput),
        (NewItem("x", created_ms=LATEST_MS + 1), InvalidInput),
        (NewItem("x", meta={"when": object()}), InvalidInput),
        (NewItem("x", meta={"ratio": float("nan")}), InvalidInput),
        (NewItem("x", meta={"text": "m" * (MAX_TEXT + 1)}), TooLarge),
        (NewItem("x", uid="not-a-uuid"), InvalidInput),
        (NewItem("x", uid="0123456789ab"), InvalidInput),
    ],
)
def test_what_is_wrong_is_refused_with_a_code_and_nothing_is_written(
    memory: LocalMemory, note: NewItem, error: type[CommonplaceError]
) -> None:
    with pytest.raises(error) as refused:
        remember_all(memory, [NewItem("a good one"), note])
    assert refused.value.code == error.code
    assert refused.value.message and refused.value.hint
    assert everything(memory) == []


def test_metadata_that_holds_itself_is_refused(memory: LocalMemory) -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    with pytest.raises(InvalidInput):
        remember(memory, NewItem("x", meta=endless))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_remembered_with_its_own_fields(memory: LocalMemory, clock: Clock, kind: Kind) -> None:
    details = {name: f"the {name}" for name in DETAIL_FIELDS[kind]}
    stored = remember(memory, NewItem("the content", kind=kind, details=details, project="p", session="s", tags=("a",)))
    item = get_item(memory, stored.id)
    assert (item.kind, item.body, dict(item.details)) == (kind, "the content", details)
    assert (item.created_ms, item.updated_ms, item.tags) == (clock.now, clock.now, ("a",))
    assert item.type and item.title


def test_a_note_without_a_title_gets_one_from_what_it_says(memory: LocalMemory) -> None:
    stored = remember(memory, NewItem("# Use **Redis** for sessions\n\nBecause it is there."))
    assert get_item(memory, stored.id).title == "Use Redis for sessions"
    empty_body = remember(memory, NewItem(kind="observation", details={"narrative": "Something happened here."}))
    assert get_item(memory, empty_body.id).title == "Something happened here."


def test_tags_and_types_are_tidied(memory: LocalMemory) -> None:
    stored = remember(memory, NewItem("x", type=" rule ", tags=(" a ", "b", "a")))
    item = get_item(memory, stored.id)
    assert (item.type, item.tags) == ("rule", ("a", "b"))


def test_what_cannot_be_stored_is_replaced_not_refused(memory: LocalMemory) -> None:
    nasty = "before\0after \ud800 lone"
    stored = remember(
        memory,
        NewItem(
            nasty,
            kind="observation",
            title=nasty,
            details={"facts": nasty},
            session=nasty,
            tags=(nasty,),
            meta={"k": nasty, nasty: [nasty]},
        ),
    )
    item = get_item(memory, stored.id)
    texts = [item.body, item.title, item.details["facts"], item.session or "", *item.tags, str(item.meta)]
    assert all("\0" not in text and "\ud800" not in text and "\\x00" not in text for text in texts)
    assert "before\ufffdafter" in item.body
    assert [hit.item.id for hit in recall(memory, "before lone", Scope()).hits] == [stored.id]


@given(st.text(max_size=300))
def test_any_text_is_remembered_or_refused_clearly(memory: LocalMemory, text: str) -> None:
    note = NewItem(text, title=text[:50], tags=[text[:20]] if text[:20].strip() else ())
    if not text.strip():
        with pytest.raises(InvalidInput):
            remember(memory, note)
        return
    item = get_item(memory, remember(memory, note).id)
    item.body.encode("utf-8")
    assert "\0" not in item.body


PLACES: dict[str, Callable[[str], NewItem]] = {
    "content": lambda secret: NewItem(f"set AWS_SECRET_ACCESS_KEY={secret} first"),
    "title": lambda secret: NewItem("x", title=f"key AWS_SECRET_ACCESS_KEY={secret}"),
    "detail": lambda secret: NewItem(
        "x", kind="observation", details={"narrative": f"used AWS_SECRET_ACCESS_KEY={secret}"}
    ),
    "tag": lambda secret: NewItem("x", tags=(f"AWS_SECRET_ACCESS_KEY={secret}",)),
    "session": lambda secret: NewItem("x", session=f"AWS_SECRET_ACCESS_KEY={secret}"),
    "project": lambda secret: NewItem("x", project=f"AWS_SECRET_ACCESS_KEY={secret}"),
    "metadata": lambda secret: NewItem("x", meta={"env": {"lines": [f"AWS_SECRET_ACCESS_KEY={secret}"]}}),
    "metadata by its key": lambda secret: NewItem("x", meta={"AWS_SECRET_ACCESS_KEY": secret}),
    "a passage far down": lambda secret: NewItem("filling words\n\n" * 900 + f"AWS_SECRET_ACCESS_KEY={secret}\n"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_never_reaches_the_file(memory: LocalMemory, settings: Settings, place: str) -> None:
    stored = remember(memory, PLACES[place](AWS))
    assert AWS not in str(get_item(memory, stored.id))
    memory.store.close()
    files = [file for file in settings.data_dir.rglob("*") if file.is_file()]
    assert files
    for file in files:
        content = file.read_bytes().lower()
        assert AWS.lower().encode() not in content
        # Nor its parts, as the full-text index would spell them.
        assert b"bpxrficyexamplekey" not in content


def test_a_secret_cannot_be_a_type(memory: LocalMemory) -> None:
    with pytest.raises(InvalidInput) as refused:
        remember(memory, NewItem("x", type=GITHUB))
    assert GITHUB not in str(refused.value)


def test_a_project_named_by_a_secret_is_found_by_that_name(memory: LocalMemory) -> None:
    stored = remember(memory, NewItem("x", project=GITHUB))
    assert [item.id for item in memory.store.newest(Scope(project=GITHUB), 10)] == [stored.id]


def test_a_secret_in_metadata_leaves_the_rest_of_it(memory: LocalMemory) -> None:
    stored = remember(memory, NewItem("x", meta={"token": GITHUB, "n": 1, "nested": {"list": [GITHUB, "kept"]}}))
    meta = get_item(memory, stored.id).meta
    assert GITHUB not in str(meta)
    assert meta["n"] == 1 and meta["nested"]["list"][1] == "kept"  # type: ignore[index]


def test_the_same_statement_in_the_same_place_is_one_item(memory: LocalMemory, clock: Clock) -> None:
    first = remember(memory, NewItem("Use Redis.", type="decision", project="p"))
    clock.forward(days=400)
    again = remember(memory, NewItem("Use Redis.", type="decision", project="P", session="another", tags=("t",)))
    assert (again.id, again.duplicate) == (first.id, True)
    padded = remember(memory, NewItem("  Use Redis.\n", type="decision", title="Use Redis.", project="p"))
    assert padded.duplicate
    for other in (
        NewItem("Use Redis.", type="decision"),
        NewItem("Use Redis.", type="decision", project="q"),
        NewItem("Use Redis.", type="fact", project="p"),
        NewItem("Use Redis?", type="decision", project="p"),
    ):
        assert not remember(memory, other).duplicate


def test_the_same_event_is_one_item_within_its_session_and_moment(memory: LocalMemory, clock: Clock) -> None:
    def ran(**more: Any) -> bool:
        return remember(memory, NewItem("ran the tests", kind="observation", **more)).duplicate

    assert [ran(session="s"), ran(session="s"), ran(session="t")] == [False, True, False]
    assert [ran(session="s", created_ms=5), ran(session="s", created_ms=5), ran(session="s", created_ms=6)] == [
        False,
        True,
        False,
    ]


def test_saying_again_what_was_forgotten_brings_it_back(memory: LocalMemory) -> None:
    first = remember(memory, NewItem("Use Redis."))
    forget_items(memory, [first.id])
    again = remember(memory, NewItem("Use Redis."))
    assert (again.id, again.duplicate) == (first.id, True)
    assert everything(memory) == ["Use Redis."]


def test_a_long_text_is_cut_and_every_part_of_it_is_found(memory: LocalMemory) -> None:
    paragraphs = [f"Paragraph {n} speaks of topic{n:03d}. " + "It goes on and on. " * 20 for n in range(40)]
    stored = remember(memory, NewItem("\n\n".join(paragraphs), title="A long one"))
    (passages,) = memory.store.passages_of([stored.id]).values()
    assert len(passages) > 5
    for n in (0, 17, 39):
        assert [hit.item.id for hit in recall(memory, f"topic{n:03d}", Scope()).hits] == [stored.id]
    assert [hit.item.id for hit in recall(memory, "topic000 AND topic039", Scope()).hits] == [stored.id]
    assert recall(memory, "topic000 NOT topic039", Scope()).hits == ()


def test_a_draft_is_the_same_each_time() -> None:
    note = NewItem("Use Redis.", kind="observation", details={"facts": "f", "narrative": "n"}, session="s")
    reordered = NewItem("Use Redis.", kind="observation", details={"narrative": "n", "facts": "f"}, session="s")
    assert make_draft(note, 1).content_hash == make_draft(reordered, 2).content_hash


def test_an_imported_uid_is_kept_in_its_canonical_spelling(memory: LocalMemory) -> None:
    stored = remember(memory, NewItem("x", uid="01959A125F3E7ABC8DEF0123456789AB"))
    assert stored.uid == "01959a12-5f3e-7abc-8def-0123456789ab"
    assert get_item(memory, "0123456789ab").id == stored.id


@pytest.mark.parametrize(
    "again",
    [
        "deploys happen on fridays.",
        "Deploys happen on Fridays.",
        "deploys happen on Fridays",
        "  Deploys  happen\non Fridays .",
    ],
)
def test_a_statement_with_other_capitals_spacing_or_ending_is_the_same(memory: LocalMemory, again: str) -> None:
    first = remember(memory, NewItem("Deploys happen on Fridays", type="fact", project="p"))
    second = remember(memory, NewItem(again, type="fact", project="p"))
    assert (second.id, second.uid, second.duplicate) == (first.id, first.uid, True)
    assert sum(memory.store.counts().items.values()) == 1


@pytest.mark.parametrize(
    "other",
    [
        NewItem("The id is called userid", type="fact", project="p"),
        NewItem("The id is called userId?", type="fact", project="p"),
        NewItem("The id is called userId", type="note", project="p"),
        NewItem("The id is called userId.", type="fact", project="q"),
        NewItem("The id is called userId here", type="fact", project="p"),
        NewItem("The id is called userId.", type="fact", project="p", details={"category": "api"}),
        NewItem("The id is called userId.", type="fact", project="p", title="A title of its own"),
    ],
)
def test_what_says_something_else_or_is_elsewhere_is_another_statement(memory: LocalMemory, other: NewItem) -> None:
    remember(memory, NewItem("The id is called userId", type="fact", project="p"))
    assert not remember(memory, other).duplicate


def test_a_forgotten_statement_does_not_stand_for_one_with_another_ending(memory: LocalMemory) -> None:
    first = remember(memory, NewItem("Deploys happen on Fridays"))
    forget_items(memory, [first.id])
    assert not remember(memory, NewItem("Deploys happen on Fridays.")).duplicate


def test_what_was_stored_in_a_file_that_is_gone_is_refused_in_words(memory: LocalMemory) -> None:
    stored = remember(memory, NewItem("The release is on Friday."))
    assert written_item(memory, stored).body == "The release is on Friday."
    # The file that came into the place has nothing under this number, or something else.
    for gone in (Stored(stored.id + 1, stored.uid, duplicate=False), Stored(stored.id, "other", duplicate=False)):
        with pytest.raises(StoreReplaced, match="replaced while this was being stored"):
            written_item(memory, gone)
