"""The sessions of a month: what two developers asked Claude Code and Cursor, what these did, and what they answered.

A small shop: its API in Python, its storefront in TypeScript, and the infrastructure that both run on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

API, WEB, INFRA = "github.com/acme/shop-api", "github.com/acme/shop-web", "github.com/acme/infra"
PROJECTS = (API, WEB, INFRA)
Host = Literal["claude-code", "cursor"]


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happened in a session: a prompt, a file that was read or edited, a command, or an answer."""

    kind: Literal["prompt", "read", "edit", "run", "answer"]
    text: str = ""
    before: str = ""
    after: str = ""
    output: str = ""
    passed: bool = True


@dataclass(frozen=True, slots=True)
class Work:
    """One session: how many days ago, at which hour (of today: how many hours ago), whose, with which agent."""

    days: int
    hour: float
    project: str
    who: str
    host: Host
    acts: tuple[Act, ...]


def asks(text: str) -> Act:
    return Act("prompt", text)


def reads(path: str) -> Act:
    return Act("read", path)


def edits(path: str, before: str, after: str) -> Act:
    return Act("edit", path, before, after)


def creates(path: str, content: str) -> Act:
    return Act("edit", path, "", content)


def runs(command: str, output: str) -> Act:
    return Act("run", command, output=output)


def fails(command: str, output: str) -> Act:
    return Act("run", command, output=output, passed=False)


def says(text: str) -> Act:
    return Act("answer", text)


