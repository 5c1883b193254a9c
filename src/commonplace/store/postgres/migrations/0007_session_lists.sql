-- additive
-- Lists of sessions, those without messages too, and the sessions that another one started.

CREATE INDEX sessions_latest ON sessions (space_id, ended_ms, id) WHERE forgotten_ms IS NULL;
CREATE INDEX sessions_parent ON sessions (space_id, (meta::json ->> 'parent_session'))
    WHERE meta::json ->> 'parent_session' IS NOT NULL;
