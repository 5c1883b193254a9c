"""One resident process per user and data folder: it holds the memory for all windows, commands and hooks."""
