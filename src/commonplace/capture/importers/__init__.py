"""Importers: one file per format or product, all of them listed in formats.py."""
