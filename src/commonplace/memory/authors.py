"""Who wrote something: set where a call enters, never by what the call says.

An author is a person ("anna": the name of their key, the setting `author`, or the system user), or an agent that
works for one ("anna via claude-code"). Whoever comes in as an agent stays one. The first key of a server belongs to the
person whose machine it runs on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from commonplace.caller_variables import AGENT_VARIABLES, USER_VARIABLES
from commonplace.config import Settings
from commonplace.errors import Forbidden
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import (
    ACCEPTED,
    BINDING_TYPES,
    FIRST_KEY_NAME,
    PROPOSED,
    SOURCE_FIELDS,
    VIA,
    Author,
    Change,
    Draft,
    Item,
    Key,
)
from commonplace.store.merge_conflicts import replaces_unseen
from commonplace.store.records import Arrival, Record, before_of, line_id, separate_hash
from commonplace.text.redact import redact

# Of a person's name, and of an agent's.
MAX_AUTHOR = 100
# Header by which a program that calls over HTTP says that an agent asks, and which one.
AGENT_HEADER = "x-commonplace-agent"
# How the product of an agent begins in a User-Agent; other programs act for the holder of their key.
_AGENT_PRODUCT = re.compile(
    r"(claude|codex|cursor|gemini|copilot|windsurf|cline|opencode|kiro|zed)[\w.-]*", re.IGNORECASE
)
# How a memory writes that is open for an import: its rules are proposals, or accepted.
_IMPORTING = ("imported", "agreed")
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


def is_person_named(memory: LocalMemory, author: str, person: str) -> bool:
    """Whether an author's name means a person. The holder of a server's first key was called after it before."""
    return author == person or (author == FIRST_KEY_NAME and person == machine_person(memory.settings))


def with_writer(memory: LocalMemory, writer: Author) -> LocalMemory:
    """The same memory for somebody else who writes."""
    same = memory.writer == writer and memory.writer.may_quote == writer.may_quote
    return memory if same else replace(memory, writer=writer)


def for_agent(memory: LocalMemory, agent: str) -> LocalMemory:
    """The same memory for an agent that works for whoever had it."""
    return with_writer(memory, agent_writer(memory.writer, agent))


def for_import(memory: LocalMemory, *, accept: bool = False) -> LocalMemory:
    """The same memory for what somebody imports: they need not have read it, unless they `accept` it as their own."""
    if memory.writer.origin in _IMPORTING:
        return memory
    if accept and memory.writer.origin != "person":
        raise Forbidden(
            f"Only a person can accept rules, and {memory.writer.name or 'this caller'} is an agent.",
            "Import without --accept, and let a person review them: `commonplace review`.",
        )
    by_agent = memory.writer.origin == "agent"
    return with_writer(memory, replace(memory.writer, origin="agreed" if accept else "imported", by_agent=by_agent))


def for_capture(memory: LocalMemory, host: str = "") -> LocalMemory:
    """The same memory for what hooks capture, in the sessions that a host's agent has with a person."""
    writer = memory.writer
    return with_writer(memory, agent_writer(writer, host, "captured") if host else replace(writer, origin="captured"))


def sign(memory: LocalMemory, draft: Draft, old: Item | None = None) -> Draft:
    """A draft with its author, whatever it says of one itself.

    Who only changes the tags, metadata or importance of an item has not said what it says. What a person writes again
    they have agreed with; what anybody else writes of a proposal is one, and so is a rule that was imported.
    """
    writer = memory.writer
    if old is not None and _says(draft) == _says(old):
        return replace(draft, author=old.author, origin=old.origin, review=old.review)
    proposed = (draft if old is None else old).review == PROPOSED and (old is None or writer.origin != "person")
    if (writer.origin == "agent" or writer.by_agent) and draft.kind == "memory":
        proposed |= memory.settings.agent_memories == "proposed"
    if writer.origin == "imported" and draft.kind == "memory":
        proposed |= draft.type in BINDING_TYPES
    return replace(draft, author=writer.name, origin=writer.origin, review=PROPOSED if proposed else None)


def sign_agreed(memory: LocalMemory, draft: Draft, old: Item) -> Draft:
    """A draft in which a person accepts what an agent would change: they agreed with words that are new in it."""
    if _says(draft) == _says(old):
        return replace(draft, author=old.author, origin=old.origin, review=old.review)
    return replace(draft, author=memory.writer.name, origin="agreed", review=ACCEPTED)


