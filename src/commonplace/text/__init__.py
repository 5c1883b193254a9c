"""Pure text work: tokens, queries, passages, redaction, project names, titles."""
