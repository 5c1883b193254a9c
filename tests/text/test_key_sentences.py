"""The sentence that tells most: results before questions, prose before logs and code, and nothing invented."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.references import references
from commonplace.text.sentences import (
    brief_summary,
    content_stems,
    describes_fix,
    error_line,
    is_small_talk,
    key_sentence,
    text_from_error,
)

LONG = (
    "Added token refresh logic to src/auth/session.ts: five minutes before a token expires, the next request fetches a"
    " new one, and the one after that as well, until the customer logs out."
)


@pytest.mark.parametrize(
    ("text", "about", "line"),
    [
        ("Let me see. I fixed the login of the shop. Shall I go on?", "login", "Fixed the login of the shop."),
        ("How does the login work? The login was moved to Google.", "login", "The login was moved to Google."),
        (
            "$ npm test\nPASS src/login.test.ts\nThe login tests are slow today.",
            "login",
            "The login tests are slow today.",
        ),
        ("```ts\nlogin()\n```\nThe callback stores the user.", "login", "The callback stores the user."),
        ("```ts\nlogin(user)\n```", "login", "login(user)"),
        ("We've also removed the old font.", "", "Removed the old font."),
        ("I think the font is fine here.", "", "I think the font is fine here."),
        ("## Plan\n- The cache moves to Redis", "cache", "The cache moves to Redis"),
        ("登录已修复。谢谢。", "登录", "登录已修复。"),
        ("", "login", ""),
    ],
)
def test_the_line_that_tells_most(text: str, about: str, line: str) -> None:
    assert key_sentence(text, content_stems(about), 140).text == line


def test_a_long_line_ends_where_a_clause_does() -> None:
    assert key_sentence(LONG, (), 100).text == "Added token refresh logic to src/auth/session.ts"
    words = "word " * 60
    assert key_sentence(words, (), 50).text.endswith("…")


def test_an_outcome_is_no_wish() -> None:
    assert key_sentence("Added the index.", (), 100).is_outcome
    assert key_sentence("The setup works: it redirects.", (), 100).is_outcome
    assert key_sentence("Excluded the health checks.", (), 100).is_outcome
    assert key_sentence("Ich habe die Suche eingebaut.", (), 100).is_outcome
    assert not key_sentence("Need a faster search.", (), 100).is_outcome
    assert not key_sentence("Failed to reach the server.", (), 100).is_outcome
    assert not key_sentence("Let's set up OAuth login.", (), 100).is_outcome
    assert not key_sentence("Have you fixed it already?", (), 100).is_outcome


def test_a_turn_of_an_agent_is_told_by_what_it_said_in_the_end() -> None:
    step = (
        "[Bash] npm test -- checkout\n\n```\nFAIL total.test.ts: I fixed nothing\n```\n\nLooking at the next file.\n\n"
    )
    turn = f"Thought: I fixed the cart, maybe.\n\n{step * 400}[Edit] file_path: src/total.ts\nold_string: I added x\n\n"
    turn += "Fixed: an empty cart has a total of zero."
    assert len(turn) > 30_000
    assert key_sentence(turn, content_stems("cart"), 100).text == "Fixed: an empty cart has a total of zero."
    assert describes_fix(turn) and not describes_fix(step * 400)
    assert key_sentence("Thought: We've removed the font.", (), 100).text == "Removed the font."


@pytest.mark.parametrize("text", ["thanks!", "great, ship it", "ok", "", "谢谢", "yes please, go on"])
def test_small_talk_says_little(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize("text", ["Fixed session.ts", "修复登录页面错误", "use tabs everywhere please"])
def test_work_says_more(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("The problem was a missing index.", True),
        ("I restored the guard.", True),
        ("It works again.", True),
        ("All tests pass now.", True),
        ("deploy.py runs now.", True),
        ("After the login it went through.", True),
        ("Der Fehler ist behoben.", True),
        ("It crashes again.", False),
        ("It is not fixed yet.", False),
        ("I couldn't get it resolved.", False),
        ("Let me fix the import.", False),
        ("Let me look at the log.", False),
        ("```\nfixed = True\n```", False),
    ],
)
def test_what_tells_a_cure(text: str, cure: bool) -> None:
    assert describes_fix(text) is cure


def test_an_error_is_shown_as_it_was_printed() -> None:
    text = "$ npm run index\n  Error: connect ECONNREFUSED 127.0.0.1:7700\n    at TCPConnectWrap"
    (error,) = references(text).errors
    assert error_line(text, error) == "Error: connect ECONNREFUSED 127.0.0.1:7700"
    assert error_line("gone", error) == error


def test_what_is_said_since_an_error() -> None:
    text = "Fixed the typo.\n```\nRuntimeError: the pool is closed\nfixed = 1\n```\nThe valve was shut."
    (error,) = references(text).errors
    assert text_from_error(text, error).endswith("The valve was shut.")
    assert not describes_fix(text_from_error(text, error)), "neither what stands before it nor what the code says"
    assert text_from_error("It is quiet.", error) == ""


def test_a_cure_is_told_by_the_sentence_that_puts_it_right() -> None:
    text = "I found the login of the shop in three files. " * 12 + "Solved by opening the valve."
    assert brief_summary(text, content_stems("login shop"), 100, cure=True) == "Solved by opening the valve."


def test_little_is_told_whole_and_much_by_its_best_line() -> None:
    assert brief_summary("It was slow. I added an index.", (), 100) == "It was slow. I added an index."
    much = "It was slow, and nobody knew why. " * 20 + "I added an index to the orders table."
    assert brief_summary(much, (), 100) == "Added an index to the orders table."


@given(st.text(max_size=400), st.integers(20, 200))
def test_any_text_has_a_line_that_fits_and_is_its_own(text: str, most: int) -> None:
    line = key_sentence(text, content_stems(text[:20]), most).text
    assert len(line) <= most
    assert set(line.casefold()) <= set(text.casefold()) | set(" …")
    assert len(brief_summary(text, (), most)) <= most
