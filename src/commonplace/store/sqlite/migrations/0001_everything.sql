-- Every table. Times are milliseconds since 1970, UTC; what belongs to somebody carries its space.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TABLE spaces (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE projects (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id   INTEGER NOT NULL REFERENCES spaces (id),
    name       TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    UNIQUE (space_id, name)
) STRICT;

CREATE TABLE project_aliases (
    space_id   INTEGER NOT NULL,
    alias      TEXT NOT NULL,               -- case-folded
    project_id INTEGER NOT NULL REFERENCES projects (id),
    PRIMARY KEY (space_id, alias)
) WITHOUT ROWID, STRICT;
CREATE INDEX project_aliases_project ON project_aliases (project_id);

CREATE TABLE sessions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    uid         TEXT NOT NULL UNIQUE,
    space_id    INTEGER NOT NULL REFERENCES spaces (id),
    key         TEXT NOT NULL,              -- the name its agent gave it
    source      TEXT NOT NULL DEFAULT '',
    project_id  INTEGER REFERENCES projects (id),
    label       TEXT NOT NULL DEFAULT '',
    folder      TEXT NOT NULL DEFAULT '/',
    status      TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived', 'pinned')),
    importance  REAL,
    meta        TEXT NOT NULL DEFAULT '{}',
    started_ms  INTEGER NOT NULL,
    ended_ms    INTEGER,
    accessed_ms INTEGER,
    rev         INTEGER NOT NULL DEFAULT 1,
    UNIQUE (space_id, key)
) STRICT;
CREATE INDEX sessions_project ON sessions (space_id, project_id, started_ms);

CREATE TABLE items (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    uid            TEXT NOT NULL,           -- UUIDv7
    space_id       INTEGER NOT NULL REFERENCES spaces (id),
    project_id     INTEGER REFERENCES projects (id),
    session_id     INTEGER REFERENCES sessions (id),
    parent_id      INTEGER REFERENCES items (id),
    kind           TEXT NOT NULL CHECK (kind IN ('observation', 'memory', 'message', 'summary', 'checkpoint')),
    type           TEXT NOT NULL,
    title          TEXT NOT NULL,
    body           TEXT NOT NULL,
    details        TEXT NOT NULL DEFAULT '{}',
    meta           TEXT NOT NULL DEFAULT '{}',
    importance     REAL,
    status         TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived', 'pinned')),
    tokens         INTEGER NOT NULL DEFAULT 0,
    tagged         INTEGER NOT NULL DEFAULT 0,
    content_hash   BLOB NOT NULL,           -- with the project: the same twice is one item
    created_ms     INTEGER NOT NULL,
    updated_ms     INTEGER NOT NULL,
    accessed_ms    INTEGER,
    valid_until_ms INTEGER,
    forgotten_ms   INTEGER,
    superseded_by  INTEGER REFERENCES items (id),
    rev            INTEGER NOT NULL DEFAULT 1,
    UNIQUE (space_id, uid)
) STRICT;
CREATE UNIQUE INDEX items_same ON items (space_id, coalesce(project_id, 0), content_hash);
CREATE INDEX items_short ON items (space_id, substr(uid, -12));
CREATE INDEX items_time ON items (space_id, created_ms, id)
    WHERE forgotten_ms IS NULL AND superseded_by IS NULL;
CREATE INDEX items_place ON items (space_id, project_id, kind, created_ms, id)
    WHERE forgotten_ms IS NULL AND superseded_by IS NULL;
CREATE INDEX items_type ON items (space_id, type, project_id, created_ms, id)
    WHERE forgotten_ms IS NULL AND superseded_by IS NULL;
CREATE INDEX items_forgotten ON items (space_id, forgotten_ms) WHERE forgotten_ms IS NOT NULL;
CREATE INDEX items_session ON items (session_id, created_ms) WHERE session_id IS NOT NULL;

CREATE TABLE item_tags (
    space_id INTEGER NOT NULL,
    tag      TEXT NOT NULL,
    item_id  INTEGER NOT NULL REFERENCES items (id),
    PRIMARY KEY (space_id, tag, item_id)
) WITHOUT ROWID, STRICT;
CREATE INDEX item_tags_item ON item_tags (item_id);

CREATE TABLE history (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id INTEGER NOT NULL,
    item_id  INTEGER NOT NULL REFERENCES items (id),
    rev      INTEGER NOT NULL,
    op       TEXT NOT NULL,
    at_ms    INTEGER NOT NULL,
    before   TEXT NOT NULL
) STRICT;
CREATE INDEX history_item ON history (item_id, rev);

