"""Sentences by which people say how they work: what they prefer, what they work with, and what they correct."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from commonplace.text.sentences import sentences

ProfileGroup = Literal["preferences", "corrections", "environment", "ways"]
PROFILE_GROUPS: tuple[ProfileGroup, ...] = ("preferences", "corrections", "environment", "ways")
# The first sentences of a text say what it states; a long one is no line of a profile.
_FIRST, LONGEST = 4, 200
# Types whose first sentence counts whatever its words are.
_BY_TYPE: dict[str, ProfileGroup] = {"preference": "preferences", "heuristic": "preferences", "rule": "ways"}

_WELL = r"(?:strongly|generally|really|usually|always|much|often|never|mostly|only|now|still|both|all)"
_SELF = r"(?:i|we|my team|our team|the team|everyone here|nobody here)"
_PREFERENCE = re.compile(
    rf"^(?:{_SELF} (?:{_WELL} )*(?:prefers?|likes?|loves?|hates?|dislikes?|favou?rs?"
    r"|(?:do not|don['’]t|does not|doesn['’]t) (?:like|want)|(?:would|['’]d) rather"
    r"|wants? (?:you|agents|answers|commits|code|tests|comments|replies))\b"
    r"|(?:i|we)['’]d rather\b|my preference\b|our preference\b"
    r"|(?:please )?(?:answer|reply|write to me|explain things|keep (?:answers|replies|explanations)"
    r"|be (?:brief|concise))\b"
    r"|ich (?:bevorzuge|mag)\b|wir (?:bevorzugen|mögen)\b)",
    re.IGNORECASE,
)
# What a sentence says about one person of the team.
_OF_A_PERSON = re.compile(
    r"^[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)? (?:strongly |always )?(?:prefers|likes|dislikes|hates)\b"
)
_ENVIRONMENT = re.compile(
    rf"^(?:(?:i|we) (?:{_WELL} )*(?:use|run|work (?:on|in|with|from)|develop|deploy|host|build|test|ship|code|target"
    r"|live in|speak)\b"
    r"|(?:i['’]m|i am|we['’]re|we are) (?:on|in|based|using|running|an?)\b"
    r"|(?:my|our) (?:[\w-]+ ){0,2}(?:machine|laptop|computer|desktop|editor|ide|shell|terminal|os|operating system"
    r"|stack|ci|pipeline|cluster|cloud|hosting|host|server|database|branch|time ?zone|language|package manager"
    r"|test runner|formatter|linter|keyboard|name|role|team|company|working hours|region|python|node|browser"
    r"|repository|monorepo)s? (?:is|are|runs?|uses?|has|lives?|works?)\b"
    r"|ich (?:nutze|benutze|verwende|arbeite)\b|wir (?:nutzen|benutzen|verwenden|arbeiten)\b)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"^\W*(?:no|nope|nah|wrong|actually|not quite|stop|again|that['’]s (?:not right|wrong|not correct)|instead of"
    r"|i (?:told|asked) you|how often)\b",
    re.IGNORECASE,
)


_FIRST_PERSON = re.compile(r"^(?:i|i['’]\w+|my|ich|mein\w*)\b", re.IGNORECASE)


def is_first_person(sentence: str) -> bool:
    """Whether somebody speaks of themselves alone."""
    return _FIRST_PERSON.match(sentence) is not None


class ProfileSentence(NamedTuple):
    """A sentence as it was written, and what it tells of the people."""

    text: str
    group: ProfileGroup


def profile_sentence(text: str, type_: str, prompt_sentence: str = "") -> ProfileSentence | None:
    """The sentence of a statement that tells how people work; None if none does.

    `prompt_sentence` is the one of a prompt that it was taken from, which shows whether it was a correction.
    """
    first = sentences(text)[:_FIRST]
    if not first:
        return None
    if prompt_sentence and _CORRECTION.match(prompt_sentence):
        return _short(first[0], "corrections")
    for sentence in first:
        if sentence.endswith(("?", "？")):
            continue
        if _PREFERENCE.match(sentence) or _OF_A_PERSON.match(sentence):
            return _short(sentence, "preferences")
        if _ENVIRONMENT.match(sentence):
            return _short(sentence, "environment")
    return _short(first[0], _BY_TYPE[type_]) if type_ in _BY_TYPE else None


def _short(sentence: str, group: ProfileGroup) -> ProfileSentence | None:
    return ProfileSentence(sentence, group) if len(sentence) <= LONGEST else None
