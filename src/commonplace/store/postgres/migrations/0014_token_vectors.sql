-- additive
-- What a model keeps of each word of a passage, to compare a question with it word by word: read for the best candidates
-- only, so it is not in `vectors`, which are scanned. It goes with the vector that it was made together with.

CREATE TABLE token_vectors (
    space_id   integer NOT NULL,
    passage_id bigint NOT NULL,
    model_id   integer NOT NULL,
    tokens     bytea NOT NULL,              -- as the model made them
    PRIMARY KEY (space_id, passage_id) INCLUDE (model_id),
    FOREIGN KEY (space_id, passage_id, model_id) REFERENCES vectors (space_id, passage_id, model_id) ON DELETE CASCADE
);
-- They hardly get shorter by compressing.
ALTER TABLE token_vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;
ALTER TABLE token_vectors ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_space ON token_vectors USING (space_id = (SELECT current_setting('commonplace.space')::integer));
