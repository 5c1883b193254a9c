-- What a model keeps of each word of a passage, to compare a question with it word by word: read for the best candidates
-- only, so it is not in `vectors`, which are scanned. It goes with the vector that it was made together with.

CREATE TABLE token_vectors (
    passage_id INTEGER PRIMARY KEY,
    space_id   INTEGER NOT NULL,
    model_id   INTEGER NOT NULL,
    tokens     BLOB NOT NULL,               -- as the model made them
    FOREIGN KEY (space_id, passage_id, model_id) REFERENCES vectors (space_id, passage_id, model_id) ON DELETE CASCADE
) STRICT;
-- Which passages have some, without reading all of them.
CREATE INDEX token_vectors_passage ON token_vectors (space_id, passage_id, model_id);
