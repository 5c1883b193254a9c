-- additive
-- How much each space may hold, and how much it holds: live items, and the bytes of what they say.

ALTER TABLE spaces ADD COLUMN max_items bigint, ADD COLUMN max_bytes bigint;    -- NULL: any number

CREATE TABLE space_use (
    space_id integer PRIMARY KEY REFERENCES spaces,
    items    bigint NOT NULL DEFAULT 0,
    bytes    bigint NOT NULL DEFAULT 0,
    checked  boolean NOT NULL DEFAULT true              -- false: what grows now is let through
);
ALTER TABLE space_use ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_space ON space_use USING (space_id = (SELECT current_setting('commonplace.space')::integer));

CREATE FUNCTION spaces_come() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO space_use (space_id) VALUES (NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER spaces_come AFTER INSERT ON spaces FOR EACH ROW EXECUTE FUNCTION spaces_come();

-- Items come, go and change in many places; none of them has to think of this. Writers of a space take turns, so that
-- together they cannot go beyond what it may hold; one that holds more by now can still shrink.
CREATE FUNCTION use_space(space integer, more_items bigint, more_bytes bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    used space_use;
    most spaces;
BEGIN
    UPDATE space_use SET items = items + more_items, bytes = bytes + more_bytes
     WHERE space_id = space RETURNING * INTO used;
    IF used.checked AND (more_items > 0 OR more_bytes > 0) THEN
        SELECT * INTO most FROM spaces WHERE id = space;
        IF more_items > 0 AND used.items > most.max_items THEN
            RAISE EXCEPTION USING ERRCODE = 'CPQ01', MESSAGE =
                format('The space may hold %s items, and holds as many.', to_char(most.max_items, 'FM999,999,999,999'));
        ELSIF more_bytes > 0 AND used.bytes > most.max_bytes THEN
            RAISE EXCEPTION USING ERRCODE = 'CPQ01', MESSAGE =
                format('The space may hold %s bytes of text, and this would be more.',
                       to_char(most.max_bytes, 'FM999,999,999,999,999'));
        END IF;
    END IF;
END $$;

CREATE FUNCTION items_come() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM use_space(space_id, count(*), sum(
        octet_length(title) + octet_length(body) + octet_length(details) + octet_length(meta))::bigint)
       FROM came WHERE forgotten_ms IS NULL AND superseded_by IS NULL GROUP BY space_id;
    RETURN NULL;
END $$;
CREATE FUNCTION items_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM use_space(space_id, -count(*), -sum(
        octet_length(title) + octet_length(body) + octet_length(details) + octet_length(meta))::bigint)
       FROM went WHERE forgotten_ms IS NULL AND superseded_by IS NULL GROUP BY space_id;
    RETURN NULL;
END $$;
CREATE FUNCTION items_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM use_space(space_id, sum(sign)::bigint, sum(sign * (
        octet_length(title) + octet_length(body) + octet_length(details) + octet_length(meta)))::bigint)
       FROM (SELECT +1 AS sign, * FROM came UNION ALL SELECT -1, * FROM went) changed
      WHERE forgotten_ms IS NULL AND superseded_by IS NULL GROUP BY space_id;
    RETURN NULL;
END $$;
CREATE TRIGGER items_come AFTER INSERT ON items REFERENCING NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION items_come();
CREATE TRIGGER items_go AFTER DELETE ON items REFERENCING OLD TABLE AS went
    FOR EACH STATEMENT EXECUTE FUNCTION items_go();
CREATE TRIGGER items_change AFTER UPDATE ON items REFERENCING OLD TABLE AS went NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION items_change();

-- After the triggers, which hold the table: what is written by others from now on is counted by them.
INSERT INTO space_use (space_id, items, bytes)
SELECT s.id, count(i.id),
       coalesce(sum(octet_length(i.title) + octet_length(i.body) + octet_length(i.details) + octet_length(i.meta)), 0)
  FROM spaces s LEFT JOIN items i ON i.space_id = s.id AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL
 GROUP BY s.id;

-- A key is looked for in every space.
CREATE INDEX keys_prefix ON keys (prefix);
