"""One reader of arguments for every fast command."""

from __future__ import annotations

import pytest

from commonplace.fast.arguments import Arguments


@pytest.mark.parametrize(
    ("given", "words", "data_dir", "profile"),
    [
        ("", [], "", ""),
        ("hook claude-code Stop", ["hook", "claude-code", "Stop"], "", ""),
        ("--data-dir /a hook kiro stop", ["hook", "kiro", "stop"], "/a", ""),
        ("hook kiro stop --data-dir=/a=b", ["hook", "kiro", "stop"], "/a=b", ""),
        ("mcp --profile core --data-dir /a", ["mcp"], "/a", "core"),
        # What has no value is left for the command line to explain.
        ("mcp --profile", ["mcp", "--profile"], "", ""),
        ("search word --limit 3", ["search", "word", "--limit", "3"], "", ""),
    ],
)
def test_options_are_told_from_words(given: str, words: list[str], data_dir: str, profile: str) -> None:
    arguments = Arguments(given.split())
    assert (arguments.words, arguments.data_dir, arguments.profile) == (words, data_dir, profile)
    assert arguments.all == given.split() and arguments.command == (words[0] if words else "")


def test_help_and_the_folder_of_the_data() -> None:
    assert Arguments(["hook", "--help"]).asks_for_help and not Arguments(["hook", "kiro", "stop"]).asks_for_help
    assert Arguments(["mcp"]).data_folder({"COMMONPLACE_DATA_DIR": "/env"}) == "/env"
    assert Arguments(["mcp", "--data-dir", "/given"]).data_folder({"COMMONPLACE_DATA_DIR": "/env"}) == "/given"
