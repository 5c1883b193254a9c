"""Secrets that are known by what stands beside them: a name that tells, a header, an address, a frame."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass

from commonplace.text.secret_shape import looks_secret, stands_out, told_in_prose

Judge = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True)
class Clue:
    """A kind of secret: hints (lower case), and an expression whose group `secret`, `quoted` or `bare`, or all, goes.

    The expression is tried where a hint stands, or `before` letters earlier, and nowhere else: that is what makes
    broad ones cheap. Where that is not a fixed number, `begins` tells it from the text and the hint's place.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    judge: Judge | None = None
    before: int = 0
    begins: Callable[[str, int], int] | None = None


def _assigned(match: re.Match[str], password: bool) -> bool:
    separator, quoted, bare = match["separator"], match["quoted"], match["bare"]
    before = _name_before(match)
    if quoted is not None:
        return looks_secret(quoted, password=password, quoted=True, env=False, loose=False)
    following = match.string[match.end() : match.end() + 1]
    if separator == ">":
        return following == "<" and looks_secret(bare, password=password, quoted=True, env=False, loose=False)
    if following in _CODE_FOLLOWS or (following == ")" and "=" in separator):
        return False
    if _TOLD.fullmatch(separator):
        return told_in_prose(bare, password=password)
    name = before + match["name"]
    flag = name.startswith("--")
    command = _COMMAND.search(match.string, max(0, match.start() - len(before) - 8), match.start() - len(before))
    if separator.isspace() and not flag and not command:
        return stands_out(bare, password=password)
    spaced = separator.startswith(" ") or (separator.endswith(" ") and "=" in separator)
    at = match.start() - len(before)
    parameter = match.string[max(0, at - 1) : at] in ("?", "&", ";") or match.string[max(0, at - 2) : at] == "; "
    env = flag or (name.isupper() and not spaced) or bool(command) or (parameter and "=" in separator and not spaced)
    return looks_secret(bare, password=password, quoted=False, env=env, loose=not spaced)


def _name_before(match: re.Match[str]) -> str:
    before = _NAME_BEFORE.search(match.string, max(0, match.start() - 40), match.start())
    return before[0] if before else ""


def _is_password(match: re.Match[str]) -> bool:
    # Of the verb there is more to say than of the name.
    named = _name_before(match)[-1:] in ("", "_", "-") and not match["separator"].isspace()
    if match["name"].lower() in ("pass", "pw") and not named:
        return False
    return _assigned(match, password=True)


def _is_secret(match: re.Match[str]) -> bool:
    at = match.start()
    if _PUBLIC.search(match.string, max(0, at - 20), at):
        return False
    if match["name"].lower().startswith("key") and not _KEY_OWNERS.search(match.string, max(0, at - 20), at):
        return False
    return _assigned(match, password=False)


def _is_literal(match: re.Match[str]) -> bool:
    return match["secret"][0] not in "$<{%*["


def _is_credential(match: re.Match[str]) -> bool:
    value = match["secret"]
    return _has_digit(match) or "=" in value or (not value.isupper() and not value[1:].islower())


def _has_digit(match: re.Match[str]) -> bool:
    return any(map(str.isdigit, match["secret"]))


def _is_typed(match: re.Match[str]) -> bool:
    return looks_secret(match["secret"], password=True, quoted=False, env=True, loose=False)


