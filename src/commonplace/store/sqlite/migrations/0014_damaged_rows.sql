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

-- A value that is missing, as in a damaged row, has no bytes.
DROP TRIGGER items_change;
CREATE TRIGGER items_change AFTER UPDATE OF title, body, details, meta, forgotten_ms, superseded_by ON items
BEGIN
    UPDATE space_use
       SET items = items + (NEW.forgotten_ms IS NULL AND NEW.superseded_by IS NULL)
                 - (OLD.forgotten_ms IS NULL AND OLD.superseded_by IS NULL),
           bytes = bytes
                 + (NEW.forgotten_ms IS NULL AND NEW.superseded_by IS NULL)
                 * (coalesce(octet_length(NEW.title), 0) + coalesce(octet_length(NEW.body), 0)
                    + coalesce(octet_length(NEW.details), 0) + coalesce(octet_length(NEW.meta), 0))
                 - (OLD.forgotten_ms IS NULL AND OLD.superseded_by IS NULL)
                 * (coalesce(octet_length(OLD.title), 0) + coalesce(octet_length(OLD.body), 0)
                    + coalesce(octet_length(OLD.details), 0) + coalesce(octet_length(OLD.meta), 0))
     WHERE space_id = NEW.space_id;
END;
DROP TRIGGER items_go;
CREATE TRIGGER items_go AFTER DELETE ON items WHEN OLD.forgotten_ms IS NULL AND OLD.superseded_by IS NULL
BEGIN
    UPDATE space_use
       SET items = items - 1,
           bytes = bytes - coalesce(octet_length(OLD.title), 0) - coalesce(octet_length(OLD.body), 0)
                 - coalesce(octet_length(OLD.details), 0) - coalesce(octet_length(OLD.meta), 0)
     WHERE space_id = OLD.space_id;
END;
