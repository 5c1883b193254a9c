"""Who calls: the person or the agent, decided where a call enters, never by what the call says.

A person has the name of their key, the setting `author`, or the system user; an agent works for one ("anna via
claude-code"). Whoever comes in as an agent stays one. The first key of a server belongs to the person whose machine it
runs on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

from commonplace.caller_variables import AGENT_VARIABLES, USER_VARIABLES
from commonplace.config import Settings
from commonplace.model import FIRST_KEY_NAME, VIA, Author, Item, Key
from commonplace.text.redact import redact

# Of a person's name, and of an agent's.
MAX_AUTHOR = 100
# Header by which a program that calls over HTTP says that an agent asks, and which one.
AGENT_HEADER = "x-commonplace-agent"
# How the product of an agent begins in a User-Agent; other programs act for the holder of their key.
_AGENT_PRODUCT = re.compile(
    r"(claude|codex|cursor|gemini|copilot|windsurf|cline|opencode|kiro|zed)[\w.-]*", re.IGNORECASE
)
_UNSHOWN = re.compile(r"[^\w .@+:/()-]+")


def person_named(author: str | None) -> str:
    """The person that an author is, or for whom an agent works; empty if that is not known."""
    return (author or "").partition(VIA)[0].strip()


def person_of(item: Item) -> str:
    """The person who wrote an item, or for whom an agent did; empty if that is not known."""
    return person_named(item.author)


def clean_author(name: str) -> str:
    """A name on one line, without secrets and anything that could be taken for another part of a reply."""
    return " ".join(_UNSHOWN.sub(" ", redact(name[: 4 * MAX_AUTHOR])).split())[:MAX_AUTHOR].strip()


def machine_person(settings: Settings, env: Mapping[str, str] | None = None) -> str:
    """The person whose machine this is: the setting `author`, or the system user; empty if neither is known."""
    return clean_author(settings.author or _system_user(os.environ if env is None else env))


def local_writer(settings: Settings, env: Mapping[str, str] | None = None) -> Author:
    """Who works on this machine: the person whose memory it is, or an agent that says so in its commands."""
    env = os.environ if env is None else env
    agent = agent_of_environment(env)
    person = Author(machine_person(settings, env) or None, "person")
    return agent_writer(person, agent) if agent else person


def agent_of_environment(env: Mapping[str, str]) -> str:
    """The name of the agent that runs this program; empty if a person does."""
    return next((name or env[variable] for variable, name in AGENT_VARIABLES.items() if env.get(variable)), "")


def agent_writer(person: Author, agent: str, origin: str = "agent") -> Author:
    """An agent that works for somebody; `agent` is its name as it gives it, with its model if it says that."""
    name = clean_author(agent.replace(VIA, " "))
    whose = (person.name or "").split(VIA)[0]
    both = VIA.join(part for part in (whose, name or "an agent") if part)[: 2 * MAX_AUTHOR]
    return Author(both, origin, person.may_quote)


@lru_cache(maxsize=1000)
def _person(key_name: str, may_quote: bool) -> Author:
    return Author(clean_author(key_name) or None, "person", may_quote)


def http_writer(key: Key, settings: Settings, headers: Mapping[str, str], *, by_login: bool) -> Author:
    """Who calls over HTTP: the person who holds the key, unless the request says that an agent sent it.

    Whoever looks after a server may bring to it what others have said.
    """
    person = _person(_holder(key, settings), key.allows("admin"))
    if by_login:
        return person
    product = _AGENT_PRODUCT.match(headers.get("user-agent", ""))
    agent = headers.get(AGENT_HEADER, "") or (product[0] if product else "")
    return agent_writer(person, agent) if agent.strip() else person


def _holder(key: Key, settings: Settings) -> str:
    """Whose key it is: it has their name, but for the first one, which a server makes for the person who starts it."""
    is_first = key.name == FIRST_KEY_NAME and key.scope == "admin"
    return (machine_person(settings) if is_first else "") or key.name


def _system_user(env: Mapping[str, str]) -> str:
    if named := next((env[variable] for variable in USER_VARIABLES if env.get(variable)), ""):
        return named
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # Some containers run as a user without a name.
        return ""
