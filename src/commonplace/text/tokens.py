"""How text becomes index words. Documents and queries both pass through here, on every database engine.

The index stream of a text is its words in order, each as its stem followed, when they differ, by `=` and the word as
written: "validating tokens" is `valid =validating token =tokens`. A term looks for one stem token, so its document
frequency is right; a phrase looks for the exact sequence; a prefix looks for `p*` or `=p*`. Identifiers give the
joined word and then their parts: `getUserName` and `get_user_name` are both `getusernam =getusername get user name`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from threading import Lock

import Stemmer  # type: ignore[import-not-found, import-untyped, unused-ignore]

MAX_WORD = 80
"""Longer words (encoded blobs) are cut here, in documents and in queries alike."""

MAX_SEQUENCE = 128
"""Tokens that one phrase or path looks for; a longer one is found by its beginning."""

_CACHE_SIZE = 20_000
_CACHED_LENGTH = 64
_MAX_HUMPS = 8
_VOICED_MARKS = "\u3099\u309a"
# Letters of New Tai Lue and Vedic that SQLite's tokenizer takes for separators: treated as the vowel marks they are.
_EXTRA_MARKS = frozenset(map(chr, (*range(0x19B0, 0x19C1), 0x19C8, 0x19C9, 0x1CF2, 0x1CF3)))

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_CHUNK = re.compile(r"[^\W_]\w*")
# OAuth is one word, even if people search for `auth`.
_HUMP = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])(?!(?<=O)Auth(?![a-z]))"
)
# Scripts written without spaces between words, and Hangul, whose particles stick to words: indexed as pairs of letters.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)

_FUNCTION_WORDS = """
    a about above actually all also am an and any anybody anyone anything are aren as at be became because been being
    but by can cannot could couldn d did didn do does doesn doing don done each either else ever every everything for
    from give got had hadn has hasn have haven having he hello help her here hers hi him his how i if in into is isn
    it its itself just know let like ll m many may maybe me might mine more most much must my myself near need neither
    no nor not of on onto or other our ours ourselves own per please re really s shall shan she should
    shouldn show so some somebody someone something somewhat such t tell than thank thanks that the their theirs them
    themselves then there these they thing things this those though through to too us ve very via want was wasn we were
    weren what whatever when where whether which who whom whose why will with won would wouldn yes yet you your yours
    yourself
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Function words of plain questions, folded. Words that narrow a question ("last", "after", "new") are not here."""

ACRONYMS = frozenset({"IT", "US", "WHO"})
"""Written so, a function word is a name."""


@dataclass(frozen=True, slots=True)
class Form:
    """Index tokens that must stand side by side; with `prefix`, the last one is only the beginning of a token."""

    tokens: tuple[str, ...]
    prefix: bool = False

    @classmethod
    def of(cls, tokens: tuple[str, ...], prefix: bool = False) -> Form:
        """A form, cut to the longest sequence that engines search for."""
        return cls(tokens, prefix) if len(tokens) <= MAX_SEQUENCE else cls(tokens[:MAX_SEQUENCE])


def fold(text: str) -> str:
    """Lower-case without accents or compatibility forms, so that spelling variants compare equal."""
    if text.isascii():
        return text.lower().replace("\0", " ")
    return _UNSTORABLE.sub(" ", strip_marks(strip_marks(text).casefold()))


def strip_marks(text: str) -> str:
    """The text without accents, vowel signs and compatibility forms, its case kept."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    category = unicodedata.category
    letters = [
        char
        for char in decomposed
        if char.isascii() or char in _VOICED_MARKS or (category(char)[0] != "M" and char not in _EXTRA_MARKS)
    ]
    # Voiced marks tell Japanese letters apart: they survive where they compose, and go where they stand alone.
    composed = unicodedata.normalize("NFC", "".join(letters))
    for mark in _VOICED_MARKS:
        composed = composed.replace(mark, "")
    return composed


def index_text(text: str) -> str:
    """The index stream of a text: tokens of letters and digits, some led by `=`, separated by single spaces."""
    return " ".join(map(_emitted.__getitem__, _chunks(text)))


