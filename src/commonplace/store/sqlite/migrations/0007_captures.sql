-- What hooks told: which events are known, so that one told twice is one, and how many of them became what.

CREATE TABLE captured_events (
    space_id INTEGER NOT NULL,
    event    BLOB NOT NULL,                 -- a hash of its id
    at_ms    INTEGER NOT NULL,              -- when it was told; the oldest are dropped
    PRIMARY KEY (space_id, event)
) WITHOUT ROWID, STRICT;
CREATE INDEX captured_events_time ON captured_events (space_id, at_ms);

CREATE TABLE capture_tally (
    space_id INTEGER NOT NULL,
    outcome  TEXT NOT NULL,
    events   INTEGER NOT NULL,
    PRIMARY KEY (space_id, outcome)
) WITHOUT ROWID, STRICT;

-- What happened in a session, apart from what was said in it: the newest first, and how many of each type.
CREATE INDEX items_thread ON items (session_id, kind, created_ms, type, forgotten_ms, superseded_by)
    WHERE session_id IS NOT NULL AND kind <> 'message';
