"""The fault suite: real processes are killed, starved and cut off, and everything they acknowledged is looked up."""
