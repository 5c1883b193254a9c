"""The resident process: it holds the memory of one data folder for all windows, commands and hooks of a user."""
