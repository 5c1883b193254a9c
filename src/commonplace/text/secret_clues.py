"""Secrets that are known by what stands beside them: a name that tells, a header, an address, a frame."""

from __future__ import annotations

import base64
import binascii
import re

from commonplace.text.secret_clue import Clue
from commonplace.text.secret_keys import KEYS
from commonplace.text.secret_markup import KEY_OWNERS, MARKUP
from commonplace.text.secret_sayings import SAYINGS
from commonplace.text.secret_shape import looks_phrase, looks_secret, looks_setting, stands_out, told_in_prose


def _assigned(match: re.Match[str], password: bool) -> bool:
    separator, quoted, bare = match["separator"], match["quoted"], match["bare"]
    before = _name_before(match)
    if quoted is not None:
        if match["name"].lower() in ("passphrase", "psk") and looks_phrase(quoted):
            return True
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
    if password and spaced and _ALONE.search(match.string, max(0, at - 20), at) and following in ("", "\n", "\r"):
        return looks_setting(bare)
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
    if match["name"].lower().startswith("key") and not _KEY_OWNER_BEFORE.search(match.string, max(0, at - 20), at):
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


def _has_random_part(match: re.Match[str]) -> bool:
    parts = re.split(r"[;=\s]+", match["secret"])
    return any(looks_secret(part, password=False, quoted=False, env=False, loose=True) for part in parts)


_PUBLIC = re.compile(r"public(?:[_-]?key)?[_-]?\Z|::\w*\Z", re.IGNORECASE)
_CODE_FOLLOWS = ("(", "{", "[", "<")
_TOLD = re.compile(r"(?s).*(?:\b(?:is|was|to)(?: now)?|'s):?\s*")
# How addresses of databases and the like begin, or with a driver end: of theirs, anything before a host is a password.
_SCHEMES = (
    *(
        "postgres",
        "postgresql",
        "psycopg",
        "psycopg2",
        "asyncpg",
        "mysql",
        "mariadb",
        "mongodb",
        r"mongodb\+srv",
        "redis",
    ),
    *("rediss", "amqp", "amqps", "smtp", "smtps", "mssql", "ftp", "ftps"),
)
_ALONE = re.compile(r"(?:\A|\n)[ \t]*\Z")
_COMMAND = re.compile(r"(?:^|\s)(?:ENV|ARG) \Z")
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_-]+\Z")
_KEY_OWNER_BEFORE = re.compile(rf"{KEY_OWNERS}[_ -]?\Z", re.IGNORECASE)


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
    *KEYS,
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
        rf"(?i)(?:{'|'.join(f'(?<={scheme})' for scheme in _SCHEMES)})://[^\s:/@\"'<>`\[]{{0,64}}:(?P<secret>(?:(?!://)[^\s?\"'<>`]){{1,256}})"
        r"@(?=[\w\[.*%{$-])",
        _is_literal,
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
    Clue("basic-auth", ("basic",), r"(?i)basic (?P<secret>[A-Za-z0-9+/]{8,}+={0,2})", _is_user_and_password),
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
        ("curl",),
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
    *SAYINGS,
    *MARKUP,
    # Files that hold passwords.
    Clue(
        "netrc-password",
        ("machine",),
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
        ("pass", "pw", "psk"),
        _assignment("pass(?:words?|wd|phrase|code|wort)?|pwd?|psk"),
        _is_password,
    ),
    Clue(
        "secret",
        ("secret", "token", "key", "credential"),
        _assignment("secret|token|key|credentials?"),
        _is_secret,
    ),
)
