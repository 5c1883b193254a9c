"""Notes of a developer about known subjects, the same for the same seed: what a topic should find again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

# What is talked about, what is said of it, and why. A note takes one of each.
SUBJECTS: Mapping[str, tuple[str, str, str]] = {
    "authentication": (
        "the login page|JWT tokens|the OAuth callback|the refresh token|password reset|the session cookie",
        (
            "expires after 30 days|is checked by the auth middleware|asks for a second factor"
            "|is signed with RS256|now rejects an unverified email|logs the user out on every device"
        ),
        (
            "so that users stay signed in|because authentication failed on Safari|and authentication goes on"
            "|for authentication|after the security audit|and authorization reads the role from the claims"
            "|since the identity provider changed its keys"
        ),
    ),
    "rate limiting": (
        "the rate limiter|the token bucket|rate limiting|the quota of an API client|throttling",
        (
            "allows 100 requests per minute|answers 429 with Retry-After|counts by key and not by address"
            "|keeps its counters in Redis|lets bursts of twenty requests through"
        ),
        (
            "because one client flooded the API|so that scrapers slow down"
            "|and the limit is in the response headers|after the traffic spike on Friday|as rate limiting should"
            "|while rate limiting is on"
        ),
    ),
    "database migrations": (
        "the migration|schema migration 42|the Alembic revision|the new column on orders|the backfill",
        (
            "adds an index concurrently|runs in a transaction|takes a backup of the database first"
            "|renames the table|drops the foreign key|fills the column in batches"
        ),
        (
            "so that the database stays writable|as all database migrations do"
            "|like every other database migration|because the rollback failed in staging"
            "|before the schema is deployed|after a lock timeout in Postgres"
        ),
    ),
    "continuous integration": (
        "the CI pipeline|the GitHub Actions workflow|the build matrix|the nightly job|the runner",
        (
            "caches the wheels|runs the linter first|builds on macOS and Windows|fails when coverage drops"
            "|uploads the artifacts|takes eleven minutes"
        ),
        (
            "in continuous integration|because continuous integration was slow"
            "|because a flaky job blocked the merge|so that a pull request is green sooner"
            "|after the runner image changed|and the workflow is started by tags only"
        ),
    ),
    "css layout": (
        "the sidebar|the flexbox grid|the CSS of the header|dark mode|the breakpoint for phones",
        (
            "wraps below 600 pixels|uses custom properties for colours|overflows on narrow screens"
            "|sticks to the top|has a margin of one rem"
        ),
        (
            "because the layout jumped on load|in the CSS layout|as the layout of the page needs"
            "|so that the columns line up|after the designer changed the palette|and the stylesheet got smaller"
        ),
    ),
    "search ranking": (
        "BM25|the relevance score|the search index|the embedding of a query|the reranker",
        (
            "weighs the title four times|stems the words|finds near duplicates|is fused with cosine similarity"
            "|drops hits below the threshold"
        ),
        (
            "because the best hit came third|to improve search ranking|as search needs it"
            "|so that search finds synonyms|after measuring recall at ten|and the ranking is calibrated"
        ),
    ),
    "kubernetes": (
        "the Kubernetes cluster|the Helm chart|the pod|the ingress|the liveness probe",
        (
            "restarts after an out of memory kill|asks for 512 MB|scales to six replicas"
            "|waits for the readiness probe|mounts the config map"
        ),
        (
            "because the deployment hung|as Kubernetes wants it|on every Kubernetes node"
            "|so that a rolling update drops no request|after the node pool was upgraded"
            "|and the namespace has a quota"
        ),
    ),
    "payments": (
        "the Stripe webhook|the invoice|a refund|the checkout page|the subscription",
        (
            "is retried three times|is idempotent by its event id|charges the card again|sends a receipt"
            "|adds the sales tax"
        ),
        (
            "because a customer paid twice|when the payment fails|after each payment"
            "|so that payments reconcile with the bank|after the billing period ends"
            "|and the ledger stays balanced"
        ),
    ),
    "logging": (
        "the structured log|the trace id|the Grafana dashboard|the alert|the metrics exporter",
        (
            "is written as JSON|is sampled at one percent|fires after five minutes|labels each request"
            "|keeps two weeks of logs"
        ),
        (
            "so that an incident can be traced|as logging was too slow|since logging to files ended"
            "|because the log was full of noise|after the pager went off at night"
            "|and the latency histogram has finer buckets"
        ),
    ),
    "unit tests": (
        "the test suite|the pytest fixture|the mock of the clock|the property test|the snapshot test",
        (
            "runs in forty seconds|uses a temporary folder|asserts on the error code|is parametrized over engines"
            "|no longer sleeps"
        ),
        (
            "because the test was flaky|in all unit tests|as a unit test should"
            "|so that a failing assertion names the input|after the coverage report"
            "|and each test has its own fixtures"
        ),
    ),
    "caching": (
        "the cache|the Redis cache|the CDN|the ETag of the response|memoization of the parser",
        (
            "is invalidated on write|evicts the least recently used entry|keeps entries for an hour"
            "|warms up on start|has a hit rate of 94 percent"
        ),
        (
            "because stale prices were shown|as caching is cheap|since caching hid the bug"
            "|so that the page loads from cache|after a stampede of cache misses|and the key holds the locale"
        ),
    ),
    "docker images": (
        "the Dockerfile|the container image|the base image|docker compose|the image layer",
        (
            "is built in two stages|runs as an unprivileged user|shrank to 80 MB|pins the Debian release"
            "|copies the lock file first"
        ),
        (
            "because the container build was slow|in all Docker images|for the Docker image of the API"
            "|so that layers are reused|after a scan found an old openssl|and the registry keeps ten images"
        ),
    ),
}
_ASIDES = (
    "Lunch with the team is at noon on Thursday.|The printer on the second floor is broken again.|Buy a birthday card."
    "|The office plants need water.|Anna is on holiday until Monday.|The train was late this morning."
    "|New chairs arrived.|Remember to call the dentist.|The coffee machine was descaled.|Parking is free on weekends."
).split("|")
ASIDE = "aside"


def notes(count: int, seed: int = 5, asides: float = 0.05) -> Iterator[tuple[str, str]]:
    """(subject, text) of `count` notes; a few are asides that belong to no subject."""
    chance = random.Random(seed)
    names = list(SUBJECTS)
    # Some subjects come up more often than others.
    weights = [1 / (rank + 2) for rank in range(len(names))]
    for number in range(count):
        if chance.random() < asides:
            yield ASIDE, f"{chance.choice(_ASIDES)} ({number})"
            continue
        name = chance.choices(names, weights)[0]
        subject, messages, why = (chance.choice(part.split("|")) for part in SUBJECTS[name])
        yield name, f"{subject[0].upper()}{subject[1:]} {messages} {why}."
