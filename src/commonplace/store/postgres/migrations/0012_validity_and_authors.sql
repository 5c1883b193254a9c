-- additive
-- When items hold, who said them and in which way, and whether they were reviewed; who made each change.
-- valid_until_ms is there since the first version.

ALTER TABLE items ADD COLUMN valid_from_ms bigint;
ALTER TABLE items ADD COLUMN expires_ms bigint;
ALTER TABLE items ADD COLUMN author text;
ALTER TABLE items ADD COLUMN origin text COLLATE "C";
ALTER TABLE items ADD COLUMN review text COLLATE "C";
ALTER TABLE history ADD COLUMN author text;
ALTER TABLE history ADD COLUMN origin text COLLATE "C";

-- The few that do not always hold, to leave out those that do not hold at a moment.
CREATE INDEX items_validity ON items (space_id, valid_from_ms, valid_until_ms, expires_ms, id)
    WHERE forgotten_ms IS NULL AND superseded_by IS NULL
      AND (valid_from_ms IS NOT NULL OR valid_until_ms IS NOT NULL OR expires_ms IS NOT NULL);
-- What changed since a moment, to tell what was held true then.
CREATE INDEX history_time ON history (space_id, at_ms, item_id);

CREATE OR REPLACE FUNCTION items_recorded_anew() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE records r SET seq = DEFAULT, version = greatest(r.version + 1, c.updated_ms)
      FROM came c JOIN went w ON w.space_id = c.space_id AND w.id = c.id
     WHERE r.space_id = c.space_id AND r.what = 'item' AND r.id = c.id
       AND (c.project_id, c.session_id, c.type, c.title, c.body, c.details, c.meta, c.importance, c.status,
            c.created_ms, c.forgotten_ms, c.superseded_by, c.valid_from_ms, c.valid_until_ms, c.expires_ms, c.author,
            c.origin, c.review)
           IS DISTINCT FROM
           (w.project_id, w.session_id, w.type, w.title, w.body, w.details, w.meta, w.importance, w.status,
            w.created_ms, w.forgotten_ms, w.superseded_by, w.valid_from_ms, w.valid_until_ms, w.expires_ms, w.author,
            w.origin, w.review);
    RETURN NULL;
END $$;
