"""Secrets go, code stays, and neither hostile nor repeated text makes a difference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.text.redact import redact, redact_counted

# Quadratic time on so many characters would not end.
HOSTILE_CHARACTERS = 300_000

# Put together at run time so that no scanner takes this file for a leak.
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MIXED = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5"
HEX = "a8f5f167f44f4964e6c998dee827110c"

SECRETS = [
    ("AKIA" + "IOSFODNN7EXAMPLE", "aws-key-id"),
    ("aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", "aws-secret"),
    ("AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", "aws-secret"),
    ("eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN", "jwt"),
    ("eyJ" + "hbGciOiJub25lIn0.eyJ" + "zdWIiOiIxIn0.", "jwt"),
    ("ghp_" + MIXED, "github-token"),
    ("gho_" + MIXED, "github-token"),
    ("ghs_" + MIXED, "github-token"),
    ("github_pat_" + "11ABCDEFG0_" + MIXED, "github-token"),
    ("glpat-" + MIXED[:20], "gitlab-token"),
    ("xoxb-" + "123456789012-" + MIXED, "slack-token"),
    ("https://hooks.slack.com/services/" + "T0000/B0000/" + MIXED, "webhook"),
    ("sk-ant-" + "api03-" + MIXED, "anthropic-key"),
    ("sk-proj-" + MIXED, "openai-key"),
    ("sk-" + MIXED, "openai-key"),
    ("sk-sekha-" + HEX, "sekha-key"),
    ("AIza" + "SyA" + MIXED, "google-key"),
    ("sk_live_" + MIXED, "stripe-key"),
    ("rk_live_" + MIXED, "stripe-key"),
    ("whsec_" + MIXED, "stripe-key"),
    ("npm_" + MIXED, "npm-token"),
    ("pypi-" + "AgEIcHlwaS5vcmcC" + MIXED, "pypi-token"),
    ("hf_" + MIXED, "huggingface-token"),
    ("SG." + MIXED[:22] + "." + MIXED, "sendgrid-key"),
    ("SK" + HEX, "twilio-key"),
    ("AccountName=x;AccountKey=" + MIXED + "+/==;", "azure-key"),
    ("https://x.blob.core.windows.net/a?sv=1&sig=" + MIXED, "azure-key"),
    ("https://" + MIXED + "@github.com/acme/x", "url-token"),
    ("Authorization: Bearer abcdef123456", "authorization"),
    ("Authorization: Basic dXNlcjpwYXNz", "authorization"),
    ('"Authorization": "Bearer abcdefgh12345678"', "authorization"),
    ("Bearer abcdefghijklmnop1234", "bearer-token"),
    ('password = "hunter2"', "password"),
    ("DB_PASSWORD=hunter2!x", "password"),
    ("DB_PASSWORD=correcthorse", "password"),
    ("password: hunter22", "password"),
    ("(password: hunter22)", "password"),
    ('{"password": "s3cr3t-pw"}', "password"),
    (r"{\"password\": \"s3cr3t-pw\"}", "password"),
    ('config["password"] = "hunter22"', "password"),
    ('password: str = "hunter2"', "password"),
    ("mysql --password hunter22", "password"),
    ("export API_TOKEN=abc123def456", "secret"),
    ('const apiKey: string = "abcd1234efgh5678"', "secret"),
    (f"client_secret: '{HEX}'", "secret"),
    (f"api_key={HEX}", "secret"),
    (f"X-API-Key: {HEX}", "secret"),
    ("--api-key=abc123def456", "secret"),
    ("SECRET_KEY = 'django-insecure-#x1!abc$defg'", "secret"),
]


@pytest.mark.parametrize(("text", "kind"), SECRETS)
def test_a_secret_is_replaced_by_its_kind(text: str, kind: str) -> None:
    redacted, counts = redact_counted(f"before {text} after")
    assert counts == {kind: 1}
    assert f"[REDACTED:{kind}]" in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("postgres://user:pass@host:5432/db", "postgres://user:[REDACTED:url-password]@host:5432/db"),
        ("postgres://user:p@ss@host/db", "postgres://user:[REDACTED:url-password]@host/db"),
        ("redis://:hunter2@localhost:6379", "redis://:[REDACTED:url-password]@localhost:6379"),
        (f"https://x.io/cb?token={HEX}&x=1", "https://x.io/cb?token=[REDACTED:secret]&x=1"),
        ('password = "hunter2"  # old', 'password = "[REDACTED:password]"  # old'),
    ],
)
def test_only_the_secret_goes(text: str, redacted: str) -> None:
    assert redact(text) == redacted


@pytest.mark.parametrize(
    "code",
    """
