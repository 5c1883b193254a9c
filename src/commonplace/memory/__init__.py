"""The verbs: what a user can do with a memory. Decisions are made here; no SDK, HTTP, SQL or printing."""
