"""The reference memory server: a graph of entities with observations and relations, a line of JSON each.

Every observation becomes a fact of its own that names its entity, since that is what is asked for, found and
corrected; every relation becomes a fact that can be read, linked to what is known about both its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from commonplace.capture.import_report import Entry, Skipped, Stream
from commonplace.capture.importers.json_reader import lines_or_records
from commonplace.capture.importers.row_mapping import TableMapping, fit_item, link_to
from commonplace.memory.remember import NewItem
from commonplace.text.json_fields import objects_in, text_in

TABLES = TableMapping("server-memory", {})
_ENTITY, _RELATION = {"type", "name", "entityType", "observations"}, {"type", "from", "to", "relationType"}


def read(stream: Stream, name: str) -> Iterator[Entry]:
    """Every fact of `memory.jsonl`, or of a graph as the server's `read_graph` answers it."""
    for element in lines_or_records(stream, name):
        if isinstance(element, Skipped):
            yield element
        elif not isinstance(element.value, dict):
            yield Skipped(f"line {element.number}", "it is no object", "item")
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
    told = data.get("observations")
    facts = [fact for fact in told if isinstance(fact, str) and fact.strip()] if isinstance(told, list) else []
    if isinstance(told, list) and len(facts) < len(told):
        yield Skipped(f"{where}: {name}", "an observation that is no text", "item", len(told) - len(facts))
    yield from _unknown(data, _ENTITY, where)
    yield _fact(name, kind, f"{name} ({kind})" if kind else name, _uid(name), [])
    for fact in facts:
        yield _fact(
            name, kind, f"{name}: {fact}", TABLES.uid("observation", name, fact), [link_to(_uid(name), "about")]
        )


def _relation(data: Mapping[str, Any], where: str) -> Iterator[Entry]:
    one, rel, other = (text_in(data, field) for field in ("from", "relationType", "to"))
    if not (one and rel and other):
        yield Skipped(where, "a relation without both ends and a name", "link")
        return
    yield from _unknown(data, _RELATION, where)
    content = f"{one} {rel.replace('_', ' ')} {other}"
    links = [link_to(_uid(one), rel), link_to(_uid(other), rel)]
    uid = TABLES.uid("relation", one, rel, other)
    meta = {**TABLES.meta(content, {}), "relation": rel, "links": links}
    yield fit_item(NewItem(content, type="fact", meta=meta, tags=[one, other], uid=uid))


def _fact(name: str, kind: str, content: str, uid: str, links: list[dict[str, object]]) -> Entry:
    meta = TABLES.meta(name, {}, entity_type=kind, links=links)
    return fit_item(NewItem(content, type="fact", meta=meta, tags=[name, kind], uid=uid))


def _unknown(data: Mapping[str, Any], known: set[str], where: str) -> Iterator[Skipped]:
    for field in sorted(set(data) - known):
        yield Skipped(f"{where}: {field}", "a field that is not known here", "column")


def _uid(entity: str) -> str:
    """The identity of what an entity is: what else is known about it is linked to that."""
    return TABLES.uid("entity", "entity", entity)
