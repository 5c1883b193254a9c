-- Statements that say the same but for capitals, spacing and punctuation are found by a digest (text/plain_form.py).

ALTER TABLE items ADD COLUMN fingerprint TEXT;
UPDATE items SET fingerprint = text_fingerprint(CAST(body AS BLOB)) WHERE kind = 'memory';
CREATE INDEX items_fingerprint ON items (fingerprint, space_id) WHERE fingerprint IS NOT NULL;