token = getToken()
password: str
secret = os.environ["X"]
const token = useToken()
token: string
max_tokens=40961234
tokenizer = "bert-base-uncased-v2"
password = request.form["password"]
let password = user.password;
if (password === confirmPassword2) {
api_key = settings.API_KEY2
token = response.data.accessToken1
secret: my-k8s-secret-1
password: "Password is required"
password = input("Enter your password: ")
"token": "access_token"
token_count: 123456789
PWD=/home/someone/project1
Authorization: Bearer ${token}
headers["Authorization"] = "Bearer " + token
"Authorization": f"Bearer {token}"
Authorization: Bearer YOUR_ACCESS_TOKEN
postgres://user:${DB_PASS}@host/db
postgres://user@host/db
git@github.com:acme/my-api.git
API_KEY="YOUR_API_KEY"
password = "********"
sk-button-primary-large
def hf_hub_download(): npm_config_registry=x
sha 3f786850e387550fdab836ed7e6dc881de23001b
secret = hashlib.sha256(b"abc").hexdigest()
connect(password=password1)
token: uint256
token: JWTv2
self.token = token2
const apiKey = process.env.OPENAI_API_KEY;
export TOKEN=$(cat file1)
key: value1234567
keyboard = "qwerty12345"
The bearer of this message; Bearer authentication is used
password = generate_password(length=16)
secret_name = "prod/db-12"
func(token=token, password=pw)
const token: Token = await fetchToken(id1);
https://example.com:8080/path@2x.png
token := r.Header.Get("X-Token-1")
-----BEGIN PRIVATE KEY----- is the header line
tokens = ["abc123def456ghi789"]
token = tokens[0]
import { token as token2 } from "./token-utils2"
The token is kept in memory and the password is hashed with argon2id.
token = next(tokens)
Load a library identified by 'name'.
The password reset2 page and the token Bucket4j limiter; pass `x1` to it.
The key for the map is position12 and the token of the day is Tuesday2024.
pw = getpass.getpass()
key=lambda x: x
sorted(rows, key=lambda row: row["key1"])
"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",
{ file = "x-1.0.tar.gz", hash = "sha256:3f786850e387550fdab836ed7e6dc881de23001b3f786850e387550fdab836ed" }
color: #a8f5f1; background: url(data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA)
550e8400-e29b-41d4-a716-446655440000 is the session of 3f786850e387550fdab836ed7e6dc881de23001b
!function(e,t){var n=t.key,r="token";return n===r||e[n]&&e.password===t.password2}(a1,b2);
private_key: Ed25519PrivateKey | Ed448PrivateKey
publicKeyToken="1fc8b3b9a1e18e3b"
The password is base64-encoded and the secret key is sha256-hashed.
We pass `dtype="datetime64[ns]"` to it.
if (token > 1234567890) return <Token>{token}</Token>
session_id: 3f786850e387550fdab836ed7e6dc881
curl -u "$USER:$PASSWORD" https://x.io
mysql -u root -p mydatabase
machine learning login form password reset
document.cookie = "theme=dark-mode-2"
define('DB_PASSWORD', getenv('DB_PASSWORD'));
""".strip().splitlines(),
)
def test_code_and_prose_about_secrets_survive(code: str) -> None:
    assert redact(code) == code


def test_a_private_key_goes_with_its_body() -> None:
    header, footer = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
    body = "Proc-Type: 4,ENCRYPTED\nDEK-Info: A,B\n\n" + (MIXED + "\n") * 3
    assert redact(f"x\n{header}\n{body}{footer}\ny") == "x\n[REDACTED:private-key]\ny"
    assert redact(f"x\n{header}\n{body}") == "x\n[REDACTED:private-key]\n"
    assert redact(f'"{header}\\n{MIXED}\\n{footer}\\n"') == '"[REDACTED:private-key]\\n"'


def test_secrets_are_counted_by_kind() -> None:
    assert redact_counted(f"ghp_{MIXED} and ghp_{MIXED} and sk-sekha-{HEX}")[1] == {"github-token": 2, "sekha-key": 1}
    assert redact_counted("nothing here") == ("nothing here", {})


pieces = st.one_of(
    st.sampled_from([text for text, _ in SECRETS]),
    st.sampled_from(
        ["password", "token", "api_key", "=", ": ", '"', "'", "://", "@", "&", "]", "[REDACTED:x]", "Bearer "]
    ),
    st.text(alphabet="abKEY019-_./=+ \n\u0130é", max_size=24),
)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.lists(pieces, max_size=12).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@settings(derandomize=True, deadline=None)
@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    assert redact(redact(text)) == redact(text)


UNITS = [
        "eyJ-", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "a://", "a://a:",
        "password=", "password: ", "password='", "password=(", 'password="\'', "token: ", "token", "secret_key_",
        "a_secret", "ghp_", "xoxb-", "Bearer ", "authorization:", "authorization: bearer a", "SG.", "key_", "sk-",
        "--a-a-", "aws", "aws_secret", "AccountKey=", "SharedAccessSignature=", "&sig=",
    "password: a", 'password="a', "the password is ", "curl -u a:",
    "machine a.b login b password ",
        "cookie: a=", "a.atlasv1.", "Q~", "mysql -p", "docker login ", "auth: ",
     "eyJaaaaaaaaaaaaaaaa.", "pass", "a-",
    "AAAAAAAAAAAAAAAA ",
        "hook", "token: x-", "aA1", "key=&", "A", " ", "-",
]  # fmt: skip


def test_a_long_word_after_a_placeholder_is_soon_judged() -> None:
    """`a...` begins like a placeholder; trying every way to cut it into words would not end."""
    for end in "9!+":
        value = "an" + "aBcD" * 30 + end
        assert redact(f'token = "{value}9"') == 'token = "[REDACTED:secret]"'


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_text_is_cleaned_once_and_for_all(unit: str) -> None:
    """A pattern that backtracks would not end here."""
    cleaned = redact(unit * (HOSTILE_CHARACTERS // len(unit)))
    assert redact(cleaned) == cleaned


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("[smtp]\npass = " + "smtpPw!82k", "smtpPw"),
        ('psk="' + 'wifiPw82k"', "wifiPw82k"),
        ('psk="' + 'my own wifi 99"', "own wifi"),
        ("network={\n  psk=" + "wifiPw82k\n}", "wifiPw82k"),
        ('passphrase = "' + 'correct horse battery staple"', "horse"),
        ("postgresql://app:" + "p%40ss/Wo#rd!7@host/db", "ss/Wo#rd"),
        ("mysql+pymysql://u:" + "a@b@c/d@host:3306/db", "c/d"),
        ("Das Passwort lautet " + "Sommer2024!", "Sommer"),
        ("Das Kennwort für den Server ist " + "Sommer2024!", "Sommer"),
        ("Le mot de passe est " + "Soleil2024!", "Soleil"),
        ("La contraseña para el correo es: " + "Verano2024!", "Verano"),
        ("echo " + "hunter2x | sudo -S apt update", "hunter2x"),
        ("echo '" + "two words' | sudo -u me -kS true", "two words"),
        ("printf '%s' " + "dckr9Xyz | docker login -u me --password-stdin", "dckr9Xyz"),
        ("echo root:" + "newPw99 | chpasswd", "newPw99"),
    ],
)
def test_what_people_type_and_say_is_found(text: str, secret: str) -> None:
    redacted = redact(text)
    assert secret not in redacted and "[REDACTED:" in redacted and redact(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "pass = compute2(x)",
        "pw = width % 10",
        "password = password2",
        'passphrase = "Enter the key for this file"',
        'passphrase: "must be at least 8 characters"',
        'echo "$TOKEN" | docker login --password-stdin',
        "echo $(pass show x) | sudo -S true",
        "echo done | sudo -s",
        "echo one | tee log",
        "Das Passwort ist abgelaufen",
        "Das Passwort ist mindestens lang",
        "Le mot de passe est obligatoire",
        "https://example.com:8080/users/@me",
        "redis://cache:6379/0",
        "postgresql://host/db?contact=a@b.com",
        "mysql://user:${DB_PASSWORD}@host/db",
    ],
)
def test_what_only_speaks_of_passwords_stays(text: str) -> None:
    assert redact(text) == text


BODY = [f"Q2w3E4r5T6y7U8i9O0pAsDfGhJkLzXcVbNmQwErTyUiOpAsDfGhJkLzXcVbNm9{number}" for number in range(4)]
END = "-----END RSA PRIVATE " + "KEY-----"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\n    "])
@pytest.mark.parametrize("last", ["", "aB3=", "=x9Qz"])
def test_the_end_of_a_key_is_one_without_its_beginning(newline: str, last: str) -> None:
    lines = [*BODY, *([last] if last else []), END]
    assert redact(f"tail id_rsa:\n{newline.join(lines)}\nnext") == "tail id_rsa:\n[REDACTED:private-key]\nnext"


def test_the_end_of_a_key_alone_is_a_mention() -> None:
    for text in (f"ends with\n{END}", f'if "{END}" in text:', f"text\n\n{END}\nmore", f"# 1 of 2\nof a key\n{END}"):
        assert redact(text) == text


def test_words_about_private_keys_cost_linear_time() -> None:
    words = "private key " * (5 * HOSTILE_CHARACTERS // 12)
    assert redact(words) == words


def test_the_end_of_a_key_is_found_after_words_too() -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 40
    assert body not in redact(f"the private key {body} -----END PRIVATE KEY----- is old")


def test_many_ends_of_keys_cost_linear_time() -> None:
    for piece in (END, f"{END}\n", f"a {END}", f"{BODY[0]}\n" * 500 + END, "\n" * 50 + END):
        redact_counted(piece * (200_000 // len(piece)))


@pytest.mark.parametrize(
    "text",
    [
        "curl -u me:[REDACTED:command-password] [REDACTED:password] httxs5x9",
        "[REDACTED:password] winter2024 comes",
        "mysql -p[REDACTED:command-password] orders2",
        "[REDACTED:secret-value] = abc123def456",
    ],
)
def test_a_mark_is_no_clue_to_what_stands_after_it(text: str) -> None:
    assert redact(text) == text


def test_what_only_begins_like_a_mark_hides_nothing() -> None:
    secret = "5PShrQegrpKlmI" + ".atlasv1." + "Uvz-oPxKIViL-YqI9avjOl3BNnByIWEzWYOf_aR5S5Hd7F7rJUL6gYwIk2rZRVv-33R"
    for text in (f"token: [REDACTED:\n{secret}\ntoken]", f"[REDACTED:{secret}]", "[REDACTED:x\npassword: hunter2x9!"):
        redacted = redact(text)
        assert secret not in redacted and "hunter2x9!" not in redacted


@pytest.mark.parametrize("dashes", ["", "-", "--", "------"])
def test_a_token_may_go_on_with_dashes(dashes: str) -> None:
    secret = "hv" + f"s.{dashes}eOVuvhh1KjuT3csMfCn3Fpj-13q8Dllj99vAcBDbKUs2ZSQfQRc"
    assert redact(f"a\n{secret}\nb") == "a\n[REDACTED:vault-token]\nb"
