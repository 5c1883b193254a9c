"""The REST door: a table of endpoints under /api/v1, each a checked request in and a record out."""
