-- additive
-- Which migrations a server that does not know them can go on with: those whose first line is the one above.

ALTER TABLE schema_versions ADD COLUMN additive boolean NOT NULL DEFAULT false;
