-- additive
-- Visits to our pages that were ended before their time, each by the digest of its token.

CREATE TABLE visits_over (
    space_id integer NOT NULL,
    hash     bytea NOT NULL,
    until_ms bigint NOT NULL,               -- when it would have been over anyway
    PRIMARY KEY (space_id, hash)
);
ALTER TABLE visits_over ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_space ON visits_over USING (space_id = (SELECT current_setting('commonplace.space')::integer));
