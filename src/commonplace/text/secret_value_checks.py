"""Judging values: does the right-hand side of `password = ...` look like a secret that someone typed, or like code?

Code must survive: `token = getToken()`, `password: str`, `secret = os.environ["X"]` hold no secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_TEMPLATE = re.compile(
    r"^[$%@<{*.\[]|^(?:env|process|os|config|settings|vault|arn|ref|secret|ssm)[.:]|[$%#{]\{|%\(|\.\.\.",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?:your|my|some|the|a|an|insert|enter|replace|add|new|old|test|fake|dummy|example|change)(?:[-_ .]?[a-z]++)*+"
    r"|none|null|undefined|true|false|string|required|optional|redacted|hidden|masked|[x*.•_-]+",
    re.IGNORECASE,
)
_LOCATION = re.compile(r"(?:[a-z][a-z0-9+.-]*:/|~?/|\.{1,2}/|[a-z]:\\)", re.IGNORECASE)
_WORDY = re.compile(r"(?:[A-Za-z]+|[vV]?[0-9]{1,4})(?:[-_./:@ ](?:[A-Za-z]+|[vV]?[0-9]{1,4}))*")
_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)+")
_TYPE = re.compile(
    r"[A-Za-z]{2,8}(?:8|16|32|64|128|255|256|384|512)(?:_t)?|[A-Z]\w*(?:Key|Token|Secret|Password|Credentials?)"
)
_CHANGE = re.compile(r"[a-z][A-Z0-9]|[A-Z][0-9]|[0-9][A-Za-z]")
_HUMP = re.compile(r"[A-Z]")
# What passwords and keys are made by, or checked with, and the types of columns.
_METHOD = re.compile(
    r"(?:base|sha|md|utf|argon|bcrypt|aes|rsa|hmac|pbkdf|ed|http|oauth|v|n?varchar|char|u?int|float|str)[-_]?\d{1,4}[a-z]{0,3}(?:[-_][a-z]+)*",
    re.IGNORECASE,
)
_CASE_CHANGE = re.compile(r"(?<=[a-z])[A-Z]|(?<=[A-Z])[a-z]")
_SIGN_WITHIN = re.compile(r"(?<=[A-Za-z])[!#$%^*+~][^!]*[A-Za-z]")
# How long or how often something is, as in "8-64chars" and "90days".
_QUANTITY = re.compile(
    r"\d+(?:[-–]\d+)?[-_]?(?:chars?|characters?|letters?|digits?|symbols?|words?|days?|hours?|mins?|minutes?|secs?|seconds?"
    r"|weeks?|months?|years?|times|bytes?|bits?|rounds?)",
    re.IGNORECASE,
)
_SENTENCE_WORDS = frozenset(
    "the is are was be for to of and or must not your you please this that if with when enter key required"
    " password passphrase".split()
)
_SYMBOL = re.compile(r"[^\w./:\\-]")


def looks_secret(value: str, *, password: bool, quoted: bool, env: bool, loose: bool) -> bool:
    """Whether a value is a secret literal.

    `password`: it belongs to a password, which people choose shorter and simpler than keys. `quoted`: it is a string
    literal. `env`: it is unquoted in an UPPER_CASE=value line or a command-line flag, where no code stands. `loose`:
    unquoted as in YAML or a query string.
    """
    if len(value) < 6 or _is_reference(value):
        return False
    if password and (quoted or env):
        return _is_typed_password(value, env)
    if quoted or env:
        return len(value) >= 8 and _is_random(value)
    if _DOTTED.fullmatch(value) or _TYPE.fullmatch(value):
        return False
    if password and loose:
        return _is_chosen(value) and "pass" not in value.lower()
    return len(value) >= 16 and _is_random(value) and len(_CHANGE.findall(value)) >= 3


def is_secret_in_prose(value: str, *, password: bool) -> bool:
    """Whether a word after `the password is` is that password: words of a sentence hold no digits, or end in them."""
    value = value.rstrip(".!?:")
    if len(value) < 6 or _is_reference(value) or _DOTTED.fullmatch(value):
        return False
    if _METHOD.fullmatch(value) or _QUANTITY.fullmatch(value):
        return False
    if password:
        return _is_chosen(value)
    return len(value) >= 12 and _is_random(value) and any(map(str.isdigit, value))


def is_random_in_prose(value: str, *, password: bool) -> bool:
    """Whether a word right after `password` or `token` was drawn or thought up, and is no word of a sentence."""
    value = value.rstrip(".!?:")
    if not is_secret_in_prose(value, password=password):
        return False
    if password:
        mixed = value != value.lower() and value != value.upper() and not value.istitle()
        return len(value) >= 8 and (mixed or _SYMBOL.search(value) is not None)
    return len(value) >= 20 and len(_CHANGE.findall(value)) * 5 > len(value)


def looks_like_passphrase(value: str) -> bool:
    """Whether a string literal of several words is a phrase to unlock something with, and no sentence about one."""
    words = value.lower().split()
    return len(words) > 2 and not _TEMPLATE.search(value) and _SENTENCE_WORDS.isdisjoint(words)


def looks_like_setting(value: str) -> bool:
    """Whether what stands alone after `pass =` on a line was typed in, where neither quotes nor code tell."""
    kinds = (any(map(str.isdigit, value)), any(map(str.isalpha, value)), any(sign in value for sign in "!@#$^~?"))
    return all(kinds) and not _is_reference(value)


def _is_chosen(value: str) -> bool:
    """Whether a single word was chosen as a password: letters with digits or signs among them, or in mixed case."""
    if not any(map(str.isalpha, value)):
        return False
    if any(map(str.isdigit, value)) or _SIGN_WITHIN.search(value):
        return True
    cases = _CASE_CHANGE.findall(value)
    return value.isalpha() and len(value) >= 10 and len(cases) >= 4 and len(_HUMP.findall(value)) * 3 > len(value)


def _is_reference(value: str) -> bool:
    if _LOCATION.match(value):
        # Base64 may begin like a path, but changes its letters more often.
        return not (len(value) >= 32 and len(_CHANGE.findall(value)) * 6 > len(value))
    return bool(_TEMPLATE.search(value) or _PLACEHOLDER.fullmatch(value))


def _is_typed_password(value: str, env: bool) -> bool:
    if " " in value:
        return False
    if any(map(str.isdigit, value)) or _SYMBOL.search(value):
        return not (env and _DOTTED.fullmatch(value))
    if not env and _is_chosen(value):
        return True
    # Letters only: in an env file that is a weak password; in a string literal it may be any word.
    return env and "_" not in value and not _DOTTED.fullmatch(value)


def _is_random(value: str) -> bool:
    if " " in value or value.isdigit() or _WORDY.fullmatch(value):
        # Letters alone are random when capitals come thicker than in any camelCase name.
        return (
            value.isalpha() and len(value) >= 20 and len(_HUMP.findall(value)) * 3 > len(value) and not value.isupper()
        )
    return any(map(str.isdigit, value)) or len(value) >= 20


Judge = Callable[[re.Match[str]], bool]


class ContextPattern(NamedTuple):
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
