"""One file per thing a user can do. The only room that takes decisions; no SDK, HTTP, SQL or printing here."""
