-- When items hold, who said them and in which way, and whether they were reviewed; who made each change.
-- valid_until_ms is there since the first version.

ALTER TABLE items ADD COLUMN valid_from_ms INTEGER;
ALTER TABLE items ADD COLUMN expires_ms INTEGER;
ALTER TABLE items ADD COLUMN author TEXT;
ALTER TABLE items ADD COLUMN origin TEXT;
ALTER TABLE items ADD COLUMN review TEXT;
ALTER TABLE history ADD COLUMN author TEXT;
ALTER TABLE history ADD COLUMN origin TEXT;

-- The few that do not always hold, to leave out those that do not hold at a moment.
CREATE INDEX items_validity ON items (space_id, valid_from_ms, valid_until_ms, expires_ms, id)
    WHERE forgotten_ms IS NULL AND superseded_by IS NULL
      AND (valid_from_ms IS NOT NULL OR valid_until_ms IS NOT NULL OR expires_ms IS NOT NULL);
-- What changed since a moment, to tell what was held true then.
CREATE INDEX history_time ON history (space_id, at_ms, item_id);

DROP TRIGGER items_recorded_anew;
CREATE TRIGGER items_recorded_anew
    AFTER UPDATE OF project_id, session_id, type, title, body, details, meta, importance, status, created_ms,
                    forgotten_ms, superseded_by, valid_from_ms, valid_until_ms, expires_ms, author, origin, review
    ON items
BEGIN
    UPDATE records SET seq = (SELECT max(seq) FROM records) + 1, version = max(version + 1, NEW.updated_ms)
     WHERE space_id = NEW.space_id AND what = 'item' AND id = NEW.id;
END;
