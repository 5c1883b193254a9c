-- additive
-- What there is of a kind, by time: lists of one kind, and how much of it came on which day, without reading rows.

CREATE INDEX items_kind ON items (space_id, kind, created_ms, id) WHERE forgotten_ms IS NULL AND superseded_by IS NULL;
