"""Passwords that people say in other languages than English, or say to a program through a pipe."""

from __future__ import annotations

import re

from commonplace.text.secret_clue import Clue
from commonplace.text.secret_shape import told_in_prose


def _is_said(match: re.Match[str]) -> bool:
    return told_in_prose(match["secret"], password=True)


def _is_piped(match: re.Match[str]) -> bool:
    return match["secret"][0] not in "$<{%*[`" and "$(" not in match["secret"]


# What stands between the name and the password: what it is for, and that it is.
_SAYS = (
    r"(?: (?:f(?:ü|ue)r|von|vom|zum|am|im|pour|du|de|del|para|en) [^\n.:=]{1,40}?)?"
    r"(?: ?[:=]| (?:lautet|ist|war|est|était|es|era)(?: (?:jetzt|nun|maintenant|ahora))?:?) {0,3}"
    r"[\"'`„«]?(?P<secret>[^\s\"'`“»,;(){}<>]{6,200})"
)

SAYINGS: tuple[Clue, ...] = (
    Clue("password", ("wort",), rf"(?i)(?:pass|kenn)wort{_SAYS}", _is_said, before=4),
    Clue("password", ("mot de passe", "contrase"), rf"(?i)(?:mot de passe|contrase(?:n|ñ|Ñ)a){_SAYS}", _is_said),
    Clue(
        "command-password",
        ("echo", "printf"),
        r"(?i)(?:echo|printf) (?:-[ne]{1,2} |[\"']?%s(?:\\n)?[\"']? ){0,2}"
        r"(?P<quote>[\"']?)(?P<secret>[^\s\"'|;&][^\"'\n|;&]{2,200}?)(?P=quote) {0,4}\| {0,4}"
        r"(?:sudo (?:-[\w-]+ (?:\w+ )?){0,4}?-[a-z]*(?-i:S)\b|(?:sudo )?chpasswd\b"
        r"|[^\n|;&]{1,200}? (?:--password-stdin|--with-token|--passphrase-fd|--stdin)\b)",
        _is_piped,
    ),
)
