"""The doctor: looks whether everything works by trying it, says what to do where something does not, and mends it."""
