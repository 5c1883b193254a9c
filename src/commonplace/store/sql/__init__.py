"""Statements and row code that both engines share, written once over `Connection`."""
