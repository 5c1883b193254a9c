"""Judging: how likely the best candidates of a search answer, by their token vectors and by reading some of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from commonplace.errors import EmbedderUnavailable
from commonplace.memory.candidates import ParsedQuestion
from commonplace.memory.local_memory import LocalMemory
from commonplace.ranking import fusion
from commonplace.ranking.fusion import JUDGED, Evidence, answer_odds, answer_relevance, best_first, token_odds
from commonplace.ranking.rerank import reading_order, worth_reading
from commonplace.text.query import is_about_questions, is_keywords

# Tokens of the best hits that are read together with the question; thoroughly, so many, and so many of further ones if
# none of these answers.
READ_TOKENS, THOROUGHLY = 300, (400, 200)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the models say of items: the log-odds that each answers, and the cross-encoder's opinion of some."""

    odds: Mapping[int, float] = field(default_factory=dict)
    answers: Mapping[int, float] = field(default_factory=dict)
    relevances: Mapping[int, float] = field(default_factory=dict)

    def is_answered(self, scores: Mapping[int, float]) -> bool | None:
        """Whether something among the first of them answers; None if nothing was judged."""
        return fusion.is_answered(_first_odds(scores, self.odds)) if self.odds else None


def compare_tokens(memory: LocalMemory, parsed: ParsedQuestion, chosen: Mapping[int, int]) -> dict[int, float]:
    """How well items hold what each word of the question asks for, by the token vectors of their chosen passages."""
    if parsed.vector is None or parsed.query.strict or not memory.embeddings.compares_tokens:
        return {}
    tokens = memory.store.token_vectors(list(chosen.values()))
    similar = memory.embeddings.compare_tokens(parsed.text, tokens)
    return {item_id: similar[passage] for item_id, passage in chosen.items() if passage in similar}


def judge(
    memory: LocalMemory,
    parsed: ParsedQuestion,
    scores: Mapping[int, float],
    chosen: Mapping[int, int],
    known: Mapping[int, Evidence],
    similar: Mapping[int, float],
    repeated: Collection[int],
) -> Judged:
    """How likely items answer, with what is known of each and the passage chosen of it.

    What repeats the question resembles it more than anything: that says nothing about it.
    """
    if not _models_can_tell(memory, parsed, scores, known):
        return Judged()
    odds = {id_: token_odds(value) for id_, value in similar.items() if id_ not in repeated}
    answers = _read_together(memory, parsed, scores, chosen, known, odds)
    odds |= {id_: token_odds(similar[id_], answer) for id_, answer in answers.items() if id_ in odds}
    return Judged(odds, answers, {id_: answer_relevance(value) for id_, value in odds.items()})


def _models_can_tell(
    memory: LocalMemory, parsed: ParsedQuestion, scores: Mapping[int, float], known: Mapping[int, Evidence]
) -> bool:
    """Whether the models can tell what answers a question, of candidates of which this is known.

    They cannot if the question is only words to look for, and the best hit has them all, or a model knows none of them
    and no hit has one: it would answer them with anything.
    """
    query, reader = parsed.query, memory.cross_encoder
    if reader is None or parsed.vector is None or query.strict or not known or is_about_questions(query.text):
        return False
    if not is_keywords(query.text):
        return True
    best = known[max(known, key=scores.__getitem__)]
    return best.found < 1.0 and (any(one.found for one in known.values()) or reader.knows_a_word(query.text))


def _read_together(
    memory: LocalMemory,
    parsed: ParsedQuestion,
    scores: Mapping[int, float],
    chosen: Mapping[int, int],
    known: Mapping[int, Evidence],
    odds: Mapping[int, float],
) -> dict[int, float]:
    """What the cross-encoder says of the best items, each read together with the question.

    Those are read that may be better than the first, or the first few if their odds leave open whether any answers.
    Thoroughly: those near the best one, and the others if none of these surely answers.
    """
    assert memory.cross_encoder is not None
    best = {item_id: scores[item_id] for item_id in known}
    if parsed.thorough:
        steps = list(zip(reading_order(best), THOROUGHLY, strict=True))
    else:
        steps = [(worth_reading(best, unsure=fusion.is_unsure(_first_odds(scores, odds))), READ_TOKENS)]
    answers: dict[int, float] = {}
    for some, most in steps:
        texts = memory.store.passages_in_context([chosen[item_id] for item_id in some]) if some else {}
        passages = [(passage.text, before) for item_id in some for passage, before in [texts[chosen[item_id]]]]
        try:
            answers |= zip(some, memory.cross_encoder.score(parsed.text, passages, most), strict=False)
        except EmbedderUnavailable:
            # The order is a little worse without it, and search goes on.
            return {}
        if fusion.is_surely_answered([answer_odds(answer, known[id_].semantic) for id_, answer in answers.items()]):
            break
    return answers


def _first_odds(scores: Mapping[int, float], odds: Mapping[int, float]) -> list[float]:
    """The odds of the first hits."""
    return [odds[id_] for id_ in best_first({id_: scores[id_] for id_ in odds}, newest={})[:JUDGED]]
