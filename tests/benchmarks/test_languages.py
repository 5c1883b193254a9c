"""The measurement of languages compares like with like."""

from __future__ import annotations

from benchmarks.languages import NOTES, QUESTIONS, figures

from commonplace.embed.model_files import MiniLM


def test_every_language_has_the_same_notes_and_questions() -> None:
    assert NOTES.keys() == QUESTIONS.keys()
    assert {len(set(texts)) for texts in (*NOTES.values(), *QUESTIONS.values())} == {12}


def test_the_built_in_model_understands_english() -> None:
    found = {language: same for language, same, _english in figures(MiniLM())}
    assert found.keys() == NOTES.keys() and found["English"] >= 0.9
