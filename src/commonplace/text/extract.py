"""Extracting: the sentence of a text that says most about something, what came of it above all; nothing is invented."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from commonplace.text.references import errors_in
from commonplace.text.sentences import sentences
from commonplace.text.summarise import shorten, title_of
from commonplace.text.tokens import STOP_WORDS, stem, words_of

# What is read of a long text: how it begins and, for what came of it, more of how it ends.
_BEGINNING, _END = 6_000, 12_000
_FIRST, _LAST = 20, 40
_FENCE = "```"
# What is short and has less than this many telling words ("great, ship it") says nothing by itself.
_LITTLE, _SHORT = 3, 80
_LEAST_CLAUSE = 30
_DID = (
    "added|adopted|built|changed|chose|chosen|cleaned|configured|converted|created|decided|deleted|deployed"
    "|disabled|documented|dropped|enabled|extended|extracted|finished|fixed|found|implemented|improved|increased"
    "|installed|integrated|introduced|lowered|made|merged|migrated|moved|patched|raised|reduced|refactored|released"
    "|removed|renamed|repaired|replaced|resolved|restored|reverted|rewrote|rolled|shipped|simplified|solved"
    "|started|stopped|switched|tested|updated|upgraded|verified|wired|wrote"
)
_OUTCOME = re.compile(
    rf"\b(?:(?:{_DID}|is (?:done|ready|complete|solved)|(?:now|again) works?|works? (?:now|again)|no longer"
    r"|we (?:keep|use)|(?:tests?|suite) pass(?:es|ed)?|root cause|the (?:cause|problem|reason) was"
    r"|ich habe|wurden?|behoben|gelöst|entschieden)\b"
    r"|works(?=[:.,;]|$))"
    # "Excluded the health checks": what was done, whatever it is.
    r"|^(?!(?:based|expected|failed|received|supposed|unexpected|unused)\b)[a-z]{3,}[a-df-z]ed\b",
    re.IGNORECASE,
)
_GOES = r"(?:works?|runs?|builds?|compiles?|starts?|loads?|deploys?|passes|is (?:green|healthy))"
_CURE = re.compile(
    r"\b(?:fixe[ds]|solved|resolved|restored|repaired|patched|reverted|no longer|root cause|turned out"
    rf"|the (?:cause|problem|reason|fix) (?:was|is)|{_GOES} (?:now|again)|(?:now|again) {_GOES}|guard(?:ed)?|so i added"
    r"|(?:tests?|suite) pass(?:es|ed)?|(?:goes|went) (?:through|away)|(?:is|are) gone|behoben|gelöst)\b",
    re.IGNORECASE,
)
_NO_CURE = re.compile(
    r"(?:\b(?:not|never|cannot|nothing)|n['’]t)(?: \w+){0,2} (?:fixed|solved|resolved)\b"
    r"|\bto be (?:fixed|solved|resolved)\b|\bnicht (?:\w+ ){0,2}(?:behoben|gelöst)",
    re.IGNORECASE,
)
_LOG = re.compile(
    r"\s*(?:[$%>+|]|at \S+ ?\(|PASS\b|FAIL\b|(?:npm|npx|yarn|pip|git|cargo) \w|\d+ (?:passed|failed)"
    r"|\[\w+\] |\w+_\w+: )"
)
# What an agent thought is less than what it said.
_THOUGHT = "Thought: "
_ERROR = re.compile(
    r"(?:Error|Exception|Failure|\berror)(?:\[\w+\])?: |\bERROR\b|\bFAILED\b|npm ERR!|\b(?:fatal|panic): "
)
_OURSELVES = re.compile(rf"^(?:(?:I|We)(?:['’]ve| have)?(?: also| just| now)?|Then I) (?=(?:{_DID})\b)")


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, and how well it tells what it was chosen for."""

    text: str
    worth: float

    @property
    def is_outcome(self) -> bool:
        """Whether it tells what came of something, rather than what was wanted."""
        return not self.text.endswith(("?", "？")) and bool(_OUTCOME.search(self.text))