FIRST_WEEK = (
    Work(29, 9.5, API, "anna", "claude-code", (
        asks("Set up the orders service: a table for orders, an endpoint to create one, and tests."),
        reads("src/shop/app.py"),
        creates("src/shop/orders/models.py", "class Order(Base):\n    id: Mapped[UUID]\n    total_cents: Mapped[int]\n    currency: Mapped[str]"),
        creates("src/shop/orders/routes.py", "@router.post('/orders')\nasync def create_order(body: NewOrder) -> OrderOut:\n    ..."),
        fails("pytest tests/orders -q", "E   sqlalchemy.exc.ProgrammingError: relation \"orders\" does not exist\n1 failed, 3 passed in 1.92s"),
        creates("migrations/0012_orders.sql", "CREATE TABLE orders (id uuid PRIMARY KEY, total_cents bigint NOT NULL, currency char(3) NOT NULL);"),
        runs("pytest tests/orders -q", "4 passed in 2.04s"),
        says(
            "Orders can be created. The test failed because the table had no migration; 0012_orders.sql adds it. "
            "Amounts are stored as integer cents because floats lose cents when they are added up.\n\n"
            "Next steps:\n- Add an idempotency key to POST /orders\n- Document the endpoint in docs/api.md"
        ),
        asks("We decided that amounts are integers in cents because floats lost money in the old shop."),
        says("Understood. Every amount in the orders module is an integer number of cents."),
    )),
    Work(28, 10.0, WEB, "anna", "claude-code", (
        asks("The cart badge shows the wrong count after a reload. Find out why."),
        reads("src/cart/useCart.ts"),
        fails("npm test -- cart", "FAIL src/cart/useCart.test.ts\n  ✕ keeps the count after a reload\n  Expected: 3  Received: 0\nTests: 1 failed, 11 passed"),
        edits("src/cart/useCart.ts", "const [cart, setCart] = useState(empty)", "const [cart, setCart] = useState(() => readCart(localStorage) ?? empty)"),
        runs("npm test -- cart", "Tests: 12 passed, 12 total"),
        says(
            "The badge is right after a reload. The cause was that the cart was read from localStorage in an effect, "
            "so the first render always saw an empty cart and overwrote the stored one."
        ),
    )),
    Work(27, 14.0, INFRA, "tom", "cursor", (
        asks("Create a staging cluster with the same node pool as production, but with two nodes."),
        creates("clusters/staging/main.tf", "module \"cluster\" {\n  source = \"../../modules/cluster\"\n  nodes  = 2\n}"),
        fails("terraform plan -out staging.plan", "Error: Unsupported argument: An argument named \"nodes\" is not expected here."),
        edits("clusters/staging/main.tf", "nodes  = 2", "node_count = 2"),
        runs("terraform plan -out staging.plan", "Plan: 14 to add, 0 to change, 0 to destroy."),
        says(
            "The plan for staging is ready: 14 resources. The module calls its argument node_count.\n\n"
            "Next steps:\n- Apply the plan after the security group was reviewed\n- Restrict staging to the office network"
        ),
    )),
    Work(26, 11.0, API, "tom", "cursor", (
        asks("Sessions get lost whenever we deploy. Where do we keep them, and what would be better?"),
        reads("src/shop/auth/sessions.py"),
        reads("src/shop/settings.py"),
        says(
            "Sessions are lost because they live in the memory of each process, so every deployment starts with none. "
            "Redis is running already for the rate limits; keeping sessions there needs about forty lines."
        ),
        asks("We decided to keep sessions in Redis because deployments must not log people out."),
        edits("src/shop/auth/sessions.py", "_SESSIONS: dict[str, Session] = {}", "store = RedisSessions(settings.redis_url, ttl=timedelta(days=7))"),
        runs("pytest tests/auth -q", "31 passed in 4.40s"),
        says("Sessions are kept in Redis for 7 days now, and a deployment no longer logs anybody out."),
    )),
    Work(25, 16.0, WEB, "anna", "claude-code", (
        asks("Always use pnpm here, never npm: the lock file of npm broke the build twice."),
        runs("pnpm import", "Lockfile written to pnpm-lock.yaml"),
        edits("package.json", "\"packageManager\": \"npm@10.2.0\"", "\"packageManager\": \"pnpm@9.12.0\""),
        runs("pnpm build", "✓ built in 6.31s"),
        says("The project uses pnpm 9.12. I removed package-lock.json and pinned the version in package.json."),
    )),
    Work(23, 9.0, INFRA, "tom", "claude-code", (
        asks("The certificate of shop.example.com expired last night although cert-manager was running. Why?"),
        fails("kubectl describe certificate shop-tls", "Warning  Failed  The certificate request has failed: 403 urn:ietf:params:acme:error:unauthorized: DNS problem: NXDOMAIN"),
        reads("apps/cert-manager/issuer.yaml"),
        edits("apps/cert-manager/issuer.yaml", "hostedZoneID: Z0OLD", "hostedZoneID: Z08NEW"),
        runs("kubectl get certificate shop-tls", "shop-tls   True    shop-tls   2m"),
        says(
            "The certificate is renewed. The root cause was the DNS zone: it was recreated in September, and the issuer still "
            "named the old zone, so the challenge record was written where nobody looks.\n\n"
            "Next steps:\n- Alert 14 days before a certificate expires\n- Write a runbook for expired certificates"
        ),
    )),
)  # fmt: skip

