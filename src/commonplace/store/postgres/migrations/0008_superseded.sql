-- additive
-- What an item took the place of.

CREATE INDEX items_superseded ON items (space_id, superseded_by) WHERE superseded_by IS NOT NULL;
