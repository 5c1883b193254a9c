"""Connecting editors: where each keeps its servers and hooks, and how ours get in and out without harming the rest."""
