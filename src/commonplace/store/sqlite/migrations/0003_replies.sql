-- Answers to calls that name themselves (Idempotency-Key), so that repeating one repeats its answer, not its deed.
CREATE TABLE replies (
    space_id    INTEGER NOT NULL,
    caller      TEXT NOT NULL,
    name        TEXT NOT NULL,
    fingerprint BLOB NOT NULL,              -- of what was asked
    attempt     TEXT NOT NULL,              -- who works on it
    claimed_ms  INTEGER NOT NULL,
    status      INTEGER,                    -- NULL: not answered yet
    headers     TEXT NOT NULL DEFAULT '',
    body        BLOB NOT NULL DEFAULT x'',
    PRIMARY KEY (space_id, caller, name)
) WITHOUT ROWID, STRICT;
CREATE INDEX replies_time ON replies (space_id, claimed_ms);
