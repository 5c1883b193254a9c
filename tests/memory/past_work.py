"""Two months of made-up work on two projects: requests, code, tool output, errors and their ends, and notes."""

from __future__ import annotations

from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.graph import link_new_passages
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.topics import update_topics
from commonplace.text.dates import parse_time

SHOP, BLOG = "github.com/acme/shop", "github.com/acme/blog"
EXPIRES = "TypeError: Cannot read properties of undefined (reading 'expires')"
REFUSED = "Error: connect ECONNREFUSED 127.0.0.1:7700"
GUARD = "The session is empty before the first login, so I added a guard to readSession and a test for it."
LOG_NOISE = "\n".join(f"  PASS  src/auth/case{n}.test.ts ({n * 7 % 50} ms)" for n in range(40))

LOOKED = """I'll look at the current login first.

```ts
export async function login(req: Request) {
  return startSession(req.body.user);
}
```

The plan: a route that redirects to Google, and a callback that exchanges the code for tokens."""
SET_UP = (
    "The initial OAuth setup works: src/auth/google.ts redirects to Google and the callback stores the user."
    " Tokens are kept in the session cookie for now."
)
REFRESHED = (
    "Added token refresh logic to src/auth/session.ts: five minutes before a token expires, the next request fetches"
    " a new one. Refresh tokens are stored encrypted in Postgres."
)
LIMITED = (
    "I implemented rate limiting with a token bucket in Redis: five login attempts a minute for each address, then"
    " status 429 with Retry-After. The limiter is in src/middleware/limit.ts."
)
LOST = (
    "The guard in readSession was lost in the merge of the checkout branch. I restored it and added a regression test"
    " to CI so that a merge cannot drop it again."
)
STYLED = "Switched the blog to Inter in styles/base.css; headings are 20 % smaller. The old web font is gone."
UNREACHED = "The indexer cannot reach Meilisearch; it is probably not running in this container."

# When it began, project, label, and what was said in turns: u(ser), a(ssistant), t(ool).
SESSIONS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        "2025-01-15T10:00",
        SHOP,
        "Google login",
        (
            "u Let's set up OAuth login with Google for the shop. Customers should not need a password.",
            f"a {LOOKED}",
            "t $ npm install openid-client\nadded 3 packages, and audited 412 packages in 2s",
            f"a Done. {SET_UP}",
            "u thanks!",
        ),
    ),
    (
        "2025-01-20T14:00",
        SHOP,
        "Token refresh",
        (
            "u Customers are logged out after an hour. Can we refresh the OAuth token in the background?",
            f"a {REFRESHED}",
            f"t $ npm test\n{LOG_NOISE}\nTests: 40 passed, 40 total",
            "a All forty tests pass, so token refresh is finished.",
        ),
    ),
    (
        "2025-02-03T09:00",
        SHOP,
        "Crash at login",
        (
            f"u The login page crashes for new customers:\n\n{EXPIRES}\n    at readSession (src/auth/session.ts:41:18)",
            f"a {GUARD} The login page works again for new customers.",
            "u great, ship it",
        ),
    ),
    (
        "2025-02-05T11:00",
        BLOG,
        "Search for the blog",
        (
            "u Add full-text search to the blog, with Meilisearch.",
            f"t $ npm run index\n{REFUSED}\n    at TCPConnectWrap.afterConnect",
            f"a {UNREACHED}",
            "u Leave it for now, I have to go.",
        ),
    ),
    (
        "2025-02-10T15:00",
        SHOP,
        "Rate limiting",
        (
            "u Bots try thousands of passwords. How should we limit the rate of login attempts?",
            f"a {LIMITED}",
        ),
    ),
    (
        "2025-03-03T10:00",
        SHOP,
        "Crash is back",
        (f"u It crashes again since the deploy: {EXPIRES}", f"a {LOST}"),
    ),
    (
        "2025-03-14T16:00",
        BLOG,
        "Fonts",
        ("u Switch the blog to the Inter font and make headings smaller.", f"a {STYLED}"),
    ),
)
DECISION = "We keep refresh tokens in Postgres, not in Redis: losing them would log every customer out."


NOW = "2025-03-15T14:30"


def local(time: str) -> int:
    """A moment as whoever works here would write it."""
    return parse_time(time, local=True)


def work(memory: LocalMemory) -> None:
    """Live through it, and let the background do all it would have done."""
    for began, project, label, turns in SESSIONS:
        roles = {"u": "user", "a": "assistant", "t": "tool"}
        start = local(began)
        messages = [NewMessage(roles[turn[0]], turn[2:], at_ms=start + 60_000 * n) for n, turn in enumerate(turns)]
        store_conversation(memory, NewConversation(label, messages, key=began, project=project, source="claude-code"))
    remember(memory, NewItem(content=DECISION, type="decision", project=SHOP, created_ms=local("2025-01-21T09:00")))
    remember(
        memory,
        NewItem(
            kind="observation",
            type="file-write",
            title="Modified limit.ts",
            details={
                "narrative": "Raised the rate limit of login attempts to ten a minute",
                "files_modified": "limit.ts",
            },
            project="shop",
            session="kiro-1",
            created_ms=local("2025-02-12T12:00"),
        ),
    )
    settle(memory)


def settle(memory: LocalMemory) -> None:
    """What a server would have done by now: vectors, links, topics."""
    memory.embeddings.catch_up()
    while link_new_passages(memory):
        pass
    while update_topics(memory):
        pass
