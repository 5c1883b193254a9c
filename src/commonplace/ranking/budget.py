"""What fits: the references' estimate of tokens, and choosing entries until a budget is used up."""

from __future__ import annotations

import math


def tokens_of(characters: int) -> int:
    """A token for every four characters, rounded up."""
    return math.ceil(characters / 4)


class Budget:
    """A number of tokens, spent entry by entry. What does not fit is left out; smaller things may still follow."""

    def __init__(self, tokens: int, spent: int = 0) -> None:
        self.tokens, self.spent = tokens, spent

    def spend(self, cost: int, share: float = 1.0) -> bool:
        """Spend `cost` if the whole then stays within `share` of the budget."""
        if cost < 0 or self.spent + cost > self.tokens * share:
            return False
        self.spent += cost
        return True
