"""Topics and graph: what everything is about, as a list and as a map of passages and how they connect."""

from __future__ import annotations

import json

from commonplace.memory.book import Book
from commonplace.memory.browse import projects
from commonplace.memory.fetch import fetch
from commonplace.memory.overview import connected, overview
from commonplace.memory.topics import topic as one_topic
from commonplace.memory.topics import topics as all_topics
from commonplace.text.redact import redact
from commonplace.text.summarise import shorten
from commonplace.web.layout import discs, points
from commonplace.web.page import Asked, Sent, Shown

CENTRAL = 40
EXCERPT = 400


def topics(book: Book, asked: Asked) -> Shown:
    """The list, and the place for the map."""
    project = asked.one("project")
    found = all_topics(book, project or None)
    names = [known.name for known in projects(book)]
    largest = max((topic.size for topic in found), default=1)
    return Shown("topics", {"topics": found, "largest": largest, "project": project, "projects": names})


def map_of(book: Book, asked: Asked) -> Sent:
    """The map as numbers: discs, points in them, lines between these."""
    seen = overview(book, asked.one("project") or None)
    placed = discs([len(members) for _topic, members in seen.groups])
    nodes: list[list[float]] = []
    number: dict[int, int] = {}
    for group, ((_topic, members), disc) in enumerate(zip(seen.groups, placed, strict=True)):
        for passage, (x, y) in zip(members, points(disc, len(members)), strict=True):
            number[passage] = len(nodes)
            nodes.append([passage, group, round(x, 1), round(y, 1)])
    told = {
        "topics": [
            [topic.id, redact(topic.name), topic.size, round(disc.x, 1), round(disc.y, 1), round(disc.radius, 1)]
            for (topic, _members), disc in zip(seen.groups, placed, strict=True)
        ],
        "nodes": nodes,
        "edges": [[number[edge.src], number[edge.dst], round(edge.weight, 2)] for edge in seen.edges],
        "left_out": seen.left_out,
    }
    return Sent(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode(), "application/json")


def topic(book: Book, asked: Asked) -> Shown:
    """One topic and what is most central to it."""
    found, central = one_topic(book, asked.path["id"], CENTRAL)
    items = {item.id: item for item in fetch(book, [one.passage.item_id for one in central]).items}
    lines = [
        (items[one.passage.item_id], redact(shorten(one.passage.text, EXCERPT)), one.nearness)
        for one in central
        if one.passage.item_id in items
    ]
    return Shown("topic", {"topic": found, "lines": lines})


def passage(book: Book, asked: Asked) -> Shown:
    """A point of the map: what it says, and what it belongs together with."""
    number = asked.path["id"]
    found = connected(book, int(number) if number.isdecimal() and len(number) < 19 else -1)
    links = [(rel, item, redact(shorten(text, EXCERPT // 2))) for rel, item, text in found.links]
    return Shown("passage", {"found": found, "text": redact(shorten(found.text, 4 * EXCERPT)), "links": links})
