"""Sentences that tell how people work: "I prefer ...", "our CI is ...", a correction, a heuristic.

Found by rules, which know how people begin such sentences.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from commonplace.memory.captured_events import SENTENCE_KEY
from commonplace.model import BINDING_TYPES, PINNED_TAG, Item
from commonplace.text.paths import split_globs
from commonplace.text.redact import redact
from commonplace.text.sentences import sentences

PROFILE_TYPES = ("rule", "heuristic", "preference", "decision", "fact", "note", "constraint", "rejected")
HAVE_THEIR_OWN_PLACE = (*BINDING_TYPES, "decision", "rejected")
"""Types that agents are told for what they are, whatever the profile says of them."""
ProfileGroup = Literal["preferences", "corrections", "environment", "ways"]
PROFILE_GROUPS: tuple[ProfileGroup, ...] = ("preferences", "corrections", "environment", "ways")
# The first sentences of a text say what it states; a long one is no line of a profile.
_FIRST, LONGEST = 4, 200
# Types whose first sentence counts whatever its words are.
_BY_TYPE: dict[str, ProfileGroup] = {"preference": "preferences", "heuristic": "ways", "rule": "ways"}

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


class ProfileSentence(NamedTuple):
    """A sentence as it was written, and what it tells of the people."""

    text: str
    group: ProfileGroup


def profile_sentence(text: str, type_: str, prompt_sentence: str = "") -> ProfileSentence | None:
    """The sentence of a statement that tells how people work; None if none does, or a long one.

    `prompt_sentence` is the one of a prompt that it was taken from, which shows whether it was a correction.
    """
    found = _first_sentence(text, type_, prompt_sentence)
    return found if found is not None and len(found.text) <= LONGEST else None


def is_only_of_the_profile(item: Item) -> bool:
    """Whether a statement of a person tells how people work, and is no rule or decision."""
    if item.kind != "memory" or item.type not in PROFILE_TYPES or item.type in HAVE_THEIR_OWN_PLACE:
        return False
    if PINNED_TAG in item.tags:
        return True
    found = _first_sentence(redact(item.text), item.type, prompt_sentence_of(item))
    return found is not None and not split_globs(item.details.get("paths", ""))


def prompt_sentence_of(item: Item) -> str:
    """The sentence of a prompt that a statement was taken from; empty if it was not."""
    sentence = item.meta.get(SENTENCE_KEY)
    return sentence if isinstance(sentence, str) else ""


def _first_sentence(text: str, type_: str, prompt_sentence: str) -> ProfileSentence | None:
    first = sentences(text)[:_FIRST]
    if not first:
        return None
    if prompt_sentence and _CORRECTION.match(prompt_sentence):
        return ProfileSentence(first[0], "corrections")
    for sentence in first:
        if sentence.endswith(("?", "？")):
            continue
        if _PREFERENCE.match(sentence) or _OF_A_PERSON.match(sentence):
            return ProfileSentence(sentence, "preferences")
        if _ENVIRONMENT.match(sentence):
            return ProfileSentence(sentence, "environment")
    return ProfileSentence(first[0], _BY_TYPE[type_]) if type_ in _BY_TYPE else None
