-- How useful items have been: opened, accepted, or shown to an agent that then used them. Uses fade with time: `uses` is
-- their number at the last one. What waits for a person's decision is listed by its own index.

CREATE TABLE item_uses (
    space_id INTEGER NOT NULL REFERENCES spaces (id),
    item_id  INTEGER NOT NULL REFERENCES items (id),
    uses     REAL NOT NULL,
    used_ms  INTEGER NOT NULL,
    PRIMARY KEY (space_id, item_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX items_proposed ON items (space_id, created_ms, id) WHERE review = 'proposed';
