"""Secrets that arrived in pieces: what is left of one after its beginning was taken for the whole and redacted."""

from __future__ import annotations

import re

from commonplace.text.redact import redact

# A redacted secret ends where its kind of letters ends, so letters right after a mark are the rest of it; of a key
# that is printed in lines, so are the lines.
_KEY = re.compile(
    r"(\[REDACTED:private-key\])[A-Za-z0-9+/=]*+(?:\s++[A-Za-z0-9+/=]{16,}+)*+"
    r"(?:\s*+[A-Za-z0-9+/=]{0,76}+\s*+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
)
_REST = re.compile(r"(\[REDACTED:[\w-]{1,40}\])[A-Za-z0-9_+/=-]++")


def redact_joined(text: str) -> str:
    """A text put together from pieces that were redacted one by one, redacted as a whole."""
    return _REST.sub(r"\1", _KEY.sub(r"\1", redact(text)))
