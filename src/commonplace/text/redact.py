"""Takes out of text what must not be stored or shown: secrets, what people mark as private, control characters.

What a secret looks like stands in two tables: `KNOWN_TOKENS` (how it begins) and `CONTEXT_PATTERNS` (what stands near
it). Ordinary text costs little, because no expression runs except where a beginning or a hint stands; and none of them
backtracks, so that hostile text costs no more than linear time.

What stands between `<private>` and `</private>` is never stored, with no exceptions for code or quotes: tags nest, may
have attributes, and one that is not closed goes to the end. Only a tag alone in backticks is a mention of the tag.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from commonplace.text.secret_values import KNOWN_TOKENS, ContextPattern, Found, KnownToken
from commonplace.text.secrets_by_context import CONTEXT_PATTERNS
from commonplace.text.secrets_in_columns import secrets_in_columns
from commonplace.text.secrets_in_manifests import secrets_in_manifests

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


# Texts that were searched and hold no secret, by their hashes, so that what is read often is searched once. Hashes have
# a random key in each process: nobody can make a text that is taken for another.
MAX_CLEAN_TEXTS = 100_000
_clean: set[int] = set()

_MARK = "[REDACTED:"
_MARKED = re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")
_PASSES = 4
# Where a token may stand: letters without a break, as many as the shortest has.
_RUN = re.compile(r"\b[\w-]{15,}+", re.ASCII)
# What may stand before a token without a break: an escape (\n, %3D) and the end of a terminal's colour.
_ESCAPES = re.compile(r"(?<=\\)[nrt]|(?<=\\)u[0-9a-fA-F]{4}|(?<=%)[0-9A-F]{2}|(?<=\x1b\[)\d{0,3}m")

# The groups of an expression that are the secret; without one, the whole match is.
_SECRET_GROUPS = ("secret", "quoted", "bare")
# A match that is no secret may contain one, if it is no longer than this.
_SEARCHED_AGAIN = 1000
# What the beginning of a token may end with before its run, and what stands before an escape.
_BREAKS = "./-\\%["
# So many dashes may a token go on with after its beginning.
_DASHES = 8
# Tokens that do not begin in a way of their own are longer than this.
_LONG = 32
_LAST = re.compile(r"[A-Za-z0-9_-]+\Z")
_HINTS = tuple(dict.fromkeys(hint for pattern in CONTEXT_PATTERNS for hint in pattern.hints))

Known = list[tuple[str, KnownToken]]
# Names of columns whose cells are secrets.
_COLUMN_HINTS = ("pass", "pw", "psk", "secret", "token", "key", "credential", "pin", "auth")


def redact(text: str) -> str:
    """The text with every secret replaced by `[REDACTED:kind]`, and what is private by `[private]`.

    Doing it twice changes nothing more.
    """
    if hash(text) in _clean:
        return text
    redacted, counts = redact_counted(text)
    if not counts:
        _note_clean([text])
    return redacted


def have_no_secrets(texts: Iterable[str]) -> bool:
    """Whether none of many texts holds a secret; searching all of them at once is the quickest."""
    unknown = [text for text in texts if hash(text) not in _clean]
    if unknown and redact_counted("\n".join(unknown))[1]:
        return False
    _note_clean(unknown)
    return True


def redact_lines(text: str) -> str:
    """The same line by line, for lines that are independent: otherwise a pattern may span two of them."""
    return "\n".join(map(redact, text.split("\n")))


def redact_counted(text: str) -> tuple[str, dict[str, int]]:
    """The redacted text, and how many secrets of each kind were removed."""
    counts: dict[str, int] = {}
    public = without_private(text)
    if public != text:
        counts["private"] = public.count(PRIVATE_MARK) - text.count(PRIVATE_MARK)
        text = public
    for _ in range(_PASSES):
        redacted = _once(text, counts)
        if redacted == text:
            break
        # A replacement can uncover another secret next to it.
        text = redacted
    return text, counts


def _note_clean(texts: Iterable[str]) -> None:
    if len(_clean) >= MAX_CLEAN_TEXTS:
        _clean.clear()
    _clean.update(map(hash, texts))


def _once(text: str, counts: dict[str, int]) -> str:
    # First, since it takes values as a whole.
    text = _without(text, secrets_in_manifests(text), counts)
    text = _without(text, _tokens(text), counts)
    lowered = _lower(text)
    there = {hint for hint in _HINTS if hint in lowered}
    if not there:
        return text
    for pattern in CONTEXT_PATTERNS:
        if not there.isdisjoint(pattern.hints):
            redacted = _without(text, _near_hints(pattern, text, _starts(pattern.hints, lowered)), counts)
            if redacted is not text:
                text, lowered = redacted, _lower(redacted)
    if "\n" in text and not there.isdisjoint(_COLUMN_HINTS):
        text = _without(text, secrets_in_columns(text, _starts(_COLUMN_HINTS, lowered)), counts)
    return text


def _without(text: str, found: Iterable[Found], counts: dict[str, int]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end, kind in found:
        pieces += [text[position:start], f"{_MARK}{kind}]"]
        position = end
        counts[kind] = counts.get(kind, 0) + 1
    return "".join([*pieces, text[position:]]) if pieces else text


def _tokens(text: str) -> Iterator[Found]:
    heads, _tails = _beginnings()
    done = 0
    for run in _RUN.finditer(text):
        at, end = run.span()
        if at < done:
            continue
        found = None
        if known := heads.get(text[at : at + 2]):
            found = _token(known, text, at)
        if found is None and end - at > _LONG:
            found = _token(heads[""], text, at)
        if found is None and at and text[at - 1] in _BREAKS:
            found = _token_around(text, at)
        if found is not None and found[0] >= done:
            done = found[1]
            yield found


def _token_around(text: str, at: int) -> Found | None:
    """A token that begins before a run, or after an escape at its beginning."""
    heads, tails = _beginnings()
    # A run may begin with dashes, which are no word to the expression.
    after = max(0, at - _DASHES) + len(text[max(0, at - _DASHES) : at].rstrip("-"))
    if known := tails.get(text[after - 2 : after]):
        return _token_before(known, text, after)
    if escape := _ESCAPES.match(text, at):
        at = escape.end()
        return _token([*heads.get(text[at : at + 2], ()), *heads[""]], text, at)
    return None


def _token(known: Iterable[tuple[str, KnownToken]], text: str, at: int) -> Found | None:
    for beginning, token in known:
        if text.startswith(beginning, at) and (rest := _compiled(token.rest).match(text, at + len(beginning))):
            return at, rest.end(), token.kind
    return None


def _token_before(known: Iterable[tuple[str, KnownToken]], text: str, at: int) -> Found | None:
    """A token whose beginning stands before the run."""
    for beginning, token in known:
        start = at - len(beginning)
        if start >= 0 and text.startswith(beginning, start) and (rest := _compiled(token.rest).match(text, at)):
            before = _LAST.search(text, max(0, start - 6), start)
            if before is None or _ESCAPES.fullmatch(text, before.start(), start):
                return start, rest.end(), token.kind
    return None


@cache
def _beginnings() -> tuple[Mapping[str, Known], Mapping[str, Known]]:
    """The tokens by the first two letters of their run; those whose run comes after their beginning by its last two."""
    heads: defaultdict[str, Known] = defaultdict(list)
    tails: defaultdict[str, Known] = defaultdict(list)
    for token in KNOWN_TOKENS:
        for beginning in token.beginnings:
            table, letters = (heads, beginning[:2]) if _is_run(beginning) else (tails, beginning[-2:])
            table[letters].append((beginning, token))
    return dict(heads), dict(tails)


def _is_run(beginning: str) -> bool:
    return not beginning or beginning[-1] in "_-" or beginning[-1].isalnum()


def _near_hints(known: ContextPattern, text: str, starts: list[int]) -> Iterator[Found]:
    pattern = _compiled(known.pattern)
    done = 0
    for start in starts:
        at = known.begins(text, start) if known.begins else start - known.before
        if at < done or not (match := pattern.match(text, at)):
            continue
        group = next((name for name, value in match.groupdict().items() if value and name in _SECRET_GROUPS), 0)
        if _MARK not in match[group] and (known.judge is None or known.judge(match)):
            done = match.end()
            yield match.start(group), match.end(group), known.kind
        elif match.end() - at > _SEARCHED_AGAIN:
            done = match.end()


def _starts(hints: tuple[str, ...], lowered: str) -> list[int]:
    """Where any of the hints stands, in order: quicker than one expression for all of them."""
    found = []
    for hint in hints:
        at = lowered.find(hint)
        while at >= 0:
            found.append(at)
            at = lowered.find(hint, at + len(hint))
    if found and _MARK.lower() in lowered:
        # The kind in a mark of ours is no hint about what comes after it.
        marked = {at for mark in _MARKED.finditer(lowered) for at in range(*mark.span())}
        found = [at for at in found if at not in marked]
    return sorted(found)


def _lower(text: str) -> str:
    """Lower case, character by character: positions must stay those of the text."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiled on first need: most processes never meet most kinds.
    return re.compile(pattern, re.ASCII)


