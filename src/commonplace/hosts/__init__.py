"""One file per editor or agent: where its rule files live, how to write them and how to read them."""
