"""Names of topics: made of the words that tell a group from the others, as people would write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.redact import redact
from commonplace.text.topic_names import MAX_TOPIC_NAME, name_topics

LIMITS = [
    "The rate limiting of the API answers 429.",
    "Rate limiting counts requests by key.",
    "We keep the counters of rate limiting in Redis.",
    "Clients see rate limiting in the headers.",
]
LOGIN = [
    "Authentication checks the cookie.",
    "After authentication the user is sent home.",
    "Two steps of authentication are asked for.",
    "authentication by OAuth was added",
]
MIGRATIONS = [
    "The database migration adds an index.",
    "Database migrations run in a transaction.",
    "A backup is made before database migrations.",
    "database migrations are numbered",
]


def test_groups_are_named_by_what_they_are_about() -> None:
    names = name_topics([LIMITS, LOGIN, MIGRATIONS])
    assert names == ["Rate Limiting", "Authentication", "Database Migrations"]


def test_acronyms_and_names_keep_their_capitals() -> None:
    names = name_topics(
        [[f"JWT number {n} expires" for n in "abcd"], [f"the {n} GitHub mirror" for n in "abcd"], LOGIN]
    )
    assert names[0].startswith("JWT") and names[1].startswith("GitHub")


def test_of_equally_telling_words_a_name_is_taken() -> None:
    texts = [f"{word} nodes of Kubernetes wait" for word in ("All", "Some", "Other")]
    assert name_topics([texts, LOGIN])[0].endswith("Kubernetes")


@pytest.mark.parametrize(
    "noise",
    [
        "deadbeef1234 0x7fff",
        "/usr/lib/python3/zlib.py",
        "see https://example.com/tickets/zebra",
        "call get_user_name() and setUserName()",
        "```python\nimport zebra\nzebra.run()\n```",
        "api_key=" + "sk-" + "a1b2c3d4" * 4,
        "the and would have been really",
        "<div class='zebra'>",
        "[Bash] zebra --stripes",
        "You're welcome!",
        "Committed and updated. Added.",
    ],
)
def test_code_numbers_paths_and_small_words_name_nothing(noise: str) -> None:
    (name, _other) = name_topics([[redact(f"{noise} {number}") for number in range(9)], LOGIN])
    assert name == ""


def test_what_no_word_tells_from_the_others_has_no_name() -> None:
    assert name_topics([["| | |", "1 2 3", "\\ /"], LOGIN]) == ["", "Authentication"]


def test_a_group_of_other_things_takes_words_that_are_common_there_only() -> None:
    both = ["The server answers authentication requests."] * 4
    assert name_topics([LOGIN, both]) != ["Authentication", "Authentication"]


def test_names_are_different_even_for_the_same_texts() -> None:
    names = name_topics([LIMITS, LIMITS, LIMITS])
    assert len({name.casefold() for name in names}) == 3


def test_a_topic_with_two_sides_shows_both() -> None:
    texts = [f"pottery {n}" for n in ("glaze", "kiln", "clay")] + [f"violins {n}" for n in ("bow", "string", "tune")]
    texts += [f"other things {word}" for word in ("apple", "river", "stone", "cloud", "fence", "chair")]
    assert set(name_topics([texts, LOGIN])[0].split(" & ")) == {"Pottery", "Violins"}


def test_a_name_stays_while_it_is_true() -> None:
    assert name_topics([LIMITS, LOGIN], previous_names=["", "OAuth"])[1] == "Authentication"
    assert name_topics([LIMITS, LOGIN], previous_names=["Limiting", "authentication"]) == ["Limiting", "authentication"]
    assert name_topics([LIMITS, LOGIN], previous_names=["Zebras", ""]) == ["Rate Limiting", "Authentication"]


def test_of_two_kept_names_that_are_the_same_one_stays() -> None:
    names = name_topics([LOGIN, LOGIN], previous_names=["Authentication", "Authentication"])
    assert names[0] == "Authentication" != names[1]


def test_scripts_without_spaces_have_names_too() -> None:
    texts = ["用户认证失败", "认证令牌过期", "修改认证流程", "认证服务重启"]
    assert name_topics([texts, LOGIN])[0] == "认证"


def test_texts_of_no_group_count_as_elsewhere() -> None:
    common = [f"The server {word} authentication" for word in ("ends", "asks", "logs", "sees")]
    assert name_topics([common, LIMITS])[0].startswith(("Server", "Authentication"))
    assert "Server" not in name_topics([common, LIMITS], others=["The server restarts."] * 200)[0]


def test_nothing_has_no_names() -> None:
    assert name_topics([]) == []
    assert name_topics([[]]) == [""]


@given(st.lists(st.lists(st.text(max_size=60), max_size=8), max_size=6), st.lists(st.text(max_size=20), max_size=3))
def test_any_texts_get_short_names_that_differ(groups: list[list[str]], others: list[str]) -> None:
    names = name_topics(groups, others)
    given_ = [name.casefold() for name in names if name]
    assert len(names) == len(groups) and len(set(given_)) == len(given_)
    assert all(len(name) <= MAX_TOPIC_NAME and name == name.strip() and "\n" not in name for name in names)
    assert names == name_topics(groups, others)
    again = name_topics(groups, others, previous_names=names)
    assert len({name.casefold() for name in again if name}) == len([name for name in again if name])


def test_a_sentence_that_is_repeated_counts_once() -> None:
    question = "The cart badge shows the wrong count after a reload."
    texts = [
        question,
        f"{question}\nBadges read the cart from storage.",
        question,
        "A cart without items has no badge.",
    ]
    assert name_topics([texts, LOGIN, MIGRATIONS])[0] in ("Cart", "Badge", "Cart Badge", "Badge & Cart")


@pytest.mark.parametrize("sentence", ["The badge shows a count", "We are against Kafka", "Floats lose cents"])
def test_a_part_of_a_sentence_is_no_name(sentence: str) -> None:
    texts = [f"{sentence} {more}" for more in ("today", "at noon", "in tests", "anyway")]
    assert not set(name_topics([texts, LOGIN])[0].split()) & {"Shows", "Against", "Lose"}


def test_what_people_tag_texts_with_is_what_they_call_it() -> None:
    texts = ["Parcels come with webhooks.", "The parcels are slow.", "Webhooks are signed.", "Our parcels are back"]
    plain, tagged = name_topics([texts, LOGIN])[0], name_topics([texts, LOGIN], tags=[["webhooks"] * 2, []])[0]
    assert "Parcels" in plain and tagged == "Webhooks"


def test_what_is_asked_and_told_again_is_what_a_topic_is_about() -> None:
    question = "Nightly backups of the database have been silent since the move."
    text = "They had failed because the secret of the bucket was renamed, and nobody is told when the job fails."
    texts = [question, f"{question}\n{text}", question, f"The job runs again. {text}"]
    assert name_topics([texts, LOGIN, MIGRATIONS])[0] == "Nightly Backups"


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (
            ["The event bus is PostgreSQL.", "No Kafka for the event bus.", "An event bus of our own"],
            "Event Bus",
        ),
        (
            ["The table of orders is new.", "Invoices need a table.", "Invoices are late", "A table of invoices"],
            "Invoices",
        ),
        (["They trained on Monday.", "trained again", "She trained until Monday"], ""),
    ],
)
def test_things_that_people_speak_of_come_before_what_they_do(texts: list[str], name: str) -> None:
    assert name_topics([texts, LOGIN, MIGRATIONS])[0] == name
