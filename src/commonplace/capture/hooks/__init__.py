"""Hooks: what editors and agents tell while they work, spooled in a moment and remembered soon after."""
