-- Records: the order in which items, sessions and projects changed, so that two stores can be compared and joined.

-- Which space of which store it is, wherever it is copied to.
ALTER TABLE spaces ADD COLUMN uid TEXT NOT NULL DEFAULT '';
UPDATE spaces SET uid = lower(hex(randomblob(16)));
CREATE TRIGGER spaces_named AFTER INSERT ON spaces
BEGIN
    UPDATE spaces SET uid = lower(hex(randomblob(16))) WHERE id = NEW.id;
END;

CREATE TABLE records (
    seq      INTEGER PRIMARY KEY,           -- the last change of any record has the highest
    space_id INTEGER NOT NULL,
    what     TEXT NOT NULL CHECK (what IN ('item', 'session', 'project')),
    id       INTEGER NOT NULL,
    version  INTEGER NOT NULL,              -- when it changed; later than what it was made of, whatever clocks say
    awaits   TEXT,                          -- the uid of what takes its place, as long as that is not here
    UNIQUE (space_id, what, id)
) STRICT;
CREATE INDEX records_walk ON records (space_id, seq, what, id);
CREATE INDEX records_awaiting ON records (space_id, awaits) WHERE awaits IS NOT NULL;

-- How far this space and another one, by its uid, have seen each other's records.
CREATE TABLE peers (
    space_id INTEGER NOT NULL,
    peer     TEXT NOT NULL,
    extent   TEXT NOT NULL,                 -- which records are meant
    pulled   INTEGER NOT NULL DEFAULT 0,
    pushed   INTEGER NOT NULL DEFAULT 0,
    refused  TEXT NOT NULL DEFAULT '[]',    -- the names of those that it would not take
    PRIMARY KEY (space_id, peer, extent)
) WITHOUT ROWID, STRICT;

INSERT INTO records (space_id, what, id, version)
SELECT space_id, 'project', id, created_ms FROM projects ORDER BY id;
INSERT INTO records (space_id, what, id, version)
SELECT space_id, 'session', id, updated_ms FROM sessions ORDER BY id;
INSERT INTO records (space_id, what, id, version)
SELECT space_id, 'item', id,
       max(updated_ms, coalesce((SELECT max(at_ms) FROM history h WHERE h.item_id = items.id), updated_ms))
  FROM items ORDER BY id;

-- Items, sessions and names change in many places; none of them has to think of this.
CREATE TRIGGER items_recorded AFTER INSERT ON items
BEGIN
    INSERT INTO records (space_id, what, id, version) VALUES (NEW.space_id, 'item', NEW.id, NEW.updated_ms);
END;
CREATE TRIGGER items_recorded_anew
    AFTER UPDATE OF project_id, session_id, type, title, body, details, meta, importance, status, created_ms,
                    forgotten_ms, superseded_by ON items
BEGIN
    UPDATE records SET seq = (SELECT max(seq) FROM records) + 1, version = max(version + 1, NEW.updated_ms)
     WHERE space_id = NEW.space_id AND what = 'item' AND id = NEW.id;
END;
CREATE TRIGGER history_recorded AFTER INSERT ON history
BEGIN
    UPDATE records SET seq = (SELECT max(seq) FROM records) + 1, version = max(version + 1, NEW.at_ms)
     WHERE space_id = NEW.space_id AND what = 'item' AND id = NEW.item_id;
END;

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
CREATE TRIGGER session_history_recorded AFTER INSERT ON session_history
BEGIN
    UPDATE records SET seq = (SELECT max(seq) FROM records) + 1, version = max(version + 1, NEW.at_ms)
     WHERE space_id = NEW.space_id AND what = 'session' AND id = NEW.session_id;
END;

CREATE TRIGGER projects_recorded AFTER INSERT ON projects
BEGIN
    INSERT INTO records (space_id, what, id, version) VALUES (NEW.space_id, 'project', NEW.id, NEW.created_ms);
END;
CREATE TRIGGER projects_recorded_anew AFTER UPDATE OF name ON projects
BEGIN
    UPDATE records SET seq = (SELECT max(seq) FROM records) + 1
     WHERE space_id = NEW.space_id AND what = 'project' AND id = NEW.id;
END;
CREATE TRIGGER aliases_recorded AFTER INSERT ON project_aliases
BEGIN
    UPDATE records SET seq = (SELECT max(seq) FROM records) + 1
     WHERE space_id = NEW.space_id AND what = 'project' AND id = NEW.project_id;
END;
