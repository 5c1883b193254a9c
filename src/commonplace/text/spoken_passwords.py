"""Passwords in German, French and Spanish sentences, and those that people pipe into programs."""

from __future__ import annotations

import re

from commonplace.text.secret_values import ContextPattern, is_secret_in_prose


def _is_spoken_password(match: re.Match[str]) -> bool:
    return is_secret_in_prose(match["secret"], password=True)


def _is_piped_password(match: re.Match[str]) -> bool:
    return match["secret"][0] not in "$<{%*[`" and "$(" not in match["secret"]


# What stands between the word for password and the password itself, in German, French and Spanish.
_SAYS = (
    r"(?: (?:f(?:ü|ue)r|von|vom|zum|am|im|pour|du|de|del|para|en) [^\n.:=]{1,40}?)?"
    r"(?: ?[:=]| (?:lautet|ist|war|est|était|es|era)(?: (?:jetzt|nun|maintenant|ahora))?:?) {0,3}"
    r"[\"'`„«]?(?P<secret>[^\s\"'`“»,;(){}<>]{6,200})"
)

SPOKEN_PASSWORDS: tuple[ContextPattern, ...] = (
    ContextPattern("password", ("wort",), rf"(?i)(?:pass|kenn)wort{_SAYS}", _is_spoken_password, before=4),
    ContextPattern(
        "password",
        ("mot de passe", "contrase"),
        rf"(?i)(?:mot de passe|contrase(?:n|ñ|Ñ)a){_SAYS}",
        _is_spoken_password,
    ),
    ContextPattern(
        "command-password",
        ("echo", "printf"),
        r"(?i)(?:echo|printf) (?:-[ne]{1,2} |[\"']?%s(?:\\n)?[\"']? ){0,2}"
        r"(?P<quote>[\"']?)(?P<secret>[^\s\"'|;&][^\"'\n|;&]{2,200}?)(?P=quote) {0,4}\| {0,4}"
        r"(?:sudo (?:-[\w-]+ (?:\w+ )?){0,4}?-[a-z]*(?-i:S)\b|(?:sudo )?chpasswd\b"
        r"|[^\n|;&]{1,200}? (?:--password-stdin|--with-token|--passphrase-fd|--stdin)\b)",
        _is_piped_password,
    ),
)
