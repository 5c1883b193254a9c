-- The uid of a session is unique within its space: two spaces may hold the same conversation.
-- SQLite cannot drop a UNIQUE of a column, so the table is built again. Foreign keys are off while migrations run.

PRAGMA legacy_alter_table = ON;

CREATE TABLE sessions_rebuilt (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    uid          TEXT NOT NULL,
    space_id     INTEGER NOT NULL REFERENCES spaces (id),
    key          TEXT NOT NULL,             -- the name its agent gave it
    source       TEXT NOT NULL DEFAULT '',
    project_id   INTEGER REFERENCES projects (id),
    label        TEXT NOT NULL DEFAULT '',
    folder       TEXT NOT NULL DEFAULT '/',
    status       TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived', 'pinned')),
    importance   REAL,
    meta         TEXT NOT NULL DEFAULT '{}',
    started_ms   INTEGER NOT NULL,
    ended_ms     INTEGER,
    accessed_ms  INTEGER,
    rev          INTEGER NOT NULL DEFAULT 1,
    updated_ms   INTEGER NOT NULL DEFAULT 0,
    forgotten_ms INTEGER,
    messages     INTEGER NOT NULL DEFAULT 0,
    words        INTEGER NOT NULL DEFAULT 0,
    bytes        INTEGER NOT NULL DEFAULT 0,
    sketch       BLOB NOT NULL DEFAULT x'',
    UNIQUE (space_id, key),
    UNIQUE (space_id, uid)
) STRICT;

INSERT INTO sessions_rebuilt (
    id, uid, space_id, key, source, project_id, label, folder, status, importance, meta, started_ms, ended_ms,
    accessed_ms, rev, updated_ms, forgotten_ms, messages, words, bytes, sketch
)
-- A damaged row does not keep the others from being migrated.
SELECT id, coalesce(uid, lower(hex(randomblob(16)))), space_id, coalesce(key, 'session ' || id), coalesce(source, ''),
       project_id, coalesce(label, ''), coalesce(folder, '/'),
       iif(status IN ('active', 'archived', 'pinned'), status, 'active'), importance, coalesce(meta, '{}'),
       coalesce(started_ms, 0), ended_ms, accessed_ms, coalesce(rev, 1), coalesce(updated_ms, 0), forgotten_ms,
       coalesce(messages, 0), coalesce(words, 0), coalesce(bytes, 0), coalesce(sketch, x'')
  FROM sessions;

-- Numbers are never given twice, those of removed rows neither.
DELETE FROM sqlite_sequence WHERE name = 'sessions_rebuilt';
INSERT INTO sqlite_sequence (name, seq) SELECT 'sessions_rebuilt', seq FROM sqlite_sequence WHERE name = 'sessions';

DROP TABLE sessions;
ALTER TABLE sessions_rebuilt RENAME TO sessions;

CREATE INDEX sessions_project ON sessions (space_id, project_id, started_ms);
CREATE INDEX sessions_folder
    ON sessions (space_id, folder, status, label, importance, messages, words, bytes, started_ms, ended_ms)
    WHERE forgotten_ms IS NULL AND messages > 0;
CREATE INDEX sessions_time ON sessions (space_id, ended_ms, id) WHERE forgotten_ms IS NULL AND messages > 0;
CREATE INDEX sessions_short ON sessions (space_id, substr(uid, -12));
CREATE INDEX sessions_continued
    ON sessions (space_id, json_extract(iif(json_valid(meta), meta, '{}'), '$.continued_from'))
    WHERE json_extract(iif(json_valid(meta), meta, '{}'), '$.continued_from') IS NOT NULL;
CREATE INDEX sessions_started
    ON sessions (space_id, json_extract(iif(json_valid(meta), meta, '{}'), '$.parent_message'))
    WHERE json_extract(iif(json_valid(meta), meta, '{}'), '$.parent_message') IS NOT NULL;
CREATE INDEX sessions_latest ON sessions (space_id, ended_ms, id) WHERE forgotten_ms IS NULL;
CREATE INDEX sessions_parent
    ON sessions (space_id, json_extract(iif(json_valid(meta), meta, '{}'), '$.parent_session'))
    WHERE json_extract(iif(json_valid(meta), meta, '{}'), '$.parent_session') IS NOT NULL;

CREATE TRIGGER sessions_recorded AFTER INSERT ON sessions
BEGIN
    INSERT INTO records (space_id, what, id, version) VALUES (NEW.space_id, 'session', NEW.id, NEW.updated_ms);
END;

CREATE TRIGGER sessions_recorded_anew
    AFTER UPDATE OF source, project_id, label, folder, status, importance, meta, started_ms, forgotten_ms ON sessions
    WHEN (OLD.source, OLD.project_id, OLD.label, OLD.folder, OLD.status, OLD.importance, OLD.meta, OLD.started_ms,
          OLD.forgotten_ms)
         IS NOT (NEW.source, NEW.project_id, NEW.label, NEW.folder, NEW.status, NEW.importance, NEW.meta,
                 NEW.started_ms, NEW.forgotten_ms)
BEGIN
    UPDATE records SET seq = (SELECT max(seq) FROM records) + 1, version = max(version + 1, NEW.updated_ms)
     WHERE space_id = NEW.space_id AND what = 'session' AND id = NEW.id;
END;

PRAGMA legacy_alter_table = OFF;
