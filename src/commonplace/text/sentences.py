"""Choosing from a text, never inventing: a title, an excerpt, a shortened line, and the sentences that say most."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from commonplace.text.redact import redact
from commonplace.text.tokens import STOP_WORDS, index_text, stem, words_of
from commonplace.text.word_lists import word_set

_TITLE_READ = 20_000
_TITLE_FENCE = re.compile(r"\s*(?:```|~~~)")
_EMPTY = re.compile(r"[\s\-=*_#>|+~`.:]*")
_COMMENT = re.compile(r"<!--(?:(?!<!--).){0,2000}?-->", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[^\n]*\n){0,50}?---[ \t]*(?:\n|\Z)")
_TITLE_LEADER = re.compile(r"\s*(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,1000}(?:\s+\"[^\"]{0,200}\")?\)")
_EMPHASIS = re.compile(r"(\*{1,3}|~~|`{1,2})(?=\S)([^*~`]{1,300})(?<=\S)\1")
_SENTENCE = re.compile(r"[^\n]*?[.!?。！？](?=\s|\Z|(?<=[。！？]))")


def title_of(text: str, limit: int = 80) -> str:
    """The first meaningful line without its Markdown, its first sentence if it is long; empty if there is none."""
    head = text[:_TITLE_READ]
    if head.startswith("---"):
        head = _FRONT_MATTER.sub("", head)
    if "<!--" in head:
        head = _COMMENT.sub(" ", head)
    code = ""
    fenced = False
    for line in head.splitlines():
        if _TITLE_FENCE.match(line):
            fenced = not fenced
        elif not _EMPTY.fullmatch(line):
            if not fenced:
                return _title(line, limit)
            code = code or line
    return shorten(code, limit)


def shorten(text: str, limit: int) -> str:
    """The text on one line, cut at a word border and marked with an ellipsis if it is longer than `limit`."""
    line = " ".join(text[: max(0, limit) * 4 + _TITLE_READ].split())
    if len(line) <= limit:
        return line
    if limit <= 1:
        return line[: max(0, limit)]
    border = line[:limit].rfind(" ")
    head = line[:border] if border >= limit // 2 else line[: limit - 1]
    return head.rstrip(" ,;:-–—") + "…"


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts: "1 item", "1,200 items"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def join_lines(text: str) -> str:
    """Lines as one text; those that are no sentences are told apart by a semicolon."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(line if line.endswith((".", "!", "?", ";", ":")) else f"{line};" for line in lines).rstrip(";")


def lines_as_one(text: str) -> str:
    """The lines of a list in one line, apart from each other: `Created a.py; ran the tests`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join([*(line.rstrip(" .;") for line in lines[:-1]), *lines[-1:]])


def truncate(text: str, limit: int) -> str:
    """The text as it is, or its beginning and an ellipsis if it is longer than `limit`; its lines stay."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def whole_title(title: str, text: str) -> str:
    """A title; one that was cut from the first line of the text is that line."""
    return title_of(text, _TITLE_READ) if title.endswith("…") and title == title_of(text) else title


def _title(line: str, limit: int) -> str:
    line = line[:2000]
    while leader := _TITLE_LEADER.match(line):
        line = line[leader.end() :]
    line = _LINK.sub(r"\1", line)
    for _ in range(2):
        line = _EMPHASIS.sub(r"\2", line)
    line = " ".join(line.rstrip("# \t").split())
    if len(line) > limit and (sentence := _SENTENCE.match(line)) and 10 <= len(sentence[0]) <= limit:
        return sentence[0]
    return shorten(line, limit)


def normalise_statement(text: str) -> str:
    """What makes two statements the same: their words, whatever their case, spacing and final full stop."""
    return " ".join(unicodedata.normalize("NFC", redact(text)).split()).rstrip(".").rstrip().casefold()


