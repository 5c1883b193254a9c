"""Values that are secrets by themselves: known by a vendor's prefix or a PEM frame, or looking like what people type.

Code must survive: `token = getToken()`, `password: str`, `secret = os.environ["X"]` hold no secret.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import NamedTuple

Found = tuple[int, int, str]
"""Where a secret begins and ends, and its kind."""

_TEMPLATE = re.compile(
    r"^[$%@<{*.\[]|^(?:env|process|os|config|settings|vault|arn|ref|secret|ssm)[.:]|[$%#{]\{[^{}]*+(?:\}|\Z)|%\(\w{1,80}\)|\.\.\.",
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
    " a an as at by from has have in it its on see use no none never only least most than then what how who"
    " password passphrase pass phrase secret secrets token vault default value name field".split()
)
_WORD_BREAK = re.compile(r"[\s+-]+")
_JOINED_WORDS = re.compile(r"[A-Za-z]{3,12}(?:([+-])[A-Za-z]{3,12})(?:\1[A-Za-z]{2,12}){1,10}(?:\1?\d{1,4})?")
# What begins an expression in code: a name, or the path to one, or a string with a prefix.
_PATH = re.compile(r"(?:[A-Za-z_$][\w$]*+)?(?:(?:\??\.|->|::)[A-Za-z_$][\w$]*+)*+")
_OPENING, _CLOSING = "([{", ")]}"
_OPERATOR = re.compile(r"""(?<=[\w)\]}"'])(?:\|\||&&|[=<>!-]=|=>|::)(?=[\w({\["'!$])""")
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
    return _looks_secret_bare(value, chosen=password and loose)


def _looks_secret_bare(value: str, *, chosen: bool) -> bool:
    if _DOTTED.fullmatch(value) or _TYPE.fullmatch(value):
        return False
    if chosen:
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


def is_pin(value: str) -> bool:
    """Whether the value of something called a PIN is one: no number of a pin on a board, and no version."""
    return value.isdigit() and 4 <= len(value) <= 12


