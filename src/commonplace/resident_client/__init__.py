"""How windows, commands and hooks find the resident process of a data folder, ask it, start it and end it."""
