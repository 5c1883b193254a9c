"""The command line: every capability without an agent. `main.py` has the table of commands."""
