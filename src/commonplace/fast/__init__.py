"""The small program that starts in milliseconds: hooks, the servers of editors, and questions to the resident process.

Editors and shells wait for it, so it uses the standard library alone, and of that only what loads quickly. What it
cannot do itself is done by the whole program, which `__main__` hands in (`whole_program.py`).
"""
