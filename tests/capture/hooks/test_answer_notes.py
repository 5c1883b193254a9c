"""What an answer says was done, learnt, left to do and asked: its own sentences, no others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.capture.hooks.prompts_and_answers import MAX_EACH, MAX_LEARNT, AnswerNotes

ANSWER = """I fixed the login test. **The root cause was that the token server answers slowly.**

```python
wait(60)  # because it is slow
```

All 47 tests pass now. We keep JWT instead of sessions because the API is stateless.

## Next steps
- [x] Raise the limit of the uploads
- [ ] Add a retry to `refresh()` in auth.ts
2. Document the timeout

That is all. The changelog still needs an entry. Should I also raise the limit for uploads?"""


def test_an_answer_is_heard_in_its_own_sentences() -> None:
    notes = AnswerNotes().after(ANSWER)
    assert notes.done == ("I fixed the login test.", "All 47 tests pass now.")
    assert notes.learnt == (
        "The root cause was that the token server answers slowly.",
        "We keep JWT instead of sessions because the API is stateless.",
    )
    assert notes.left == ("Add a retry to `refresh()` in auth.ts", "Document the timeout")
    assert notes.questions == ("Should I also raise the limit for uploads?",)


def test_what_was_learnt_stays_and_the_rest_is_of_the_last_answer() -> None:
    notes = AnswerNotes().after(ANSWER).after("Done. It turned out that nobody reads the changelog.")
    assert len(notes.learnt) == 3 and notes.learnt[-1] == "It turned out that nobody reads the changelog."
    assert (notes.questions, notes.done) == ((), ())


def test_saying_the_same_again_adds_nothing() -> None:
    once = AnswerNotes().after(ANSWER)
    assert once.after(ANSWER) == once


def test_an_answer_that_tells_nothing_leaves_everything_empty() -> None:
    assert AnswerNotes().after("Hello! Nice to meet you here.") == AnswerNotes()


def test_a_secret_in_an_answer_is_not_kept() -> None:
    key = "sk-ant-api03-" + "Ab1" * 40
    assert key[:20] not in repr(AnswerNotes().after(f"It failed because the key {key} was wrong. " * 3))


@given(st.lists(st.text(max_size=300), max_size=4))
def test_any_answers_are_heard_within_bounds(answers: list[str]) -> None:
    notes = AnswerNotes()
    for answer in answers:
        notes = notes.after(answer)
    assert len(notes.learnt) <= MAX_LEARNT
    assert all(len(lines) <= MAX_EACH for lines in (notes.done, notes.left, notes.questions))
    assert AnswerNotes.from_json(notes.as_json()) == notes


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_anything_kept_is_read(stored: object) -> None:
    AnswerNotes.from_json(stored)
    AnswerNotes.from_json({"learnt": stored, "left": stored})


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("Pagination works. Next steps: add a limit parameter.", "add a limit parameter."),
        ("I added it since finance needs it. Next: migrate old orders.", "migrate old orders."),
        ("I wrote it. **Remaining:** link it from the README.", "link it from the README."),
        ("Done. Still to do: cache the counts.", "cache the counts."),
    ],
)
def test_a_label_is_no_part_of_what_is_left(answer: str, left: str) -> None:
    assert AnswerNotes().after(answer).left == (left,)