def telling_line(text: str, about: Collection[str], most: int) -> Line:
    """The sentence that tells most of what `about` names (telling words), results before questions; code if all is."""
    said = _sentences(text)
    lines = [Line(sentence, _worth(sentence, about) - 0.02 * place) for place, sentence in enumerate(said)]
    best = max(lines, key=lambda line: line.worth, default=Line(title_of(text, most), -3.0))
    return Line(_tidied(best.text, most), best.worth)


def told_briefly(text: str, about: Collection[str], most: int, *, cure: bool = False) -> str:
    """All that is said, if that is little; else the sentence that tells most, or most of what put it right."""
    whole = " ".join(sentence for sentence in sentences(text[: 4 * most]) if not _LOG.match(sentence))
    if whole and len(text) <= 2 * most and len(whole) <= most:
        return whole
    return (cure and _cure_line(text, about, most)) or telling_line(text, about, most).text


def error_line(text: str, error: str) -> str:
    """The line in which an error stands, as it was printed."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if error in errors_in(line)), error)


def telling_words(text: str) -> frozenset[str]:
    """The stems of a text's words that mean something by themselves."""
    return frozenset(stem(word) for word in words_of(text) if word not in STOP_WORDS)


def says_little(text: str) -> bool:
    """Whether it is only talk beside the work: thanks, go on."""
    return len(text) < _SHORT and len(telling_words(text)) < _LITTLE


def tells_a_cure(text: str) -> bool:
    """Whether it says that or how something was put right."""
    return any(map(_is_cure, _sentences(text)))


def since_error(text: str, error: str) -> str:
    """What a text says from the line on in which an error stands; nothing if it is not there."""
    lines = text.splitlines()
    met = next((place for place, line in enumerate(lines) if error in errors_in(line)), len(lines))
    fenced = sum(line.startswith(_FENCE) for line in lines[:met]) % 2
    return "\n".join([*[_FENCE] * fenced, *lines[met:]])


def _cure_line(text: str, about: Collection[str], most: int) -> str:
    cures = filter(_is_cure, _sentences(text))
    return _tidied(max(cures, key=lambda sentence: _worth(sentence, about), default=""), most)


def _is_cure(sentence: str) -> bool:
    return bool(_CURE.search(sentence)) and not (_LOG.match(sentence) or _NO_CURE.search(sentence))


def _sentences(text: str) -> list[str]:
    """The sentences of a text, of a long one the first and the last."""
    if len(text) <= _BEGINNING + _END:
        said = sentences(text)
    else:
        end = text[-_END:]
        # The end may begin within code.
        said = sentences(text[:_BEGINNING]) + sentences(f"{_FENCE}\n{end}" if end.count(_FENCE) % 2 else end)
    return said if len(said) <= _FIRST + _LAST else said[:_FIRST] + said[-_LAST:]


def _worth(sentence: str, about: Collection[str]) -> float:
    words = telling_words(sentence)
    worth = min(3, len(words & frozenset(about))) + 0.1 * min(6, len(words))
    if len(words) < _LITTLE:
        worth -= 1.5
    if _LOG.match(sentence) or _ERROR.search(sentence):
        worth -= 2.0
    elif sentence.endswith(("?", "？")):
        worth -= 0.5
    elif _OUTCOME.search(sentence):
        worth += 1.5
    return worth - 1.0 if sentence.startswith(_THOUGHT) else worth


def _tidied(sentence: str, most: int) -> str:
    """As a line of a list: what was done first, cut where a clause ends if it is long."""
    line = _OURSELVES.sub("", sentence.removeprefix(_THOUGHT))
    line = line[:1].upper() + line[1:] if line != sentence else line
    if len(line) > most:
        border = max(line.rfind(sign, _LEAST_CLAUSE, most) for sign in (": ", "; ", " (", " – ", " — "))
        line = line[:border] if border > 0 else shorten(line, most)
    return line.rstrip(" :;,")
