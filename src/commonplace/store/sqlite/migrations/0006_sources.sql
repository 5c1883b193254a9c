-- How far each file outside was read (capture/transcripts/marks.py), so that the next reading goes on from there.
CREATE TABLE sources (
    space_id INTEGER NOT NULL,
    path     TEXT NOT NULL,
    mark     TEXT NOT NULL,
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (space_id, path)
) WITHOUT ROWID, STRICT;
