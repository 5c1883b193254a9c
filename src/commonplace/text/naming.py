"""Taking names out of what is said, where who is meant is known in another way."""

from __future__ import annotations

import re
from collections.abc import Sequence


def without_names(text: str, names: Sequence[str]) -> str:
    """The text without these words, in any case, and without the 's that makes one somebody's."""
    if not names:
        return text
    either = "|".join(map(re.escape, names))
    return " ".join(re.sub(rf"\b(?:{either})\b(?:['\u2019]s\b)?", " ", text, flags=re.IGNORECASE).split())
