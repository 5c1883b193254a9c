"""Secrets known by what stands near them: a name such as `password`, a header, a URL, a command, a table's heading.

First come those in marked-up text (bold labels, table cells, headings, Terraform variables), then what people say or
pipe into programs, then assignments, URLs, headers and commands. `CONTEXT_PATTERNS` has all of them in order.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from commonplace.text.secret_values import (
    PRIVATE_KEYS,
    ContextPattern,
    has_operators,
    is_pin,
    is_random_in_prose,
    is_secret_in_prose,
    is_user_and_password,
    looks_like_joined_words,
    looks_like_passphrase,
    looks_like_setting,
    looks_secret,
    reads_as_code,
)
from commonplace.text.spoken_passwords import SPOKEN_PASSWORDS

PASSWORD_NAMES = r"pass(?:words?|wd|phrase|code|wort)?|pwd?|psk"
_TOKEN = r"secret|token|key|credentials?"
_PASSWORD_HINTS = ("pass", "pw", "psk")
_TOKEN_HINTS = ("secret", "token", "key", "credential")
# As a part of its own in a name, or a word: not in `spin` and `pins`. Which are PINs the digits tell.
_PIN = r"(?:(?<![A-Za-z])pin|(?<=[a-z\d])(?-i:Pin))(?:[_. -]?(?:code|number))?"
_PASSPHRASE = re.compile(r"(?:pass(?:phrase|wort|code)|psk)", re.IGNORECASE)
# A key is a secret after one of these words: `api key`, but not `primary key`.
KEY_OWNERS = (
    r"(?:api|access|private|signing|encryption|auth|master|account|app|application|service|session|storage|license"
    r"|client|shared|subscription|ingest|deploy|admin|secret|jwt|hmac|function|host)"
)
_KEY_OWNER_BEFORE = re.compile(rf"{KEY_OWNERS}[_. -]?\Z", re.IGNORECASE)
_PUBLIC_BEFORE = re.compile(r"public[_. -]?\Z", re.IGNORECASE)
_CHANGED_BEFORE = re.compile(
    r"\b(?:(?:re)?set|resets?|chang(?:e|ed|ing)|updat(?:e|ed|ing)|rotat(?:e|ed|ing)|switch(?:ed)?|mak(?:e|ing)|made)\b[^.:;=\n]{0,40}\Z",
    re.IGNORECASE,
)
_ROW_BEFORE = re.compile(r"(?:\A|\n)[ \t>]*\|[^\n]{0,300}\Z")
TRIMMED = "*_`\"'"
# A bracket within a value: what closes at the end belongs to the text around it.
_INNER_BRACKET = r"""(?:[(\[{]|[)\]}](?![)\]}.,;:!?*_]{0,8}(?:[\s"'`<>|\\]|\Z)))"""
# Words before a name in code, where `= value` is an expression and not a password.
_CODE_WORDS = frozenset(
    "let const var val auto char string str final static public private protected readonly my our local global new"
    " return if and or not where set def self this mut int text select update export env arg echo default type".split()
)
_WORDS_BEFORE = re.compile(r"(?:\A|[\n.!?:;>*-])[ \t>*-]*(?P<words>[A-Za-z]+(?: [A-Za-z]+){0,7}) \Z")


def _labelled(names: str, least: int = 6) -> str:
    """An expression for a name, what joins it to a value in marked-up text, and the value."""
    return rf"""(?xi)
        (?P<name> (?:{names}) (?:[_.\ -]?(?:key|value|\d{{1,3}}))?)
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
            [*_]{{0,3}}(?P<quote>`{{1,2}}|["'])(?P<quoted>(?:(?!(?P=quote))[^\n]){{{least},200}})(?P=quote)
          | (?P<emphasis>\*{{1,3}}|_{{1,3}})(?P<secret>(?:(?!(?P=emphasis))[^\n]){{{least},200}})(?P=emphasis)
          | (?P<bare>[^\s"'`,;(){{}}\[\]<>|\\]
                (?:[^\s"'`,;(){{}}\[\]<>|\\] | {_INNER_BRACKET}){{{least - 1},200}}+)
        )"""


def _value(match: re.Match[str]) -> str:
    value: str = match["quoted"] or match["secret"] or match["bare"]
    return value.strip(TRIMMED)


def _stands_as_value(match: re.Match[str]) -> bool:
    """Whether what joins a labelled name to its value does so here, and the value is no code."""
    text, at = match.string, match.start()
    following = text[match.end() : match.end() + 1]
    if match["bare"] and (following in ("(", "{", "[") or reads_as_code(match["bare"], whole=False)):
        return False
    if match["row"] is not None:
        return _ROW_BEFORE.search(text, max(0, at - 320), at) is not None and _ends_cell(text, match.end())
    if match["changed"] is not None:
        return _CHANGED_BEFORE.search(text, max(0, at - 60), at) is not None
    if match["equals"] is not None:
        words = _WORDS_BEFORE.search(text, max(0, at - 80), at)
        return words is not None and _CODE_WORDS.isdisjoint(words["words"].lower().split())
    return match["tags"] is None or match["tags"].strip(" :").endswith(">")


def _judged(match: re.Match[str], *, password: bool) -> bool:
    """Whether the value of a labelled name is a secret; how strict that is depends on what joins the two."""
    if not _stands_as_value(match):
        return False
    value = _value(match)
    if match["dash"] is not None:
        return is_random_in_prose(value, password=password)
    return is_secret_in_prose(value, password=password) or _is_phrase(match["name"], value, bool(match["quoted"]))


def _is_phrase(name: str, value: str, quoted: bool) -> bool:
    """Whether several words are a passphrase: joined to one, or in quotes."""
    if not _PASSPHRASE.match(name):
        return False
    return looks_like_joined_words(value) or (quoted and looks_like_passphrase(value))


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


def _is_labelled_pin(match: re.Match[str]) -> bool:
    return _stands_as_value(match) and is_pin(_value(match).rstrip("."))


def _is_labelled_user_and_password(match: re.Match[str]) -> bool:
    return _stands_as_value(match) and is_user_and_password(_value(match))


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
    ContextPattern("password", ("variable",), _variable(PASSWORD_NAMES), _is_default_password),
    ContextPattern("secret", ("variable",), _variable(_TOKEN), _is_default_token),
    ContextPattern("password", _PASSWORD_HINTS, _labelled(PASSWORD_NAMES), _is_labelled_password),
    ContextPattern("secret", _TOKEN_HINTS, _labelled(_TOKEN), _is_labelled_token),
    ContextPattern("pin", ("pin",), _labelled(_PIN, 4), _is_labelled_pin),
    ContextPattern("basic-auth", ("auth",), _labelled("auth"), _is_labelled_user_and_password),
)


def _assigned(match: re.Match[str], *, password: bool) -> bool:
    separator, quoted, bare = match["separator"], match["quoted"], match["bare"]
    following = match.string[match.end() : match.end() + 1]
    if quoted is not None or separator == ">":
        phrase = quoted is not None and _is_phrase(match["name"], quoted, True)
        return phrase or (
            (quoted is not None or following == "<")
            and looks_secret(quoted or bare, password=password, quoted=True, env=False, loose=False)
        )
    if following in _CODE_FOLLOWS or reads_as_code(bare, whole=False):
        return False
    if _STATED.fullmatch(separator):
        return is_secret_in_prose(bare, password=password) or _is_phrase(match["name"], bare, False)
    return _is_unquoted_secret(match, following, password=password)


def _is_unquoted_secret(match: re.Match[str], following: str, *, password: bool) -> bool:
    separator, bare = match["separator"], match["bare"]
    place = _Place.of(match)
    if separator.isspace() and not (place.is_flag or place.is_command):
        return is_random_in_prose(bare, password=password)
    if password and place.is_line_of_its_own and following in ("", "\n", "\r"):
        return looks_like_setting(bare)
    if following == ")" and "=" in separator and not place.is_parameter:
        return False
    if not place.is_spaced and _is_phrase(match["name"], bare, False):
        return True
    return looks_secret(bare, password=password, quoted=False, env=place.is_env, loose=not place.is_spaced)


class _Place(NamedTuple):
    """Where a name and its value stand: a flag, a parameter of a URL, a variable, a line of settings."""

    is_flag: bool
    is_command: bool
    is_line_of_its_own: bool
    is_spaced: bool
    is_parameter: bool
    is_env: bool

    @classmethod
    def of(cls, match: re.Match[str]) -> _Place:
        text, separator = match.string, match["separator"]
        name = _name_before(match) + match["name"]
        at = match.end("name") - len(name)
        before = text[max(0, at - 2) : at]
        spaced = separator.startswith(" ") or (separator.endswith(" ") and "=" in separator)
        parameter = (before == "; " or before[-1:] in ("?", "&", ";")) and "=" in separator and not spaced
        flag, command = name.startswith("--"), bool(_COMMAND.search(text, max(0, at - 8), at))
        alone = _ALONE.search(text, max(0, at - 20), at) is not None
        env = flag or command or parameter or (name.isupper() and not spaced)
        return cls(flag, command, alone and spaced, spaced, parameter, env)


def _name_before(match: re.Match[str]) -> str:
    at = match.start("name")
    before = _NAME_BEFORE.search(match.string, max(0, at - 40), at)
    return before[0] if before else ""


def _names_password(match: re.Match[str]) -> bool:
    # `pass` and `pw` may also be verbs or parts of other words.
    if match["name"].lower() not in ("pass", "pw"):
        return True
    before = _name_before(match)[-1:]
    camel = before.islower() and match["name"][0].isupper()
    return (before in ("", "_", "-", ".") or camel) and not match["separator"].isspace()


def _names_secret(match: re.Match[str]) -> bool:
    at = match.start("name")
    if _PUBLIC_NAME.search(match.string, max(0, at - 20), at):
        return False
    is_key = match["name"].lower().startswith("key")
    return not is_key or _KEY_OWNER_BEFORE.search(match.string, max(0, at - 20), at) is not None


def _is_password(match: re.Match[str]) -> bool:
    return _names_password(match) and _assigned(match, password=True)


def _is_secret(match: re.Match[str]) -> bool:
    return _names_secret(match) and _assigned(match, password=False)


def _is_assigned_pin(match: re.Match[str]) -> bool:
    if match["separator"].isspace() and not (_name_before(match).startswith("--") or match["name"].isupper()):
        return False
    if match["separator"].startswith("(") or (match["bare"] and match.string[match.end() : match.end() + 1].isalnum()):
        return False
    return is_pin((match["quoted"] or match["bare"]).rstrip("."))


def _is_assigned_user_and_password(match: re.Match[str]) -> bool:
    return is_user_and_password((match["quoted"] or match["bare"]).rstrip("."))


def _is_setting(match: re.Match[str], *, password: bool) -> bool:
    """Whether all that stands on a line after a name is its value, with signs in it that elsewhere end one."""
    value = match["secret"].rstrip(",;")
    spaced = not match["separator"].endswith("=")
    env = (match["before"] + match["name"]).isupper() and not spaced
    if not _ENDING_SIGN.search(value.rstrip(")]}.")):
        return False
    if reads_as_code(value, whole=True) or (not env and has_operators(value)):
        return False
    if "=" in match["separator"] and not env and _NEXT_SETTING.search(value):
        return False
    if password and spaced and "=" in match["separator"]:
        return looks_like_setting(value)
    return looks_secret(value, password=password, quoted=False, env=env, loose=True)


def _is_password_setting(match: re.Match[str]) -> bool:
    return _names_password(match) and _is_setting(match, password=True)


def _is_secret_setting(match: re.Match[str]) -> bool:
    return _names_secret(match) and _is_setting(match, password=False)


def _line_begins(text: str, at: int) -> int:
    """Where the line begins, if that is near enough for a name to stand between."""
    return text.rfind("\n", max(0, at - _LONGEST_NAME), at) + 1 or max(0, at - _LONGEST_NAME)


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
    return is_user_and_password(match["secret"])


def _has_random_part(match: re.Match[str]) -> bool:
    parts = re.split(r"[;=\s]+", match["secret"])
    return any(looks_secret(part, password=False, quoted=False, env=False, loose=True) for part in parts)


_PUBLIC_NAME = re.compile(r"public(?:[_.-]?key)?[_.-]?\Z|::\w*\Z", re.IGNORECASE)
_CODE_FOLLOWS = ("(", "{", "[", "<")
_ENDING_SIGN = re.compile(r"""["'`,;&(){}\[\]<>|\\]""")
_NEXT_SETTING = re.compile(r"[&,;] ?[A-Za-z]\w[\w .-]{0,30}=")
_LONGEST_NAME = 80
_STATED = re.compile(r"(?s).*(?:\b(?:is|was|to)(?: now)?|'s):?\s*")
# Schemes of database URLs and the like: there, whatever stands between `:` and the host is a password.
_SCHEMES = (
    r"postgres postgresql psycopg psycopg2 asyncpg mysql mariadb mongodb mongodb\+srv redis rediss amqp amqps smtp"
    " smtps mssql ftp ftps"
).split()
_ALONE = re.compile(r"(?:\A|\n)[ \t]*\Z")
_COMMAND = re.compile(r"(?:^|\s)(?:ENV|ARG) \Z")
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_.-]+\Z")


