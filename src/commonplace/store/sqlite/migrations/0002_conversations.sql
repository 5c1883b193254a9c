-- Sessions become conversations that people organise: counted, changed with a history, forgotten and restored.

ALTER TABLE sessions ADD COLUMN updated_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN forgotten_ms INTEGER;
-- Of the live messages in it.
ALTER TABLE sessions ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN words INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
-- A few hashes of its lines (text/sketch.py), to notice that another session says much the same; empty if not known.
ALTER TABLE sessions ADD COLUMN sketch BLOB NOT NULL DEFAULT x'';

UPDATE sessions SET
    updated_ms = started_ms,
    importance = coalesce(importance, 5.0),
    ended_ms = coalesce((SELECT max(created_ms) FROM items i WHERE i.session_id = sessions.id), started_ms);
UPDATE sessions SET (messages, words, bytes) = (
    SELECT count(*), coalesce(sum(count_words(body)), 0),
           coalesce(sum(octet_length(body) + iif(meta = '{}', 0, octet_length(meta))), 0)
      FROM items i WHERE i.session_id = sessions.id AND kind = 'message'
                     AND forgotten_ms IS NULL AND superseded_by IS NULL
);

-- Everything that statistics add up, so that they need not read the rows.
CREATE INDEX sessions_folder
    ON sessions (space_id, folder, status, label, importance, messages, words, bytes, started_ms, ended_ms)
    WHERE forgotten_ms IS NULL AND messages > 0;
CREATE INDEX sessions_time ON sessions (space_id, ended_ms, id) WHERE forgotten_ms IS NULL AND messages > 0;
CREATE INDEX sessions_short ON sessions (space_id, substr(uid, -12));

CREATE TABLE session_history (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id   INTEGER NOT NULL,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    rev        INTEGER NOT NULL,
    op         TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,
    before     TEXT NOT NULL
) STRICT;
CREATE INDEX session_history_session ON session_history (session_id, rev);
