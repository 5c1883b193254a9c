"""Predicting: what a context is about, how a session ended for an error, and that reading changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.past_work import EXPIRES, settle, work

from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.predict import CONTEXT_CHARACTERS, _focuses, _plain, predict
from commonplace.memory.remember import NewItem, remember
from commonplace.text.query import parse_query

ERROR = "RuntimeError: the pool of the aviary is closed"


def talk(memory: LocalMemory, key: str, *texts: str) -> None:
    roles = {"u": "user", "a": "assistant", "t": "tool"}
    store_conversation(
        memory,
        NewConversation(
            f"About {key}", [NewMessage(roles[text[0]], text[2:]) for text in texts], key=key, project="zoo"
        ),
    )
    settle(memory)


def titles(memory: LocalMemory, context: str) -> list[str]:
    return [suggestion.title for suggestion in predict(memory, context)]


def test_a_context_is_asked_as_a_whole_by_its_errors_and_by_its_last_sentences() -> None:
    question = "Can we ship the parcel to Rome?"
    context = f"We met on Monday in town. The harvest was good. It ends with {EXPIRES}\nok\n{question}"
    focuses = _focuses(context)
    assert focuses[0] == context
    assert "typeerror: cannot read properties of undefined (reading expires)" in focuses
    assert question in focuses and "ok" not in focuses


@given(st.text(max_size=300))
def test_no_context_is_a_filter(context: str) -> None:
    for text in (context, f'"{context}" AND title:x', f"{context} NOT (zebra OR b*)"):
        assert not parse_query(_plain(text), {"title": "title"}).strict


@pytest.mark.parametrize(
    ("turns", "title"),
    [
        ((f"u It says {ERROR}", "a The problem was a closed valve."), "Fixed before: About s"),
        ((f"t {ERROR}", "a Let me look at the valves first.", "a Fixed: the valve is open."), "Fixed before: About s"),
        ((f"a I saw {ERROR} and fixed the valve.",), "Fixed before: About s"),
        ((f"u It says {ERROR}", "a Let me look at the valves first."), "Unresolved: About s"),
        ((f"u It says {ERROR}", "u I fixed it? No, it is the same."), "Unresolved: About s"),
        ((f"t {ERROR}",), "Unresolved: About s"),
        ((f"a [Bash] run\n\n```\n{ERROR}\n```\n\nThe problem was a closed valve.",), "Fixed before: About s"),
        ((f"a I fixed the roof.\n\n```\n{ERROR}\n```\n\nLet me look at the valves.",), "Unresolved: About s"),
        ((f"u It says {ERROR}", "a I replaced the valve of the pool."), "About s"),
    ],
)
def test_how_it_ended(memory: LocalMemory, turns: tuple[str, ...], title: str) -> None:
    talk(memory, "s", *turns)
    assert titles(memory, f"Again: {ERROR}") == [title]


def test_a_long_turn_is_suggested_by_the_part_that_tells_the_cure(memory: LocalMemory) -> None:
    noise = "\n\n".join(f"[Bash] look {n}\n\n```\n{'cage open ' * 60}\n```" for n in range(9))
    talk(memory, "s", f"u It says {ERROR}", f"a I found the aviary.\n\n{noise}\n\nSolved by opening the third valve.")
    (found,) = predict(memory, f"Again in the aviary: {ERROR}")
    assert found.title == "Fixed before: About s"
    assert found.summary.startswith("Solved by opening the third valve.")
    assert "third valve" in found.chunk.text


def test_what_was_said_of_an_unresolved_error_is_told(memory: LocalMemory) -> None:
    talk(memory, "s", "u Feed them.", f"a [Bash] feed\n\n```\n{ERROR}\n```\n\nThe keeper has the only key to the pump.")
    (found,) = predict(memory, f"Again: {ERROR}")
    assert found.title == "Unresolved: About s" and "The keeper has the only key to the pump." in found.summary


def test_an_error_that_was_cured_elsewhere_is_not_unresolved(memory: LocalMemory) -> None:
    talk(memory, "first", f"u It says {ERROR}", "a No idea what the aviary wants.")
    talk(memory, "second", f"u Again it says {ERROR}", "a The problem was a closed valve.")
    found = titles(memory, f"It still says {ERROR}")
    assert "Repeated error, fixed before: About second" in found
    assert not any(title.startswith("Unresolved") for title in found)


def test_the_same_words_in_two_sessions_are_suggested_once(memory: LocalMemory) -> None:
    for key in ("one", "two"):
        talk(memory, key, f"u {key}: how do we feed the okapi?", "a The okapi eats leaves at noon and at six.")
    found = predict(memory, "the okapi looks hungry, how do we feed it?")
    assert len({suggestion.summary for suggestion in found}) == len(found)


def test_nothing_like_it_is_nothing(memory: LocalMemory) -> None:
    work(memory)
    assert predict(memory, "The quagga went extinct in 1883.") == []
    assert predict(memory, f"{EXPIRES} {'far away talk about the weather. ' * (CONTEXT_CHARACTERS // 30 + 5)}") == []


def test_the_cure_of_another_error_is_worth_less(memory_with_model: LocalMemory) -> None:
    mine = "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 3"
    other = "HTTPError: 429 Client Error: Too Many Requests for url of the tide service"
    talk(memory_with_model, "tides", f"t {other}", "a The problem was the limit of the tide service. It passes now.")
    talk(memory_with_model, "bytes", f"t {mine}", "a The problem was the encoding of the export: it is latin-1.")
    memory_with_model.embeddings.catch_up()
    first, *rest = predict(memory_with_model, mine)
    assert "latin-1" in first.summary and first.relevance >= 0.9
    assert all(one.relevance < 0.8 * first.relevance for one in rest), rest


def test_an_error_that_nothing_is_like_gets_no_suggestion_that_is_called_likely(
    memory_with_model: LocalMemory,
) -> None:
    for text in (
        "PDFs are rendered by WeasyPrint in a container of their own",
        "The app needs Android 10 or newer",
        "Never commit directly to main",
        "Backups go to Helsinki every night",
    ):
        remember(memory_with_model, NewItem(text, type="fact"))
    remember(memory_with_model, NewItem("x = 1", "observation", "file-write", title="Created export.py"))
    settle(memory_with_model)
    for met in (
        "UnicodeDecodeError: 'utf-8' codec can't decode byte",
        "the build fails with ENOSPC: no space left on device",
        "I am about to write the release notes",
    ):
        assert all(one.relevance < 0.5 for one in predict(memory_with_model, met)), met


def test_relevance_is_a_share_and_best_comes_first(memory_with_model: LocalMemory) -> None:
    work(memory_with_model)
    found = predict(memory_with_model, f"{EXPIRES} in the login, and which font has the blog?", limit=20)
    relevances = [suggestion.relevance for suggestion in found]
    assert len(found) > 1 and relevances == sorted(relevances, reverse=True)
    assert all(0 < relevance <= 1 for relevance in relevances)
