"""Secrets of many kinds, made up by a seed: some are known by themselves, some by their names, some by their frames.

They are put together at run time, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Mapping, Sequence

Made = Callable[[random.Random], str]
LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM, HEX = LOWER + UPPER + DIGITS, DIGITS + "abcdef"
WORDY, BASE64 = ALNUM + "_-", ALNUM + "+/"


def letters(rng: random.Random, number: int, of: str = ALNUM) -> str:
    return "".join(rng.choices(of, k=number))


def begins(beginning: str, number: int, of: str = ALNUM) -> Made:
    return lambda rng: beginning + letters(rng, number, of)


def of(number: int, alphabet: str = ALNUM) -> Made:
    """Letters without a mark of their own, with a digit among them."""
    return lambda rng: letters(rng, number - 1, alphabet) + rng.choice(DIGITS)


def uuid(rng: random.Random) -> str:
    return "-".join(letters(rng, number, HEX) for number in (8, 4, 4, 4, 12))


def base64_of(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def jwt(rng: random.Random) -> str:
    claims = json.dumps({"sub": letters(rng, 10, DIGITS), "name": letters(rng, 8, LOWER)})
    return ".".join([base64_of('{"alg":"HS256","typ":"JWT"}'), base64_of(claims), letters(rng, 43, WORDY)])


def discord(rng: random.Random) -> str:
    return f"{base64_of(letters(rng, 18, DIGITS))}.{letters(rng, 6, WORDY)}.{letters(rng, 38, WORDY)}"


def password(rng: random.Random) -> str:
    """As people choose them, and as generators do."""
    word = rng.choice("hunter dragon sommer winter falcon rocket Coffee Tiger blue".split())
    return rng.choice(
        (
            f"{word}{rng.randrange(10, 9999)}",
            f"{word.title()}{rng.choice('!#*')}{rng.randrange(10, 9999)}",
            f"{letters(rng, 6)}{rng.choice(DIGITS)}{rng.choice('!#*+~')}{letters(rng, 5)}",
            f"{letters(rng, 15)}{rng.choice(DIGITS)}{rng.choice(LOWER)}",
        )
    )


# Known by themselves, wherever they stand.
ALONE: Mapping[str, Made] = {
    "aws key id": begins("AKIA", 16, UPPER + "234567"),
    "google api key": begins("AIza" + "Sy", 33, WORDY),
    "google oauth secret": begins("GOC" + "SPX-", 28, WORDY),
    "google access token": begins("ya29" + ".a0", 120, WORDY),
    "azure client secret": lambda rng: f"{letters(rng, 3)}8" + f"Q~{letters(rng, 34)}",
    "digitalocean": begins("dop" + "_v1_", 64, HEX),
    "heroku": lambda rng: "HRKU" + "-" + uuid(rng),
    "fly": begins("fm2" + "_", 120, BASE64),
    "vercel": begins("vcp" + "_", 56),
    "netlify": begins("nfp" + "_", 36),
    "openai": begins("sk-" + "proj-", 120, WORDY),
    "openai, old": begins("sk" + "-", 48),
    "anthropic": lambda rng: "sk-ant" + f"-api03-{letters(rng, 93, WORDY)}AA",
    "hugging face": begins("hf" + "_", 34, LOWER + UPPER),
    "groq": begins("gsk" + "_", 52),
    "replicate": begins("r8" + "_", 37),
    "perplexity": begins("pplx" + "-", 48),
    "xai": begins("xai" + "-", 80),
    "github": begins("ghp" + "_", 36),
    "github app": begins("ghs" + "_", 36),
    "github, fine-grained": lambda rng: "github" + f"_pat_{letters(rng, 22)}_{letters(rng, 59)}",
    "gitlab": begins("gl" + "pat-", 20, WORDY),
    "bitbucket": begins("AT" + "BB", 32),
    "npm": begins("npm" + "_", 36),
    "pypi": begins("pypi-" + "AgEIcHlwaS5vcmc", 120, WORDY),
    "crates.io": begins("c" + "io", 32),
    "docker hub": begins("dckr" + "_pat_", 27, WORDY),
    "rubygems": begins("ruby" + "gems_", 48, HEX),
    "slack": lambda rng: "xox" + f"b-{letters(rng, 12, DIGITS)}-{letters(rng, 12, DIGITS)}-{letters(rng, 24)}",
    "slack app": lambda rng: "xap" + f"p-1-A{letters(rng, 10, UPPER)}-{letters(rng, 13, DIGITS)}-{letters(rng, 64)}",
    "slack webhook": lambda rng: "https://hooks.slack" + f".com/services/T0AB/B0AB12CD3/{letters(rng, 24)}",
    "discord": discord,
    "discord webhook": lambda rng: "https://discord" + f".com/api/webhooks/1234567890123/{letters(rng, 68, WORDY)}",
    "telegram": lambda rng: letters(rng, 10, "123456789") + f":AA{letters(rng, 33, WORDY)}",
    "stripe": begins("sk" + "_live_", 99),
    "stripe webhook": begins("whsec" + "_", 32),
    "square": begins("EAA" + "A", 60, WORDY),
    "shopify": begins("shp" + "at_", 32, HEX),
    "razorpay": begins("rzp" + "_live_", 14),
    "new relic": begins("NR" + "AK-", 27, UPPER + DIGITS),
    "sentry": begins("sntry" + "u_", 64, HEX),
    "sentry dsn": lambda rng: f"https://{letters(rng, 31, HEX)}7" + f"@o{letters(rng, 6, DIGITS)}.ingest.sentry.io/42",
    "grafana": lambda rng: "gl" + f"sa_{letters(rng, 32)}_{letters(rng, 8, HEX)}",
    "supabase": begins("sb" + "p_", 40, HEX),
    "planetscale": begins("pscale" + "_pw_", 43, WORDY),
    "databricks": begins("da" + "pi", 32, HEX),
    "twilio": begins("S" + "K", 32, HEX),
    "sendgrid": lambda rng: "SG" + f".{letters(rng, 22, WORDY)}.{letters(rng, 43, WORDY)}",
    "mailgun": begins("ke" + "y-", 32, HEX),
    "mailchimp": lambda rng: letters(rng, 32, HEX) + f"-us{rng.randrange(1, 21)}",
    "linear": begins("lin" + "_api_", 40),
    "notion": begins("ntn" + "_", 46),
    "airtable": lambda rng: f"pat{letters(rng, 14)}" + f".{letters(rng, 64, HEX)}",
    "figma": begins("fig" + "d_", 40, WORDY),
    "postman": lambda rng: "PM" + f"AK-{letters(rng, 24, HEX)}-{letters(rng, 34, HEX)}",
    "atlassian": begins("AT" + "ATT3xFfGF0", 170, WORDY),
    "vault": begins("hv" + "s.", 90, WORDY),
    "doppler": begins("dp" + ".pt.", 43),
    "pulumi": begins("pu" + "l-", 40, HEX),
    "terraform": lambda rng: letters(rng, 14) + ".atlas" + f"v1.{letters(rng, 67, WORDY)}",
    "tailscale": begins("ts" + "key-auth-k", 32),
    "openrouter": begins("sk-" + "or-v1-", 64, HEX),
    "langfuse": lambda rng: "sk-" + f"lf-{uuid(rng)}",
    "cerebras": begins("cs" + "k-", 48),
    "elevenlabs": begins("s" + "k_", 48, HEX),
    "nvidia": begins("nva" + "pi-", 64, WORDY),
    "langsmith": lambda rng: "lsv2" + f"_pt_{letters(rng, 32, HEX)}_{letters(rng, 10, HEX)}",
    "fireworks": begins("f" + "w_", 22),
    "pinecone": begins("pc" + "sk_", 60),
    "tavily": begins("tv" + "ly-dev-", 32),
    "jina": begins("ji" + "na_", 60),
    "voyage": begins("p" + "a-", 43, WORDY),
    "weights & biases": begins("wan" + "db_v1_", 60),
    "clojars": begins("CLO" + "JARS_", 60, HEX),
    "jfrog": begins("AK" + "Cp", 69),
    "sourcegraph": begins("sg" + "p_", 40, HEX),
    "brevo": lambda rng: "xkey" + f"sib-{letters(rng, 64, HEX)}-{letters(rng, 16)}",
    "facebook": begins("EA" + "AC", 120),
    "flutterwave": begins("FLW" + "SECK-", 34),
    "shippo": begins("ship" + "po_live_", 40, HEX),
    "prefect": begins("pn" + "u_", 36),
    "launchdarkly": lambda rng: "sd" + f"k-{uuid(rng)}",
    "hubspot": lambda rng: "pat" + f"-na1-{uuid(rng)}",
    "1password": begins("ops" + "_eyJ", 300),
    "contentful": begins("CF" + "PAT-", 43, WORDY),
    "cloudflare, new": begins("cfu" + "t_", 44),
    "dynatrace": lambda rng: "dt0" + f"c01.{letters(rng, 24, UPPER)}.{letters(rng, 64, UPPER + DIGITS)}",
    "dropbox": begins("s" + "l.u.A", 130, WORDY),
    "mapbox": lambda rng: "s" + f"k.eyJ{letters(rng, 80)}.{letters(rng, 22)}",
    "braintree": lambda rng: "access_token$prod" + f"uction${letters(rng, 16, LOWER)}${letters(rng, 32, HEX)}",
    "jwt": jwt,
    "age": begins("AGE-SECRET" + "-KEY-1", 58, UPPER + DIGITS),
    "postgres url": lambda rng: f"postgresql://app:{password(rng)}" + "@db.internal:5432/app",
    "mongodb url": lambda rng: f"mongodb+srv://root:{password(rng)}" + "@cluster0.abcde.mongodb.net/x",
    "redis url": lambda rng: f"rediss://:{letters(rng, 24)}" + "@cache:6380/0",
    "amqp url": lambda rng: f"amqp://guest:{password(rng)}" + "@mq/vhost",
}  # fmt: skip

# Known by their names, in the words that are put together for each language.
NAMED: Mapping[str, tuple[Sequence[str], Made]] = {
    "aws secret": (("aws secret access key",), of(40, BASE64)),
    "datadog": (("dd api key", "datadog app key"), of(32, HEX)),
    "cloudflare": (("cloudflare api token", "cf api key"), of(40, WORDY.replace("-", ""))),
    "mistral": (("mistral api key",), of(32)),
    "cohere": (("cohere api key",), of(40)),
    "heroku, old": (("heroku api key",), uuid),
    "twilio auth": (("twilio auth token",), of(32, HEX)),
    "paypal": (("paypal client secret",), of(80, WORDY)),
    "okta": (("okta api token",), begins("00", 40, WORDY)),
    "snowflake": (("snowflake password",), password),
    "client secret": (("client secret", "oauth client secret"), of(32)),
    "access token": (("access token", "auth token", "refresh token"), of(40)),
    "signing key": (("signing key", "encryption key", "secret key"), of(44, BASE64)),
    "password": (("db password", "password", "smtp password", "admin password", "mysql passwd"), password),
}


def pem(rng: random.Random) -> str:
    body = base64.b64encode(rng.randbytes(600)).decode()
    kind = rng.choice(("RSA ", "", "EC ", "OPENSSH "))
    lines = [body[n : n + 64] for n in range(0, len(body), 64)]
    return "\n".join([f"-----BEGIN {kind}PRIVATE " + "KEY-----", *lines, f"-----END {kind}PRIVATE " + "KEY-----"])


def pgp(rng: random.Random) -> str:
    body = base64.b64encode(rng.randbytes(600)).decode()
    lines = [body[n : n + 64] for n in range(0, len(body), 64)]
    frame = "PGP PRIVATE " + "KEY BLOCK-----"
    return "\n".join([f"-----BEGIN {frame}", "Version: GnuPG v2", "", *lines, "=aB3d", f"-----END {frame}"])


def putty(rng: random.Random) -> str:
    body = base64.b64encode(rng.randbytes(400)).decode()
    return "\n".join(body[n : n + 64] for n in range(0, len(body), 64))


# Known by the frame or the file they stand in; {} is the secret.
FRAMED: Mapping[str, tuple[Sequence[str], Made]] = {
    "private key": (("{}\n", "key: |\n{}\n", "Here it is:\n\n{}\n\nBye."), pem),
    "private key on one line": (
        ('"private_key": "{}\\n",', 'KEY="{}"'),
        lambda rng: pem(rng).replace("\n", "\\n"),
    ),
    "pgp key": (("{}\n",), pgp),
    "putty key": (("PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 9\n{}\nPrivate-MAC: 00",), putty),
    "bearer header": (
        ("Authorization: Bearer {}", 'curl -H "Authorization: Bearer {}" https://x.io', "'Authorization': 'Bearer {}'"),
        of(40),
    ),
    "basic header": (
        ("Authorization: Basic {}", "authorization: basic {}", '{{"Authorization": "Basic {}"}}'),
        lambda rng: base64.b64encode(f"admin:{password(rng)}".encode()).decode(),
    ),
    "cookie": (
        ("Cookie: sessionid={}; theme=dark", "Set-Cookie: connect.sid={}; Path=/", '-H "Cookie: PHPSESSID={}"'),
        of(32),
    ),
    "curl user": (("curl -u admin:{} https://x.io/a", "curl -sS --user 'bot:{}' https://x.io"), password),
    "netrc": (("machine github.com login bot password {}", "machine x.io\n  login bot\n  password {}\n"), password),
    "npmrc": (("//npm.example.org/:_authToken={}", "//npm.acme.io/:_authToken={}"), uuid),
    "pgpass": (("db.acme.io:5432:app:bot:{}", "localhost:5432:*:root:{}\n"), password),
    "docker config": (
        ('{{"auths": {{"https://containers.example.org/v1/": {{"auth": "{}"}}}}}}',),
        lambda rng: base64.b64encode(f"bot:{password(rng)}".encode()).decode(),
    ),
    "kubeconfig": (
        ("    client-key-data: {}",),
        lambda rng: base64.b64encode(pem(rng).encode()).decode(),
    ),
    "ado.net": (("Server=db;Database=x;User Id=sa;Password={};Encrypt=True",), password),
    "jdbc": (("jdbc:mysql://db:3306/x?user=bot&password={}&useSSL=true",), password),
    "azure storage": (
        ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=core.windows.net",),
        lambda rng: base64.b64encode(rng.randbytes(64)).decode(),
    ),
    "teams webhook": (
        ("https://acme.webhook.office.com/webhookb2/{}",),
        lambda rng: f"{uuid(rng)}@{uuid(rng)}/IncomingWebhook/{letters(rng, 32, HEX)}/{uuid(rng)}",
    ),
    "pin": (("SMARTCARD_PIN={}", "The PIN is {}.", '{{"pin": "{}"}}', "| PIN | {} |"), of(6, DIGITS)),
    "kubernetes secret": (
        ("kind: Secret\ndata:\n  tls.crt: {}", '{{"kind": "Secret", "data": {{"url": "{}"}}}}'),
        lambda rng: base64.b64encode(rng.randbytes(30)).decode(),
    ),
    "requests auth": (("requests.get(url, auth=('bot', '{}'))",), password),
}  # fmt: skip
