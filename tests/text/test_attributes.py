"""Attributes: the same told and asked in many words."""

from __future__ import annotations

import pytest

from commonplace.text.attribute_phrases import ATTRIBUTES, READ_FIRST
from commonplace.text.attributes import answers, stated_attribute
from commonplace.text.query import requested_attributes

SAME = {
    "Who owns the billing service?": [
        "Mira took over the billing service from Jo.",
        "Contact for the billing service: Mira",
        "The billing service is maintained by Mira.",
        "From 3 May on, Mira is responsible for the billing service.",
        "Reminder: Mira is in charge of the billing service now.",
        "Jo handed the billing service over to Mira.",
    ],
    "Whom do I ask about the identity library?": [
        "Mira looks after the identity library.",
        "The identity library belongs to Mira.",
    ],
    "Where is the tax importer hosted?": [
        "The tax importer runs on Hetzner.",
        "We moved the tax importer from AWS to Hetzner.",
        "The tax importer left AWS and runs on Hetzner.",
        "You will find the tax importer on Hetzner.",
    ],
    "Which runtime does the tax importer need?": [
        "The tax importer is built with Python 3.12.",
        "We upgraded the tax importer from Python 3.11 to Python 3.12.",
        "The tax importer no longer builds with Python 3.11; it needs Python 3.12.",
    ],
    "What is the port of the pricing app?": [
        "The pricing app listens on port 8080.",
        "Port 8080 belongs to the pricing app.",
        "The pricing app no longer listens on port 80 but on 8080.",
    ],
    "How do people sign in to the portal?": [
        "The portal authenticates users with passkeys.",
        "Login to the portal: SAML",
    ],
    "How long are access logs of the shop kept?": [
        "Access logs of the shop are deleted after 30 days.",
        "The shop keeps its access logs for 30 days.",
    ],
    "When is the launch of the shop?": [
        "The launch of the shop was postponed to 3 May.",
        "We had to move the launch of the shop from 1 May to 3 May.",
    ],
    "What does the shop use for caching?": ["The shop switched from Redis to Valkey for caching."],
}
NOT_TOLD = [
    ("Who owns the billing service?", "Mira took over the billing worker."),
    ("Who owns the billing service?", "Mira fixed a bug in the billing service."),
    ("Who owns the billing service?", "Does Mira own the billing service?"),
    ("Who owns the billing service?", "Mira might take over the billing service."),
    ("Where is the tax importer hosted?", "The tax importer runs on port 8080."),
    ("Where is the tax importer hosted?", "The tax importer runs on Python 3.12."),
    ("Where is the tax importer hosted?", "The tests of the tax importer run on Hetzner."),
    ("What is the port of the pricing app?", "Open question about the port of the pricing app."),
]


@pytest.mark.parametrize(("question", "text"), [(q, text) for q, texts in SAME.items() for text in texts])
def test_a_statement_tells_what_a_question_asks_for_in_other_words(question: str, text: str) -> None:
    assert any(answers(request, stated_attribute(text)) for request in requested_attributes(question))


@pytest.mark.parametrize(("question", "text"), NOT_TOLD)
def test_what_is_of_something_else_or_only_said_in_doubt_answers_nothing(question: str, text: str) -> None:
    assert not any(answers(request, stated_attribute(text)) for request in requested_attributes(question))


def test_the_words_that_an_expression_needs_leave_out_nothing_that_it_would_match() -> None:
    from commonplace.text import attributes

    for text in [text for texts in SAME.values() for text in texts]:
        result = stated_attribute(text)
        assert result is not None
        plain = attributes._plainer(text)
        words = frozenset(attributes._TOKEN.findall(plain.lower()))
        for pattern, needed in attributes._patterns(result.attribute):
            if pattern.match(plain):
                assert not needed or not needed.isdisjoint(words)


def test_every_attribute_is_read_in_a_given_order() -> None:
    assert sorted(READ_FIRST) == sorted(ATTRIBUTES)


def test_endless_text_is_read_in_bounded_time() -> None:
    assert stated_attribute("Mira owns the shop and " * 5000) is None
