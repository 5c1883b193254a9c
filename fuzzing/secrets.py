"""The redactor: what it gives back stays the same when it is given again, is not much longer, and holds no secret."""

from __future__ import annotations

import random

from benchmarks.secret_kinds import ALONE

from commonplace.text.redact import redact, redact_counted, redact_joined, redact_lines, without_private
from fuzzing.target import must

# A mark in place of the shortest secret, and one in place of nothing at all.
MOST_LONGER, MARK = 12, 64
WORDS = (
    *("password", "passwd:", "secret=", "token", "api_key", "Authorization: Bearer ", "Basic ", "Cookie: ", "curl -u "),
    *("https://u:p@h/", "postgres://a:b@c/d", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "mysql -p"),
    *("<private>", "</private>", "<private", "`<private>`", "[REDACTED:x]", "[private]", "ghp_", "AKIA", "sk-ant-"),
    *("xoxb-", "eyJhbGciOi", "hunter2", "Tr0ub4dor&3", "is ", "=", ":", '"', "'", "\\n", "\\", "%3D", "\x1b[32m", "\n"),
    *(
        "a" * 40,
        "0" * 64,
        "AAAAAAAAAAAAAAAAAAAA",
        "{",
        "}",
        "export ",
        "--password ",
        "sudo -S",
        "le mot de passe est ",
    ),
)
_KINDS = [(kind, made) for kind, made in ALONE.items()]


def take(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    clean, counts = redact_counted(text)
    must(redact(clean) == clean, "redacting twice changes nothing more")
    must(clean == text or bool(counts), "what is taken out is counted")
    must(len(clean) <= MOST_LONGER * len(text) + MARK, "marks do not make a text much longer")
    must(without_private(clean) == clean, "nothing private is left")
    redact_lines(text)
    redact_joined(text)
    _planted(text, random.Random(data))


def _planted(text: str, dice: random.Random) -> None:
    """A secret that is known by itself, on a line of its own within any text, is found."""
    kind, made = dice.choice(_KINDS)
    secret = made(dice)
    at = dice.randrange(len(text) + 1)
    found = redact(f"{text[:at]}\n{secret}\n{text[at:]}")
    must(secret not in found or secret in text, f"a {kind} survives")
