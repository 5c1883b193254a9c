"""What sentences name: people, services, libraries, files and other things, rather too few than wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.text.entity_names import entity_key, entity_names, stated_relations

HERE = Path(__file__).parent


def sentences(file: str) -> list[tuple[str, set[str]]]:
    found = []
    for line in (HERE / file).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            text, _, expected = line.rpartition("|")
            found.append((text.strip(), {one.strip() for one in expected.split(";") if one.strip()}))
    return found


def named(text: str) -> set[str]:
    return {f"{one.kind}:{one.name}" for one in entity_names(text)}


# The first helped to make the rules, the second was written after them.
@pytest.mark.parametrize(
    ("file", "least_precision", "least_recall"),
    [("entity_sentences.txt", 0.98, 0.97), ("entity_sentences_unseen.txt", 0.95, 0.68)],
)
def test_most_of_what_sentences_name_is_found_and_hardly_anything_else(
    file: str, least_precision: float, least_recall: float
) -> None:
    right = wrong = missed = 0
    faults = []
    for text, expected in sentences(file):
        found = named(text)
        right, wrong = right + len(found & expected), wrong + len(found - expected)
        missed += len(expected - found)
        if found != expected:
            faults.append(f"{text}\n  wrong {sorted(found - expected)}, missed {sorted(expected - found)}")
    precision, recall = right / (right + wrong), right / (right + missed)
    result = f"precision {precision:.3f}, recall {recall:.3f}\n" + "\n".join(faults)
    assert precision >= least_precision, result
    assert recall >= least_recall, result


def test_names_stand_where_they_are_said_to_stand() -> None:
    for file in ("entity_sentences.txt", "entity_sentences_unseen.txt"):
        for text, _expected in sentences(file):
            for one in entity_names(text):
                assert one.name.strip("/") in text[one.start - 1 if one.start else 0 : one.end], (text, one)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("checkout-api uses Redis", ("checkout-api", "uses", "Redis")),
        ("Anna now maintains the mail-worker.", ("Anna", "maintains", "mail-worker")),
        ("The mail-worker is owned by Jonas.", ("mail-worker", "is owned by", "Jonas")),
        ("auth-gateway depends on PostgreSQL 15.", ("auth-gateway", "depends on", "PostgreSQL")),
    ],
)
def test_a_verb_between_two_names_is_a_relation(text: str, expected: tuple[str, str, str]) -> None:
    assert [(one.name, verb, other.name) for one, verb, other in stated_relations(text)] == [expected]


@pytest.mark.parametrize("text", ["Anna and Jonas met.", "Redis, not Kafka.", "Anna said that Jonas uses Redis less."])
def test_names_without_such_a_verb_between_them_are_not_related(text: str) -> None:
    pairs = {(one.name, other.name) for one, _verb, other in stated_relations(text)}
    assert pairs <= {("Jonas", "Redis")}


def test_spellings_of_one_name_have_one_key() -> None:
    assert entity_key("Postgres") == entity_key("postgresql") == entity_key("PostgreSQL")
    assert entity_key("/home/anna/src/db/pool.py", "file") == entity_key("src/db/pool.py", "file")
    assert entity_key("Anna  Schmidt") == entity_key("anna schmidt") != entity_key("Anna")


def test_code_in_fences_names_nothing_and_long_texts_are_read_at_their_beginning() -> None:
    assert named("Look:\n```python\nfrom redis import Redis\n```\nDone.") == set()
    assert named("word " * 1000 + "Redis") == set()
