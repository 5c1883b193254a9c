"""Capture: what editors report through hooks, the sessions of coding agents, and imports from other products."""
