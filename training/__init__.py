"""The training corpus, and what reads it."""
