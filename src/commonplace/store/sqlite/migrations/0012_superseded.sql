-- What an item took the place of.

CREATE INDEX items_superseded ON items (superseded_by) WHERE superseded_by IS NOT NULL;
