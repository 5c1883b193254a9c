"""A secret is redacted wherever a stream happens to cut it."""

from __future__ import annotations

import base64
import re
from itertools import pairwise

import pytest

from commonplace.text.redact import redact, redact_joined

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LINES = base64.b64encode(bytes(range(256)) * 2).decode()
KEY = "\n".join(
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        *(LINES[n : n + 64] for n in range(0, len(LINES), 64)),
        "-----END RSA PRIVATE KEY-----",
    ]
)


def in_pieces(text: str, *cuts: int) -> str:
    borders = [0, *cuts, len(text)]
    return redact_joined("".join(redact(text[a:b]) for a, b in pairwise(borders)))


@pytest.mark.parametrize("cut", range(1, len(TOKEN)))
def test_a_token_cut_anywhere_is_gone(cut: int) -> None:
    before = "The token is "
    result = in_pieces(f"{before}{TOKEN}, keep it.", len(before) + cut)
    assert re.fullmatch(rf"{before}\[REDACTED:[\w-]+\], keep it\.", result)


@pytest.mark.parametrize("cut", range(1, len(KEY), 7))
def test_a_private_key_cut_anywhere_is_gone(cut: int) -> None:
    result = in_pieces(f"Key:\n{KEY}\nThe end of it", 5 + cut)
    assert "The end of it" in result
    for n in range(0, len(LINES), 64):
        assert LINES[n : n + 40] not in result


def test_other_text_stays_as_it_is() -> None:
    for text in ("Nothing secret here.", f"Use {redact(TOKEN)} and go on", "a\n\nb" * 50):
        assert in_pieces(text, len(text) // 2) == text
