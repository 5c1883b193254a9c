"""Our own fuzzing: what reads foreign input, tried with input that nobody thought of.

`python -m fuzzing TARGET --seconds N` lets atheris look for input that reaches new code; the tests in tests/fuzzing
drive the same targets with hypothesis and with the corpus, which holds every input that once did harm.
"""
