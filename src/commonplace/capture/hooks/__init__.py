"""Hooks: the command that editors run, the spool of their events, and what is stored of them."""