def is_user_and_password(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        return False
    return ":" in text[1:-1] and text.isprintable()


def looks_like_passphrase(value: str) -> bool:
    """Whether a string literal of several words is a phrase to unlock something with, and no sentence about one."""
    words = _WORD_BREAK.split(value.lower())
    return len(words) > 2 and not _is_reference(value) and _SENTENCE_WORDS.isdisjoint(words)


def looks_like_joined_words(value: str) -> bool:
    """Whether a word after `passphrase` is a phrase in one word, as in `correct-horse-battery`."""
    return _JOINED_WORDS.fullmatch(value) is not None and looks_like_passphrase(value)


def reads_as_code(value: str, *, whole: bool) -> bool:
    """Whether a value with brackets is an expression, such as `get(x)` and `os.environ[`, and not what was drawn.

    `whole`: the value is all that stands there, so that a bracket without its other half is none of an expression.
    """
    path = _PATH.match(value)
    at = path.end() if path else 0
    if value[at : at + 1] in ('"', "'", "`"):
        return not whole or (at <= 2 and value[-1] == value[at])
    if not value[at:] or value[at] not in _OPENING + _CLOSING:
        return False
    end = _group_end(value, at)
    if end is None:
        return not whole or value[-1] in _OPENING + ","
    # After a call or an index, no name begins at once.
    return not value[end : end + 1].isalnum()


def _group_end(value: str, at: int) -> int | None:
    """Where the group ends that a bracket opens."""
    depth = 0
    for index in range(at, len(value)):
        if value[index] in _OPENING:
            depth += 1
        elif value[index] in _CLOSING:
            depth -= 1
            if depth <= 0:
                return index + 1 if depth == 0 else None
    return None


def has_operators(value: str) -> bool:
    """Whether a value holds what joins expressions in code."""
    return _OPERATOR.search(value) is not None


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
    # What was drawn may begin like a path or a template, but changes its letters more often.
    drawn = len(value) >= 32 and len(_CHANGE.findall(value)) * 6 > len(value)
    if _LOCATION.match(value):
        return not drawn
    if drawn and not any(sign in value for sign in ("{", "<", "...")):
        return False
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
    broad ones cheap. Where that is not a fixed number, `begins` tells it from the text and the hint's place; -1 means
    that there is nothing to try.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    judge: Judge | None = None
    before: int = 0
    begins: Callable[[str, int], int] | None = None


_WORD = r"[\w-]"
_ALNUM = r"[A-Za-z0-9]"
_HEX = r"[0-9a-f]"
_UUID = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
# Of those that do not begin in a way of their own.
ANYTHING = ("",)
# The first letters of a user's number in base64, which is how a Discord token begins.
_DISCORD = ("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT")


class KnownToken(NamedTuple):
    """A kind of secret: the letters it begins with, and an expression for all that follows them.

    Within the token, or right after its beginning, stands a run of at least 15 letters, digits, - and _: by those runs
    tokens are looked for.
    """

    kind: str
    beginnings: tuple[str, ...]
    rest: str


def _more(least: int, letters: str = _ALNUM) -> str:
    return rf"{letters}{{{least},}}+"


def _exactly(number: int, letters: str = _ALNUM) -> str:
    return rf"{letters}{{{number}}}(?![\w-])"


KNOWN_TOKENS: tuple[KnownToken, ...] = (
    # Clouds and where things are hosted.
    KnownToken("aws-key-id", ("AKIA", "ASIA", "ABIA", "ACCA"), _exactly(16, "[A-Z0-9]")),
    KnownToken("google-key", ("AIza",), _more(30, _WORD)),
    KnownToken("google-key", ("GOCSPX-",), _more(20, _WORD)),
    KnownToken("google-key", ("ya29.",), _more(20, _WORD)),
    KnownToken("google-key", ("1//",), rf"0{_more(30, _WORD)}"),
    KnownToken("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), _more(32, _HEX)),
    KnownToken("heroku-key", ("HRKU-",), _more(20, _WORD)),
    KnownToken("cloudflare-token", ("cfut_", "cfat_", "cfk_"), _more(32, _WORD)),
    KnownToken("fly-token", ("fo1_", "fm1a_", "fm1r_"), _more(30, r"[\w+/=,-]")),
    KnownToken("vercel-token", ("vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_"), _more(20, r"\w")),
    KnownToken("netlify-token", ("nfp_", "nfo_", "nfc_", "nfu_", "nfb_"), _more(30, _ALNUM)),
    KnownToken("tailscale-key", ("tskey-",), rf"[a-z]++-{_more(10, _WORD)}"),
    KnownToken("azure-key", ANYTHING, r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?!\w)"),
    KnownToken("azure-key", ANYTHING, r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9+/]{14,}+={0,2}"),
    # Models.
    KnownToken("anthropic-key", ("sk-ant-",), _more(8, _WORD)),
    # Of our own keys the first eight letters are shown, to tell them apart.
    KnownToken("sekha-key", ("sk-sekha-",), _more(16, _WORD)),
    KnownToken("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"), _more(16, _WORD)),
    KnownToken("openrouter-key", ("sk-or-v1-",), _more(16, _WORD)),
    KnownToken("langfuse-key", ("sk-lf-",), _more(16, _WORD)),
    KnownToken("openai-key", ("sk-",), rf"{_more(20)}[\w-]*+"),
    KnownToken("huggingface-token", ("hf_", "api_org_"), _more(20)),
    KnownToken("groq-key", ("gsk_",), _more(30)),
    KnownToken("replicate-token", ("r8_",), _more(30)),
    KnownToken("perplexity-key", ("pplx-",), _more(30)),
    KnownToken("xai-key", ("xai-",), _more(40)),
    KnownToken("cerebras-key", ("csk-",), _more(30)),
    KnownToken("elevenlabs-key", ("sk_",), _exactly(48, _HEX)),
    KnownToken("nvidia-key", ("nvapi-",), _more(30, _WORD)),
    KnownToken("langsmith-key", ("lsv2_pt_", "lsv2_sk_"), _more(30, r"\w")),
    KnownToken("fireworks-key", ("fw_",), _exactly(22)),
    KnownToken("pinecone-key", ("pcsk_",), _more(30, r"\w")),
    KnownToken("tavily-key", ("tvly-",), _more(20, _WORD)),
    KnownToken("jina-key", ("jina_",), _more(40)),
    KnownToken("voyage-key", ("pa-",), _exactly(43, _WORD)),
    KnownToken("wandb-key", ("wandb_v1_",), _more(30, r"\w")),
    # Where code and packages live.
    KnownToken("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _more(16)),
    KnownToken("github-token", ("github_pat_",), _more(20, r"\w")),
    KnownToken(
        "gitlab-token",
        ("glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-", "glimt-",
         "glffct-"),
        rf"{_more(16, _WORD)}(?:\.[\w-]++)*+",
    ),
    KnownToken("bitbucket-password", ("ATBB",), _more(28, r"[A-Za-z0-9=]")),
    KnownToken("npm-token", ("npm_",), _more(30)),
    KnownToken("pypi-token", ("pypi-AgE",), _more(16, _WORD)),
    KnownToken("crates-token", ("cio",), _exactly(32)),
    KnownToken("docker-token", ("dckr_pat_", "dckr_oat_"), _more(20, _WORD)),
    KnownToken("rubygems-key", ("rubygems_",), _more(32, _HEX)),
    KnownToken("clojars-token", ("CLOJARS_",), _more(40, _HEX)),
    KnownToken("jfrog-key", ("AKCp",), _more(64)),
    KnownToken("sourcegraph-token", ("sgp_",), _more(40, r"\w")),
    # Talking, mail and paying.
    KnownToken("slack-token", ("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
          _more(10, r"[\w%-]")),
    KnownToken("slack-token", ("xapp-",), rf"\d-{_more(10, _WORD)}"),
    KnownToken("discord-token", _DISCORD, rf"{_WORD}{{21,26}}\.[\w-]{{6}}\.[\w-]{{25,40}}(?![\w-])"),
    KnownToken("telegram-token", ("AA",), r"(?<=\d{8}:AA)[\w-]{32,34}(?![\w-])"),
    KnownToken("sendgrid-key", ("SG.",), rf"{_more(16, _WORD)}\.{_more(16, _WORD)}"),
    KnownToken("mailchimp-key", ANYTHING, rf"{_HEX}{{32}}-us\d{{1,2}}(?!\w)"),
    KnownToken("mailgun-key", ("key-",), _exactly(32, _HEX)),
    KnownToken("brevo-key", ("xkeysib-", "xsmtpsib-"), rf"{_HEX}{{32,}}+(?:-{_ALNUM}{{8,}}+)?"),
    KnownToken("twilio-key", ("SK",), _exactly(32, _HEX)),
    KnownToken("stripe-key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), _more(10)),
    KnownToken("stripe-key", ("whsec_",), _more(16, r"[A-Za-z0-9+/=]")),
    KnownToken("square-token", ("EAAA",), _more(56, _WORD)),
    KnownToken("square-token", ("sq0atp-", "sq0csp-", "sq0idp-"), _more(20, _WORD)),
    KnownToken("facebook-token", ("EAAC", "EAAD", "EAAG", "EAAM"), _more(80)),
    KnownToken("shopify-token", ("shpat_", "shpss_", "shpca_", "shppa_"), _more(32)),
    KnownToken("razorpay-key", ("rzp_live_", "rzp_test_"), _more(14)),
    KnownToken("flutterwave-key", ("FLWSECK-", "FLWSECK_TEST-"), _more(12, _WORD)),
    KnownToken("shippo-token", ("shippo_live_", "shippo_test_"), _more(32, _HEX)),
    # Watching, data and work.
    KnownToken("vault-token", ("hvs.", "hvb.", "hvr."), _more(20, _WORD)),
    KnownToken("doppler-token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), _more(40)),
    KnownToken("dynatrace-token", ("dt0c01.", "dt0s01."), r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    KnownToken("dropbox-token", ("sl.", "sl.u."), _more(100, _WORD)),
    KnownToken("mapbox-token", ("sk.",), rf"eyJ{_more(30, _WORD)}\.{_more(16, _WORD)}"),
    KnownToken("newrelic-key", ("NRAK-", "NRJS-", "NRII-", "NRRA-"), _more(19, _WORD)),
    KnownToken("sentry-token", ("sntrys_", "sntryu_"), _more(30, r"[\w+/=]")),
    KnownToken("grafana-token", ("glc_", "glsa_"), _more(30, r"[\w+/=]")),
    KnownToken("grafana-token", ("eyJrIjoi",), _more(40, r"[A-Za-z0-9+/=]")),
    KnownToken("supabase-key", ("sbp_", "sb_secret_"), _more(20, _WORD)),
    KnownToken("planetscale-key", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), _more(24, r"[\w.=-]")),
    KnownToken("databricks-token", ("dapi",), rf"{_HEX}{{32}}(?:-\d)?(?![\w-])"),
    KnownToken("linear-key", ("lin_api_", "lin_oauth_"), _more(32)),
    KnownToken("notion-token", ("secret_",), _exactly(43)),
    KnownToken("notion-token", ("ntn_",), _more(40)),
    KnownToken("airtable-token", ("pat",), rf"{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    KnownToken("figma-token", ("figd_", "figu_", "figo_"), _more(30, _WORD)),
    KnownToken("postman-key", ("PMAK-",), rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    KnownToken("atlassian-token", ("ATATT3", "ATCTT3"), _more(40, r"[\w=-]")),
    KnownToken("hubspot-token", ("pat-na1-", "pat-na2-", "pat-eu1-"), _UUID),
    KnownToken("pulumi-token", ("pul-",), _exactly(40, _HEX)),
    KnownToken("prefect-key", ("pnu_", "pnb_"), _more(30)),
    KnownToken("launchdarkly-key", ("sdk-", "api-", "mob-"), _UUID),
    KnownToken("onepassword-token", ("ops_eyJ",), _more(100, r"[\w+/=-]")),
    KnownToken("contentful-token", ("CFPAT-",), _more(40, _WORD)),
    KnownToken("age-key", ("AGE-SECRET-KEY-1",), _more(40, "[A-Z0-9]")),
    # What anyone may make.
    KnownToken("jwt", ("eyJ",), r"[\w-]{8,}+\.(?:eyJ[\w-]{4,}+\.[\w-]*+|[\w-]*+\.[\w-]++\.[\w-]++\.[\w-]++)"),
    # A private key once more in base64, as in a kubeconfig; certificates and public keys are none.
    KnownToken("private-key", ("LS0tLS1CRUdJTi",), r"(?!BDRVJU|BQVUJM|BYNTA5)[A-Za-z0-9+/]{40,}+={0,2}"),
)  # fmt: skip

# A line of a key and the break after it; as many as the longest key has.
_KEY_LINE = re.compile(r"(?:(?<![^\s\"'`:>])|(?<=\\[nr]))([A-Za-z0-9+/=]{1,80})(?:\s|\\[nr]){1,24}\Z")
_LONGEST_KEY_LINE, _KEY_LINES = 110, 400
_LONGEST_FRAME, _LONGEST_KEY = 42, 8192


def _frame(text: str, at: int) -> int:
    """Where the line begins that says that it is the beginning of a private key; -1 if it does not."""
    return text.rfind("-----BEGIN ", max(0, at - _LONGEST_FRAME), at)


def _body_before(text: str, at: int) -> int:
    """Where the lines of a key begin that stand before its end. Its last two, the rest and a sum, may be short.

    A key may also follow the words: "the private key MIIE... -----END PRIVATE KEY-----". -1 if there is none.
    """
    begin = end = text.rfind("-----END ", max(0, at - _LONGEST_FRAME), at)
    if end < 0:
        return at if text.find("-----END ", at, at + _LONGEST_KEY) >= 0 else -1
    short = 0
    for _ in range(_KEY_LINES):
        line = _KEY_LINE.search(text, max(0, end - _LONGEST_KEY_LINE), end)
        if line is None or short > 2:
            break
        end = line.start()
        if len(line[1]) < 16 or line[1].isalpha():
            short += 1
        else:
            begin, short = end, 0
    return begin


PRIVATE_KEYS: tuple[ContextPattern, ...] = (
    ContextPattern(
        "private-key",
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]++|-(?!----))*+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\s|\\[nr])*+(?:[A-Z][A-Za-z-]{3,20}: [^\n]{0,200}|[A-Za-z0-9+/=]{16,}+))++)",
        begins=_frame,
    ),
    # The end of a key whose beginning was not shown.
    ContextPattern(
        "private-key",
        ("private key",),
        r"(?:[A-Za-z0-9+/=\s]|\\[nr]){16,}+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
        begins=_body_before,
    ),
    ContextPattern(
        "private-key",
        ("private-lines:",),
        r"(?i)private-lines: ?\d{1,3}(?P<secret>(?:(?:\s|\\[nr])++[A-Za-z0-9+/=]{16,}+)++)",
    ),
)
