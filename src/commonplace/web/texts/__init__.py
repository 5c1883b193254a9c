"""All texts of the dashboard, one file for each page: `say.home.title` is `title` in home.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


class Texts:
    """Texts by name. A missing one is an error, never an empty place on a page."""

    def __init__(self, values: Mapping[str, Any], name: str = "say") -> None:
        self._values, self._name = values, name

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise KeyError(f"{self._name}.{name} is not in the texts")
        value = self._values[name]
        return Texts(value, f"{self._name}.{name}") if isinstance(value, Mapping) else value

    def get(self, name: str) -> str | None:
        """A text that may be missing."""
        value = self._values.get(name)
        return value if isinstance(value, str) else None


def load_texts() -> Texts:
    """The texts of all pages."""
    here = files(__name__)
    read = {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8"))
        for file in here.iterdir()
        if file.name.endswith(".toml")
    }
    return Texts(read)


def counted(forms: Texts, number: int) -> str:
    """`one` or `many` of a text, with its number."""
    text: str = forms.one if number == 1 else forms.many
    return text.format(n=f"{number:,}")
