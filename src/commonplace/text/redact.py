"""Takes secrets out of text before anything is written, and again before anything is returned.

Every rule is a row of `RULES`. A rule's expression runs only when one of its hints occurs, starts only at a border and
never looks back over what it has read, so that ordinary text costs little and hostile text no more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from commonplace.text.clean_texts import known_clean, not_known_clean, note_clean
from commonplace.text.secret_shape import looks_secret

_MARK = "[REDACTED:"
_PASSES = 4

Judge = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of secret: literal hints (lower case), and an expression whose group `secret`, or all of it, goes.

    An `anchored` expression starts at a hint and is tried nowhere else, which is what makes the broad ones cheap.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    judge: Judge | None = None
    anchored: bool = False


def _assigned(match: re.Match[str], password: bool) -> bool:
    separator, quoted, bare = match["separator"], match["quoted"], match["bare"]
    if quoted is not None:
        return looks_secret(quoted, password=password, quoted=True, env=False, loose=False)
    following = match.string[match.end() : match.end() + 1]
    if following in _CODE_FOLLOWS or (following == ")" and "=" in separator):
        return False
    name = _name_before(match) + match["name"]
    flag = name.startswith("--")
    if separator == " " and not flag:
        return False
    spaced = separator.startswith(" ") or (separator.endswith(" ") and "=" in separator)
    env = flag or (name.isupper() and not spaced)
    return looks_secret(bare, password=password, quoted=False, env=env, loose=not spaced)


def _name_before(match: re.Match[str]) -> str:
    before = _NAME_BEFORE.search(match.string, max(0, match.start() - 40), match.start())
    return before[0] if before else ""


def _is_password(match: re.Match[str]) -> bool:
    return _assigned(match, password=True)


def _is_secret(match: re.Match[str]) -> bool:
    if match["name"].lower().startswith("key") and not _KEY_OWNERS.search(_name_before(match)):
        return False
    return _assigned(match, password=False)


def _is_literal(match: re.Match[str]) -> bool:
    return match["secret"][0] not in "$<{%*["


def _is_credential(match: re.Match[str]) -> bool:
    value = match["secret"]
    return _has_digit(match) or "=" in value or (not value.isupper() and not value[1:].islower())


def _has_digit(match: re.Match[str]) -> bool:
    return any(map(str.isdigit, match["secret"]))


_CODE_FOLLOWS = ("(", "{", "[", "<")
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_-]+\Z")
_KEY_OWNERS = re.compile(
    r"(?:api|access|private|signing|encryption|auth|master|account|app|service|session)[_-]?\Z", re.IGNORECASE
)


def _assignment(names: str) -> str:
    return rf"""(?xi)
        (?P<name> (?:{names})
            (?:[_-]?(?:key|value|val|base|string|raw|prod|production|staging|dev|live|local|root|admin|\d{{1,3}})){{0,3}})
        (?P<separator>
            \\?["'`]?\]?\ {{0,8}}
            (?: :\ {{0,4}}[A-Za-z_][\w.]{{0,30}}\ {{0,4}}=(?!=) | => | := | =(?![=>]) | :(?![:=]) | (?<=\ ) )
            \s{{0,8}} )
        (?:
            [bru]?(?P<quote>\\?["'`])(?P<quoted>(?:(?!(?P=quote))[^\n]){{6,512}})(?P=quote)
          | (?P<bare>(?:[^\s"'`,;&(){{}}\[\]<>|\\]|&(?![\w.-]{{1,30}}=)){{6,}}+)
        )"""


RULES: tuple[Rule, ...] = (
    Rule(
        "private-key",
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]++|-(?!----))*+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\s|\\[nr])*+(?:[A-Z][A-Za-z-]{3,20}: [^\n]{0,200}|[A-Za-z0-9+/=]{16,}+))++)",
    ),
    Rule(
        "aws-key-id",
        ("akia", "asia", "abia", "acca"),
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    ),
    Rule(
        "aws-secret",
        ("aws",),
        r"(?i)aws[\w-]{0,20}(?:secret|key)[\w-]{0,20}[\"']?\s{0,4}(?:=>|[:=])\s{0,4}[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    Rule(
        "jwt",
        ("eyj",),
        r"(?<![\w-])eyJ[\w-]{8,}+\.(?:eyJ[\w-]{4,}+\.[\w-]*+|[\w-]*+\.[\w-]++\.[\w-]++\.[\w-]++)",
    ),
    Rule(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?<![\w-])(?:gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{20,}+)",
    ),
    Rule(
        "gitlab-token",
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-", "glimt-"),
        r"(?<![\w-])gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt)-[\w-]{16,}+",
    ),
    Rule("slack-token", ("xox", "xapp-"), r"(?<![\w-])(?:xox[a-z](?:\.xox[a-z])?-[\w-]{10,}+|xapp-\d-[\w-]{10,}+)"),
    Rule(
        "webhook",
        ("hooks.slack.com", "api/webhooks"),
        r"(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/(?P<secret>[\w/-]{16,}+)",
    ),
    Rule("anthropic-key", ("sk-ant-",), r"(?<![\w-])sk-ant-[\w-]{8,}+"),
    Rule("sekha-key", ("sk-sekha-",), r"(?<![\w-])sk-sekha-[\w-]{8,}+"),
    Rule(
        "openai-key",
        ("sk-",),
        r"(?<![\w-])sk-(?:(?:proj|svcacct|admin|or-v1|lf|None)-[\w-]{16,}+|[A-Za-z0-9]{20,}+[\w-]*+)",
    ),
    Rule(
        "google-key",
        ("aiza", "gocspx-", "ya29."),
        r"(?<![\w-])(?:AIza[\w-]{30,}+|GOCSPX-[\w-]{20,}+|ya29\.[\w-]{20,}+)",
    ),
    Rule(
        "stripe-key",
        ("k_live_", "k_test_", "whsec_"),
        r"(?<![\w-])(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{16,}+)",
    ),
    Rule("npm-token", ("npm_",), r"(?<![\w-])npm_[A-Za-z0-9]{30,}+"),
    Rule("pypi-token", ("pypi-age",), r"(?<![\w-])pypi-AgE[\w-]{16,}+"),
    Rule("huggingface-token", ("hf_",), r"(?<![\w-])hf_[A-Za-z0-9]{20,}+"),
    Rule("sendgrid-key", ("sg.",), r"(?<![\w-])SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    Rule("twilio-key", ("sk",), r"SK(?<![\w-]SK)[0-9a-f]{32}(?![\w-])"),
    Rule(
        "azure-key",
        ("accountkey", "sharedaccess", "sig="),
        r"(?i)(?:(?:AccountKey|SharedAccessKey)=|[?&;]sig=|SharedAccessSignature=[^\s\"';]{0,200}?sig=)"
        r"(?P<secret>[\w+/%-]{20,}+=*+)",
    ),
    Rule(
        "url-password",
        ("://",),
        r"://[^\s:/@\"'<>`\[]{0,64}:(?P<secret>[^\s/\"'<>`]{1,256})@(?=[\w\[.*%{$-])",
        _is_literal,
    ),
    Rule("url-token", ("://",), r"://(?P<secret>[\w-]{20,}+)@(?=\w)", _has_digit),
    Rule(
        "authorization",
        ("authorization",),
        r"(?i)authorization\\?[\"']?\s{0,4}[:=,]\s{0,4}\\?[\"'`]?(?:bearer|basic|token|digest|apikey|negotiate)\s{1,4}"
        r"(?P<secret>[\w.~+/=-]{8,}+)",
        _is_credential,
    ),
    Rule("bearer-token", ("bearer",), r"(?i)(?<![\w-])bearer\s{1,4}(?P<secret>[\w.~+/-]{16,}+=*+)", _has_digit),
    Rule(
        "password",
        ("password", "passwd", "passphrase", "passcode", "pwd"),
        _assignment("passwords?|passwd|passphrase|passcode|pwd"),
        _is_password,
        anchored=True,
    ),
    Rule(
        "secret",
        ("secret", "token", "key", "credential"),
        _assignment("secret|token|key|credentials?"),
        _is_secret,
        anchored=True,
    ),
)


def redact(text: str) -> str:
    """The text with every secret replaced by `[REDACTED:kind]`; doing it twice changes nothing more."""
    if known_clean(text):
        return text
    redacted, counts = redact_counted(text)
    if not counts:
        note_clean([text])
    return redacted


def all_clean(texts: Iterable[str]) -> bool:
    """Whether none of many texts holds a secret, which is seen quickest in all of them at once."""
    unknown = not_known_clean(texts)
    if unknown and redact_counted("\n".join(unknown))[1]:
        return False
    note_clean(unknown)
    return True


def redact_lines(text: str) -> str:
    """The same line by line, where each is a thing of its own: a secret's pattern may span two of them."""
    return "\n".join(map(redact, text.split("\n")))


def redact_counted(text: str) -> tuple[str, dict[str, int]]:
    """The redacted text, and how many secrets of each kind were taken out."""
    counts: dict[str, int] = {}
    for _ in range(_PASSES):
        redacted = _once(text, counts)
        if redacted == text:
            break
        # A replacement can uncover another secret beside it.
        text = redacted
    return text, counts


def _once(text: str, counts: dict[str, int]) -> str:
    lowered = _lower(text)
    for rule in RULES:
        for hint in rule.hints:
            if hint in lowered:
                redacted = _apply(rule, text, lowered, counts)
                if redacted is not text:
                    text, lowered = redacted, _lower(redacted)
                break
    return text


def _apply(rule: Rule, text: str, lowered: str, counts: dict[str, int]) -> str:
    pieces: list[str] = []
    position = 0
    for match in _anchored(rule, text, lowered) if rule.anchored else _compiled(rule.pattern).finditer(text):
        group = next((name for name in ("secret", "quoted", "bare") if match.groupdict().get(name) is not None), 0)
        if _MARK in match[group] or (rule.judge is not None and not rule.judge(match)):
            continue
        pieces += [text[position : match.start(group)], f"{_MARK}{rule.kind}]"]
        position = match.end(group)
        counts[rule.kind] = counts.get(rule.kind, 0) + 1
    return "".join([*pieces, text[position:]]) if pieces else text


def _anchored(rule: Rule, text: str, lowered: str) -> Iterator[re.Match[str]]:
    pattern = _compiled(rule.pattern)
    end = 0
    for start in _starts(rule.hints, lowered):
        if start >= end and (match := pattern.match(text, start)):
            end = match.end()
            yield match


def _starts(hints: tuple[str, ...], lowered: str) -> list[int]:
    """Where any of the hints stands, in order: quicker than one expression for all of them."""
    found = []
    for hint in hints:
        at = lowered.find(hint)
        while at >= 0:
            found.append(at)
            at = lowered.find(hint, at + len(hint))
    return sorted(found)


def _lower(text: str) -> str:
    """Lower case, character by character: positions must stay those of the text."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiled on first need: most processes never meet most kinds.
    return re.compile(pattern, re.ASCII)
