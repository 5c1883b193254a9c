"""How many words a text has: what stands between blanks, and each letter of scripts that write without any."""

from __future__ import annotations

import re

# Han, kana, and the scripts of Thailand, Laos, Myanmar and Cambodia.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def count_words(text: str) -> int:
    """Words of a text, as `wc -w` counts them; in Chinese, Japanese and the like, letters."""
    if text.isascii():
        return len(text.split())
    return len(_UNSPACED.sub(" ", text).split()) + len(_UNSPACED.findall(text))
