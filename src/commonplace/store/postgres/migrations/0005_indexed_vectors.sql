-- additive
-- Whether a space is so large that the index of signs has some of its vectors: asked with every search by meaning.

CREATE INDEX vectors_indexed ON vectors (space_id, model_id, project_id, kind) WHERE indexed;