def _is_user_and_password(match: re.Match[str]) -> bool:
    """Whether it is `user:password` in base64."""
    try:
        text = base64.b64decode(match["secret"] + "=" * (-len(match["secret"]) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in text[1:-1] and text.isprintable()


def _body_before(text: str, end: int) -> int:
    """Where the lines of a key begin that stand before its end. Its last two, the rest and a sum, may be short."""
    begin, short = end, 0
    for _ in range(_KEY_LINES if "PRIVATE KEY" in text[end : end + 50] else 0):
        line = _KEY_LINE.search(text, max(0, end - _LONGEST_KEY_LINE), end)
        if line is None or short > 2:
            break
        end = line.start()
        if len(line[1]) < 16 or line[1].isalpha():
            short += 1
        else:
            begin, short = end, 0
    return begin


def _has_random_part(match: re.Match[str]) -> bool:
    parts = re.split(r"[;=\s]+", match["secret"])
    return any(looks_secret(part, password=False, quoted=False, env=False, loose=True) for part in parts)


_PUBLIC = re.compile(r"public(?:[_-]?key)?[_-]?\Z|::\w*\Z", re.IGNORECASE)
# A line of a key and the break after it; as many as the longest key has.
_KEY_LINE = re.compile(r"(?:(?<![^\s\"'`:>])|(?<=\\[nr]))([A-Za-z0-9+/=]{1,80})(?:\s|\\[nr]){1,24}\Z")
_LONGEST_KEY_LINE, _KEY_LINES = 110, 400
_CODE_FOLLOWS = ("(", "{", "[", "<")
_TOLD = re.compile(r"(?s).*(?:\b(?:is|was|to)(?: now)?|'s):?\s*")
_COMMAND = re.compile(r"(?:^|\s)(?:ENV|ARG) \Z")
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_-]+\Z")
_KEY_OWNERS = re.compile(
    r"(?:api|access|private|signing|encryption|auth|master|account|app|application|service|session|storage|license"
    r"|client|shared|subscription|ingest|deploy|admin|secret|jwt|hmac|function|host)[_ -]?\Z",
    re.IGNORECASE,
)


def _assignment(names: str) -> str:
    return rf"""(?xi)
        (?P<name> (?:{names})
            (?:[_-]?(?:key|value|val|base|string|raw|data|prod|production|staging|dev|live|local|root|admin|test|text
                |new|old|env|\d{{1,3}})){{0,3}})
        (?P<separator>
            \\{{0,3}}["'`]?\]?\ {{0,8}}
            (?: :\ {{0,4}}[A-Za-z_&][\w.&'<\[\ ]{{0,30}}[>\]]?\ {{0,4}}=(?!=) | => | := | =(?![=>~]) | :(?![:=])
              | (?<=["'`]),(?=\ {{0,4}}\\{{0,3}}["'`])
              | \((?=[bru]?["'`]) | >(?!=)
              | ,?\s{{0,24}}\\{{0,3}}["']?value\\{{0,3}}["']?\ {{0,4}}[:=]
              | <- | 's(?=\ )
              | (?:(?:for|of|on)\ [\w.\ -]{{1,40}}?)?
                \b(?:(?:(?:is|was|been)\ )?(?:changed|set)\ to|is|was)(?:\ now)?:?(?=\s)
              | (?<=\ ) )
            \s{{0,8}} )
        (?:
            [bru]?(?P<quote>\\{{0,3}}["'`])(?P<quoted>(?:(?!(?P=quote))[^\n]){{6,512}})(?P=quote)
          | (?P<bare>(?:[^\s"'`,;&(){{}}\[\]<>|\\]|&(?![\w.-]{{1,30}}=)){{6,}}+)
        )"""


# Where a token may begin: at a break, after an escape (\\n), or after the end of a terminal's colour.
_BREAK = r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=\[\dm)|(?<=\[\d\dm))"

CLUES: tuple[Clue, ...] = (
    # Keys in a frame.
    Clue(
        "private-key",
        ("-----begin ",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]++|-(?!----))*+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\s|\\[nr])*+(?:[A-Z][A-Za-z-]{3,20}: [^\n]{0,200}|[A-Za-z0-9+/=]{16,}+))++)",
    ),
    # The end of a key whose beginning was not shown.
    Clue(
        "private-key",
        ("-----end ",),
        r"(?:[A-Za-z0-9+/=\s]|\\[nr]){16,}+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
        begins=_body_before,
    ),
    Clue(
        "private-key",
        ("private-lines:",),
        r"(?i)private-lines: ?\d{1,3}(?P<secret>(?:(?:\s|\\[nr])++[A-Za-z0-9+/=]{16,}+)++)",
    ),
    # Tokens with a mark in them.
    Clue("fly-token", ("fm2_",), rf"{_BREAK}fm2_[\w+/=,-]{{40,}}+"),
    Clue("doppler-token", ("dp.st.",), r"dp\.st\.[\w-]{2,35}\.[A-Za-z0-9]{40,}+"),
    Clue("terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}+", before=14),
    Clue("azure-key", ("q~",), r"[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~-])", before=4),
    Clue("paypal-token", ("token",), r"(?<=access_)token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    # Addresses.
    Clue(
        "webhook",
        ("hook",),
        r"(?i)hooks?(?:\.slack\.com/(?:services|workflows|triggers)/|(?<=api/webhooks)/|\.office\.com/webhookb2/"
        r"|\.zapier\.com/hooks/catch/)(?P<secret>[\w/@-]{16,}+)",
    ),
    Clue(
        "azure-key",
        ("sig=", "key="),
        r"(?i)(?:(?<=[?&; ])sig=|(?:(?<=account)|(?<=sharedaccess))key=)(?P<secret>[\w+/%-]{20,}+=*+)",
    ),
    Clue(
        "url-password",
        ("://",),
        r"://[^\s:/@\"'<>`\[]{0,64}:(?P<secret>[^\s/\"'<>`]{1,256})@(?=[\w\[.*%{$-])",
        _is_literal,
    ),
    Clue("url-token", ("://",), r"://(?P<secret>[\w-]{20,}+)@(?=\w)", _has_digit),
    # Headers and commands.
    Clue(
        "authorization",
        ("auth",),
        r"(?i)authorization\\{0,3}[\"']?\s{0,4}[:=,]\s{0,4}\\{0,3}[\"'`]?"
        r"(?:bearer|basic|token|digest|apikey|negotiate|ssws|bot|key|splunk)\s{1,4}(?P<secret>[\w.~+/=:-]{8,}+)",
        _is_credential,
    ),
    Clue("bearer-token", ("bearer",), r"(?i)(?<![\w-])bearer\s{1,4}(?P<secret>[\w.~+/-]{16,}+=*+)", _has_digit),
    Clue("basic-auth", ("basic ",), r"(?i)basic (?P<secret>[A-Za-z0-9+/]{8,}+={0,2})", _is_user_and_password),
    Clue(
        "basic-auth",
        ("auth",),
        r"(?i)auth\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?(?P<secret>[A-Za-z0-9+/]{8,}+={0,2})(?![\w.(])",
        _is_user_and_password,
    ),
    Clue(
        "basic-auth",
        ("auth",),
        r"(?i)auth ?= ?\(\s{0,4}[\"'][^\"'\n]{1,64}[\"']\s{0,2},\s{0,4}[\"'](?P<secret>[^\"'\n]{6,200})[\"']",
        _is_typed,
    ),
    Clue(
        "cookie",
        ("cookie",),
        r"(?i)cookie\\{0,3}[\"']?\s{0,2}[:=]\s{0,2}\\{0,3}[\"']?"
        r"(?P<secret>[\w.-]{1,64}=(?!\[REDACTED)[^\s\"'\\;]{8,}(?:; ?[\w.-]{1,64}(?:=[^\s\"'\\;]*+)?)*+)",
        _has_random_part,
    ),
    Clue(
        "command-password",
        ("curl ",),
        r"curl [^\n|;]{0,300}?(?<=\s)(?:-u|--user|--proxy-user)[ =]?[\"']?[\w.@+-]{1,64}:(?P<secret>[^\s\"'@]{4,200})",
        _is_literal,
    ),
    Clue(
        "command-password",
        ("mysql", "pass", "docker login", "redis-cli"),
        r"(?:mysql\w{0,10} [^\n|;]{0,200}?(?<=\s)-p|(?<=ssh)pass -p ?|docker login [^\n|;]{0,200}?(?<=\s)-p "
        r"|redis-cli [^\n|;]{0,200}?(?<=\s)-a )[\"']?(?P<secret>[^\s\"'-][^\s\"']{5,200})",
        _is_typed,
    ),
    Clue("password", ("identified by",), r"(?i)identified by [\"'](?P<secret>[^\"'\n]{4,200})[\"']", _is_typed),
    # Files that hold passwords.
    Clue(
        "netrc-password",
        ("machine ",),
        r"machine\s+(?:[\w-]{1,60}\.[\w.-]{1,140}|localhost)\s+login\s+\S{1,200}\s+password\s+(?P<secret>\S{3,200})",
        _is_literal,
    ),
    Clue(
        "pgpass-password",
        (":5432:",),
        r":\d{4}:[\w*-]{1,64}:[\w*.-]{1,64}:(?P<secret>[^\s:\"'`]{4,200})(?=\s|\Z)",
        _is_literal,
    ),
    Clue(
        "aws-secret",
        ("secret",),
        r"(?i)secret[_-]?access[_-]?key[\"']?\s{0,4}(?:=>|[:=])\s{0,4}[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    # Names that tell.
    Clue(
        "password",
        ("pass", "pw"),
        _assignment("pass(?:words?|wd|phrase|code|wort)?|pwd?"),
        _is_password,
    ),
    Clue(
        "secret",
        ("secret", "token", "key", "credential"),
        _assignment("secret|token|key|credentials?"),
        _is_secret,
    ),
)
