"""Saved replies to requests that carry an idempotency key; a request that crashed leaves a claim that expires."""

from __future__ import annotations

from commonplace.store.sql.space import Space
from commonplace.store.types import EarlierRequest, RequestClaim, SavedReply

_THIS_ATTEMPT = "space_id = ? AND caller = ? AND name = ? AND attempt = ?"


class Replies(Space):
    """The saved replies of one space."""

    def claim_reply(
        self, claim: RequestClaim, now_ms: int, given_up_ms: int, forgotten_ms: int
    ) -> EarlierRequest | None:
        with self._database.write() as connection:
            old = "DELETE FROM replies WHERE space_id = ? AND claimed_ms < ?"
            connection.run(old, (self._space_id, forgotten_ms))
            row = connection.first(
                "SELECT fingerprint, status, headers, body, claimed_ms FROM replies"
                " WHERE space_id = ? AND caller = ? AND name = ?",
                (self._space_id, claim.caller, claim.name),
            )
            if row is not None:
                fingerprint, status, headers, body, claimed_ms = row
                if status is not None:
                    return EarlierRequest(fingerprint, SavedReply(status, headers, body))
                if claimed_ms >= given_up_ms:
                    return EarlierRequest(fingerprint, None)
            connection.run(
                "INSERT INTO replies (space_id, caller, name, fingerprint, attempt, claimed_ms)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (space_id, caller, name) DO UPDATE SET"
                " fingerprint = excluded.fingerprint, attempt = excluded.attempt, claimed_ms = excluded.claimed_ms",
                (self._space_id, claim.caller, claim.name, claim.fingerprint, claim.attempt, now_ms),
            )
            return None

    def store_reply(self, claim: RequestClaim, answer: SavedReply) -> None:
        with self._database.write() as connection:
            connection.run(
                f"UPDATE replies SET status = ?, headers = ?, body = ? WHERE {_THIS_ATTEMPT}",
                (answer.status, answer.headers, answer.body, *self._attempt(claim)),
            )

    def release_claim(self, claim: RequestClaim) -> None:
        with self._database.write() as connection:
            connection.run(f"DELETE FROM replies WHERE {_THIS_ATTEMPT}", self._attempt(claim))

    def _attempt(self, claim: RequestClaim) -> tuple[int, str, str, str]:
        return (self._space_id, claim.caller, claim.name, claim.attempt)
