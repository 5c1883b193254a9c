"""The reference memory server: a graph of entities with observations and relations, a line of JSON each.

Every observation becomes a fact of its own that names its entity, since facts are searched for and corrected one by
one; every relation becomes a readable fact, linked to both its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from commonplace.capture.import_report import Entry, Skipped, Stream
from commonplace.capture.importers.foreign_database import Row, TableMapping, fit_item, link_to
from commonplace.capture.importers.json_reader import lines_or_records
from commonplace.memory.remember import NewItem
from commonplace.text.untrusted_json import objects_in, text_in

MAPPING = TableMapping("server-memory", {})
_ENTITY, _RELATION = {"type", "name", "entityType", "observations"}, {"type", "from", "to", "relationType"}


def read(stream: Stream, name: str) -> Iterator[Entry]:
    """Every fact of `memory.jsonl`, or of a graph as the server's `read_graph` returns it."""
    for element in lines_or_records(stream, name):
        if isinstance(element, Skipped):
            yield element
        elif not isinstance(element.value, dict):
            yield Skipped(f"line {element.number}", "it is not an object", "item")
        else:
            yield from _line(element.value, f"line {element.number}")


def _line(data: Mapping[str, Any], where: str) -> Iterator[Entry]:
    if "entities" in data or "relations" in data:
        for entity in objects_in(data, "entities"):
            yield from _entity(entity, where)
        for relation in objects_in(data, "relations"):
            yield from _relation(relation, where)
    elif data.get("type") == "entity" or "entityType" in data:
        yield from _entity(data, where)
    elif data.get("type") == "relation" or "relationType" in data:
        yield from _relation(data, where)
    else:
        yield Skipped(where, "it is neither an entity nor a relation", "item")


def _entity(data: Mapping[str, Any], where: str) -> Iterator[Entry]:
    name, kind = text_in(data, "name"), text_in(data, "entityType")
    if not name:
        yield Skipped(where, "an entity without a name", "item")
        return
    observations = data.get("observations")
    observations = observations if isinstance(observations, list) else []
    facts = [fact for fact in observations if isinstance(fact, str) and fact.strip()]
    if len(facts) < len(observations):
        yield Skipped(f"{where}: {name}", "an observation that is not text", "item", len(observations) - len(facts))
    yield from _unknown_fields(data, _ENTITY, where)
    yield _fact(name, kind, f"{name} ({kind})" if kind else name, _uid(name), [])
    for fact in facts:
        yield _fact(
            name, kind, f"{name}: {fact}", MAPPING.uid("observation", name, fact), [link_to(_uid(name), "about")]
        )


def _relation(data: Mapping[str, Any], where: str) -> Iterator[Entry]:
    one, rel, other = (text_in(data, field) for field in ("from", "relationType", "to"))
    if not (one and rel and other):
        yield Skipped(where, "a relation without both ends and a name", "link")
        return
    yield from _unknown_fields(data, _RELATION, where)
    content = f"{one} {rel.replace('_', ' ')} {other}"
    links = [link_to(_uid(one), rel), link_to(_uid(other), rel)]
    uid = MAPPING.uid("relation", one, rel, other)
    meta = {**MAPPING.meta(content, Row()), "relation": rel, "links": links}
    yield fit_item(NewItem(content, type="fact", meta=meta, tags=[one, other], uid=uid))


def _fact(name: str, kind: str, content: str, uid: str, links: list[dict[str, object]]) -> Entry:
    meta = MAPPING.meta(name, Row(), entity_type=kind, links=links)
    return fit_item(NewItem(content, type="fact", meta=meta, tags=[name, kind], uid=uid))


def _unknown_fields(data: Mapping[str, Any], known: set[str], where: str) -> Iterator[Skipped]:
    for field in sorted(set(data) - known):
        yield Skipped(f"{where}: {field}", "an unknown field", "column")


def _uid(entity: str) -> str:
    """The id of an entity, to which its observations and relations are linked."""
    return MAPPING.uid("entity", "entity", entity)
