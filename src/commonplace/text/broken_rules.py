"""Decisions that go against a rule: they allow or do what it forbids, or do another way what it demands.

"Never merge on red" and "We agreed to allow merges on red" have the same words besides those that forbid and allow;
"All tools must be written in Go" and "We decided to write the linter tools in Rust" differ in a thing of one kind.
"""

from __future__ import annotations

import re
from functools import lru_cache

from commonplace.text.statement_words import FAMILIES, LABEL, WIDE, WORD, content_in, related, roots_in

# Longer sentences are prose.
_LONGEST = 240
# A rule with more words has conditions that a decision may meet.
MAX_FORBIDDEN = 6

_CLAUSE = r"[^,;:.!()]+(?:\.\w[^,;:.!()]*)*"
_FORBIDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?:never|do not|don't) (?P<what>{_CLAUSE})",
        rf"^no (?!longer\b|more\b)(?P<what>{_CLAUSE})",
        rf"^(?P<who>{_CLAUSE}?) (?:must not|mustn't|may not|should not|shouldn't|must never) (?P<what>{_CLAUSE})",
    )
)
_DEMANDS = re.compile(r"^(?:use|write|prefer)\b|\b(?:must|always|all|every|each|have to|has to)\b", re.IGNORECASE)
_DECIDES = re.compile(
    r"\b(?:(?:decided|agreed|voted) (?:to|that|on)|from now on|going with|going forward|settled on)\b|^decision:",
    re.IGNORECASE,
)
_ALLOWS = re.compile(r"\b(?:may|allow|allows|allowed|permit|permits|permitted|are free to|is fine)\b", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:not|never|no|none|nobody|stop|avoid|forbid|forbidden|ban|banned|reject|drop|remove|only|still|cannot)\b|n't\b",
    re.IGNORECASE,
)
# They turn what is said into something else: a decision has to have them as well.
_TURNING = frozenset("without before after outside during above below over under than except until unless only".split())
# Said of whatever one has to do with: a decision has another of them.
_CONTACT = frozenset(content_in("touch access reach hit talk add introduce"))
_ANYBODY = roots_in("everyone everybody anyone anybody squads people developers engineers you one")
_CHECK_IN = re.compile(r"\bcheck(?:ing|ed|s)?(?: |-)in\b", re.IGNORECASE)
_USING = re.compile(r"^us(?:e|ing)\b", re.IGNORECASE)


def breaks_rule(rule: str, decision: str) -> str:
    """ "opposite" or "choice" if a decision goes against a rule, else empty."""
    if not _is_decision(decision) or len(rule) > _LONGEST:
        return ""
    decides, allows = _DECIDES.search(decision), _ALLOWS.search(decision)
    if not decides and (allows is None or roots_in(decision[: allows.start()]) - roots_in(rule) - _ANYBODY):
        # What may be done with something of its own is an exception, which a rule has room for.
        return ""
    rule, made = LABEL.sub("", rule.replace("’", "'")), _CHECK_IN.sub("commit", decision.replace("’", "'"))
    if _DENIES.search(made):
        return ""
    if found := next((found for pattern in _FORBIDS if (found := pattern.match(rule))), None):
        return "opposite" if _does(made, found["what"], found.groupdict().get("who") or "") else ""
    return "choice" if decides and _DEMANDS.search(rule) and _does_otherwise(made, rule) else ""


@lru_cache(maxsize=4096)
def _is_decision(text: str) -> bool:
    """Most sentences are none, and each is compared with many."""
    return len(text) <= _LONGEST and bool(_DECIDES.search(text) or _ALLOWS.search(text))


def _does(decision: str, forbidden: str, who: str) -> bool:
    """Whether a decision has all that a rule forbids, with what turns it into something else."""
    if _words(forbidden) & _TURNING != _words(decision) & _words(forbidden) & _TURNING:
        return False
    if "without" in _words(forbidden):
        # Who approves it, and when, does not matter where nobody has to.
        forbidden = re.sub(r"( without (?:the |an? )?[\w-]+).*", r"\1", forbidden)
    elif "without" in _words(decision):
        return False
    core = roots_in(forbidden) | roots_in(who)
    core = core - _CONTACT or core
    if not core or len(core) > MAX_FORBIDDEN or not core <= roots_in(decision):
        return False
    return len(core) > 1 or (bool(core - WIDE) and bool(_USING.match(forbidden)))


def _does_otherwise(decision: str, rule: str) -> bool:
    """Whether a decision has another thing of the kind that a rule demands, for all that the rule is about."""
    demanded, decided = content_in(rule), roots_in(decision)
    for value in (roots_in(rule) & FAMILIES.keys()) - decided:
        about = demanded - {value}
        if about - WIDE and about <= decided and related(frozenset({value}), decided - {value}):
            return True
    return False


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(text))
