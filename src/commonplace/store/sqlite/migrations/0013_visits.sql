-- Visits to our pages that were ended before their time, each by the digest of its token.

CREATE TABLE visits_over (
    space_id INTEGER NOT NULL REFERENCES spaces (id),
    hash     BLOB NOT NULL,
    until_ms INTEGER NOT NULL,              -- when it would have been over anyway
    PRIMARY KEY (space_id, hash)
) STRICT, WITHOUT ROWID;
