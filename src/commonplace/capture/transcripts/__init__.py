"""Sessions of coding agents, read where their products keep them: one reader per format, one shape for all."""
