"""A Markdown file taken apart into single rules."""

from __future__ import annotations

from commonplace.hosts.rules_markdown import Statement, statements


def texts(markdown: str) -> list[str]:
    return [one.text for one in statements(markdown)]


def test_list_entries_and_paragraphs_are_statements() -> None:
    assert texts("# Title\n\nThe first\nparagraph.\n\n- one thing\n* another\n1. third\n2) fourth\n\nLast.") == (
        ["The first\nparagraph.", "one thing", "another", "third", "fourth", "Last."]
    )


def test_an_entry_keeps_its_further_lines_and_inner_lists() -> None:
    assert texts("- one\n  goes on\n\n  with a paragraph\n  - inner\n    - deeper\n- two\nlazily\n\n\n- three") == (
        ["one\ngoes on\n\nwith a paragraph\n- inner\n  - deeper", "two\nlazily", "three"]
    )


def test_code_stays_whole_with_what_introduces_it() -> None:
    code = "```sh\n# no heading\n- no entry\n\nmake\n```"
    assert texts(f"Build like this:\n\n{code}\n\n- after") == [f"Build like this:\n{code}", "after"]
    assert texts(f"- Build:\n{code}\n- after") == [f"Build:\n{code}", "after"]
    assert texts(f"Before.\n\n{code}\n\nAfter.") == ["Before.", code, "After."]
    assert texts("~~~~\n```\nx y\n~~~\n~~~~\nafter") == ["~~~~\n```\nx y\n~~~\n~~~~", "after"]
    assert texts("```\nnever closed\n- x") == ["```\nnever closed\n- x"]


def test_a_list_stays_with_its_introduction() -> None:
    assert texts("In tests:\n\n- no sleeps\n- real files\n\nOtherwise anything.\n\n- alone") == (
        ["In tests:\n- no sleeps\n- real files", "Otherwise anything.", "alone"]
    )


def test_headings_tell_type_topic_and_globs() -> None:
    markdown = (
        "# Our project\n\n## Rules\n\n- general\n\n### Files matching `src/**`, `*.{a,b}`\n\n- narrow\n\n"
        "## **Decisions:**\n\n- decided\n\nPython\n------\n\n- Two spaces\n\n### Rules\n\n- same topic\n\n"
        "# Facts #\n\nknown fact\n"
    )
    assert statements(markdown) == [
        Statement("general"),
        Statement("narrow", paths=("src/**", "*.{a,b}")),
        Statement("decided", "decision"),
        Statement("Two spaces", topic="Python"),
        Statement("same topic", topic="Python"),
        Statement("known fact", "fact"),
    ]


def test_what_says_nothing_is_left_out() -> None:
    empty = "<!-- a\ncomment -->\n---\n***\n- \n- [ ] \n1. 2\n\n@docs/more.md\n\n!!\n\n"
    assert texts(f"{empty}- [x] Done thing") == ["Done thing"]


def test_windows_line_ends_make_no_difference() -> None:
    assert texts("- one\r\n  more\r\n\r\n- two\r\n") == ["one\nmore", "two"]


def test_long_files_are_read_in_a_moment() -> None:
    assert len(texts("- a rule\n" + "\n" * 200_000 + "# " + "# " * 100_000 + "\n" + "- b rule\n" * 10_000)) == 10_001
    assert len(texts("All of these:\n" + "- one\n" * 100_000)) == 1
