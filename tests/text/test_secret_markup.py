"""Secrets in Markdown, HTML, tables, CSV and Terraform go; prose, settings and code that look alike stay."""

from __future__ import annotations

import random
import string

import pytest

from commonplace.text.redact import redact, redact_counted

# Quadratic time on so many characters would not end.
HOSTILE_CHARACTERS = 300_000

PASSWORD = "hunter" + "22x"

FORMS = [
    "**Password:** {}",
    "**Password**: {}",
    "- **Admin password:** {}\n- **Port:** 22",
    "> **Password:** {}",
    "**Password:** `{}`",
    "**Password:** **`{}`**",
    "_Password_: {}",
    "Password: **{}**",
    "The password is **{}**",
    "The password for staging is **{}**.",
    "The password is `{}`.",
    "| Password | {} |",
    "|Password|`{}`|",
    "| **Admin password** | **{}** |",
    "| User | Password |\n|---|---|\n| bob | {} |",
    "| User | Password | Port |\n| :-- | :-: | --: |\n| amy | x | 1 |\n| bob | `{}` | 22 |",
    "user,password\nbob,{}",
    "user\tdb_password\tport\nbob\t{}\t5432",
    "admin password = {}",
    "set the password to {}",
    "I changed the root password on staging to `{}`, tell the others.",
    "### Password\n\n`{}`",
    "Password:\n```\n{}\n```",
    "Password → {}",
    "<td>Password</td><td>{}</td>",
    "<strong>Password:</strong> {}",
    'variable "db_password" {{\n  default = "{}"\n}}',
    'variable "db_password" {{\n  description = "The login"\n  type = string\n  default = "{}"\n}}',
]


@pytest.mark.parametrize("form", FORMS)
def test_a_password_in_marked_up_text_goes_and_the_rest_stays(form: str) -> None:
    assert redact(form.format(PASSWORD)) == form.format("[REDACTED:password]")


@pytest.mark.parametrize(
    "form",
    ["**API key:** `{}`", "| API key | {} |", "| Host | Access token |\n|---|---|\n| a | {} |", "name,api_key\na,{}"],
)
def test_a_key_in_marked_up_text_goes(form: str) -> None:
    key = "Zk3" + "vQ8mX2pL7tR9wY4bN6c"
    assert redact(form.format(key)) == form.format("[REDACTED:secret]")


@pytest.mark.parametrize("form", [form for form in FORMS if "\n" not in form])
def test_random_passwords_are_found_as_often_as_plain_ones(form: str) -> None:
    def found(form: str) -> int:
        rng = random.Random(form == "")
        words = ["".join(rng.choices(string.ascii_letters + string.digits, k=13)) for _ in range(200)]
        return sum(word not in redact(form.format(word)) for word in words)

    assert found(form) >= found("password: {}") >= 190


def test_every_secret_of_a_column_goes() -> None:
    rows = "\n".join(f"| user{n} | pw-{n}-Zebra{n} | admin |" for n in range(50))
    redacted, counts = redact_counted(f"| User | Password | Role |\n|---|---|---|\n{rows}\n\nThe end.")
    assert counts == {"password": 50}
    assert "Zebra" not in redacted
    assert redacted.endswith("| user49 | [REDACTED:password] | admin |\n\nThe end.")


@pytest.mark.parametrize(
    "text",
    """
**Password:** required
**Password:** at least 12 characters
**Password:** hashed with argon2id
**Password:** *optional*
The password is **never** stored.
The password is **case-sensitive!**
| Password | string |
| password | varchar255 | not null |
| Password | SHA-256 |
| Password | 8-64chars |
| Token | expires after 15 minutes |
| password | VARCHAR(255) |
| Password reset | PR-1234 |
password | grep user1
type Secret = password | token2
let password = user1
const password = row1
String password = value1
set the password to expire after 90days
set the token to null
add a password to user1
Change the password policy to NIST800
pass - step2 of the build
Keyboard -> Layout1
primary key | order_id2
| Primary key | order_id_2024_01 |
**Key:** user_id_0123456789
variable "password_length" { default = 16 }
variable "password_policy" { default = "strong" }
Password → required
<td>Password</td><td>text</td>
""".strip().splitlines(),
)
def test_prose_and_code_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "| Field | Type |\n|---|---|\n| password | varchar255 |",
        "| Method | Password hash |\n|---|---|\n| a | argon2id |",
        "Name, password\nare both required, step2",
        "| Token | Meaning |\n|---|---|\n| `if` | begins a condition |\n| `h1` | a heading |",
        "| Key | Value |\n|---|---|\n| region | eu-west-1 |\n| build | 2024.10.1-rc1 |",
    ],
)
def test_tables_about_passwords_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "unit",
    [
        "**Password:** ", "| Password ", "| Password |\n|---|\n", "a,password\n", "variable \"password\" {",
        "set the password to ",
        "password **", "password |", "password\n`", "<td>Password</td>", "password =", "password for a b c d ", "|",
        "variable \"token\" { default", "user\tpassword\n",
    ],
)  # fmt: skip
def test_hostile_markup_is_cleaned_once_and_for_all(unit: str) -> None:
    """A pattern that backtracks would not end here."""
    cleaned = redact(unit * (HOSTILE_CHARACTERS // len(unit)))
    assert redact(cleaned) == cleaned
