"""What a name says about its value holds however the name is spelled, and wherever the value begins and ends."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable

import pytest

from commonplace.text.redact import redact, redact_counted

# Quadratic time on so many characters would not end.
HOSTILE_CHARACTERS = 300_000
SIGNS = "@#$%^&*(-_=+)"


def letters(rng: random.Random, number: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(rng.choices(alphabet, k=number))


def signed_key(rng: random.Random) -> str:
    """As Django makes them."""
    return "django-" + "insecure-" + letters(rng, 50, string.ascii_lowercase + string.digits + SIGNS)


def user_and_password(rng: random.Random) -> str:
    return base64.b64encode(f"{rng.choice(('admin', 'deploy-bot'))}:{letters(rng, 11)}".encode()).decode()


def phrase(rng: random.Random) -> str:
    words = "violet otter copper harbor pencil marble velvet saddle lantern".split()
    return rng.choice(("-", "+")).join(rng.sample(words, rng.choice((3, 4, 5))))


# The parts of a name, and what values it has.
NAMED: dict[str, Callable[[random.Random], str]] = {
    "payments aws secret access key": lambda rng: letters(rng, 40, string.ascii_letters + string.digits + "/+"),
    "x api key": lambda rng: letters(rng, 32, "0123456789abcdef"),
    "azure storage key": lambda rng: letters(rng, 86) + "==",
    "heroku api key": lambda rng: "-".join(letters(rng, n, "0123456789abcdef") for n in (8, 4, 4, 4, 12)),
    "twilio auth token": lambda rng: letters(rng, 32, "0123456789abcdef"),
    "django secret key": signed_key,
    "vault passphrase": phrase,
    "smartcard pin": lambda rng: letters(rng, rng.choice((4, 6, 8)), string.digits),
    "basic auth": user_and_password,
    "mail password": lambda rng: letters(rng, 9) + "4x" + rng.choice("!#^*"),
}
SPELLINGS: dict[str, Callable[[list[str]], str]] = {
    "UPPER": lambda parts: "_".join(parts).upper(),
    "snake": "_".join,
    "dash": "-".join,
    "dot": ".".join,
    "camel": lambda parts: parts[0] + "".join(map(str.title, parts[1:])),
    "words": " ".join,
    "Title": lambda parts: " ".join(map(str.title, parts)),
}
PLACES: dict[str, tuple[str, ...]] = {
    "{name}={}": ("UPPER", "snake", "dot"),
    "A=1\n{name}={}\nB=2": ("UPPER", "dot"),
    "{name}: {}": ("UPPER", "snake", "dash", "dot", "camel"),
    "service:\n  {name}: {}\n  region: eu": ("snake", "dash", "camel"),
    "export {name}='{}'": ("UPPER",),
    'env:\n  - name: {name}\n    value: "{}"\n': ("UPPER", "dot"),
    '{{"service": "x", "{name}": "{}"}}': ("UPPER", "snake", "dash", "dot", "camel"),
    'client = Client({name}="{}")': ("snake", "camel"),
    "docker run -e {name}={} image": ("UPPER",),
    "$ tool deploy --{name} {} --verbose": ("dash",),
    "-{name}=old\n+{name}={}": ("UPPER", "dot"),
    "2026-01-01 INFO loaded {name}={} region=eu": ("UPPER", "dot"),
    "- **{name}**: `{}`": ("Title", "words", "UPPER"),
    "| name | value |\n|---|---|\n| {name} | {} |": ("UPPER", "dot", "words"),
    "| host | {name} |\n|---|---|\n| db1 | {} |": ("snake", "dot", "words"),
    "fix: rotate {name} to {}": ("words", "UPPER"),
    "By the way the {name} is {} for now.": ("words", "UPPER", "dot"),
}


def what_is_left(name: str) -> list[str]:
    rng = random.Random(name)
    kept = []
    for place, spellings in PLACES.items():
        for spelling in spellings:
            value = NAMED[name](rng)
            if spelling == "words" and place.startswith("| host") and name == "payments aws secret access key":
                continue
            text = place.format(value, name=SPELLINGS[spelling](name.split()))
            redacted = redact(text)
            pieces = [value[at : at + 9] for at in range(max(1, len(value) - 8))]
            if any(piece in redacted for piece in pieces) or redact(redacted) != redacted:
                kept.append(f"{text!r} -> {redacted!r}")
    return kept


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_known_in_every_spelling_and_place(name: str) -> None:
    assert not what_is_left(name)


@pytest.mark.parametrize("sign", "()[]{}<>|,;&#!@$%^*=+~:?\"'`")
def test_the_value_of_a_line_goes_to_the_end_of_the_line(sign: str) -> None:
    for line in ("APP_SECRET={}", "export DB_PASSWORD={}", "app.secret.key={}", "  secret_key: {}"):
        # Twice the same sign may be an operator, but not of a shell.
        value = f"qT7{sign}9xZ-4v{sign * (2 if line.isupper() else 1)}Lm2{sign}Kd8"
        redacted = redact(f"A=1\n{line.format(value)}\nB=2")
        before = line.removesuffix("{}")
        assert redacted.startswith(f"A=1\n{before}[REDACTED:") and redacted.endswith("]\nB=2"), redacted
        assert "Kd8" not in redacted and "9xZ" not in redacted, redacted


def test_a_value_within_a_line_ends_where_its_surroundings_go_on() -> None:
    secret = "qT7(9x)Z-4v&Lm2wR8tY" + "5uI1oP"
    for text in (
        "(see the secret key: {}) and more",
        "[open](https://x.io/a?api_key={})",
        "https://x.io/a?api_key={}&page=2",
        "docker run -e API_KEY={} image",
        "Server=db;Password={};Encrypt=True",
    ):
        redacted = redact(text.format(secret))
        kind = "password" if "Password" in text else "secret"
        assert redacted == text.format(f"[REDACTED:{kind}]"), redacted


SECRET_FORMS = [
    "apiVersion: v1\nkind: Secret\n{field}:\n  {name}: {}\nmetadata:\n  name: x",
    "{field}:\n    {name}: {}\nkind: Secret",
    "{field}:\n  # a note\n  first: {}\n\n  {name}: {}\nkind: 'Secret'",
    'kind: ConfigMap\ndata:\n  a: b\n---\nkind: Secret # mine\ntype: Opaque\n{field}:\n  {name}: "{}"\n---\nx: y',
    "items:\n- apiVersion: v1\n  kind: Secret\n  {field}:\n    {name}: {}\n- kind: ConfigMap\n  data:\n    a: b",
    "kind: Secret\n{field}:\n  {name}: |\n    {}\n    {}\ntype: Opaque",
    "+kind: Secret\n+{field}:\n+  {name}: {}",
    "> kind: Secret\n> {field}:\n>   {name}: {}",
    "```yaml\nkind: Secret\n{field}:\n  {name}: {}\n```\nThat was data: yes",
    '{{\n  "kind": "Secret",\n  "{field}": {{\n    "{name}": "{}"\n  }},\n  "type": "Opaque"\n}}',
    '{{"kind":"Secret","{field}":{{"{name}":"{}","b":"{}"}},"type":"Opaque"}}',
    "kind: Secret\n{field}: {{{name}: {}, b: {}}}",
]


@pytest.mark.parametrize("form", SECRET_FORMS)
@pytest.mark.parametrize("field", ["data", "stringData"])
def test_everything_in_a_kubernetes_secret_is_secret(form: str, field: str) -> None:
    for name in ("database_url", "jwt", "tls.crt", "username"):
        for value in ("cG9zdGdyZXM6Ly94", "plain-words", "ca2x9="):
            text = form.format(*[value] * 2, field=field, name=name)
            redacted = redact(text)
            assert redacted == form.format(*["[REDACTED:secret]"] * 2, field=field, name=name) or (
                "|\n" in text and value not in redacted
            ), redacted
            assert redact(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "kind: ConfigMap\ndata:\n  database_url: cG9zdGdyZXM6Ly94",
        "kind: Secret\nmetadata:\n  name: registry\n  namespace: prod\ntype: Opaque",
        "kind: Secret\ndata:\n  url: {{ .Values.url | b64enc }}\n  key: ${KEY}\n  other: <base64>",
        "data:\n  a: cG9zdGdyZXM6Ly94\n---\nkind: Secret\n",
        "spec:\n  data:\n    a: b\nkind: Secret",
        "The kind: Secret is for what nobody may see; data: is for the rest.",
        '{"kind":"ConfigMap","data":{"a":"cG9zdGdyZXM6Ly94"}}',
        "data:\n  secretKeyRef:\n    kind: Secret\n    name: x1",
    ],
)
def test_other_manifests_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    """
The PIN of the meeting room is on the door.
Pin the version of numpy: 1.26.4
pin: 1.2.3
pin numpy to 2024.1
We pin 2024 releases and ship 1200 boxes
LED_PIN=13
led_pin = 17
spin: 123456
opinion: 2024
shopping 4711
PIN_COUNT=123456
pins: 1234
Set the pin to 4 digits
The api.key is documented in the manual; set x.api.key before you start
api.key = settings.API_KEY2
x.api.key=${X_API_KEY}
this.api.key = response.data.apiKey1
event.key === "Enter12345"
localStorage.key(index1)
vault_passphrase: str
passphrase: at-least-eight-characters
passphrase: ask-the-ops-team
vault_passphrase: your-passphrase-goes-here
passphrase: vault-prod-passphrase
"passphrase": "words-from-the-list"
basic auth is used for the registry
basic_auth: enabled
BASIC_AUTH=required
auth: Z2l0aHViLmNvbQ==
password=get_password(user1)
connect(host, password=password1)
connect(password=passwords["db1"], user=user1)
SECRET_KEY=os.environ["DJANGO_KEY1"]
SECRET_KEY=get_random_secret_key(50)
secret_key=config.get("secret2")
token: dict[str,int32]
password: Optional[SecretStr]
apiKey: getKey(name1),
password: foo2(x),
this.token=next.token2;
""".strip().splitlines(),
)
def test_what_only_has_such_a_name_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "unit",
    [
        "kind: Secret\n", "kind: Secret\ndata:\n  a: b\n", "data:\n", " kind: Secret\n", '"kind":"Secret","data":{',
        "PIN=", "pin ", "pin is ", "| pin ", "auth=", "auth ", "SECRET_KEY=(", "password=)", "PASSWORD=a(", "a.key=(",
        "- - data:", "passphrase: a-", "{kind: Secret, data: {",
    ],
)  # fmt: skip
def test_hostile_names_are_cleaned_once_and_for_all(unit: str) -> None:
    """A pattern that backtracks would not end here."""
    cleaned = redact(unit * (HOSTILE_CHARACTERS // len(unit)))
    assert redact(cleaned) == cleaned


def test_deep_nesting_is_read_in_linear_time() -> None:
    lines = [" " * depth + "data:" for depth in range(700)] + [" " * 700 + "kind: Secret"]
    assert redact_counted("\n".join(lines))[1] == {}


def test_a_secret_printed_as_json_stays_json() -> None:
    data = {"kind": "Secret", "data": {"a": "b2", "quoted": 'x"y'}, "type": "Opaque"}
    for indent in (None, 2):
        redacted = json.loads(redact(json.dumps(data, indent=indent)))
        assert redacted == {**data, "data": {"a": "[REDACTED:secret]", "quoted": "[REDACTED:secret]"}}