MAX_SENTENCE = 400
# Shorter sentences say too little by themselves.
_FEWEST = 3
# How many characters of a text are read, and how many sentences are compared.
_READ, _MOST = 20_000, 2_000
_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_LEADER = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+|\d{1,3}[.)]\s+)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, without code and Markdown signs."""
    plain = _FENCE.sub("\n", text[:_READ])
    parts = (" ".join(_LEADER.sub("", part).split()) for part in _SENTENCE_END.split(plain))
    return [shorten(part, MAX_SENTENCE) for part in parts if part]


# What leads over to a reason.
_REASON = re.compile(r",? (?:because (?:of )?|due to |(?=so that |in order to |to avoid ))| [–—] |: ")
# Words before it, so that a label is no statement, and letters of the reason.
_LEAST_STATED, _LEAST_REASON = 3, 8


def split_reason(text: str) -> tuple[str, str]:
    """What a text states, in a sentence, and why, in its own words: the rest; empty if it does not say."""
    first, *rest = [*sentences(text), ""]
    why = " ".join(filter(None, rest))
    for found in _REASON.finditer(first):
        stated, reason = first[: found.start()], first[found.end() :]
        if len(stated.split()) >= _LEAST_STATED and len(reason) >= _LEAST_REASON:
            return f"{stated.rstrip(' ,;')}.", " ".join(filter(None, (_capitalised(reason), why)))
    return first, why


# Where a reason begins: it has words, numbers and negations of its own, which are not what is stated.
_WHY = re.compile(r",? (?:because|due to|so that|in order to)\b", re.IGNORECASE)
# A few words in brackets explain the one before them, unless they are a value or say what held before.
_REMARK = re.compile(
    r" \((?!(?:now|not?|never|formerly|previously|instead|since|again|is|are|was|were)\b)"
    r"[^()\s\d]{1,40}(?: [^()\s\d]{1,40}){0,2}\)",
    re.IGNORECASE,
)


def without_reason(sentence: str) -> str:
    """A sentence without its reason and its remarks in brackets."""
    found = _WHY.search(sentence)
    stated = _REMARK.sub("", sentence[: found.start()] if found else sentence)
    return stated if len(stated.split()) >= _LEAST_STATED else sentence


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def main_sentences(texts: Sequence[str], characters: int) -> list[str]:
    """The sentences whose words occur most often in all the texts, in order, within so many characters."""
    candidates = list(dict.fromkeys(chain.from_iterable(map(sentences, texts))))[-_MOST:]
    stems = list(map(content_stems, candidates))
    spread = Counter(chain.from_iterable(stems))
    weight = [_share_of_words(words, spread) for words in stems]
    chosen: list[int] = []
    room = characters
    covered: set[str] = set()
    for place in sorted(range(len(candidates)), key=lambda place: (-weight[place], place)):
        repeats = len(stems[place] & covered) > 0.8 * len(stems[place])
        if len(candidates[place]) <= room and not (repeats and chosen):
            chosen.append(place)
            covered |= stems[place]
            room -= len(candidates[place]) + 1
    return [candidates[place] for place in sorted(chosen)]


def _share_of_words(words: Collection[str], spread: Mapping[str, int]) -> float:
    """How often the words of a sentence occur in others."""
    return sum(spread[word] - 1 for word in words) / (len(words) + 3) if len(words) >= _FEWEST else -1.0


# What is read of a long text: its beginning and, for the outcome, more of its end.
_OPENING_CHARS, _ENDING_CHARS = 6_000, 12_000
_FIRST, _LAST = 20, 40
_FENCE_MARK = "```"
# A short text with fewer content words than this ("great, ship it") says nothing by itself.
_LITTLE, _SHORT = 3, 80
_LEAST_CLAUSE = 30
_DID = (
    "added|adopted|built|changed|chose|chosen|cleaned|configured|converted|created|decided|deleted|deployed"
    "|disabled|documented|dropped|enabled|extended|extracted|finished|fixed|found|implemented|improved|increased"
    "|installed|integrated|introduced|lowered|made|merged|migrated|moved|patched|raised|reduced|refactored|released"
    "|removed|renamed|repaired|replaced|resolved|restored|reverted|rewrote|rolled|shipped|simplified|solved"
    "|started|stopped|switched|tested|updated|upgraded|verified|wired|wrote"
)
# Patterns as text: few who import this rank sentences, and `re` compiles them when they are first used.
_OUTCOME = (
    rf"(?i)\b(?:(?:{_DID}|is (?:done|ready|complete|solved)|(?:now|again) works?|works? (?:now|again)|no longer"
    r"|we (?:keep|use)|(?:tests?|suite) pass(?:es|ed)?|root cause|the (?:cause|problem|reason) was"
    r"|ich habe|wurden?|behoben|gelöst|entschieden)\b"
    r"|works(?=[:.,;]|$))"
    # "Excluded the health checks": what was done, whatever it is.
    r"|^(?!(?:based|expected|failed|received|supposed|unexpected|unused)\b)[a-z]{3,}[a-df-z]ed\b"
)
_GOES = r"(?:works?|runs?|builds?|compiles?|starts?|loads?|deploys?|passes|is (?:green|healthy))"
_FIX = (
    r"(?i)\b(?:fixe[ds]|solved|resolved|restored|repaired|patched|reverted|no longer|root cause|turned out"
    rf"|the (?:cause|problem|reason|fix) (?:was|is)|{_GOES} (?:now|again)|(?:now|again) {_GOES}|guard(?:ed)?|so i added"
    r"|(?:tests?|suite) pass(?:es|ed)?|(?:goes|went) (?:through|away)|(?:is|are) gone|behoben|gelöst)\b"
)
_NO_FIX = (
    r"(?i)(?:\b(?:not|never|cannot|nothing)|n['’]t)(?: \w+){0,2} (?:fixed|solved|resolved)\b"
    r"|\bto be (?:fixed|solved|resolved)\b|\bnicht (?:\w+ ){0,2}(?:behoben|gelöst)"
)
_LOG = (
    r"\s*(?:[$%>+|]|at \S+ ?\(|PASS\b|FAIL\b|(?:npm|npx|yarn|pip|git|cargo) \w|\d+ (?:passed|failed)"
    r"|\[\w+\] |(?=\w+_\w)\w++: )"
)
# What an agent thought counts less than what it said.
_THOUGHT = "Thought: "
_ERROR = r"(?:Error|Exception|Failure|\berror)(?:\[\w+\])?: |\bERROR\b|\bFAILED\b|npm ERR!|\b(?:fatal|panic): "
_OURSELVES = rf"^(?:(?:I|We)(?:['’]ve| have)?(?: also| just| now)?|Then I) (?=(?:{_DID})\b)"


class RankedSentence(NamedTuple):
    """A sentence, and how well it fits what it was chosen for."""

    text: str
    worth: float

    @property
    def is_outcome(self) -> bool:
        """Whether it states a result, rather than a wish or a question."""
        return not self.text.endswith(("?", "？")) and bool(re.search(_OUTCOME, self.text))


def key_sentence(text: str, about: Collection[str], most: int) -> RankedSentence:
    """The sentence that says most about `about` (content stems), results first; code if there is nothing else."""
    found = _outer_sentences(text)
    lines = [RankedSentence(sentence, _worth(sentence, about) - 0.02 * place) for place, sentence in enumerate(found)]
    best = max(lines, key=lambda line: line.worth, default=RankedSentence(title_of(text, most), -3.0))
    return RankedSentence(_tidied(best.text, most), best.worth)


def brief_summary(text: str, about: Collection[str], most: int, *, cure: bool = False) -> str:
    """The whole text if it is short, else its key sentence, or with `cure` the one that says what fixed it."""
    whole = " ".join(sentence for sentence in sentences(text[: 4 * most]) if not re.match(_LOG, sentence))
    if whole and len(text) <= 2 * most and len(whole) <= most:
        return whole
    return (cure and _fix_sentence(text, about, most)) or key_sentence(text, about, most).text


def error_line(text: str, error: str) -> str:
    """The line with an error, as it was printed."""
    from commonplace.text.references import errors_in

    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if error in errors_in(line)), error)


def content_stems(text: str) -> frozenset[str]:
    """The stems of the content words of a text."""
    return frozenset(stem(word) for word in words_of(text) if word not in STOP_WORDS)


def is_small_talk(text: str) -> bool:
    """Whether it is only small talk: thanks, go on."""
    return len(text) < _SHORT and len(content_stems(text)) < _LITTLE


# Words that say nothing by themselves, and how many of them make a short text.
_MOST_FILLERS = 5


def is_filler(text: str) -> bool:
    """Whether a short text says nothing by itself: yes, continue, thanks."""
    found = re.findall(r"\w+", text.casefold().replace("'", "").replace("’", ""))
    return len(found) <= _MOST_FILLERS and word_set("fillers").issuperset(found)


def describes_fix(text: str) -> bool:
    """Whether a text says that, or how, something was fixed."""
    return any(map(_is_fix, _outer_sentences(text)))


def text_from_error(text: str, error: str) -> str:
    """A text from the line with an error on; empty if the error is not in it."""
    from commonplace.text.references import errors_in

    lines = text.splitlines()
    met = next((place for place, line in enumerate(lines) if error in errors_in(line)), len(lines))
    fenced = sum(line.startswith(_FENCE_MARK) for line in lines[:met]) % 2
    return "\n".join([*[_FENCE_MARK] * fenced, *lines[met:]])


def _fix_sentence(text: str, about: Collection[str], most: int) -> str:
    fixes = filter(_is_fix, _outer_sentences(text))
    return _tidied(max(fixes, key=lambda sentence: _worth(sentence, about), default=""), most)


def _is_fix(sentence: str) -> bool:
    return bool(re.search(_FIX, sentence)) and not (re.match(_LOG, sentence) or re.search(_NO_FIX, sentence))


def _outer_sentences(text: str) -> list[str]:
    """The sentences of a text; of a long one the first and the last."""
    if len(text) <= _OPENING_CHARS + _ENDING_CHARS:
        found = sentences(text)
    else:
        end = text[-_ENDING_CHARS:]
        # The end may begin within code.
        found = sentences(text[:_OPENING_CHARS]) + sentences(
            f"{_FENCE_MARK}\n{end}" if end.count(_FENCE_MARK) % 2 else end
        )
    return found if len(found) <= _FIRST + _LAST else found[:_FIRST] + found[-_LAST:]


def _worth(sentence: str, about: Collection[str]) -> float:
    words = content_stems(sentence)
    worth = min(3, len(words & frozenset(about))) + 0.1 * min(6, len(words))
    if len(words) < _LITTLE:
        worth -= 1.5
    if re.match(_LOG, sentence) or re.search(_ERROR, sentence):
        worth -= 2.0
    elif sentence.endswith(("?", "？")):
        worth -= 0.5
    elif re.search(_OUTCOME, sentence):
        worth += 1.5
    return worth - 1.0 if sentence.startswith(_THOUGHT) else worth


def _tidied(sentence: str, most: int) -> str:
    """A sentence as a line of a list: "I" and "we" removed, cut at the end of a clause if it is long."""
    line = re.sub(_OURSELVES, "", sentence.removeprefix(_THOUGHT))
    line = line[:1].upper() + line[1:] if line != sentence else line
    if len(line) > most:
        border = max(line.rfind(sign, _LEAST_CLAUSE, most) for sign in (": ", "; ", " (", " – ", " — "))
        line = line[:border] if border > 0 else shorten(line, most)
    return line.rstrip(" :;,")


_BORDER = re.compile(r"\n+|(?<=[.!?])\s+")
_CUT_MARK = "… "


def excerpt(text: str, wanted: Collection[str], limit: int) -> str:
    """At most `limit` characters of a text, starting at the sentence after which most of the `wanted` words stand.

    `wanted` are index tokens. A text with none of them, or with them at its start, is shown from its beginning.
    """
    if len(text) <= limit:
        return text
    starts = [0, *(found.end() for found in _BORDER.finditer(text))]
    room = max(1, limit - len(_CUT_MARK))
    ends = [*starts[1:], len(text)]
    found = [_words_found(text[start:end], wanted) for start, end in zip(starts, ends, strict=True)]
    worth = [len(found[n].union(*found[n : bisect_right(ends, start + room)])) for n, start in enumerate(starts)]
    # The beginning is easiest to read; otherwise start with a wanted word, and use all the room.
    n = max(range(len(starts)), key=lambda n: (worth[n], n == 0, bool(found[n]), -n))
    best = min(starts[n], next((start for start in starts if start >= len(text) - room), starts[n]))
    return truncate(text, limit) if best == 0 else _CUT_MARK + truncate(text[best:], room)


def _words_found(part: str, wanted: Collection[str]) -> frozenset[str]:
    return frozenset(index_text(part).split()).intersection(wanted)
