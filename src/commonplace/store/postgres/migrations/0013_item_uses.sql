-- additive
-- How useful items have been: opened, accepted, or shown to an agent that then used them. Uses fade with time: `uses` is
-- their number at the last one. What waits for a person's decision is listed by its own index.

CREATE TABLE item_uses (
    space_id integer NOT NULL,
    item_id  bigint NOT NULL,
    uses     float8 NOT NULL,
    used_ms  bigint NOT NULL,
    PRIMARY KEY (space_id, item_id),
    FOREIGN KEY (space_id, item_id) REFERENCES items
);
ALTER TABLE item_uses ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_space ON item_uses USING (space_id = (SELECT current_setting('commonplace.space')::integer));
CREATE INDEX items_proposed ON items (space_id, created_ms, id) WHERE review = 'proposed';
