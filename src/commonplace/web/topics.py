"""Topics: the list, one topic, and a map of passages and how they connect.

On the map topics are discs that do not overlap, the largest in the middle; in each disc the most central passages are
nearest to its centre. The same topics always give the same map.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt

from commonplace.memory.items import get_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.topics import build_topic_map, passage_links
from commonplace.memory.topics import find_topic as one_topic
from commonplace.memory.topics import list_topics as all_topics
from commonplace.text.redact import redact_data
from commonplace.text.sentences import shorten
from commonplace.web.page import FileReply, PageRequest, Rendered, project_names

# Between two points of a disc, and between two discs.
STEP, GAP = 6.0, 26.0
GOLDEN = pi * (3 - sqrt(5))


@dataclass(frozen=True, slots=True)
class Disc:
    """A topic on the map."""

    x: float
    y: float
    radius: float


def layout_discs(sizes: Sequence[int]) -> list[Disc]:
    """A disc for each size, in order, each as near to the middle as the previous ones allow."""
    placed: list[Disc] = []
    for size in sizes:
        radius = STEP * (sqrt(size) + 1)
        placed.append(_place_near(placed, radius))
    return placed


def layout_points(disc: Disc, count: int) -> list[tuple[float, float]]:
    """Points in a disc, from its centre outwards, spread evenly like the seeds of a sunflower."""
    found = []
    for number in range(count):
        away, turn = STEP * sqrt(number), number * GOLDEN
        found.append((disc.x + away * cos(turn), disc.y + away * sin(turn)))
    return found


def _place_near(placed: Sequence[Disc], radius: float) -> Disc:
    """The first free place on a spiral out of the middle."""
    turn = 0.0
    while True:
        away = 2.0 * turn
        disc = Disc(away * cos(turn), away * sin(turn), radius)
        if all(_apart(disc, other) for other in placed):
            return disc
        turn += 0.15 if away < 100 else 15 / away


def _apart(one: Disc, other: Disc) -> bool:
    return (one.x - other.x) ** 2 + (one.y - other.y) ** 2 >= (one.radius + other.radius + GAP) ** 2


CENTRAL = 40
EXCERPT = 400


def list_topics(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The list of topics, and the place for the map."""
    project = request.one("project")
    found = all_topics(memory, project or None)
    largest = max((topic.size for topic in found), default=1)
    return Rendered(
        "topics", {"topics": found, "largest": largest, "project": project, "projects": project_names(memory)}
    )


def topic_map(memory: LocalMemory, request: PageRequest) -> FileReply:
    """The map as JSON: discs, the points in them, and the lines between those."""
    seen = build_topic_map(memory, request.one("project") or None)
    placed = layout_discs([len(members) for _topic, members in seen.groups])
    nodes: list[list[float]] = []
    number: dict[int, int] = {}
    for group, ((_topic, members), disc) in enumerate(zip(seen.groups, placed, strict=True)):
        for passage, (x, y) in zip(members, layout_points(disc, len(members)), strict=True):
            number[passage] = len(nodes)
            nodes.append([passage, group, round(x, 1), round(y, 1)])
    drawn = redact_data(
        {
            "topics": [
                [topic.id, topic.name, topic.size, round(disc.x, 1), round(disc.y, 1), round(disc.radius, 1)]
                for (topic, _members), disc in zip(seen.groups, placed, strict=True)
            ],
            "nodes": nodes,
            "edges": [[number[edge.src], number[edge.dst], round(edge.weight, 2)] for edge in seen.edges],
            "left_out": seen.left_out,
        }
    )
    return FileReply(json.dumps(drawn, ensure_ascii=False, separators=(",", ":")).encode(), "application/json")


def show_topic(memory: LocalMemory, request: PageRequest) -> Rendered:
    """One topic and its most central passages."""
    found, central = one_topic(memory, request.path["id"], CENTRAL)
    items = {item.id: item for item in get_items(memory, [one.passage.item_id for one in central]).items}
    lines = [
        (items[one.passage.item_id], shorten(one.passage.text, EXCERPT), one.nearness)
        for one in central
        if one.passage.item_id in items
    ]
    return Rendered("topic", {"topic": found, "lines": lines})


def show_passage(memory: LocalMemory, request: PageRequest) -> Rendered:
    """A passage on the map: its text, and what it is linked with."""
    number = request.path["id"]
    found = passage_links(memory, int(number) if number.isdecimal() and len(number) < 19 else -1)
    links = [(rel, item, shorten(text, EXCERPT // 2)) for rel, item, text in found.links]
    return Rendered("passage", {"found": found, "text": shorten(found.text, 4 * EXCERPT), "links": links})
