-- What there is of a kind, by time: lists of one kind, and how much of it came on which day, without reading rows.

-- The last two are always NULL here; SQLite asks the row for them unless they stand in the index.
CREATE INDEX items_kind ON items (space_id, kind, created_ms, id, forgotten_ms, superseded_by)
    WHERE forgotten_ms IS NULL AND superseded_by IS NULL;
