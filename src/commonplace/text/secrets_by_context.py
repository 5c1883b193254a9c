"""Secrets known by what stands near them: a name such as `password`, a header, a URL, a command, a table's heading.

First come those in marked-up text (bold labels, table cells, headings, Terraform variables), then what people say or
pipe into programs, then assignments, URLs, headers and commands. `CONTEXT_PATTERNS` has all of them in order.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from commonplace.text.secret_values import (
    PRIVATE_KEYS,
    ContextPattern,
    is_random_in_prose,
    is_secret_in_prose,
    looks_like_passphrase,
    looks_like_setting,
    looks_secret,
)

Found = tuple[int, int, str]
"""Where a secret begins and ends, and its kind."""

_PASSWORD = r"pass(?:words?|wd|phrase|code|wort)?|pwd?|psk"
_TOKEN = r"secret|token|key|credentials?"
_PASSWORD_HINTS = ("pass", "pw", "psk")
_TOKEN_HINTS = ("secret", "token", "key", "credential")
# A key is a secret after one of these words: `api key`, but not `primary key`.
KEY_OWNERS = (
    r"(?:api|access|private|signing|encryption|auth|master|account|app|application|service|session|storage|license"
    r"|client|shared|subscription|ingest|deploy|admin|secret|jwt|hmac|function|host)"
)
_KEY_OWNER_BEFORE = re.compile(rf"{KEY_OWNERS}[_ -]?\Z", re.IGNORECASE)
_PUBLIC_BEFORE = re.compile(r"public[_ -]?\Z", re.IGNORECASE)
_CHANGED_BEFORE = re.compile(
    r"\b(?:(?:re)?set|resets?|chang(?:e|ed|ing)|updat(?:e|ed|ing)|rotat(?:e|ed|ing)|switch(?:ed)?|mak(?:e|ing)|made)\b[^.:;=\n]{0,40}\Z",
    re.IGNORECASE,
)
_ROW_BEFORE = re.compile(r"(?:\A|\n)[ \t>]*\|[^\n]{0,300}\Z")
_TRIMMED = "*_`\"'"
# Words before a name in code, where `= value` is an expression and not a password.
_CODE_WORDS = frozenset(
    "let const var val auto char string str final static public private protected readonly my our local global new"
    " return if and or not where set def self this mut int text select update export env arg echo default type".split()
)
_WORDS_BEFORE = re.compile(r"(?:\A|[\n.!?:;>*-])[ \t>*-]*(?P<words>[A-Za-z]+(?: [A-Za-z]+){0,7}) \Z")


def _labelled(names: str) -> str:
    """An expression for a name, what joins it to a value in marked-up text, and the value."""
    return rf"""(?xi)
        (?P<name> (?:{names}) (?:[_\ -]?(?:key|value|\d{{1,3}}))?)
        (?P<join>
            (?P<label> (?:[*_`]{{1,3}}\ {{0,4}}[:=][*_]{{0,3}} | [:=][*_]{{1,3}} | [:=](?=\ {{0,4}}[*_`]) ))
          | (?P<row> [*_`]{{0,3}}\ {{0,40}}\|(?!\|) )
          | (?P<stated> (?:\ (?:for|of|on|to|at)\ [\w.\ -]{{1,40}}?)?\ (?:is|was)(?:\ now)?:?(?=\ [*_]) )
          | (?P<changed> (?:\ (?:for|of|on|from|in|at)\ [\w.\ `*-]{{1,60}}?)?\ to:?(?=\ ) )
          | (?P<arrow> [*_`]{{0,3}}\ {{0,4}}(?:→|⇒|->(?=\ )|—|–) )
          | (?P<dash> [*_`]{{0,3}}\ -(?=\ ) )
          | (?P<tags> :?(?:\s{{0,8}}</?(?:b|strong|em|i|code|kbd|td|th|tr|dt|dd|p|span)>){{1,4}}:? )
          | (?P<below> :?[*_]{{0,3}}:?[ \t]{{0,8}}\r?\n(?:[ \t]{{0,8}}\r?\n)?
                (?:[ \t]{{0,8}}```\w{{0,12}}\r?\n | (?=[ \t]{{0,8}}`) | :(?=\ )) )
          | (?P<equals> \ =(?=\ ) )
        )
        [ \t]{{0,40}}
        (?:
            [*_]{{0,3}}(?P<quote>`{{1,2}}|["'])(?P<quoted>(?:(?!(?P=quote))[^\n]){{6,200}})(?P=quote)
          | (?P<emphasis>\*{{1,3}}|_{{1,3}})(?P<secret>(?:(?!(?P=emphasis))[^\n]){{6,200}})(?P=emphasis)
          | (?P<bare>[^\s"'`,;(){{}}\[\]<>|\\]{{6,200}}+)
        )"""


def _value(match: re.Match[str]) -> str:
    value: str = match["quoted"] or match["secret"] or match["bare"]
    return value.strip(_TRIMMED)


def _judged(match: re.Match[str], *, password: bool) -> bool:
    """Whether the value of a labelled name is a secret; how strict that is depends on what joins the two."""
    text, at = match.string, match.start()
    value = _value(match)
    following = text[match.end() : match.end() + 1]
    if match["bare"] and following in ("(", "{", "["):
        return False
    if match["row"] is not None:
        if not _ROW_BEFORE.search(text, max(0, at - 320), at) or not _ends_cell(text, match.end()):
            return False
    elif match["changed"] is not None:
        if not _CHANGED_BEFORE.search(text, max(0, at - 60), at):
            return False
    elif match["equals"] is not None:
        words = _WORDS_BEFORE.search(text, max(0, at - 80), at)
        if not words or not _CODE_WORDS.isdisjoint(words["words"].lower().split()):
            return False
    elif match["dash"] is not None:
        return is_random_in_prose(value, password=password)
    elif match["tags"] is not None and not match["tags"].strip(" :").endswith(">"):
        return False
    return is_secret_in_prose(value, password=password)


def _ends_cell(text: str, at: int) -> bool:
    while text[at : at + 1] and text[at] in "*_` \t":
        at += 1
    return text[at : at + 1] in ("|", "\n", "\r", "")


def _is_labelled_password(match: re.Match[str]) -> bool:
    # `pass` and `pw` are words of their own only as a whole.
    if match["name"].lower() in ("pass", "pw") and match.string[max(0, match.start() - 1) : match.start()].isalnum():
        return False
    return _judged(match, password=True)


def _is_labelled_token(match: re.Match[str]) -> bool:
    text, at = match.string, match.start()
    if _PUBLIC_BEFORE.search(text, max(0, at - 10), at):
        return False
    if match["name"].lower().startswith("key") and not _KEY_OWNER_BEFORE.search(text, max(0, at - 20), at):
        return False
    return _judged(match, password=False)


def _is_default_password(match: re.Match[str]) -> bool:
    return looks_secret(match["secret"], password=True, quoted=True, env=False, loose=False)


def _is_default_token(match: re.Match[str]) -> bool:
    return looks_secret(match["secret"], password=False, quoted=True, env=False, loose=False)


def _variable(names: str) -> str:
    """A Terraform variable of such a name whose block has a default."""
    return (
        rf'(?i)variable\s{{1,4}}"[\w-]{{0,60}}?(?:{names})[\w-]{{0,20}}"\s{{0,4}}\{{'
        r'(?:[^{}"]|"[^"\n]{0,300}"){0,600}?\bdefault\s{0,40}=\s{0,4}"(?P<secret>[^"\n]{6,512})"'
    )


MARKUP_PATTERNS: tuple[ContextPattern, ...] = (
    ContextPattern("password", ("variable",), _variable(_PASSWORD), _is_default_password),
    ContextPattern("secret", ("variable",), _variable(_TOKEN), _is_default_token),
    ContextPattern("password", _PASSWORD_HINTS, _labelled(_PASSWORD), _is_labelled_password),
    ContextPattern("secret", _TOKEN_HINTS, _labelled(_TOKEN), _is_labelled_token),
)

_HEADING = re.compile(
    rf"(?:[\w.]{{1,30}}[ _-]){{0,3}}(?:(?P<password>{_PASSWORD})|(?:secret|token|credentials?|{KEY_OWNERS}[ _-]?key))"
    r"(?:[ _-]?(?:key|value|hash))?",
    re.IGNORECASE,
)
_HASHED = re.compile(r"hash\Z", re.IGNORECASE)
_RULE = re.compile(r"[ \t>]*\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?[ \t]*")
_PLAIN_HEADER = re.compile(r"[\w-]{1,40}(?: [\w-]{1,40}){0,2}")


def secrets_in_columns(text: str, starts: list[int]) -> Iterator[Found]:
    """Cells under a heading such as `Password`, in Markdown tables, CSV and TSV.

    `starts` are the places where such a heading may be, in order. Every line is read once.
    """
    done = 0
    for start in starts:
        if start < done:
            continue
        at, end = text.rfind("\n", 0, start) + 1, _line_end(text, start)
        done = end
        header = text[at:end]
        delimiter = _delimiter(header)
        if delimiter is None:
            continue
        columns = _telling_columns(header, delimiter)
        if not columns:
            continue
        number, at = len(header.split(delimiter)), end + 1
        if delimiter == "|":
            end = _line_end(text, at)
            if not _RULE.fullmatch(text, at, end):
                continue
            at = end + 1
        while at < len(text):
            end = _line_end(text, at)
            cells = text[at:end].split(delimiter)
            if len(cells) < 2 or (delimiter != "|" and len(cells) != number):
                break
            for index, password in columns.items():
                if index < len(cells) and (found := _cell(cells, index, at, password)):
                    yield found
            at = done = end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _delimiter(header: str) -> str | None:
    return next((sign for sign in ("|", "\t", ",", ";") if sign in header), None)


def _telling_columns(header: str, delimiter: str) -> dict[int, bool]:
    """The columns that hold secrets, and whether those are passwords."""
    cells = [cell.strip(" \t\r>" + _TRIMMED) for cell in header.split(delimiter)]
    if delimiter != "|" and not all(map(_PLAIN_HEADER.fullmatch, cells)):
        return {}
    return {
        index: heading["password"] is not None
        for index, cell in enumerate(cells)
        if (heading := _HEADING.fullmatch(cell)) and not _HASHED.search(cell)
    }


def _cell(cells: list[str], index: int, at: int, password: bool) -> Found | None:
    raw = cells[index]
    value = raw.strip(" \t\r" + _TRIMMED)
    if " " in value or not is_secret_in_prose(value, password=password):
        return None
    start = at + sum(len(cell) + 1 for cell in cells[:index]) + raw.index(value)
    return start, start + len(value), "password" if password else "secret"


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


def _assigned(match: re.Match[str], password: bool) -> bool:
    separator, quoted, bare = match["separator"], match["quoted"], match["bare"]
    before = _name_before(match)
    if quoted is not None:
        if match["name"].lower() in ("passphrase", "psk") and looks_like_passphrase(quoted):
            return True
        return looks_secret(quoted, password=password, quoted=True, env=False, loose=False)
    following = match.string[match.end() : match.end() + 1]
    if separator == ">":
        return following == "<" and looks_secret(bare, password=password, quoted=True, env=False, loose=False)
    if following in _CODE_FOLLOWS or (following == ")" and "=" in separator):
        return False
    if _STATED.fullmatch(separator):
        return is_secret_in_prose(bare, password=password)
    name = before + match["name"]
    flag = name.startswith("--")
    command = _COMMAND.search(match.string, max(0, match.start() - len(before) - 8), match.start() - len(before))
    if separator.isspace() and not flag and not command:
        return is_random_in_prose(bare, password=password)
    spaced = separator.startswith(" ") or (separator.endswith(" ") and "=" in separator)
    at = match.start() - len(before)
    if password and spaced and _ALONE.search(match.string, max(0, at - 20), at) and following in ("", "\n", "\r"):
        return looks_like_setting(bare)
    parameter = match.string[max(0, at - 1) : at] in ("?", "&", ";") or match.string[max(0, at - 2) : at] == "; "
    env = flag or (name.isupper() and not spaced) or bool(command) or (parameter and "=" in separator and not spaced)
    return looks_secret(bare, password=password, quoted=False, env=env, loose=not spaced)


def _name_before(match: re.Match[str]) -> str:
    before = _NAME_BEFORE.search(match.string, max(0, match.start() - 40), match.start())
    return before[0] if before else ""


def _is_password(match: re.Match[str]) -> bool:
    # `pass` and `pw` may also be verbs or parts of other words.
    named = _name_before(match)[-1:] in ("", "_", "-") and not match["separator"].isspace()
    if match["name"].lower() in ("pass", "pw") and not named:
        return False
    return _assigned(match, password=True)


def _is_secret(match: re.Match[str]) -> bool:
    at = match.start()
    if _PUBLIC_NAME.search(match.string, max(0, at - 20), at):
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


_PUBLIC_NAME = re.compile(r"public(?:[_-]?key)?[_-]?\Z|::\w*\Z", re.IGNORECASE)
_CODE_FOLLOWS = ("(", "{", "[", "<")
_STATED = re.compile(r"(?s).*(?:\b(?:is|was|to)(?: now)?|'s):?\s*")
# Schemes of database URLs and the like: there, whatever stands between `:` and the host is a password.
_SCHEMES = (
    r"postgres postgresql psycopg psycopg2 asyncpg mysql mariadb mongodb mongodb\+srv redis rediss amqp amqps smtp"
    " smtps mssql ftp ftps"
).split()
_ALONE = re.compile(r"(?:\A|\n)[ \t]*\Z")
_COMMAND = re.compile(r"(?:^|\s)(?:ENV|ARG) \Z")
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_-]+\Z")


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

CONTEXT_PATTERNS: tuple[ContextPattern, ...] = (
    *PRIVATE_KEYS,
    # Tokens with a mark in them.
    ContextPattern("fly-token", ("fm2_",), rf"{_BREAK}fm2_[\w+/=,-]{{40,}}+"),
    ContextPattern("doppler-token", ("dp.st.",), r"dp\.st\.[\w-]{2,35}\.[A-Za-z0-9]{40,}+"),
    ContextPattern("terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}+", before=14),
    ContextPattern("azure-key", ("q~",), r"[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~-])", before=4),
    ContextPattern(
        "paypal-token", ("token",), r"(?<=access_)token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"
    ),
    # Addresses.
    ContextPattern(
        "webhook",
        ("hook",),
        r"(?i)hooks?(?:\.slack\.com/(?:services|workflows|triggers)/|(?<=api/webhooks)/|\.office\.com/webhookb2/"
        r"|\.zapier\.com/hooks/catch/)(?P<secret>[\w/@-]{16,}+)",
    ),
    ContextPattern(
        "azure-key",
        ("sig=", "key="),
        r"(?i)(?:(?<=[?&; ])sig=|(?:(?<=account)|(?<=sharedaccess))key=)(?P<secret>[\w+/%-]{20,}+=*+)",
    ),
    ContextPattern(
        "url-password",
        ("://",),
        rf"(?i)(?:{'|'.join(f'(?<={scheme})' for scheme in _SCHEMES)})://[^\s:/@\"'<>`\[]{{0,64}}:(?P<secret>(?:(?!://)[^\s?\"'<>`]){{1,256}})"
        r"@(?=[\w\[.*%{$-])",
        _is_literal,
    ),
    ContextPattern(
        "url-password",
        ("://",),
        r"://[^\s:/@\"'<>`\[]{0,64}:(?P<secret>[^\s/\"'<>`]{1,256})@(?=[\w\[.*%{$-])",
        _is_literal,
    ),
    ContextPattern("url-token", ("://",), r"://(?P<secret>[\w-]{20,}+)@(?=\w)", _has_digit),
    # Headers and commands.
    ContextPattern(
        "authorization",
        ("auth",),
        r"(?i)authorization\\{0,3}[\"']?\s{0,4}[:=,]\s{0,4}\\{0,3}[\"'`]?"
        r"(?:bearer|basic|token|digest|apikey|negotiate|ssws|bot|key|splunk)\s{1,4}(?P<secret>[\w.~+/=:-]{8,}+)",
        _is_credential,
    ),
    ContextPattern(
        "bearer-token", ("bearer",), r"(?i)(?<![\w-])bearer\s{1,4}(?P<secret>[\w.~+/-]{16,}+=*+)", _has_digit
    ),
    ContextPattern("basic-auth", ("basic",), r"(?i)basic (?P<secret>[A-Za-z0-9+/]{8,}+={0,2})", _is_user_and_password),
    ContextPattern(
        "basic-auth",
        ("auth",),
        r"(?i)auth\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?(?P<secret>[A-Za-z0-9+/]{8,}+={0,2})(?![\w.(])",
        _is_user_and_password,
    ),
    ContextPattern(
        "basic-auth",
        ("auth",),
        r"(?i)auth ?= ?\(\s{0,4}[\"'][^\"'\n]{1,64}[\"']\s{0,2},\s{0,4}[\"'](?P<secret>[^\"'\n]{6,200})[\"']",
        _is_typed,
    ),
    ContextPattern(
        "cookie",
        ("cookie",),
        r"(?i)cookie\\{0,3}[\"']?\s{0,2}[:=]\s{0,2}\\{0,3}[\"']?"
        r"(?P<secret>[\w.-]{1,64}=(?!\[REDACTED)[^\s\"'\\;]{8,}(?:; ?[\w.-]{1,64}(?:=[^\s\"'\\;]*+)?)*+)",
        _has_random_part,
    ),
    ContextPattern(
        "command-password",
        ("curl",),
        r"curl [^\n|;]{0,300}?(?<=\s)(?:-u|--user|--proxy-user)[ =]?[\"']?[\w.@+-]{1,64}:(?P<secret>[^\s\"'@]{4,200})",
        _is_literal,
    ),
    ContextPattern(
        "command-password",
        ("mysql", "pass", "docker login", "redis-cli"),
        r"(?:mysql\w{0,10} [^\n|;]{0,200}?(?<=\s)-p|(?<=ssh)pass -p ?|docker login [^\n|;]{0,200}?(?<=\s)-p "
        r"|redis-cli [^\n|;]{0,200}?(?<=\s)-a )[\"']?(?P<secret>[^\s\"'-][^\s\"']{5,200})",
        _is_typed,
    ),
    ContextPattern(
        "password", ("identified by",), r"(?i)identified by [\"'](?P<secret>[^\"'\n]{4,200})[\"']", _is_typed
    ),
    *SPOKEN_PASSWORDS,
    *MARKUP_PATTERNS,
    # Files that hold passwords.
    ContextPattern(
        "netrc-password",
        ("machine",),
        r"machine\s+(?:[\w-]{1,60}\.[\w.-]{1,140}|localhost)\s+login\s+\S{1,200}\s+password\s+(?P<secret>\S{3,200})",
        _is_literal,
    ),
    ContextPattern(
        "pgpass-password",
        (":5432:",),
        r":\d{4}:[\w*-]{1,64}:[\w*.-]{1,64}:(?P<secret>[^\s:\"'`]{4,200})(?=\s|\Z)",
        _is_literal,
    ),
    ContextPattern(
        "aws-secret",
        ("secret",),
        r"(?i)secret[_-]?access[_-]?key[\"']?\s{0,4}(?:=>|[:=])\s{0,4}[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    # Values of variables, settings and flags with such names.
    ContextPattern("password", _PASSWORD_HINTS, _assignment(_PASSWORD), _is_password),
    ContextPattern("secret", _TOKEN_HINTS, _assignment(_TOKEN), _is_secret),
)
