-- A damaged row is one damaged row: it can be changed, and what it says can be told from what it said.

-- Damaged metadata counts as empty here; json_extract would refuse every change of such a row.
DROP INDEX sessions_continued;
CREATE INDEX sessions_continued
    ON sessions (space_id, json_extract(iif(json_valid(meta), meta, '{}'), '$.continued_from'))
    WHERE json_extract(iif(json_valid(meta), meta, '{}'), '$.continued_from') IS NOT NULL;
DROP INDEX sessions_started;
CREATE INDEX sessions_started
    ON sessions (space_id, json_extract(iif(json_valid(meta), meta, '{}'), '$.parent_message'))
    WHERE json_extract(iif(json_valid(meta), meta, '{}'), '$.parent_message') IS NOT NULL;
DROP INDEX sessions_parent;
CREATE INDEX sessions_parent
    ON sessions (space_id, json_extract(iif(json_valid(meta), meta, '{}'), '$.parent_session'))
    WHERE json_extract(iif(json_valid(meta), meta, '{}'), '$.parent_session') IS NOT NULL;

-- Of the title, body and details as they were written (content_checksum in Python); NULL: not known.
ALTER TABLE items ADD COLUMN checksum BLOB;
UPDATE items SET checksum = content_checksum(CAST(title AS BLOB), CAST(body AS BLOB), CAST(details AS BLOB));
