"""A poisoned memory on our pages: it takes no script in, and no server down."""

from __future__ import annotations

import pytest
from fuzzing.limits import bounded
from fuzzing.pages import safe

from commonplace.web.rendering import LANGUAGES, LONGEST_COLOURED, code, markdown

# What made the rules of a language look at all of the rest from every place, found by trying.
HOSTILE = {
    "amdgpu": "a",
    "csharp": "a\n ",
    "java": " a",
    "make": "1e",
    "python": " \n",
    "typescript": "a.",
    "yaml": "*",
}


@pytest.mark.parametrize("language", HOSTILE)
def test_colours_are_given_up_before_they_cost_much(language: str) -> None:
    """Without a border some of these take minutes: they would be ended as a hang."""
    with bounded():
        for length in (LONGEST_COLOURED - 10, 50_000):
            block = HOSTILE[language] * (length // len(HOSTILE[language]))
            safe(markdown(f"```{language}\n{block}\n```\n" * 3))


def test_code_keeps_its_letters_whatever_is_coloured() -> None:
    text = "".join(f"def name_{n}(a):\n    return '<b>{n}</b>'\n\n" for n in range(200))
    html = code(text, "python", 0)
    safe(html)
    assert "<b>" not in html and html.count("name_") == 200
    assert '<span class="k">def</span>' in html
    assert html.count("<pre") == 1
    assert "span" not in code(text, "python", LONGEST_COLOURED) and "span" not in code(text, "no-such", 0)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_of_the_table_is_one(language: str) -> None:
    assert 'class="code"' in code("x = 1\n", language, 0)