def sign_record(memory: LocalMemory, arrival: Arrival, here: Record | None) -> Arrival:
    """A record that somebody brings who may not speak for others, with authors that its caller may name.

    A person names themselves and their agents: what others are said to have said is theirs, with the name beside it.
    What an agent brings is an agent's, and of its history only what says what is known here. Words that are here
    already stay whose they are. A version that the record replaces without telling it is added to the history.
    """
    record = arrival.record
    if record.what != "item":
        return arrival
    known = {} if here is None else {_words(one): one for one in (*(line.before for line in here.history), here.fields)}
    fields = _signed_fields(memory, record.fields, known)
    if memory.writer.origin == "person":
        lines = tuple(_signed_line(memory, line, known) for line in record.history)
    else:
        lines = _lines_by_agent(memory, record.history, here, known)
    signed = replace(record, fields=fields, history=lines)
    if here is not None and replaces_unseen(here, signed):
        by = memory.writer
        line = Change(here.fields["rev"], "edit", memory.clock(), before_of(here), by.name, by.origin)
        signed = replace(signed, history=(*lines, line))
    draft = arrival.draft
    if draft is not None:
        author, origin, review = (fields.get(name) for name in SOURCE_FIELDS)
        draft = replace(draft, author=author, origin=origin, review=review)
        if memory.writer.origin != "person" and not _stays_in_place(draft, here):
            # The same that a person said there is another item, and does not give way to it.
            draft = replace(draft, content_hash=separate_hash(draft.content_hash, record.name))
    return Arrival(signed, draft)


def _stays_in_place(draft: Draft, here: Record | None) -> bool:
    """Whether a record says what it says here, in the same project."""
    return (
        here is not None
        and here.fields["content_hash"] == draft.content_hash.hex()
        and here.fields["project"] == draft.project
    )


def _signed_fields(
    memory: LocalMemory, fields: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Any]:
    claimed = {name: fields.get(name) for name in SOURCE_FIELDS}
    said = known.get(_words(fields))
    if memory.writer.origin != "person":
        if said is not None:
            return {**fields, **{name: said.get(name) for name in SOURCE_FIELDS}}
        waits = claimed["review"] == PROPOSED or memory.settings.agent_memories == "proposed"
        review = PROPOSED if waits and fields.get("kind") == "memory" else None
        return {**fields, "author": memory.writer.name, "origin": memory.writer.origin, "review": review}
    if said is not None and all(said.get(name) == claimed[name] for name in ("origin", "review")):
        return {**fields, "author": said.get("author")}
    return {**fields, "author": attributed(memory.writer, claimed["author"])}


def _signed_line(memory: LocalMemory, line: Change, known: Mapping[str, Mapping[str, Any]]) -> Change:
    before: Mapping[str, Any] = line.before
    said = known.get(_words(before))
    author = attributed(memory.writer, before.get("author")) if said is None else said.get("author")
    by = attributed(memory.writer, line.author)
    return replace(line, before={**before, "author": author}, author=by)


def _lines_by_agent(
    memory: LocalMemory, lines: Sequence[Change], here: Record | None, known: Mapping[str, Mapping[str, Any]]
) -> tuple[Change, ...]:
    """Lines of a history that an agent brings: those that are here, and the agent's changes of what was said here.

    What else it tells of the past nobody here can vouch for.
    """
    told = {} if here is None else {line_id(line): line for line in here.history}
    kept: list[Change] = []
    for line in lines:
        said = known.get(_words(line.before))
        if line_id(line) in told:
            kept.append(told[line_id(line)])
        elif said is not None:
            before = {**line.before, **{name: said.get(name) for name in SOURCE_FIELDS}}
            kept.append(replace(line, before=before, author=memory.writer.name, origin=memory.writer.origin))
    return tuple(kept)


def attributed(writer: Author, claimed: str | None) -> str | None:
    """Who is the author of what a caller brings: as claimed if that is the caller, else the caller, who claims it."""
    person = (writer.name or "").split(VIA)[0]
    if claimed is not None and claimed.split(VIA)[0].casefold() == person.casefold():
        return claimed
    quoted = "" if claimed is None else f" (as {clean_author(claimed.replace(VIA, ' '))})"
    return f"{person}{VIA}sync{quoted}"[: 2 * MAX_AUTHOR]


def _words(fields: Mapping[str, Any]) -> str:
    """What an item says, by which it is known again."""
    details = {name: value for name, value in (fields.get("details") or {}).items() if value}
    return json.dumps([fields.get(name) for name in ("type", "title", "body")] + [details], sort_keys=True)


def _says(written: Draft | Item) -> tuple[object, ...]:
    details = {name: value for name, value in written.details.items() if value}
    return written.type, written.title, written.body, details


def _system_user(env: Mapping[str, str]) -> str:
    if named := next((env[variable] for variable in USER_VARIABLES if env.get(variable)), ""):
        return named
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # Some containers run as a user without a name.
        return ""
