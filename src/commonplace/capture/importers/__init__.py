"""Importers."""
