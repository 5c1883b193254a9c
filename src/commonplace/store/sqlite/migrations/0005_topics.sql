-- Topics (`clusters`): how the passages of each project were grouped the last time, and by which process now.

ALTER TABLE clusters ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
CREATE INDEX clusters_place ON clusters (space_id, project_id);

CREATE TABLE topic_builds (
    space_id       INTEGER NOT NULL,
    project_id     INTEGER NOT NULL,            -- 0: none
    model_id       INTEGER,                     -- whose vectors were grouped; NULL: not grouped yet
    built_ms       INTEGER NOT NULL DEFAULT 0,
    vectors        INTEGER NOT NULL DEFAULT 0,  -- how many there were
    built_seq      INTEGER NOT NULL DEFAULT 0,  -- the last of them
    seen_seq       INTEGER NOT NULL DEFAULT 0,  -- the last that was looked at since
    gone           INTEGER NOT NULL DEFAULT 0,  -- how many of them are no more
    shift          BLOB NOT NULL DEFAULT x'',   -- what they had in common
    owner          TEXT,
    lease_until_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (space_id, project_id)
) WITHOUT ROWID, STRICT;

-- The vectors of a project in their order, and how many are new, without reading the vectors.
CREATE INDEX vectors_place ON vectors (space_id, model_id, project_id, seq, passage_id);

-- A passage is in a topic only while it has a vector. Items are hidden, changed and embedded anew in many places.
CREATE TRIGGER vector_gone AFTER DELETE ON vectors BEGIN
    UPDATE clusters SET size = size - 1
     WHERE id IN (SELECT cluster_id FROM cluster_passages WHERE passage_id = OLD.passage_id);
    DELETE FROM cluster_passages WHERE passage_id = OLD.passage_id;
    UPDATE topic_builds SET gone = gone + 1
     WHERE space_id = OLD.space_id AND project_id = OLD.project_id AND built_seq >= OLD.seq;
END;
