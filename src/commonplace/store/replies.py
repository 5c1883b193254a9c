"""What every engine keeps of answers to calls that may be repeated: the first answer is the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as it left the house."""

    status: int
    headers: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """Whose call it was, under which name, what it asked (`fingerprint`), and which attempt this is (`attempt`)."""

    caller: str
    name: str
    fingerprint: bytes
    attempt: str


@dataclass(frozen=True, slots=True)
class Known:
    """A call that was made before under the same name; `answer` is None while it is being worked on."""

    fingerprint: bytes
    answer: Answered | None


class Replies(Protocol):
    """The answers of one space."""

    # None if the call is ours to make now; else what is known of the one before. A claim without an answer made
    # before `given_up_ms` is taken over; everything claimed before `forgotten_ms` is dropped.
    def claim_reply(self, claim: Claim, now_ms: int, given_up_ms: int, forgotten_ms: int) -> Known | None: ...

    # Nothing happens if another attempt has taken the claim over.
    def keep_reply(self, claim: Claim, answer: Answered) -> None: ...
    def drop_claim(self, claim: Claim) -> None: ...