CREATE TABLE passages (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id INTEGER NOT NULL,
    item_id  INTEGER NOT NULL REFERENCES items (id),
    seq      INTEGER NOT NULL,
    text     TEXT,                          -- NULL: the whole item is this one passage
    UNIQUE (space_id, item_id, seq)
) STRICT;

-- rowid > 0: a passage. rowid = -item id: the whole of an item cut into several, for queries that filter.
-- Contentless: the words are made in Python (text/tokens.py), so nothing here can disagree with the rows.
CREATE VIRTUAL TABLE passages_fts USING fts5 (
    title, subtitle, text, narrative, facts, concepts, files, tags, type, speaker, scope,
    content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 tokenchars '='"
);

CREATE TABLE models (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dim  INTEGER NOT NULL,
    UNIQUE (name, dim)
) STRICT;

CREATE TABLE vectors (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,  -- grows with every change: readers catch up from the last they saw
    space_id   INTEGER NOT NULL,
    model_id   INTEGER NOT NULL REFERENCES models (id),
    passage_id INTEGER NOT NULL REFERENCES passages (id),
    project_id INTEGER NOT NULL,            -- 0: none
    kind       INTEGER NOT NULL,            -- position in model.KINDS
    scale      REAL NOT NULL,
    v          BLOB NOT NULL,               -- int8, the truth
    UNIQUE (space_id, passage_id, model_id)
) STRICT;

CREATE TABLE edges (
    space_id   INTEGER NOT NULL,
    src        INTEGER NOT NULL REFERENCES passages (id),
    rel        TEXT NOT NULL,
    dst        INTEGER NOT NULL REFERENCES passages (id),
    weight     REAL NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (space_id, src, rel, dst)
) WITHOUT ROWID, STRICT;
CREATE INDEX edges_back ON edges (space_id, dst, rel);

CREATE TABLE clusters (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id   INTEGER NOT NULL,
    project_id INTEGER REFERENCES projects (id),
    label      TEXT NOT NULL,
    centroid   BLOB,
    built_ms   INTEGER NOT NULL
) STRICT;
CREATE TABLE cluster_passages (
    cluster_id INTEGER NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    passage_id INTEGER NOT NULL REFERENCES passages (id),
    score      REAL NOT NULL,
    PRIMARY KEY (cluster_id, passage_id)
) WITHOUT ROWID, STRICT;
CREATE INDEX cluster_passages_passage ON cluster_passages (passage_id);

CREATE TABLE streams (
    id         TEXT PRIMARY KEY,            -- stream_...
    space_id   INTEGER NOT NULL,
    project_id INTEGER REFERENCES projects (id),
    type       TEXT NOT NULL,
    tags       TEXT NOT NULL DEFAULT '[]',
    meta       TEXT NOT NULL DEFAULT '{}',
    status     TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'finalized', 'cancelled')),
    created_ms INTEGER NOT NULL,
    touched_ms INTEGER NOT NULL,
    item_id    INTEGER REFERENCES items (id)
) STRICT;
CREATE TABLE stream_parts (
    stream_id TEXT NOT NULL REFERENCES streams (id) ON DELETE CASCADE,
    seq       INTEGER NOT NULL,
    text      TEXT NOT NULL,
    PRIMARY KEY (stream_id, seq)
) WITHOUT ROWID, STRICT;

-- Work that may come later: claimed under a lease, so that a crash only delays it.
CREATE TABLE jobs (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id       INTEGER NOT NULL,
    kind           TEXT NOT NULL,
    passage_id     INTEGER NOT NULL REFERENCES passages (id),
    tries          INTEGER NOT NULL DEFAULT 0,
    lease_until_ms INTEGER NOT NULL DEFAULT 0,
    owner          TEXT,
    error          TEXT,
    UNIQUE (space_id, kind, passage_id)
) STRICT;
-- 5: jobs.MAX_TRIES. What was tried so often waits no longer.
CREATE INDEX jobs_waiting ON jobs (space_id, kind, id, tries) WHERE tries < 5;

CREATE TABLE keys (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id   INTEGER NOT NULL REFERENCES spaces (id),
    name       TEXT NOT NULL,
    prefix     TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE,
    scopes     TEXT NOT NULL,
    project_id INTEGER REFERENCES projects (id),
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    revoked_ms INTEGER,
    used_ms    INTEGER
) STRICT;

-- How many live items each project has of each kind: for `status`, and to choose between two ways of filtering.
CREATE TABLE tally (
    space_id   INTEGER NOT NULL,
    project_id INTEGER NOT NULL,            -- 0: none
    kind       TEXT NOT NULL,
    items      INTEGER NOT NULL,
    PRIMARY KEY (space_id, project_id, kind)
) WITHOUT ROWID, STRICT;