SECOND_WEEK = (
    Work(22, 10.0, API, "anna", "claude-code", (
        asks("Add webhooks for order events, signed so that shops can check where they come from."),
        reads("src/shop/orders/events.py"),
        creates("src/shop/webhooks/sign.py", "def sign(secret: bytes, body: bytes) -> str:\n    return hmac.new(secret, body, sha256).hexdigest()"),
        creates("src/shop/webhooks/deliver.py", "async def deliver(hook: Hook, event: Event) -> None:\n    ..."),
        fails("pytest tests/webhooks -q", "E   AssertionError: assert 'a91f' == '77c2'\ntests/webhooks/test_sign.py:18: signature differs for a body with umlauts\n1 failed, 8 passed in 1.10s"),
        edits("src/shop/webhooks/deliver.py", "sign(secret, json.dumps(event).encode())", "sign(secret, raw_body)"),
        runs("pytest tests/webhooks -q", "9 passed in 1.08s"),
        says(
            "Webhooks are signed with HMAC-SHA256 over the raw body. The first version signed a second JSON dump, "
            "which differs from the body that is sent as soon as it contains umlauts.\n\n"
            "Next steps:\n- Retry failed deliveries for three days\n- Tell the partner shops about the signature header"
        ),
    )),
    Work(21, 15.0, WEB, "tom", "cursor", (
        asks("The product page takes four seconds on a phone. Find the biggest cause and fix that one."),
        runs("pnpm lighthouse /products/42", "Performance 41  LCP 4.1 s  TBT 610 ms"),
        reads("src/products/Gallery.tsx"),
        edits("src/products/Gallery.tsx", "<img src={photo.original} />", "<img srcSet={sizes(photo)} sizes=\"(max-width: 600px) 100vw, 50vw\" loading=\"lazy\" />"),
        runs("pnpm lighthouse /products/42", "Performance 86  LCP 1.6 s  TBT 180 ms"),
        says(
            "The page shows its largest picture after 1.6 seconds instead of 4.1. The cause was that the gallery loaded the "
            "original photos of up to 6 MB; it now asks for the size of the screen and loads the rest when they come into view."
        ),
    )),
    Work(20, 9.5, API, "anna", "claude-code", (
        asks("Webhook deliveries pile up every Monday morning. What is going on?"),
        runs("psql -c 'select count(*) from deliveries where done_at is null'", " count\n-------\n 18422"),
        reads("src/shop/webhooks/worker.py"),
        says(
            "Deliveries pile up because the worker acknowledges a job before it commits, and on Mondays the nightly import holds "
            "a lock: jobs time out, are acknowledged, and a sweeper adds them again an hour later."
        ),
        asks("Fix it the other way round: delete the job inside its transaction."),
        edits("src/shop/webhooks/worker.py", "queue.ack(job)\nhandle(job)", "with transaction() as connection:\n    handle(connection, job)\n    connection.execute('DELETE FROM jobs WHERE id = %s', (job.id,))"),
        runs("pytest tests/webhooks -q", "14 passed in 1.61s"),
        says("A crash between handling and deleting now leaves the job where it was. I retried failed deliveries for three days as planned."),
    )),
    Work(19, 13.0, INFRA, "tom", "cursor", (
        asks("We decided against Kafka for the event bus: one more system to run for 40 events a second is not worth it."),
        says("Understood: events stay in PostgreSQL, and consumers use SKIP LOCKED."),
        edits("apps/shop-api/values.yaml", "kafka:\n  enabled: true", "queue:\n  backend: postgres"),
        runs("helm template apps/shop-api", "wrote 11 manifests"),
        says("The chart no longer contains Kafka. The queue is PostgreSQL with SKIP LOCKED."),
    )),
    Work(18, 10.5, API, "tom", "cursor", (
        asks("Customers complain that they are logged out after a week. Make sessions last longer."),
        reads("src/shop/auth/sessions.py"),
        edits("src/shop/auth/sessions.py", "ttl=timedelta(days=7)", "ttl=timedelta(days=30)"),
        runs("pytest tests/auth -q", "32 passed in 4.51s"),
        says("Sessions live for 30 days now, counted from the last request. The cookie stays HttpOnly and SameSite=Strict."),
    )),
    Work(16, 11.0, WEB, "anna", "claude-code", (
        asks("Build the checkout form: address, delivery, payment. Use the components we have."),
        reads("src/ui/Form.tsx"),
        creates("src/checkout/Checkout.tsx", "export function Checkout() {\n  return <Steps of={[Address, Delivery, Payment]} />\n}"),
        fails("pnpm tsc --noEmit", "src/checkout/Checkout.tsx(14,7): error TS2322: Type 'string | undefined' is not assignable to type 'string'.\nFound 1 error."),
        edits("src/checkout/Checkout.tsx", "country={address.country}", "country={address.country ?? 'DE'}"),
        runs("pnpm tsc --noEmit", "Found 0 errors."),
        runs("pnpm test -- checkout", "Tests: 9 passed, 9 total"),
        says(
            "The checkout has its three steps. I kept the state in the URL because customers go back with the browser's button.\n\n"
            "Next steps:\n- Validate VAT numbers on the server\n- Test the form with a screen reader"
        ),
        asks("I prefer small pull requests: split the address step off."),
        runs("git push -u origin checkout-address", "branch 'checkout-address' set up to track 'origin/checkout-address'."),
        says("The address step is a pull request of its own; delivery and payment follow."),
    )),
)  # fmt: skip

