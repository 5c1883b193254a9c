"""What was stated in a month: decisions with their reasons, rules, constraints, rejected ideas, facts, conversations."""

from __future__ import annotations

from dataclasses import dataclass

from tests.web.month_sessions import API, INFRA, WEB


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory that somebody added: how many days ago, at which hour, who (`via` an agent), and what."""

    days: float
    who: str
    type: str
    text: str
    project: str | None = API
    title: str = ""
    tags: tuple[str, ...] = ()
    importance: float | None = None
    paths: str = ""
    via: str = ""
    replaces: str = ""
    """The beginning of the text of an earlier memory that this one replaces."""
    becomes: tuple[tuple[float, str, str], ...] = ()
    """What it was edited to later: how many days ago, by whom, to what."""
    expires_in: float | None = None
    valid_for: tuple[float, float] | None = None
    """From when until when it holds, in days from now."""


SAID = (
    Statement(29.2, "anna", "decision", "Amounts are stored as integers in cents, with the currency beside them. Floats lost money in the old shop: 0.1 + 0.2 is not 0.3, and rounding at the end hid it for a year.", tags=("money", "orders")),
    Statement(28.5, "anna", "decision", "Sessions are signed tokens that the server does not store. They cannot be revoked before they expire.", tags=("auth",)),
    Statement(26.4, "tom", "decision", "Sessions are kept in Redis for 7 days, because deployments must not log people out.", tags=("auth",), replaces="Sessions are signed tokens"),
    Statement(18.4, "tom", "decision", "Sessions are kept in Redis for 30 days, counted from the last request. The cookie is HttpOnly and SameSite=Strict.", tags=("auth", "sessions"), replaces="Sessions are kept in Redis for 7 days", becomes=(
        (10.2, "anna", "Sessions are kept in Redis for 30 days, counted from the last request. The cookie is HttpOnly, Secure and SameSite=Lax, because Strict logged people out who came back from the payment provider."),
        (4.1, "tom", "Sessions are kept in Redis for 30 days, counted from the last request, and end at once when the password changes. The cookie is HttpOnly, Secure and SameSite=Lax, because Strict logged people out who came back from the payment provider."),
    )),
    Statement(24.3, "anna", "rule", "Write the failing test before the fix.", None, importance=8),
    Statement(24.2, "anna", "rule", "Never log request bodies of `/payments` or `/login`.", paths="src/shop/payments/**\nsrc/shop/auth/**", importance=9, tags=("security",)),
    Statement(22.1, "tom", "rule", "Migrations must be reversible, or say in their first line why not.", paths="migrations/*.sql"),
    Statement(25.3, "anna", "rule", "Use pnpm, never npm: two lock files broke the build twice.", WEB, tags=("tooling",)),
    Statement(21.0, "tom", "rule", "Components take their texts from src/i18n; no text in TSX files.", WEB, paths="src/**/*.tsx"),
    Statement(20.2, "tom", "rule", "Change the cluster by Terraform only. Who must use kubectl edit in an emergency opens a pull request the same day.", INFRA, importance=7),
    Statement(13.3, "anna", "rule", "Commit messages say why, not what.", None, via="claude-code"),
    Statement(23.1, "anna", "constraint", "Customer data must stay in the EU: only the regions eu-central-1 and eu-west-1.", INFRA, importance=9, tags=("privacy",)),
    Statement(15.2, "anna", "constraint", "Stock must never go negative; the database refuses it.", tags=("stock",), importance=8),
    Statement(6.2, "anna", "constraint", "Invoices are kept for ten years and never changed after they were sent.", tags=("invoices", "law"), importance=8),
    Statement(19.3, "tom", "rejected", "Kafka as the event bus. One more system to run for 40 events a second; PostgreSQL with SKIP LOCKED does it.", INFRA, tags=("queue",)),
    Statement(6.3, "anna", "rejected", "ReportLab for invoices: every page would be drawn by hand, and the templates are HTML already.", tags=("invoices",)),
    Statement(16.4, "anna", "rejected", "Formik in the checkout. It keeps its state in memory, and customers go back with the browser's button.", WEB, tags=("checkout",)),
    Statement(22.4, "anna", "decision", "Webhooks are signed with HMAC-SHA256 over the raw body, because a second JSON dump differs as soon as it contains umlauts.", tags=("webhooks",), via="claude-code"),
    Statement(20.4, "anna", "decision", "Jobs are deleted inside the transaction that handles them, because an early acknowledgement loses them in a crash.", tags=("webhooks", "queue"), via="claude-code"),
    Statement(15.4, "anna", "decision", "Stock is reserved by one conditional UPDATE, because a read and a write in two statements sold the last lamp twice.", tags=("stock",)),
    Statement(11.4, "anna", "decision", "Passwords are hashed with argon2id because the auditors asked for it; bcrypt hashes are replaced at the next login.", tags=("auth", "security"), replaces="Passwords are hashed with bcrypt"),
    Statement(28.0, "tom", "decision", "Passwords are hashed with bcrypt at cost 12.", tags=("auth",)),
    Statement(9.4, "anna", "decision", "The checkout keeps its state in the URL, because customers go back with the browser's button.", WEB, tags=("checkout",)),
    Statement(3.4, "anna", "decision", "Idempotency keys are kept for 24 hours, because phones retry within minutes and a day covers a flight.", tags=("orders",)),
    Statement(7.3, "tom", "decision", "Production scales from 6 to 24 replicas on Black Friday, because we expect four times the usual load.", INFRA, tags=("black-friday",), valid_for=(3, 17)),
    Statement(14.2, "tom", "decision", "Order lines are reserved in the order of their SKU, because two orders that lock rows in opposite order wait for each other.", tags=("stock",), via="claude-code"),
    Statement(27.2, "tom", "fact", "The staging database is reset every night at 02:00.", INFRA, tags=("staging",)),
    Statement(12.2, "anna", "fact", "A full backup of the shop is 2.3 GB and takes three minutes to upload.", INFRA, tags=("backup",)),
    Statement(17.0, "tom", "fact", "The load balancer ends TLS and sets X-Forwarded-For; its addresses are 10.20.0.0/24.", INFRA),
    Statement(10.0, "anna", "fact", "Stripe's script is blocked on CI; tests use the copy in e2e/fixtures.", WEB, tags=("ci",)),
    Statement(8.2, "tom", "fact", "Accounting closes the month on the third working day.", None),
    Statement(24.0, "anna", "heuristic", "When a test fails on CI only, look for scripts and fonts from other hosts first.", WEB, tags=("ci",)),
    Statement(13.0, "tom", "skill", "To restore a backup on staging: `make restore FROM=latest TO=staging`, then run the smoke tests.", INFRA, tags=("backup",)),
    Statement(21.5, "anna", "preference", "I prefer small pull requests: one change, one reason.", None),
    Statement(19.8, "tom", "preference", "I prefer a rebase to a merge.", None),
    # Two that contradict each other, and two that say the same.
    Statement(18.0, "tom", "rule", "API responses are cached for 60 seconds."),
    Statement(5.2, "anna", "rule", "API responses are cached for 10 seconds."),
    Statement(16.0, "tom", "fact", "The search index is rebuilt every night at 03:00.", tags=("search",)),
    Statement(4.4, "anna", "fact", "The search index is rebuilt every hour at minute 15.", tags=("search",), via="claude-code"),
    Statement(20.0, "tom", "rule", "Never deploy on Fridays.", None),
    Statement(9.0, "anna", "rule", "Do not deploy on a Friday.", None),
    Statement(12.0, "tom", "note", "The supplier's test account is locked until accounting answers.", expires_in=4),
    Statement(8.0, "anna", "note", "Look at WebAuthn for the admin pages after Black Friday.", via="claude-code"),
)  # fmt: skip

TALKS = (
    # Its label, where, who, how many days ago, and the messages.
    ("Which payment provider for Switzerland?", API, "anna", 24.6, (
        ("user", "We want to sell to Switzerland. Does our payment provider support TWINT?"),
        ("assistant", "Stripe supports TWINT for shops in the EU since 2024: amounts in CHF, refunds within 180 days, no subscriptions. It needs a payment method of its own in the dashboard, and the customer confirms in the app, so the order is paid a few seconds after the checkout.\n\n```python\nintent = stripe.PaymentIntent.create(amount=4990, currency=\"chf\", payment_method_types=[\"twint\"])\n```\n\nThe webhook `payment_intent.succeeded` is the moment at which the order is paid."),
        ("user", "So the order page must not say 'paid' before the webhook came?"),
        ("assistant", "Right. Show 'waiting for your confirmation' until the webhook arrives, and poll every two seconds; after ten minutes the intent expires."),
    )),
    ("Reading list: database locks", API, "tom", 14.8, (
        ("user", "What should I read to understand lock order and deadlocks in PostgreSQL?"),
        ("assistant", "Start with the chapter on explicit locking in the manual, then look at `pg_locks` while two sessions wait. The short version: whoever locks several rows must lock them in one order everywhere."),
    )),
    ("Black Friday: who does what", INFRA, "tom", 7.6, (
        ("user", "Write a plan for Black Friday: who is on call, what we watch, what we switch off when it gets tight."),
        ("assistant", "On call: Tom until 14:00, Anna until 22:00. We watch the error rate of the checkout, connections of the database and the age of the oldest job. When it gets tight, switch off recommendations first, then the search suggestions, then invoices by mail."),
        ("user", "Good. The war room is the blue meeting room, and Lena speaks for support."),
        ("assistant", "Noted: blue meeting room, Lena for support. The list is in the runbook."),
    )),
    ("Accessible forms", WEB, "anna", 16.6, (
        ("user", "How should an error in a form be announced to a screen reader?"),
        ("assistant", "Tie the message to its field with `aria-describedby`, set `aria-invalid`, and move the focus to the first wrong field on submit. A live region is only needed for messages that belong to no field."),
    )),
)  # fmt: skip
