"""Who wrote something: set where a call enters, never by what the call says.

An author is a person ("anna": the name of their key, the setting `author`, or the system user), or an agent that
works for one ("anna via claude-code"). Whoever comes in as an agent stays one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from commonplace.config import Settings
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import PROPOSED, VIA, Author, Draft, Item
from commonplace.text.redact import redact

# Of a person's name, and of an agent's.
MAX_AUTHOR = 100
# Header by which a program that calls over HTTP says that an agent asks, and which one.
AGENT_HEADER = "x-commonplace-agent"
# What agents set for the commands that they run, and their names.
_AGENT_VARIABLES = {
    "CLAUDECODE": "claude-code",
    "CURSOR_AGENT": "cursor",
    "GEMINI_CLI": "gemini-cli",
    "CODEX_SANDBOX": "codex",
    "OPENCODE": "opencode",
}
# How the product of an agent begins in a User-Agent; other programs act for the holder of their key.
_AGENT_PRODUCT = re.compile(
    r"(claude|codex|cursor|gemini|copilot|windsurf|cline|opencode|kiro|zed)[\w.-]*", re.IGNORECASE
)
_UNSHOWN = re.compile(r"[^\w .@+:/()-]+")


def clean_author(name: str) -> str:
    """A name on one line, without secrets and anything that could be taken for another part of a reply."""
    return " ".join(_UNSHOWN.sub(" ", redact(name[: 4 * MAX_AUTHOR])).split())[:MAX_AUTHOR].strip()


def local_writer(settings: Settings, env: Mapping[str, str] | None = None) -> Author:
    """Who works on this machine: the person whose memory it is, or an agent that says so in its commands."""
    env = os.environ if env is None else env
    agent = next((name for variable, name in _AGENT_VARIABLES.items() if env.get(variable)), "")
    person = Author(clean_author(settings.author or _system_user(env)) or None, "person")
    return agent_writer(person, agent) if agent else person


def agent_writer(person: Author, agent: str, origin: str = "agent") -> Author:
    """An agent that works for somebody; `agent` is its name as it gives it, with its model if it says that."""
    name = clean_author(agent.replace(VIA, " "))
    whose = (person.name or "").split(VIA)[0]
    return Author(VIA.join(part for part in (whose, name or "an agent") if part)[: 2 * MAX_AUTHOR], origin)


@lru_cache(maxsize=1000)
def _person(key_name: str) -> Author:
    return Author(clean_author(key_name) or None, "person")


def http_writer(key_name: str, headers: Mapping[str, str], *, by_login: bool) -> Author:
    """Who calls over HTTP: the person who holds the key, unless the request says that an agent sent it."""
    person = _person(key_name)
    if by_login:
        return person
    product = _AGENT_PRODUCT.match(headers.get("user-agent", ""))
    agent = headers.get(AGENT_HEADER, "") or (product[0] if product else "")
    return agent_writer(person, agent) if agent.strip() else person


def with_writer(memory: LocalMemory, writer: Author) -> LocalMemory:
    """The same memory for somebody else who writes."""
    return memory if memory.writer == writer else replace(memory, writer=writer)


def for_agent(memory: LocalMemory, agent: str) -> LocalMemory:
    """The same memory for an agent that works for whoever had it."""
    return with_writer(memory, agent_writer(memory.writer, agent))


def for_import(memory: LocalMemory) -> LocalMemory:
    """The same memory for what somebody imports: they need not have read it."""
    return with_writer(memory, Author(memory.writer.name, "imported"))


def for_capture(memory: LocalMemory, host: str = "") -> LocalMemory:
    """The same memory for what hooks capture, in the sessions that a host's agent has with a person."""
    writer = memory.writer
    return with_writer(memory, agent_writer(writer, host, "captured") if host else replace(writer, origin="captured"))


def sign(memory: LocalMemory, draft: Draft, old: Item | None = None) -> Draft:
    """A draft with its author, whatever it says of one itself.

    Who only changes the tags, metadata or importance of an item has not said what it says. What a person writes again
    they have agreed with; what anybody else writes of a proposal is one.
    """
    writer = memory.writer
    if old is not None and _says(draft) == _says(old):
        return replace(draft, author=old.author, origin=old.origin, review=old.review)
    proposed = (draft if old is None else old).review == PROPOSED and (old is None or writer.origin != "person")
    if old is None and writer.origin == "agent" and draft.kind == "memory":
        proposed |= memory.settings.agent_memories == "proposed"
    return replace(draft, author=writer.name, origin=writer.origin, review=PROPOSED if proposed else None)


def _says(written: Draft | Item) -> tuple[object, ...]:
    details = {name: value for name, value in written.details.items() if value}
    return written.type, written.title, written.body, details


def _system_user(env: Mapping[str, str]) -> str:
    named = env.get("LOGNAME") or env.get("USER") or env.get("USERNAME")
    if named:
        return named
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # Some containers run as a user without a name.
        return ""