_SUFFIXES = r"""(?:[_.-]?(?:key|value|val|base|string|raw|data|prod|production|staging|dev|live|local|root|admin|test
    |text|new|old|env|\d{1,3})){0,3}"""


def _setting(names: str) -> str:
    """A line that is a name and its value, as in files of settings: the value is all the rest."""
    return rf"""(?xi)
        (?:\A|(?<=\n)) [\ \t>+-]{{0,40}} (?:(?:export|set|setx|env|arg|declare\ -x)\ )?
        (?P<before> [\w.-]{{0,40}}?) (?P<name> (?:{names}) {_SUFFIXES})
        (?P<separator> = | (?:\ {{0,4}}=|:)[\ \t]{{1,4}})
        (?!["'`=]) (?P<secret>(?:[^\s\\]|\\(?![nrt"'])){{6,4096}}+)
        (?=[\ \t]{{0,40}}(?:[\ \t]\#|\r?(?:\n|\Z)))"""


def _assignment(names: str, least: int = 6) -> str:
    return rf"""(?xi)
        (?P<name> (?:{names}) {_SUFFIXES})
        (?P<separator>
            \\{{0,3}}["'`]?\]?\ {{0,8}}
            (?: :\ {{0,4}}[A-Za-z_&][\w.&'<\[\ ]{{0,30}}[>\]]?(?:\ {{1,4}}=(?!=) | =(?=\ ?[bru]?\\{{0,3}}["'`]))
              | => | := | =(?![=>~]) | :(?![:=])
              | (?<=["'`]),(?=\ {{0,4}}\\{{0,3}}["'`])
              | \((?=[bru]?["'`]) | >(?!=)
              | ,?\s{{0,24}}\\{{0,3}}["']?value\\{{0,3}}["']?\ {{0,4}}[:=]
              | <- | 's(?=\ )
              | (?:(?:for|of|on)\ [\w.\ -]{{1,40}}?)?
                \b(?:(?:(?:is|was|been)\ )?(?:changed|set)\ to|is|was)(?:\ now)?:?(?=\s)
              | (?<=\ ) )
            \s{{0,8}} )
        (?:
            [bru]?(?P<quote>\\{{0,3}}["'`])(?P<quoted>(?:(?!(?P=quote))[^\n]){{{least},512}})(?P=quote)
          | (?P<bare>(?:[^\s"'`,;&(){{}}\[\]<>|\\]|&(?![\w.-]{{1,30}}=)|{_INNER_BRACKET}){{{least},}}+)
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
        r"(?i)secret[_.-]?access[_.-]?key[\"']?\s{0,4}(?:=>|[:=])\s{0,4}[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    # Values of variables, settings and flags with such names.
    ContextPattern("password", _PASSWORD_HINTS, _setting(PASSWORD_NAMES), _is_password_setting, begins=_line_begins),
    ContextPattern("secret", _TOKEN_HINTS, _setting(_TOKEN), _is_secret_setting, begins=_line_begins),
    ContextPattern("password", _PASSWORD_HINTS, _assignment(PASSWORD_NAMES), _is_password),
    ContextPattern("secret", _TOKEN_HINTS, _assignment(_TOKEN), _is_secret),
    ContextPattern("pin", ("pin",), _assignment(_PIN, 4), _is_assigned_pin),
    ContextPattern("basic-auth", ("auth",), _assignment("auth"), _is_assigned_user_and_password),
)
