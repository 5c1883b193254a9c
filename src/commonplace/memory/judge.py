"""What a later statement is to an earlier one: the same, a change of it, a contradiction, or nothing.

Where the words leave no doubt they decide (text/statement_guards.py); everything else is read by the contradiction
model (docs/inside/model.md). Nothing else in Commonplace judges what two statements mean to each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from commonplace.errors import EmbedderUnavailable
from commonplace.text.rule_statements import rule_statements
from commonplace.text.sentences import without_reason
from commonplace.text.statement_guards import guard, may_be_paraphrase, read_statement
from commonplace.text.tokens import stem, words_of

if TYPE_CHECKING:
    from commonplace.embed.cross_encoder import CrossEncoder

Kind = Literal["same", "changes", "contradicts", "unrelated"]

# From this score of the model on, two statements contradict each other.
BORDER = 0.75
# What differs in nothing but a number or a negation contradicts, unless the model says clearly that both hold: two
# invoices, two days, two rooms.
DENIED = -7.0
# Longer texts are prose, and are not read.
READ_LENGTH = 400
# How sure the words are where no model is asked.
WORDS_ALONE = 0.8


class Verdict(NamedTuple):
    """What a later statement is to an earlier one, how sure that is, and why, as a person would say it."""

    kind: Kind
    certainty: float
    why: str = ""
    # Whether the words alone show it.
    by_words: bool = False

    @property
    def is_against(self) -> bool:
        """Whether both cannot hold."""
        return self.kind in ("changes", "contradicts")


UNRELATED = Verdict("unrelated", 0.0)


def compare(model: CrossEncoder | None, old: str, new: str, cosine: float = 0.0) -> Verdict:
    """What `new` is to `old`. `cosine` is how near they are in meaning, if that is known."""
    return compare_all(model, [(old, cosine)], new)[0]


def compare_all(model: CrossEncoder | None, olds: Sequence[tuple[str, float]], new: str) -> list[Verdict]:
    """What a statement is to each of several earlier ones. Those that the model has to read are read in one batch."""
    guarded = [guard(old, new) for old, _cosine in olds]
    to_read = [place for place, found in enumerate(guarded) if found not in ("same", "adds")]
    scores = _scores(model, [olds[place][0] for place in to_read], new)
    stated = without_reason(new)
    if stated != new:
        # A long reason hides the change that it is given for.
        again = _scores(model, [olds[place][0] for place in to_read], stated)
        scores = [max(pair, default=None, key=_rank) for pair in zip(scores, again, strict=True)]
    score_at = dict(zip(to_read, scores, strict=True))
    verdicts = []
    for place, (old, cosine) in enumerate(olds):
        verdicts.append(_verdict(guarded[place], score_at.get(place), old, cosine, new))
    return verdicts


def _verdict(guarded: str, score: float | None, old: str, cosine: float, new: str) -> Verdict:
    if guarded == "same":
        return Verdict("same", 1.0, "Both say the same.", by_words=True)
    if guarded == "adds":
        return UNRELATED
    if guarded and (score is None or score >= DENIED):
        certainty = WORDS_ALONE if score is None else max(WORDS_ALONE, _likelihood(score))
        if guarded == "number":
            return Verdict("changes", certainty, _other_values(old, new), by_words=True)
        return Verdict("contradicts", certainty, "One denies what the other says.", by_words=True)
    if score is None:
        return UNRELATED
    if score >= BORDER:
        return Verdict("contradicts", _likelihood(score), "The later one says otherwise.")
    if may_be_paraphrase(old, new, cosine):
        return Verdict("same", cosine, "Both say the same in other words.")
    return UNRELATED


def _other_values(old: str, new: str) -> str:
    """ "It was 30, and is 90." """
    pairs = zip(read_statement(old).values, read_statement(new).values, strict=True)
    changed = [(one.value, other.value) for one, other in pairs if one != other]
    return " ".join(f"It was {was}, and is {now}." for was, now in changed)


def rejects_wish(rule: str, statement: str, *, is_idea: bool = False) -> bool:
    """Whether a rule, or an idea that was rejected (`is_idea`), rejects what a statement wants, where it wants it."""
    wanted = [{word.folded for word in phrase} for phrase in rule_statements(statement).wanted]
    words = {stem(word) for word in words_of(statement)}
    for rejection in rule_statements(rule, is_idea).rejected:
        things = {word.folded for word in rejection.words}
        is_there = all(stem(word.folded) in words for word in rejection.where)
        if rejection.deed == "use" and things and is_there and any(things <= phrase for phrase in wanted):
            return True
    return False


def _rank(score: float | None) -> float:
    return -math.inf if score is None else score


def _likelihood(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-score))


def _scores(model: CrossEncoder | None, olds: Sequence[str], new: str) -> list[float | None]:
    """The model's score of each; None for what it does not read."""
    if model is None or len(new) > READ_LENGTH:
        return [None] * len(olds)
    short = [place for place, old in enumerate(olds) if len(old) <= READ_LENGTH]
    if not short:
        # Asking for nothing would load it.
        return [None] * len(olds)
    try:
        read = model.score(new, [(olds[place], "") for place in short])
    except EmbedderUnavailable:
        read = []
    scores: list[float | None] = [None] * len(olds)
    for place, score in zip(short, read, strict=False):
        scores[place] = score
    return scores
