"""Characters that a reader does not see: escape sequences of terminals, controls, and overrides of text direction.

Remembered text may hold them. Neither a terminal nor a model should get them as they are.
"""

from __future__ import annotations

import re

# Escape sequences (CSI, OSC and the other string kinds, two-character ones), whole, so that no "[31m" stays behind. One
# that does not end on its line takes nothing with it: it could hide what follows.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
# Other control characters but tab and newline, and those that make text read in another order than it is stored.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# What JSON lets through unescaped.
_UNESCAPED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def strip_control_characters(text: str) -> str:
    """The text without anything that moves a cursor, colours, rings or reorders."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))


def escape_control_characters(json_text: str) -> str:
    """JSON in which such characters are escaped: it reads as it is stored, and parses to the same."""
    return _UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)
