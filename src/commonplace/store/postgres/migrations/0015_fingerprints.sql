-- additive
-- Statements that say the same but for capitals, spacing and punctuation are found by a digest (text/plain_form.py).

CREATE FUNCTION text_fingerprint(body text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(md5(regexp_replace(
        translate(left(body, 2000), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') COLLATE "C",
        '[^a-z0-9\u00c0-\u167f\u1681-\u1fff\u2c00-\u2fff\u3001-\U0010ffff]+', '', 'g')), 16)
$$;
CREATE INDEX items_fingerprint ON items (text_fingerprint(body), space_id) WHERE kind = 'memory';
