"""What sentences name: people, services, projects, libraries, files and other things, rather too few than wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.text.entity_names import entity_names

# Written down before the rules were; what was found wrong or missing was not reworded.
PAGE = Path(__file__).with_name("entity_sentences.txt")
MIN_PRECISION, MIN_RECALL = 0.97, 0.85


def sentences() -> list[tuple[str, set[str]]]:
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            text, _, expected = line.rpartition("|")
            found.append((text.strip(), {one.strip() for one in expected.split(";") if one.strip()}))
    return found


def named(text: str) -> set[str]:
    return {f"{one.kind}:{one.name}" for one in entity_names(text)}


def test_most_of_what_sentences_name_is_found_and_hardly_anything_else() -> None:
    right = wrong = missed = 0
    faults = []
    for text, expected in sentences():
        found = named(text)
        right, wrong, missed = (
            right + len(found & expected),
            wrong + len(found - expected),
            missed + len(expected - found),
        )
        if found != expected:
            faults.append(f"{text}\n  wrong {sorted(found - expected)}, missed {sorted(expected - found)}")
    precision, recall = right / (right + wrong), right / (right + missed)
    told = f"precision {precision:.3f}, recall {recall:.3f}\n" + "\n".join(faults)
    assert len(sentences()) >= 60
    assert precision >= MIN_PRECISION, told
    assert recall >= MIN_RECALL, told
