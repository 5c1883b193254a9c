-- additive
-- Statements that say the same but for capitals, spacing and punctuation are found by a digest (text/plain_form.py).
-- The database makes it, of what older servers write too. It is a column, because no index over a function is used
-- where row-level security limits what a transaction sees.

CREATE FUNCTION text_fingerprint(body text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(md5(regexp_replace(
        translate(left(body, 2000), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') COLLATE "C",
        '[^a-z0-9\u00c0-\u167f\u1681-\u1fff\u2c00-\u2fff\u3001-\U0010ffff]+', '', 'g')), 16)
$$;
CREATE FUNCTION items_fingerprinted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.fingerprint := text_fingerprint(NEW.body);
    RETURN NEW;
END $$;

ALTER TABLE items ADD COLUMN fingerprint text COLLATE "C";
UPDATE items SET fingerprint = text_fingerprint(body) WHERE kind = 'memory';
CREATE INDEX items_fingerprint ON items (fingerprint, space_id) WHERE fingerprint IS NOT NULL;
CREATE TRIGGER items_fingerprinted BEFORE INSERT OR UPDATE OF body ON items
    FOR EACH ROW WHEN (NEW.kind = 'memory') EXECUTE FUNCTION items_fingerprinted();
