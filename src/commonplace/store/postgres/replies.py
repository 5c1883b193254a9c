"""Answers to calls that name themselves, in the database: any server repeats them; a crash leaves a claim that ages."""

from __future__ import annotations

from commonplace.store.postgres import sql
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.types import EarlierRequest, RequestClaim, SavedReply

_MINE = "space_id = %s AND caller = %s AND name = %s AND attempt = %s"


class Replies(PostgresSpace):
    """The engine's part about answers that can be repeated."""

    def claim_reply(
        self, claim: RequestClaim, now_ms: int, given_up_ms: int, forgotten_ms: int
    ) -> EarlierRequest | None:
        with self._database.write() as connection:
            sql.run(
                connection,
                "DELETE FROM replies WHERE space_id = %s AND claimed_ms < %s",
                (self._space_id, forgotten_ms),
            )
            row = sql.first(
                connection,
                "SELECT fingerprint, status, headers, body, claimed_ms FROM replies"
                " WHERE space_id = %s AND caller = %s AND name = %s",
                (self._space_id, claim.caller, claim.name),
            )
            if row is not None:
                fingerprint, status, headers, body, claimed_ms = row
                if status is not None:
                    return EarlierRequest(fingerprint, SavedReply(status, headers, body))
                if claimed_ms >= given_up_ms:
                    return EarlierRequest(fingerprint, None)
            sql.run(
                connection,
                "INSERT INTO replies (space_id, caller, name, fingerprint, attempt, claimed_ms)"
                " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (space_id, caller, name) DO UPDATE SET"
                " fingerprint = excluded.fingerprint, attempt = excluded.attempt, claimed_ms = excluded.claimed_ms",
                (self._space_id, claim.caller, claim.name, claim.fingerprint, claim.attempt, now_ms),
            )
            return None

    def store_reply(self, claim: RequestClaim, answer: SavedReply) -> None:
        with self._database.write() as connection:
            sql.run(
                connection,
                f"UPDATE replies SET status = %s, headers = %s, body = %s WHERE {_MINE}",
                (answer.status, answer.headers, answer.body, *self._mine(claim)),
            )

    def release_claim(self, claim: RequestClaim) -> None:
        with self._database.write() as connection:
            sql.run(connection, f"DELETE FROM replies WHERE {_MINE}", self._mine(claim))

    def _mine(self, claim: RequestClaim) -> tuple[int, str, str, str]:
        return (self._space_id, claim.caller, claim.name, claim.attempt)
