"""Proposed memories: the decisions, rules, preferences, corrections and constraints that a person states in a prompt.

Conservative, since each is shown to a person for review: a sentence has to begin like a statement. Questions, doubts,
quoted and reported words, pasted logs and code, and what only makes sense at this moment ("use the second one") are not
statements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from commonplace.text.quoted_text import is_reported, own_paragraphs
from commonplace.text.sentences import sentences
from commonplace.text.tokens import STOP_WORDS
from commonplace.text.word_lists import word_set

StatementType = Literal["decision", "rule", "heuristic", "constraint", "rejected", "fact"]
MAX_STATEMENTS = 5
_READ, _FEWEST_WORDS, _LONGEST = 20_000, 3, 300
_CONFIRMS = re.compile(r"\W*(?:no|nope|nah|wrong|actually|not quite)\W*", re.IGNORECASE)

# Not the person's own words either: quotations, logs, and all that follows "Here is the mail:" or a ruled line.
_LOG_LINE = re.compile(
    r"\s*(?:>|\$ |[#|]|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[[\w :.-]+\]|Traceback\b|File \"|at \S+\("
    r"|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|PANIC)\b|[\w.]*(?:Error|Exception|Warning)\b.{0,3}:|\w+\s*=\s|(?:def|class|import|from|return|const|let|var"
    r"|function|if|for|while)\b.*[:;{(=]\s*$)|(?: {4}|\t)\S"
)
_RULED_LINE = re.compile(r"\s*(?:-{3}|_{3}|={3}|\*{3})")
_PASTES = re.compile(
    r"\b(?:here(?:['’]s| is| are)|this is|see|below|log|logs|output|mail|message|error|diff|quote|translate|says?|said"
    r"|wrote|writes)\b",
    re.IGNORECASE,
)
# Words before a statement that say nothing of it.
_LEAD = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|so|btw|by the way|also|and|hey|hi|please|bitte|note|important|fyi|just so you know|personally"
    r"|well|oh|ah|yes|yeah|sure|thanks|in (?:this|our) (?:repo(?:sitory)?|project|code ?base|team)|for this project"
    r"|after (?:yesterday|today|the|our)[\w'’ ]{0,30})\b\s*[,:;–—-]?\s*)+",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^[^:.!?]{1,40}:\s+")
_QUESTION = re.compile(
    r"^(?:should|shall|did|do (?:you|we|i|they)|does|can|could|would|will (?:you|it|we|this)|what|why|how|is|are|was"
    r"|were|where|when|who|which|whose|have (?:we|you)|isn['’]t|aren['’]t|remember (?:the|when|how|what))\b|[?？]\s*$",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"^(?:if|unless|before|after|once|when|until|suppose|imagine|explain|show|summari[sz]e|tell|write|add|put|translate"
    r"|rename|check|find|implement)\b"
    r"|\b(?:maybe|perhaps|probably|might|could|would(?! rather)|wonder|not sure|i think|i guess|whether|what if|suppose"
    r"|in case|need(?:s)? to decide|kidding)\b"
    r"|\b(?:not|never|n['’]t|yet to)(?: have)?(?: been)?(?: yet)? (?:decided|agreed|settled)\b",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(
    r"\b(?:yet|for now|right now|today|tomorrow|this time|first|just|anything|again|then|later|here to)\b",
    re.IGNORECASE,
)
_WHO = r"(?:we|i|the team|everybody|everyone|(?:[\w'’]+ ){1,3}and (?:we|i))"
_HAVE = r"(?:['’]ve|['’]re| have| had| are| all| both| finally| just| now| also| recently| already| together)*"

_DECISION = re.compile(
    rf"^(?:{_WHO}{_HAVE} (?:decided|agreed|settled on|chose|opted for|made the decision)\b"
    r"|it (?:was|has been) (?:decided|agreed)\b|decision\s*[:–—]|decided[,:] "
    r"|we(?:['’]re| are)(?: now)? (?:going with|switching|moving (?:to|from|away)|sticking with|dropping"
    r"|staying with)\b"
    r"|we(?: will|['’]ll) (?:stick with|go with|use|keep|switch to|stay with|drop)\b"
    r"|we (?:just |now |recently )?(?:moved|switched|migrated) (?:to|from|away|over)\b"
    r"|wir haben (?:uns )?(?:\w+ ){0,3}(?:entschieden|beschlossen|geeinigt)\b|entscheidung\s*:)",
    re.IGNORECASE,
)
_LETS = re.compile(
    r"^let['’]?s (?:go with|use|stick with|switch to|stay with|drop|avoid) "
    r"(?P<what>(?=.*\b(?:for|everywhere|instead|rather|over|as|in all|not)\b).+)",
    re.IGNORECASE | re.DOTALL,
)
_REJECTED = re.compile(
    rf"^(?:{_WHO}{_HAVE} (?:decided against|rejected|ruled out|dropped the idea|gave up on|abandoned)\b"
    r"|we (?:don['’]t|do not) want (?!to\b)|we (?:won['’]t|will not) (?:use|adopt|introduce)\b"
    r"|we tried (?!to\b).*\b(?:gave up|(?:did not|didn['’]t) work|dropped|went back|not worth|too (?:much|slow|many)))",
    re.IGNORECASE | re.DOTALL,
)
_BASE_VERB = (
    r"(?!mind\b|ever\b|seen\b|saw\b|again\b|the\b|a\b|an\b|had\b|been\b|was\b|happen)(?!\w+(?:ed|ing)\b)"
    r"\w*(?:[^s\W]|ss)\b"
)
_TROUBLE = r"(?!(?:get|see|have|lose|forget|know|end|hit|receive|wonder|seem|fail|miss|wait|run into|had|got|saw)\b)"
_RULE_LABEL = re.compile(
    r"^(?:(?:two|three|some|one|the|a|my|our|new|house|ground|general|important|standing) )*(?:rules?|principles?"
    r"|conventions?|instructions?|guidelines?|regeln?)\b[\w ']{0,30}:\s*(?=\S+ \S+ \S)",
    re.IGNORECASE,
)
RULE = re.compile(
    rf"^(?:(?:make sure (?:to |that you |you )?|you (?:should|must|have to) )?(?:always|never(?: ever)?) {_BASE_VERB}"
    rf"|we (?:always|never) {_TROUBLE}{_BASE_VERB}"
    r"|(?:do not|don['’]t) ever\b|(?:from now on|going forward|in (?:the )?future|as a rule|ab jetzt|ab sofort"
    r"|künftig)\b"
    r"|remember to\b|(?:whenever|every time|each time) (?:you|we)\b.*,"
    r"|(?:do not|don['’]t) (?:add|use|write|log|commit|push|put|mock|import|hard-?code|introduce|create|include|rely on"
    r"|depend on|merge|deploy|mention|translate)\b"
    r"|stop (?:adding|using|writing|putting|creating|mocking|logging|committing|importing|including|translating)\b"
    r"|(?:immer|niemals|nie) \w+en\b)"
    r"|^(?:use|write|keep|put|name|call|prefix|run)\b.*\b(?:from now on|going forward|in (?:the )?future)\b"
    r"|^(?:\S+ ){3,}from now on\W*$",
    re.IGNORECASE | re.DOTALL,
)
_PREFERENCE = re.compile(
    r"^(?:(?:i|we) (?:strongly |generally |much |really )?(?:prefer|favou?r)\b|my preference is\b"
    r"|(?:i|we)(?:['’]d| would) (?:much )?rather\b.*\bthan\b|(?:i|we) like\b.*\b(?:better|more) than\b"
    r"|(?:i|we) (?:(?:don['’]t|do not) like|hate|dislike) (?!it\b|this\b|that\b|these\b|those\b|how\b|the\b)"
    r"|ich (?:bevorzuge|mag lieber))",
    re.IGNORECASE | re.DOTALL,
)
_CONSTRAINT = re.compile(
    r"\bmust (?:never|not)\b|(?<!\bi )\bmay not (?!work|be\b|help|have|matter|exist|happen|need|know)"
    r"|\b(?:is|are) not allowed\b"
    r"|\b(?:is|are) (?:strictly )?forbidden\b|^we (?:can['’]t|cannot|can not|must not) (?:use|rely on|depend on"
    r"|store|send|share|ship|change|expose)\b|\b(?:has|have) to (?:keep|stay|remain|support|work (?:on|with|without))\b"
    r"|\bdürfen? (?:nicht|nie|kein)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"^(?:they|it|he|she|this|that|these|those)\b", re.IGNORECASE)
_FACT = re.compile(r"^(?:remember|keep in mind|don['’]t forget) that\b|^for the record\b", re.IGNORECASE)
_CORRECTION = re.compile(
    r"^(?P<no>no|nope|nah|wrong|actually|not quite|that['’]s (?:not right|wrong|not correct|not true))\s*[,.:;!–—-]+\s*"
    r"(?P<what>.+)|^(?P<instead>instead of .+? use .+)",
    re.IGNORECASE | re.DOTALL,
)
_IMPERATIVE = re.compile(
    r"^(?:please )?(?:use|keep|take|call it|go with|stick with|leave)\b (?P<object>.+)", re.IGNORECASE | re.DOTALL
)
_CONTRAST = re.compile(r"^not [^:,;]{2,60}[:,;] ?(?:we |use |it['’]s |rather |but )", re.IGNORECASE)
_DECLARES = re.compile(
    r"^(?!it\b|this\b|that\b|i\b|you\b|there\b|they\b|he\b|she\b|nobody\b)(?:[\w'’-]+ ){1,6}?"
    r"(?:has to|have to|must|(?:runs?|lives?|stays?) (?:on|in|at)|uses?"
    r"|(?:is|are) (?:\w+ )?(?:stored|kept|shown|written|sent|saved|called|named|counted|measured|billed|rounded)"
    r"|(?:is|are)\b[^,;]*(?:, not |\bnot\b|\binstead of\b|\brather than\b))\b",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """What a person stated, as a sentence of its own, and the sentence that it was taken from."""

    type: StatementType
    text: str
    sentence: str


def find_statements(prompt: str) -> list[Statement]:
    """What a prompt states, in its order, each once."""
    found: dict[str, Statement] = {}
    for paragraph in own_paragraphs(prompt[:_READ]):
        before, number, stated = "", 0, 0
        for sentence in sentences(_own_words(paragraph)):
            whole = f"{before.rstrip(' .!,')}, {sentence}" if before else sentence
            before = sentence if _CONFIRMS.fullmatch(sentence) else ""
            made = _statement(whole)
            if made is not None:
                found.setdefault(made.text.casefold(), made)
            number, stated = number + 1, stated + bool(made or before)
        # Below a request, or an opening such as "The mail:", may be anything.
        if stated < max(1, number):
            break
    return list(found.values())[:MAX_STATEMENTS]


def only_states(prompt: str) -> bool:
    """Whether a prompt states something and asks for nothing: each of its sentences is a statement."""
    stated = [one for one in sentences(prompt[:_READ]) if not _CONFIRMS.fullmatch(one)]
    return bool(stated) and len(find_statements(prompt)) == len(stated)


def _own_words(paragraph: str) -> str:
    lines: list[str] = []
    for line in _without_talk(paragraph.splitlines()):
        if _RULED_LINE.match(line) or (line.rstrip().endswith(":") and _PASTES.search(line)):
            break
        if not _LOG_LINE.match(line):
            lines.append(line)
    return "\n".join(lines)


def _without_talk(lines: list[str]) -> list[str]:
    """The lines without those that begin with a name and a colon, if one of the names comes twice: a conversation."""
    names = [found[0].strip().casefold() if (found := _PREFIX.match(line)) else "" for line in lines]
    talks = any(name and names.count(name) > 1 for name in names)
    return [line for line, name in zip(lines, names, strict=True) if not (talks and name)]


def _statement(sentence: str) -> Statement | None:
    if len(sentence) > _LONGEST or len(sentence.split()) < _FEWEST_WORDS:
        return None
    plain = _LEAD.sub("", sentence)
    if is_reported(sentence) or _is_unsure(sentence, plain):
        return None
    if _PREFIX.match(plain) and not _type_of(plain):
        plain = _LEAD.sub("", _PREFIX.sub("", plain))
    type_ = _type_of(plain)
    if type_ is None or _is_unsure(plain, plain):
        return None
    correction = _CORRECTION.match(plain)
    text = _RULE_LABEL.sub("", plain) if correction is None else correction["what"] or plain
    return Statement(type_, text[:1].upper() + text[1:], sentence)


def _is_unsure(sentence: str, plain: str) -> bool:
    return bool(_QUESTION.search(sentence) or _DOUBT.search(plain))


def _type_of(plain: str) -> StatementType | None:
    """What kind of statement a sentence is; None if it is none. The first kind that it begins like decides."""
    for type_, pattern, holds in _KINDS:
        found = pattern.search(plain)
        if found:
            return type_ if holds(plain, found) else None
    return None


def _says_something(plain: str, found: re.Match[str]) -> bool:
    return _is_about_something(plain[: found.start()] + plain[found.end() :])


def _is_lasting(plain: str) -> bool:
    return len(plain.split()) > _FEWEST_WORDS and not _FOR_NOW.search(plain)


# How each kind of statement begins, and when it is one.
_KINDS: tuple[tuple[StatementType, re.Pattern[str], Callable[[str, re.Match[str]], bool]], ...] = (
    ("fact", _FACT, lambda plain, found: True),
    ("rejected", _REJECTED, lambda plain, found: True),
    ("decision", _DECISION, _says_something),
    ("decision", _LETS, lambda plain, found: _is_lasting(plain) and _is_about_something(found["what"])),
    ("decision", _CORRECTION, lambda plain, found: bool(found["instead"]) or _corrects(found["what"])),
    ("rule", _RULE_LABEL, lambda plain, found: True),
    ("rule", RULE, lambda plain, found: _is_lasting(plain)),
    ("heuristic", _PREFERENCE, lambda plain, found: " than " in plain or _says_something(plain, found)),
    ("constraint", _CONSTRAINT, lambda plain, found: not _PRONOUN.match(plain)),
)


def _corrects(what: str) -> bool:
    """Whether what follows "no," can stand by itself."""
    if _FOR_NOW.search(what):
        return False
    if imperative := _IMPERATIVE.match(what):
        return _is_about_something(imperative["object"])
    return bool(_CONTRAST.match(what) or (_DECLARES.match(what) and len(what.split()) > 4))


def _is_about_something(text: str) -> bool:
    """Whether a text names something that is known later, and not only "the second one"."""
    return any(True for _word in _telling(text))


def _telling(text: str) -> Iterator[str]:
    for word in re.findall(r"\w[\w'’-]*", text.casefold()):
        if len(word) > 1 and not word.isdecimal() and word not in STOP_WORDS and word not in word_set("vague"):
            yield word