THIRD_WEEK = (
    Work(15, 9.0, API, "anna", "claude-code", (
        asks("Two customers bought the last lamp. Find out how stock could go negative."),
        reads("src/shop/stock/reserve.py"),
        fails("pytest tests/stock/test_race.py -q", "E   AssertionError: stock is -1\nFAILED tests/stock/test_race.py::test_two_buyers_one_lamp\n1 failed in 3.02s"),
        edits("src/shop/stock/reserve.py", "stock = await read_stock(sku)\nif stock > 0:\n    await write_stock(sku, stock - 1)", "UPDATE stock SET free = free - 1 WHERE sku = %s AND free > 0 RETURNING free"),
        runs("pytest tests/stock/test_race.py -q", "1 passed in 2.87s"),
        says(
            "Stock no longer goes below zero. The cause was a read and a write in two statements: two buyers read 1, and both "
            "wrote 0. One conditional UPDATE decides now.\n\nNext steps:\n- Add a CHECK constraint on stock.free\n- Refund the second customer of order 10457"
        ),
        asks("Stock must never go negative: add the constraint too."),
        creates("migrations/0017_stock_check.sql", "ALTER TABLE stock ADD CONSTRAINT stock_free_check CHECK (free >= 0);"),
        runs("pytest tests/stock -q", "17 passed in 5.90s"),
        says("I added the CHECK constraint on stock.free. Anything that would oversell now fails loudly."),
    )),
    Work(14, 14.5, API, "tom", "claude-code", (
        asks("pytest deadlocks about once in ten runs. Can you find it?"),
        fails("pytest -q", "E   psycopg.errors.DeadlockDetected: deadlock detected\nDETAIL: Process 411 waits for ShareLock on transaction 9021\n1 failed, 211 passed in 61.2s"),
        reads("tests/conftest.py"),
        reads("src/shop/stock/reserve.py"),
        edits("src/shop/stock/reserve.py", "for line in order.lines:", "for line in sorted(order.lines, key=lambda line: line.sku):"),
        runs("pytest -q", "212 passed in 58.7s"),
        says("The deadlock is gone. The reason was that two orders locked the same rows in opposite order, so lines are now reserved by SKU."),
    )),
    Work(13, 10.0, WEB, "tom", "cursor", (
        asks("Dark mode: follow the system, with a switch in the footer."),
        creates("src/theme/tokens.css", ":root { --ground: #fff; --ink: #1c1f23 }\n@media (prefers-color-scheme: dark) { :root { --ground: #14171a } }"),
        edits("src/layout/Footer.tsx", "<nav>{links}</nav>", "<nav>{links}</nav>\n<ThemeSwitch />"),
        fails("pnpm test -- contrast", "FAIL src/theme/contrast.test.ts\n  ✕ text on buttons has a contrast of 4.5\n  Expected: >= 4.5  Received: 3.9\nTests: 1 failed, 6 passed"),
        edits("src/theme/tokens.css", "--accent: #4f9cf9", "--accent: #7db5fb"),
        runs("pnpm test -- contrast", "Tests: 7 passed, 7 total"),
        says("Dark mode follows the system and can be switched in the footer. The accent was too dark for text on buttons: 3.9 instead of 4.5."),
    )),
    Work(12, 16.0, INFRA, "anna", "claude-code", (
        asks("Nightly backups of the database have been silent since the move. Check that they really run."),
        runs("kubectl get cronjobs -n data", "pg-backup   0 3 * * *   False   0   26d"),
        reads("apps/backup/cronjob.yaml"),
        fails("kubectl create job --from=cronjob/pg-backup try-now -n data", "Error: secret \"backup-bucket\" not found"),
        edits("apps/backup/external-secret.yaml", "name: backup-bucket-old", "name: backup-bucket"),
        runs("kubectl logs job/try-now -n data", "uploaded shop-2.3GB.dump.zst in 184 s"),
        says(
            "Backups run again. They had failed for 26 days because the secret of the bucket was renamed in the move, and nobody is "
            "told when the job fails.\n\nNext steps:\n- Alert when no backup was uploaded for 26 hours\n- Restore a backup on staging once a month"
        ),
    )),
    Work(11, 9.5, API, "anna", "claude-code", (
        asks("Which password hash do we use? The auditors ask for argon2."),
        reads("src/shop/auth/passwords.py"),
        says("Passwords are hashed with bcrypt at cost 12. Argon2 needs one dependency, and old hashes can be replaced at the next login."),
        asks("no, use argon2 and not bcrypt"),
        edits("src/shop/auth/passwords.py", "bcrypt.hashpw(password, bcrypt.gensalt(12))", "argon2.PasswordHasher(memory_cost=65536).hash(password)"),
        runs("pytest tests/auth -q", "35 passed in 5.02s"),
        says("New passwords are hashed with argon2id. A customer who logs in with a bcrypt hash gets a new one without noticing."),
    )),
    Work(9, 11.0, WEB, "anna", "claude-code", (
        asks("The e2e test of the checkout fails on CI only. Why?"),
        fails("pnpm playwright test checkout", "1) checkout.spec.ts:31 › pays by card\n   Error: Timeout 30000ms exceeded waiting for getByRole('button', { name: 'Pay' })\n1 failed, 5 passed"),
        reads("e2e/checkout.spec.ts"),
        reads("src/checkout/Payment.tsx"),
        edits("src/checkout/Payment.tsx", "useEffect(() => { loadStripe(key) }, [])", "const stripe = useStripe(key)"),
        runs("pnpm playwright test checkout", "6 passed (41.2s)"),
        says("The test passes on CI. The button waited for Stripe's script, which CI blocks; the payment step now loads it once and the test serves a local copy."),
    )),
)  # fmt: skip

