"""What a prompt is called by: what it asks for, not how it begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.capture.hooks.prompts_and_answers import LONGEST_PROMPT_TITLE, prompt_title


@pytest.mark.parametrize(
    ("prompt", "request_"),
    [
        ("Why is it slow?", "Why is it slow?"),
        ("Hi! Please rename the User table to Account.", "Please rename the User table to Account."),
        (
            "OK so.\n\nThe build is red since yesterday; find out why.",
            "The build is red since yesterday; find out why.",
        ),
        ("Thanks. Now add pagination, 50 per page.", "Now add pagination, 50 per page."),
        ("Here is a log:\n```\nERROR boom\n```\nfix it", "Here is a log: fix it"),
        ("1. do a\n2. do b\n3. do c", "do a; do b; do c"),
        ("- Add a limit parameter\n- Test it\n\nThanks", "Add a limit parameter; Test it"),
        ("# Fix the login\n\nIt times out.", "Fix the login"),
        ("<command-name>/review</command-name><command-args>42</command-args>", "/review 42"),
        ("```\nonly code\n```", "only code"),
        ("yes, do it", "yes, do it"),
    ],
)
def test_a_request_says_what_is_asked(prompt: str, request_: str) -> None:
    assert prompt_title(prompt) == request_


@given(st.text(alphabet="ab .:\n-1`#OK", max_size=300))
def test_a_request_is_one_short_line(prompt: str) -> None:
    result = prompt_title(prompt)
    assert len(result) <= LONGEST_PROMPT_TITLE and "\n" not in result


def test_a_huge_prompt_is_shortened() -> None:
    assert len(prompt_title("x" * 30_000)) == LONGEST_PROMPT_TITLE
