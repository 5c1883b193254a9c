-- Edges between passages, and what passages mention, so that the next mention finds the earlier ones without a scan.

-- Made anew, since nothing was in it: whoever deletes a passage deletes its edges, and a foreign key would look for
-- them through the whole table.
DROP TABLE edges;
CREATE TABLE edges (
    space_id   INTEGER NOT NULL,
    src        INTEGER NOT NULL,            -- came later
    rel        TEXT NOT NULL,
    dst        INTEGER NOT NULL,            -- came earlier
    weight     REAL NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (space_id, src, rel, dst)
) WITHOUT ROWID, STRICT;
CREATE INDEX edges_back ON edges (space_id, dst, rel, src, weight);

CREATE TABLE mentions (
    space_id   INTEGER NOT NULL,
    thing      INTEGER NOT NULL,            -- a hash of what is mentioned, where that matters with its project
    passage_id INTEGER NOT NULL,
    PRIMARY KEY (space_id, thing, passage_id)
) WITHOUT ROWID, STRICT;
CREATE INDEX mentions_passage ON mentions (passage_id);

-- Which items no walk may show, known without reading their rows, whose bodies may be long.
CREATE INDEX items_hidden ON items (id, forgotten_ms, superseded_by)
    WHERE forgotten_ms IS NOT NULL OR superseded_by IS NOT NULL;

-- The sessions that continue another, and those that an item started.
CREATE INDEX sessions_continued ON sessions (space_id, json_extract(meta, '$.continued_from'))
    WHERE json_extract(meta, '$.continued_from') IS NOT NULL;
CREATE INDEX sessions_started ON sessions (space_id, json_extract(meta, '$.parent_message'))
    WHERE json_extract(meta, '$.parent_message') IS NOT NULL;

-- Whenever a passage is deleted, SQLite looks for what refers to it: through the whole table without these.
CREATE INDEX vectors_passage ON vectors (passage_id);
CREATE INDEX jobs_passage ON jobs (passage_id);
