"""Tests of what hooks of editors tell."""
