"""A small team's half year, to look at pages with: decisions, rules, sessions, conversations, over several projects."""

from __future__ import annotations

from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember_all

DAY = 86_400_000
PROJECTS = ("github.com/acme/payments", "github.com/acme/web", "notes")
DECISIONS = (
    "Sessions are kept in Redis for 30 days; the cookie is HttpOnly and SameSite=Strict.",
    "The queue moved from RabbitMQ to PostgreSQL with SKIP LOCKED: one thing less to run.",
    "Amounts are integers in the smallest unit. Floats are never used for money.",
    "Webhooks are signed with HMAC-SHA256 over the raw body, and retried for three days.",
    "Feature flags live in the database and are cached for 30 seconds.",
)
RULES = (
    ("Write the test before the fix.", ""),
    ("Never log request bodies of `/payments`.", "src/payments/**"),
    ("Migrations must be reversible, or say why not.", "migrations/*.sql"),
    ("Public functions have a docstring of one line.", "**/*.py"),
)
TALK = """\
The retries pile up because the worker acknowledges before it commits. Do it the other way round:

```python
with transaction() as connection:
    handle(connection, job)
    connection.execute("DELETE FROM jobs WHERE id = %s", (job.id,))
```

Then a crash between the two leaves the job where it was."""


def tell(memory: LocalMemory) -> None:
    """Put all of it into a memory."""
    now = memory.clock()
    notes = []
    for n in range(45):
        when = now - (n * n * 3 % 340) * DAY - n * 1_000
        project = PROJECTS[n % 3]
        if n % 3 == 0:
            notes.append(
                NewItem(
                    f"{DECISIONS[n % 5]} (#{n})", type="decision", project=project, created_ms=when, tags=["design"]
                )
            )
        elif n % 3 == 1:
            narrative = f"Changed how retries are counted in module {n}, and ran 47 tests."
            details = {"narrative": narrative, "files_modified": f"src/module{n}.py"}
            notes.append(
                NewItem(
                    kind="observation",
                    type="file-write",
                    title=f"Modified src/module{n}.py",
                    details=details,
                    project=project,
                    session=f"session-{n // 10}",
                    created_ms=when,
                )
            )
        else:
            notes.append(NewItem(f"The staging database holds {n} thousand rows.", type="fact", created_ms=when))
    notes += [NewItem(text, type="rule", project=PROJECTS[0], details={"paths": paths}) for text, paths in RULES]
    done = {"request": "Make retries safe", "completed": "Jobs are deleted inside their transaction."}
    notes.append(NewItem(kind="summary", session="session-1", details=done, project=PROJECTS[0]))
    stopped = {"task": "Write the runbook", "progress": "Outline done"}
    notes.append(NewItem(kind="checkpoint", session="session-1", details=stopped, project=PROJECTS[0]))
    remember_all(memory, notes)
    for n in range(6):
        said = [
            NewMessage("user", f"Why do webhook retries pile up on Mondays? ({n})", now - 40 * n * DAY),
            NewMessage("assistant", TALK, now - 40 * n * DAY + 5_000),
            NewMessage("user", "Thanks, that was it.", now - 40 * n * DAY + 9_000),
        ]
        folder = ("/desk/payments", "/desk/web", "/private")[n % 3]
        store_conversation(
            memory,
            NewConversation(f"Webhook retries {n}", said, folder=folder, importance=2 + n % 7, source="claude-code"),
        )
