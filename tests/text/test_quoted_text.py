"""What somebody says in their own words is told from what they only show."""

from commonplace.text.quoted_text import own_answer, without_markup

# Quadratic time on so many characters would not end.
HOSTILE_CHARACTERS = 3_000_000


def test_what_stands_between_tags_is_left_out() -> None:
    assert without_markup("a <report>b</report> c <report>d</report> e") == "a \n c \n e"
    assert without_markup("a </report> <report>b") == "a </report> <report>b"
    assert without_markup("<outer>a <inner>b</inner></outer> c") == "\n c"
    assert without_markup("<command-args>fix it</command-args>") == "<command-args>fix it</command-args>"


def test_tags_without_an_end_cost_linear_time() -> None:
    for text in ("<a>" * (HOSTILE_CHARACTERS // 3), "".join(f"<a{n}>" for n in range(HOSTILE_CHARACTERS // 9))):
        assert without_markup(text) == text


def test_indented_text_is_shown_and_indented_entries_are_said() -> None:
    assert own_answer("I looked.\n    x = 1\n\ty = 2\n    - Write the test") == "I looked.\n    - Write the test"


def test_a_line_of_blanks_costs_linear_time() -> None:
    blanks = " " * HOSTILE_CHARACTERS
    assert own_answer(blanks) == blanks