def redact_data(value: Any) -> Any:
    """The data of a reply or a file, with secrets removed from every text in it, names of fields included."""
    # Nearly always there is nothing to remove.
    return value if have_no_secrets(_texts_in(value)) else _cleaned(value)


def _texts_in(value: Any) -> set[str]:
    texts: set[str] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            texts.add(part)
        elif isinstance(part, dict):
            texts.update(part)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return texts


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_cleaned(entry) for entry in value]
    return value


# A redacted secret ends where its kind of letters ends, so letters right after a mark are the rest of it; of a key
# that is printed in lines, so are the lines.
_REST_OF_KEY = re.compile(
    r"(\[REDACTED:private-key\])[A-Za-z0-9+/=]*+(?:\s++[A-Za-z0-9+/=]{16,}+)*+"
    r"(?:\s*+[A-Za-z0-9+/=]{0,76}+\s*+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
)
_REST = re.compile(r"(\[REDACTED:[\w-]{1,40}\])[A-Za-z0-9_+/=-]++")


def redact_joined(text: str) -> str:
    """A text joined from pieces that were redacted one by one, redacted as a whole."""
    return _REST.sub(r"\1", _REST_OF_KEY.sub(r"\1", redact(text)))


# Escape sequences (CSI, OSC and the other string kinds, two-character ones), whole, so that no "[31m" stays behind. One
# that does not end on its line takes nothing with it: it could hide what follows.
_TERMINAL_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n\x90\x98\x9d-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
# Other control characters but tab and newline, and those that make text read in another order than it is stored.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# What JSON lets through unescaped.
_UNESCAPED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def strip_control_characters(text: str) -> str:
    """The text without anything that moves a cursor, colours, rings or reorders."""
    return _CONTROLS.sub("", _TERMINAL_ESCAPES.sub("", text.replace("\r\n", "\n")))


def escape_control_characters(json_text: str) -> str:
    """JSON in which such characters are escaped: it reads as it is stored, and parses to the same."""
    return _UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)
