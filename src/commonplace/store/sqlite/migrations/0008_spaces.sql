-- How much each space may hold, and how much it holds: live items, and the bytes of what they say.

ALTER TABLE spaces ADD COLUMN max_items INTEGER;    -- NULL: any number
ALTER TABLE spaces ADD COLUMN max_bytes INTEGER;

CREATE TABLE space_use (
    space_id INTEGER PRIMARY KEY REFERENCES spaces (id),
    items    INTEGER NOT NULL DEFAULT 0,
    bytes    INTEGER NOT NULL DEFAULT 0,
    checked  INTEGER NOT NULL DEFAULT 1             -- 0: what grows now is let through
) STRICT;
INSERT INTO space_use (space_id, items, bytes)
SELECT s.id, count(i.id),
       coalesce(sum(octet_length(i.title) + octet_length(i.body) + octet_length(i.details) + octet_length(i.meta)), 0)
  FROM spaces s LEFT JOIN items i ON i.space_id = s.id AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL
 GROUP BY s.id;

CREATE TRIGGER spaces_come AFTER INSERT ON spaces
BEGIN
    INSERT INTO space_use (space_id) VALUES (NEW.id);
END;

-- Items come, go and change in many places; none of them has to think of this.
CREATE TRIGGER items_come AFTER INSERT ON items WHEN NEW.forgotten_ms IS NULL AND NEW.superseded_by IS NULL
BEGIN
    UPDATE space_use
       SET items = items + 1,
           bytes = bytes + octet_length(NEW.title) + octet_length(NEW.body) + octet_length(NEW.details)
                 + octet_length(NEW.meta)
     WHERE space_id = NEW.space_id;
END;
CREATE TRIGGER items_change AFTER UPDATE OF title, body, details, meta, forgotten_ms, superseded_by ON items
BEGIN
    UPDATE space_use
       SET items = items + (NEW.forgotten_ms IS NULL AND NEW.superseded_by IS NULL)
                 - (OLD.forgotten_ms IS NULL AND OLD.superseded_by IS NULL),
           bytes = bytes
                 + (NEW.forgotten_ms IS NULL AND NEW.superseded_by IS NULL)
                 * (octet_length(NEW.title) + octet_length(NEW.body) + octet_length(NEW.details) + octet_length(NEW.meta))
                 - (OLD.forgotten_ms IS NULL AND OLD.superseded_by IS NULL)
                 * (octet_length(OLD.title) + octet_length(OLD.body) + octet_length(OLD.details) + octet_length(OLD.meta))
     WHERE space_id = NEW.space_id;
END;
CREATE TRIGGER items_go AFTER DELETE ON items WHEN OLD.forgotten_ms IS NULL AND OLD.superseded_by IS NULL
BEGIN
    UPDATE space_use
       SET items = items - 1,
           bytes = bytes - octet_length(OLD.title) - octet_length(OLD.body) - octet_length(OLD.details)
                 - octet_length(OLD.meta)
     WHERE space_id = OLD.space_id;
END;

-- A space that holds more than it may by now can still shrink.
CREATE TRIGGER space_full AFTER UPDATE OF items, bytes ON space_use
    WHEN NEW.checked AND (NEW.items > OLD.items OR NEW.bytes > OLD.bytes)
BEGIN
    SELECT RAISE(ABORT, format('The space may hold %,d items, and holds as many.', max_items))
      FROM spaces WHERE id = NEW.space_id AND NEW.items > OLD.items AND NEW.items > max_items;
    SELECT RAISE(ABORT, format('The space may hold %,d bytes of text, and this would be more.', max_bytes))
      FROM spaces WHERE id = NEW.space_id AND NEW.bytes > OLD.bytes AND NEW.bytes > max_bytes;
END;

-- A key is looked for in every space, and so is what waits to be linked.
CREATE INDEX keys_prefix ON keys (prefix);
CREATE INDEX passages_space ON passages (space_id);
