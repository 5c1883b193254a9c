"""API keys and browser logins: made, listed, checked, revoked.

The secret of a key is shown once, when it is made; only its digest is stored. What a key may do is its scope (read,
write or admin), perhaps for one project, until it expires or is revoked.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from commonplace.errors import InvalidInput, NotFound, Unauthorized
from commonplace.memory.callers import clean_author
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import ROLES, VIA, Key
from commonplace.text.dates import DAY_MS, LATEST_MS, MINUTE_MS
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact

# Clients of Sekha take only keys that begin so.
KEY_START = "sk-sekha-"
MAX_KEY_NAME = 100
# How often the time of a key's last use is written.
KEY_USE_MS = MINUTE_MS
_SECRET = re.compile(rf"{KEY_START}[0-9a-f]{{48}}")
_PREFIX = len(KEY_START) + 8
UNKNOWN_KEY = "This key is not known here."
_ASK_FOR_ANOTHER = "Whoever looks after this server can make another one: `commonplace keys create NAME`."


def create_key(
    memory: LocalMemory, name: str, scope: str = "write", project: str | None = None, expires_ms: int | None = None
) -> tuple[Key, str]:
    """A new key and its secret, which cannot be shown again. A name that a valid key has gets a number."""
    name = redact(" ".join(name.split()))
    if not 0 < len(name) <= MAX_KEY_NAME or not name.isprintable():
        raise InvalidInput(f"A key's name has 1 to {MAX_KEY_NAME} characters.", "Name it after who uses it.")
    scope = parse_key_scope(scope)
    if VIA in f" {name} ":
        raise InvalidInput(f"{name!r} reads like an agent that works for a person.", "Name the key after a person.")
    name = _free_name(memory, name)
    now = memory.clock()
    if expires_ms is not None and expires_ms <= now:
        raise InvalidInput("The key would have expired already.", "Choose a later time.")
    if expires_ms is not None and expires_ms > LATEST_MS:
        raise InvalidInput("The key would expire after the year 9999.", "Leave out its expiry.")
    secret = KEY_START + secrets.token_hex(24)
    place = None if project is None else normalise_project(project)
    key = Key(0, name, key_prefix(secret), scope, place, now, expires_ms)
    return memory.maintenance.add_key(key, key_digest(secret)), secret


def _free_name(memory: LocalMemory, name: str) -> str:
    """The name, with a number if a valid key has it: keys are authors, and no two people may be one."""
    taken = {clean_author(key.name).casefold() for key in working_keys(memory)}
    names = (name, *(f"{name[: MAX_KEY_NAME - 8]} {number}" for number in range(2, len(taken) + 3)))
    return next(one for one in names if clean_author(one).casefold() not in taken)


def parse_key_scope(word: str) -> str:
    """The scope of a key, named by itself or by the role of its holder."""
    scope = next((scope for scope, role in ROLES.items() if word in (scope, role)), None)
    if scope is None:
        raise InvalidInput(f"{word[:60]!r} is not a role.", f"Choose one of {', '.join(ROLES.values())}.")
    return scope


def list_keys(memory: LocalMemory) -> list[Key]:
    """Every key, the oldest first; revoked and expired ones too."""
    return memory.maintenance.all_keys()


def working_keys(memory: LocalMemory) -> list[Key]:
    """The keys that open the door now."""
    return [key for key in memory.maintenance.all_keys() if key.works(memory.clock())]


def revoke_key(memory: LocalMemory, id_or_prefix: int | str) -> Key:
    """Let a key, named by its number or by how it begins, work no longer. That cannot be undone."""
    named = str(id_or_prefix).strip()
    matching = [key for key in memory.maintenance.all_keys() if _is_named(key, named)]
    if len(matching) > 1:
        raise InvalidInput(f"{named[:60]!r} means {len(matching)} keys.", "Name one by its number.")
    revoked = memory.maintenance.revoke_key(matching[0].id, memory.clock()) if matching else None
    if revoked is None:
        raise NotFound(f"There is no key {named[:_PREFIX]!r}.", "`commonplace keys` lists them.")
    return revoked


def check_key(memory: LocalMemory, secret: str) -> Key:
    """The key that this is the secret of. Whoever does not have the whole of it learns nothing about any key."""
    key = _known(memory, secret)
    if key is None:
        raise Unauthorized(UNKNOWN_KEY)
    return require_working_key(key, memory.clock())


def is_revoked_or_expired(memory: LocalMemory, secret: str) -> bool:
    """Whether this is the secret of a key that was revoked or has expired; one of another store is not."""
    key = _known(memory, secret)
    return key is not None and not key.works(memory.clock())


def find_working_key(memory: LocalMemory, secret: str) -> Key | None:
    """The key of this memory that a secret belongs to, if it works; None for one of another memory."""
    key = _known(memory, secret)
    return key if key is not None and key.works(memory.clock()) else None


def key_prefix(secret: str) -> str:
    """The start of a secret, by which its key is looked up."""
    return secret[:_PREFIX]


def looks_like_key(secret: str) -> bool:
    return _SECRET.fullmatch(secret) is not None


def record_key_use(memory: LocalMemory, key: Key) -> None:
    """Write down that a key was used, at most once a minute."""
    now = memory.clock()
    if key.used_ms is None or now - key.used_ms >= KEY_USE_MS:
        memory.maintenance.touch_key(key.id, now)


def _known(memory: LocalMemory, secret: str) -> Key | None:
    if not looks_like_key(secret):
        return None
    digest = key_digest(secret)
    found = memory.maintenance.keys_with_prefix(key_prefix(secret))
    return next((key for key, known in found if hmac.compare_digest(digest, known)), None)


def require_working_key(key: Key, now_ms: int) -> Key:
    """The key, if it opens the door now; else why it does not."""
    if key.revoked_ms is not None:
        raise Unauthorized("This key was revoked.", _ASK_FOR_ANOTHER)
    if not key.works(now_ms):
        raise Unauthorized("This key has expired.", _ASK_FOR_ANOTHER)
    return key


def _is_named(key: Key, named: str) -> bool:
    if named.isdecimal():
        return str(key.id) == named
    # A whole secret names its key as well: that is what its owner has at hand.
    return len(named) > len(KEY_START) and (key.prefix.startswith(named) or named.startswith(key.prefix))


def key_digest(secret: str) -> bytes:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode()).digest()


LOGIN_MS = 7 * DAY_MS
# How far the clocks of two servers with one store may differ.
LOGIN_CLOCK_MS = 5 * 60_000
_SIGNED_OUT = "You were signed out."


def start_login(key: Key, secret: str, now_ms: int) -> str:
    """A login token for the holder of this key."""
    until = now_ms + LOGIN_MS
    return f"{key.prefix}.{until}.{_seal(key_digest(secret), key.prefix, until)}"


def check_login(memory: LocalMemory, token: str) -> Key:
    """The key that a token stands for, if the visit is not over and the key still works."""
    prefix, until, seal = _split_token(token)
    left = until - memory.clock()
    # More is left than a visit lasts if it began while the clock was ahead.
    if left <= 0 or left > LOGIN_MS + LOGIN_CLOCK_MS:
        raise Unauthorized(_SIGNED_OUT)
    for key, digest in memory.maintenance.keys_with_prefix(prefix):
        if hmac.compare_digest(_seal(digest, prefix, until).encode(), seal.encode()):
            if memory.maintenance.is_login_ended(key_digest(token)):
                raise Unauthorized(_SIGNED_OUT)
            return require_working_key(key, memory.clock())
    raise Unauthorized(_SIGNED_OUT)


def end_login(memory: LocalMemory, token: str) -> None:
    """End a visit, so that its token is good for nobody any more. Only one that goes on can be ended."""
    check_login(memory, token)
    _prefix, until, _seal = _split_token(token)
    memory.maintenance.end_login(key_digest(token), until, memory.clock())


def csrf_token(token: str) -> str:
    """The token in forms, so that only our own pages can send them; it does not reveal the login token."""
    return hashlib.sha256(f"form {token}".encode()).hexdigest()[:32]


def _split_token(token: str) -> tuple[str, int, str]:
    """How its key begins, when the visit is over at last, and the seal."""
    prefix, _, rest = token.partition(".")
    until, _, seal = rest.partition(".")
    if not until.isdecimal() or not until.isascii() or len(until) > 15:
        raise Unauthorized(_SIGNED_OUT)
    return prefix, int(until), seal


def _seal(digest: bytes, prefix: str, until: int) -> str:
    return hmac.new(digest, f"visit {prefix} {until}".encode(), hashlib.sha256).hexdigest()
