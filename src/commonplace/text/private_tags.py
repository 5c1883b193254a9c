"""What people mark as private, `<private>...</private>`, is never stored: a short mark says that something is left out.

The rule has no exceptions for code or quotes: tags nest, may have attributes, and one that is not closed goes to the
end, as does one whose own end is missing. Only a tag that stands alone in backticks is a mention of the tag, and
means nothing.
"""

from __future__ import annotations

import re

PRIVATE_MARK = "[private]"

_TAG = re.compile(r"<(?P<end>/?)private(?:\s[^<>]*+)?(?P<empty>/?)>|<private\s[^<>]*+(?=<|\Z)", re.IGNORECASE)
_CUT_OFF = re.compile(r"</?(?:p(?:r(?:i(?:v(?:a(?:te?)?)?)?)?)?)?\Z|</private\s{1,8}\Z", re.IGNORECASE)
# Characters that stand for nothing else. In the chunks of a stream they say that a tag is open (once for each), and
# that what stood there was the beginning of a tag.
_OPEN, _WAS_TAG = "\ufdd0", "\ufdd1"
_DEEPEST = 30
# How many characters of what was stored show the state of a stream.
STREAM_STATE_CHARS = 64
_TORN = r"</?[private]{0,7}\s{0,8}\Z"
_STATE = re.compile(rf"({_OPEN}*)({_TORN})?\Z", re.IGNORECASE)
_LEFT_OUT = re.compile(
    rf"(?:(?:<[^<>{_OPEN}{_WAS_TAG}]*)?{_WAS_TAG}|{_OPEN}(?:{_TORN})?)+(?:{re.escape(PRIVATE_MARK)})*", re.IGNORECASE
)


def without_private(text: str) -> str:
    """The text with everything private replaced by a mark."""
    if "<p" not in text and "<P" not in text:
        return text
    pieces, depth = _outside(text, 0)
    return PRIVATE_MARK.join([*pieces, ""] if depth else pieces)


def only_private(text: str) -> bool:
    """Whether nothing but marks is left of a text."""
    return PRIVATE_MARK in text and not text.replace(PRIVATE_MARK, "").strip()


def chunk_without_private(before: str, chunk: str) -> str:
    """A chunk of a stream as it may be stored, given the end of what was stored, where a tag may be open or cut off.

    Where a tag stays open, the chunk ends with a character that says so; `joined_chunks` takes those out.
    """
    state = _STATE.search(before)
    assert state is not None
    depth, torn = len(state[1]), state[2] or ""
    chunk = chunk.replace(_OPEN, "").replace(_WAS_TAG, "")
    pieces, inside = _outside(torn + chunk, depth)
    public = PRIVATE_MARK.join(pieces)
    if not depth and pieces[0].startswith(torn):
        public = public[len(torn) :]
    elif torn or depth:
        public = _WAS_TAG + public
    if not inside:
        return public
    cut_off = _CUT_OFF.search(torn + chunk)
    return public + _OPEN * min(inside, _DEEPEST) + (cut_off[0] if cut_off else "")


def joined_chunks(text: str) -> str:
    """A text put together from chunks: each place where something was left out has one mark."""
    return _LEFT_OUT.sub(PRIVATE_MARK, text)


def _outside(text: str, depth: int) -> tuple[list[str], int]:
    """What stands outside the tags, and how many are open at the end; `depth` are open at the beginning."""
    pieces, start = [], 0
    for tag in _TAG.finditer(text):
        if tag["empty"] or _is_mention(tag):
            continue
        if not tag["end"]:
            if not depth:
                pieces.append(text[start : tag.start()])
            depth += 1
        elif depth:
            depth -= 1
            start = tag.end()
    if not depth:
        pieces.append(text[start:])
    return pieces, depth


def _is_mention(tag: re.Match[str]) -> bool:
    text = tag.string
    return text[max(0, tag.start() - 1) : tag.start()] == "`" == text[tag.end() : tag.end() + 1]