def stem(word: str) -> str:
    """The stem token of one folded word. Only plain English-looking words have one; others are their own."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    # One at a time: a stemmer is not safe to share between threads.
    with _stemmer_lock:
        return _stemmer()(word)


def words_of(text: str) -> list[str]:
    """The folded words of a text in order, identifiers and paths as their parts, before stemming."""
    return [word for chunk in _chunks(text) for _, parts in _names(chunk) for word in parts]


def term_forms(text: str) -> tuple[Form, ...]:
    """What to look for when someone writes `text` as one bare word; any of the forms will do.

    A word is its stem. An identifier is its joined word or its parts in sequence. Anything that splits further
    (path, version, address) is one sequence. The last word of a sequence matches by its stem.
    """
    names = [name for chunk in _chunks(text) for name in _names(chunk)]
    if not names:
        return ()
    if len(names) > 1:
        return (Form.of(_stemmed_end(names)),)
    joined, parts = names[0]
    if joined:
        return Form.of((stem(joined),)), Form.of(_stemmed_end([("", parts)]))
    if len(parts[0]) == 1 and is_paired(parts[0]):
        return (Form.of((parts[0],), prefix=True),)
    return (Form.of(_stemmed_end(names)),)


def phrase_forms(text: str) -> tuple[Form, ...]:
    """What to look for when someone quotes `text`: its words as written, side by side."""
    tokens = tuple(index_text(text).split())
    return (Form.of(tokens),) if tokens else ()


def prefix_forms(text: str) -> tuple[Form, ...]:
    """What to look for when someone writes `text*`: words that begin so, by stem or as written."""
    names = [name for chunk in _chunks(text) for name in _names(chunk)]
    if not names:
        return ()
    joined, parts = names[-1]
    head = _tokens(names[:-1])
    forms = [*_prefixes(head, joined)] if joined else []
    forms += _prefixes((*head, *_tokens([("", parts[:-1])])), parts[-1])
    return tuple(forms)


def is_paired(word: str) -> bool:
    """Whether a word is written in a script that is indexed as pairs of letters."""
    run = None if word.isascii() else _runs().match(word)
    return run is not None and run[1] is not None


def count_tokens(text: str) -> int:
    """The cost of a text in a model's context, by the four-characters rule that every budget here uses."""
    return estimate_tokens(len(text))


CHARACTERS_PER_TOKEN = 4


def estimate_tokens(characters: int) -> int:
    """One token for every four characters, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def _chunks(text: str) -> list[str]:
    return _CHUNK.findall(strip_marks(text))


Name = tuple[str, list[str]]
"""One name in a text: the joined word (empty unless it is an identifier of several parts) and its words."""


def _names(chunk: str) -> list[Name]:
    if chunk.isascii():
        return [_identifier(chunk)]
    names: list[Name] = []
    for found in _runs().finditer(chunk):
        run = found[0]
        if found[1] is None:
            if run.strip("_"):
                names.append(_identifier(run))
        elif len(run) == 1:
            names.append(("", [run]))
        else:
            names.append(("", [run[i : i + 2] for i in range(len(run) - 1)]))
    return names


def _identifier(run: str) -> Name:
    parts: list[str] = []
    for piece in run.split("_"):
        humps = _HUMP.split(piece) if len(piece) <= MAX_WORD and not piece.islower() else [piece]
        # Many short humps are an encoded blob, not a name; its pieces would only be noise.
        parts += [fold(hump)[:MAX_WORD] for hump in (humps if len(humps) <= _MAX_HUMPS else [piece]) if hump]
    joined = "".join(parts) if len(parts) > 1 else ""
    return (joined if len(joined) <= MAX_WORD else ""), parts


def _tokens(names: list[Name]) -> tuple[str, ...]:
    out: list[str] = []
    for joined, parts in names:
        for word in [joined, *parts] if joined else parts:
            stemmed = stem(word)
            out.append(stemmed)
            if stemmed != word:
                out.append("=" + word)
    return tuple(out)


def _stemmed_end(names: list[Name]) -> tuple[str, ...]:
    tokens = _tokens(names)
    return tokens[:-1] if tokens[-1].startswith("=") else tokens


def _prefixes(head: tuple[str, ...], word: str) -> list[Form]:
    if not head:
        return [Form.of((word,), True), Form.of(("=" + word,), True)]
    forms = [Form.of((*head, word), True)]
    if word.isascii() and word.isalpha():
        # After a head the stem stands between: it may be shorter than what was typed, by an ending or so.
        stems = {word[:end] for end in range(max(3, len(word) - 6), len(word))} | {stem(word)}
        forms += [Form.of((*head, stemmed, "=" + word), True) for stemmed in sorted(stems)]
    return forms


class _Emitted(dict[str, str]):
    """Maps a chunk of text to its index tokens; when full, entries that were not used lately are dropped."""

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[str, str] = {}

    def __missing__(self, chunk: str) -> str:
        emitted = self._before.get(chunk)
        if emitted is None:
            # Most chunks are plain words, capitalised or not, which are no identifiers to take apart.
            plain = chunk.isascii() and chunk.isalpha() and chunk[1:].islower() and len(chunk) <= MAX_WORD
            emitted = " ".join(_tokens([("", [chunk.lower()])] if plain else _names(chunk)))
        if len(chunk) <= _CACHED_LENGTH:
            if len(self) >= _CACHE_SIZE:
                self._before = self.copy()
                self.clear()
            self[chunk] = emitted
        return emitted


_emitted = _Emitted()
_stemmer_lock = Lock()


@cache
def _stemmer() -> Callable[[str], str]:
    stem_word: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord
    return stem_word


@cache
def _runs() -> re.Pattern[str]:
    # Compiled on first need: classes this wide take milliseconds, and most texts never ask for them.
    return re.compile(f"([{_PAIRED}]+)|[^{_PAIRED}]+")


# Han, kana, and the scripts of Thailand, Laos, Myanmar and Cambodia.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def count_words(text: str) -> int:
    """Words of a text, as `wc -w` counts them; in Chinese, Japanese and the like, letters."""
    if text.isascii():
        return len(text.split())
    return len(_UNSPACED.sub(" ", text).split()) + len(_UNSPACED.findall(text))


def without_surrogates(text: str) -> str:
    """The text without lone surrogates, which neither tokenizers nor UTF-8 can represent."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