LAST_WEEK = (
    Work(8, 10.0, API, "tom", "cursor", (
        asks("Rate limit the login: ten attempts per minute and address."),
        reads("src/shop/limits.py"),
        edits("src/shop/auth/routes.py", "@router.post('/login')", "@router.post('/login', dependencies=[limit('login', 10, per='minute')])"),
        fails("pytest tests/auth/test_limits.py -q", "E   assert 429 == 200\ntests/auth/test_limits.py:44: the limit is shared between addresses behind the load balancer\n1 failed, 3 passed in 1.31s"),
        edits("src/shop/limits.py", "request.client.host", "forwarded_address(request, trusted=settings.proxies)"),
        runs("pytest tests/auth/test_limits.py -q", "4 passed in 1.22s"),
        says("The login allows ten attempts per minute and address. Behind the load balancer every customer had its address; X-Forwarded-For is read from trusted proxies only."),
    )),
    Work(7, 15.0, INFRA, "tom", "cursor", (
        asks("Prepare the autoscaler for Black Friday: we expect four times the usual load."),
        reads("apps/shop-api/hpa.yaml"),
        edits("apps/shop-api/hpa.yaml", "maxReplicas: 6", "maxReplicas: 24"),
        runs("k6 run load/checkout.js", "http_req_duration p(95)=412ms  http_req_failed 0.02%"),
        says(
            "At four times the load the checkout answers within 412 ms (95th percentile). The database is at 70 % of its connections, "
            "so pgbouncer is the next limit.\n\nNext steps:\n- Raise the pool of pgbouncer to 200 connections\n- Agree on who is on call on Black Friday"
        ),
    )),
    Work(6, 9.5, API, "anna", "claude-code", (
        asks("Customers want invoices as PDF. Which library would you use?"),
        reads("pyproject.toml"),
        says("WeasyPrint fits best because the templates are HTML already; ReportLab would mean drawing every invoice by hand."),
        asks("We tried ReportLab and gave up on it. Use WeasyPrint, and render invoices in the worker, not in the request."),
        creates("src/shop/invoices/render.py", "def render(order: Order) -> bytes:\n    return HTML(string=template.render(order=order)).write_pdf()"),
        fails("pytest tests/invoices -q", "OSError: cannot load library 'libpango-1.0-0'\n2 failed in 0.90s"),
        edits("Dockerfile", "RUN apt-get install -y libpq5", "RUN apt-get install -y libpq5 libpango-1.0-0 libpangoft2-1.0-0"),
        runs("pytest tests/invoices -q", "2 passed in 3.41s"),
        says(
            "Invoices are rendered by WeasyPrint in the worker. The tests failed because the image had no Pango.\n\n"
            "Next steps:\n- Add the tax number to the invoice template\n- Keep invoices for ten years"
        ),
    )),
    Work(5, 13.5, WEB, "tom", "cursor", (
        asks("Translate the checkout to German and French. Where do the texts belong?"),
        reads("src/i18n/index.ts"),
        creates("src/i18n/de.json", "{\n  \"checkout.pay\": \"Jetzt bezahlen\"\n}"),
        creates("src/i18n/fr.json", "{\n  \"checkout.pay\": \"Payer maintenant\"\n}"),
        runs("pnpm test -- i18n", "Tests: 5 passed, 5 total"),
        says("The checkout speaks English, German and French. Texts are in src/i18n, a file per language; the build fails if a key is missing in one of them."),
    )),
    Work(3, 10.0, API, "anna", "claude-code", (
        asks("POST /orders created the same order twice when a phone lost its connection. Make it idempotent."),
        reads("src/shop/orders/routes.py"),
        edits("src/shop/orders/routes.py", "async def create_order(body: NewOrder)", "async def create_order(body: NewOrder, key: IdempotencyKey)"),
        creates("migrations/0021_idempotency.sql", "CREATE TABLE idempotency_keys (key text PRIMARY KEY, order_id uuid, created_at timestamptz);"),
        fails("pytest tests/orders -q", "E   AssertionError: 409 != 201\ntests/orders/test_idempotency.py:52: the same key with another body\n1 failed, 9 passed in 2.31s"),
        edits("src/shop/orders/routes.py", "if known:", "if known and known.body_hash == digest(body):"),
        runs("pytest tests/orders -q", "10 passed in 2.28s"),
        says(
            "I added an idempotency key to POST /orders: the same key with the same body returns the first order, with another body 422. "
            "Keys are kept for 24 hours because phones retry within minutes.\n\nNext steps:\n- Send the key from the storefront\n- Delete old keys every night"
        ),
    )),
    Work(2, 11.0, WEB, "anna", "claude-code", (
        asks("Send an idempotency key with every order, and keep it while the customer retries."),
        edits("src/checkout/placeOrder.ts", "fetch('/orders', { method: 'POST', body })", "fetch('/orders', { method: 'POST', body, headers: { 'Idempotency-Key': attempt.key } })"),
        runs("pnpm test -- placeOrder", "Tests: 4 passed, 4 total"),
        says("The storefront sends an idempotency key with every order and keeps it in sessionStorage until the order is confirmed."),
    )),
    Work(1, 9.0, INFRA, "tom", "claude-code", (
        asks("Add an alert for certificates that expire within 14 days, and one for missing backups."),
        creates("alerts/certificates.yaml", "- alert: CertificateExpires\n  expr: certmanager_certificate_expiration_timestamp_seconds - time() < 14 * 86400"),
        creates("alerts/backups.yaml", "- alert: BackupMissing\n  expr: time() - backup_last_upload_seconds > 26 * 3600"),
        fails("promtool check rules alerts/*.yaml", "alerts/backups.yaml: 4:11: group \"backups\", rule 0, could not parse expression: unexpected identifier \"for\"\nFAILED"),
        edits("alerts/backups.yaml", "expr: time() - backup_last_upload_seconds > 26 * 3600 for 5m", "expr: time() - backup_last_upload_seconds > 26 * 3600\n  for: 5m"),
        runs("promtool check rules alerts/*.yaml", "SUCCESS: 2 rules found"),
        says("Both alerts are in place: I alert 14 days before a certificate expires, and when no backup was uploaded for 26 hours. They go to the channel #shop-ops."),
    )),
    Work(1, 15.0, API, "anna", "claude-code", (
        asks("Deleting old idempotency keys locks the table for seconds. Can we do better?"),
        fails("pytest tests/orders/test_cleanup.py -q", "E   TimeoutError: canceling statement due to lock timeout\n1 failed in 5.11s"),
        edits("src/shop/orders/cleanup.py", "DELETE FROM idempotency_keys WHERE created_at < now() - interval '1 day'", "DELETE FROM idempotency_keys WHERE key IN (SELECT key FROM idempotency_keys WHERE created_at < now() - interval '1 day' LIMIT 1000 FOR UPDATE SKIP LOCKED)"),
        runs("pytest tests/orders/test_cleanup.py -q", "1 passed in 0.94s"),
        says("Old keys are deleted a thousand at a time and skip what is locked. One big DELETE held its locks until the last row was gone."),
    )),
    Work(0, 3.0, API, "anna", "claude-code", (
        asks("Add the tax number to the invoice template."),
        reads("templates/invoice.html"),
        edits("templates/invoice.html", "<p>{{ shop.name }}</p>", "<p>{{ shop.name }}<br>VAT ID {{ shop.vat_id }}</p>"),
        fails("pytest tests/invoices -q", "E   jinja2.exceptions.UndefinedError: 'Shop object' has no attribute 'vat_id'\n1 failed, 2 passed in 3.12s"),
        asks("Remember that the VAT ID of the shop comes from the settings, not from the database."),
        edits("src/shop/invoices/render.py", "template.render(order=order)", "template.render(order=order, vat_id=settings.vat_id)"),
        fails("pytest tests/invoices -q", "E   AssertionError: 'VAT ID DE' not in page\n1 failed, 2 passed in 3.09s"),
        says("The template takes the VAT ID from the settings, but the test of the second page still fails: the footer is rendered without it.\n\nNext steps:\n- Pass the VAT ID to the footer of every page\n- Ask accounting whether the tax number is needed as well"),
    )),
    Work(0, 1.0, WEB, "tom", "cursor", (
        asks("Never show a spinner for less than 300 ms: it flickers. Apply that to the cart and the checkout."),
        reads("src/ui/Spinner.tsx"),
        edits("src/ui/Spinner.tsx", "return <Dots />", "const shown = useDelayed(300)\nreturn shown ? <Dots /> : null"),
        runs("pnpm test -- Spinner", "Tests: 3 passed, 3 total"),
        says("The spinner appears after 300 ms. The cart and the checkout use it; the search page has one of its own.\n\nNext steps:\n- Use the shared spinner on the search page"),
    )),
)  # fmt: skip

SESSIONS = FIRST_WEEK + SECOND_WEEK + THIRD_WEEK + LAST_WEEK
