"""What the memory is about: its topics and their map, the people and things that it names, and the profile.

On the map a project is a circle, and its topics are circles in it, the larger the more they hold. The same topics
always give the same map.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot, sqrt

from markupsafe import Markup

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.about import about
from commonplace.memory.entities import list_entities
from commonplace.memory.items import get_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.profile import PROFILE_TOKENS, SHOW, build_profile
from commonplace.memory.profile import show_in_profile as set_shown
from commonplace.memory.profile_sentences import PROFILE_GROUPS
from commonplace.memory.topics import CentralPassage, Topic, TopicMap, build_topic_map, is_tool_use, passage_links
from commonplace.memory.topics import find_topic as one_topic
from commonplace.memory.topics import list_topics as all_topics
from commonplace.model import Item
from commonplace.text.entity_names import ENTITY_KINDS, MAX_NAME
from commonplace.text.redact import redact
from commonplace.text.sentences import shorten
from commonplace.text.validity import parse_as_of
from commonplace.web.page_handler import PageRequest, Redirect, Rendered, project_names, with_query
from commonplace.web.rendering import short_project
from commonplace.web.search import highlighted_item

# The radius of a topic: at least so much, and so much for the root of its passages. The room between circles, and
# around those in another.
LEAST, UNIT, GAP, PAD = 10.0, 5.5, 2.5, 5.0
ENCLOSING_STEPS = 120
# The map is about so much wider than it is high.
FLATNESS = 1.6
# The circle of a topic that is looked at closely, in units of its own.
INSIDE = 100.0
# A label's share of the circle's width, and the longest word of one.
LABEL_WIDTH, LONGEST_WORD = 1.78, 16
# How wide a letter is compared with its height, in the widest fonts that browsers use.
LETTER, CAPITAL = 0.7, 0.84
NARROW = {**dict.fromkeys("ijl.,:;'|", 0.42), **dict.fromkeys("fIrt-() ", 0.53)}
WIDE = {**dict.fromkeys("mwMW%@", 1.12), **dict.fromkeys("GOQ", 0.9)}
# How much room there is for each of one, two, three and four lines.
ROOM = (1.0, 0.95, 0.86, 0.78)
# Topics that have so many links are joined by a line; so many lines are drawn.
FEWEST_LINKS, MOST_LINES = 2, 60
# Passages of a topic that are listed, and those that are drawn.
CENTRAL, DRAWN = 40, 10
EXCERPT, TITLE = 400, 38


@dataclass(frozen=True, slots=True)
class Circle:
    """Something on the map: its label is in lines that fit into it, of letters that are `letters` high."""

    x: float
    y: float
    radius: float
    label: tuple[str, ...] = ()
    letters: float = 0.0


@dataclass(frozen=True, slots=True)
class TopicCircle:
    """A topic on the map."""

    topic: Topic
    circle: Circle


@dataclass(frozen=True, slots=True)
class ProjectCircle:
    """A project with its topics; `hue` is its colour."""

    project: str | None
    circle: Circle
    topics: tuple[TopicCircle, ...]
    hue: int


@dataclass(frozen=True, slots=True)
class DrawnMap:
    """The whole map. `lines` join topics that have passages in common; `box` is the part of the plane it needs,
    and `letters` the height of the names of projects."""

    projects: tuple[ProjectCircle, ...]
    lines: tuple[tuple[Circle, Circle, float], ...]
    box: tuple[float, float, float, float]
    letters: float
    left_out: int


def pack_circles(radii: Sequence[float], gap: float = GAP, flatness: float = 1.0) -> list[Circle]:
    """A circle for each radius, in order, each as near to the middle as the previous ones allow.

    With a larger `flatness` they lie more beside each other than above each other.
    """
    placed: list[Circle] = []
    for radius in radii:
        if len(placed) < 2:
            away = placed[0].radius + radius + gap if placed else 0.0
            placed.append(Circle(away, 0.0, radius))
            continue
        weight = sum(one.radius**2 for one in placed)
        x, y = (sum(getattr(one, axis) * one.radius**2 for one in placed) / weight for axis in ("x", "y"))
        nearest = sorted(
            (hypot((one.x - x) / flatness, one.y - y), n, one) for n, one in enumerate(_touching(placed, radius, gap))
        )
        free = (one for _away, _n, one in nearest)
        placed.append(next(one for one in free if _is_free(one, placed, gap)))
    return placed


def _touching(placed: Sequence[Circle], radius: float, gap: float) -> Iterator[Circle]:
    """Places at which a circle touches two others."""
    for one, other in combinations(placed, 2):
        a, b = one.radius + radius + gap, other.radius + radius + gap
        apart = hypot(other.x - one.x, other.y - one.y)
        if apart >= a + b or apart == 0.0:
            continue
        along = (a * a - b * b + apart * apart) / (2 * apart)
        aside = sqrt(max(0.0, a * a - along * along))
        dx, dy = (other.x - one.x) / apart, (other.y - one.y) / apart
        for side in (aside, -aside):
            yield Circle(one.x + along * dx - side * dy, one.y + along * dy + side * dx, radius)


def _is_free(circle: Circle, placed: Sequence[Circle], gap: float) -> bool:
    # A hair less than the gap: places are computed.
    return all(hypot(circle.x - one.x, circle.y - one.y) > circle.radius + one.radius + gap - 1e-6 for one in placed)


def enclose(circles: Sequence[Circle], pad: float = PAD) -> Circle:
    """A circle around all of them."""
    if not circles:
        return Circle(0.0, 0.0, pad)
    x, y = sum(one.x for one in circles) / len(circles), sum(one.y for one in circles) / len(circles)
    # Towards whatever sticks out most, in ever smaller steps.
    for step in range(1, ENCLOSING_STEPS):
        far = max(circles, key=lambda one: hypot(one.x - x, one.y - y) + one.radius)
        x, y = x + (far.x - x) / (step + 3), y + (far.y - y) / (step + 3)
    return Circle(x, y, max(hypot(one.x - x, one.y - y) + one.radius for one in circles) + pad)


def label_lines(text: str, radius: float, most: float = 1.0, most_lines: int = 3) -> tuple[tuple[str, ...], float]:
    """A label broken into lines that fit into a circle, and the height of its letters, at most `most` of the radius."""
    words = [shorten(word, LONGEST_WORD) for word in text.split()] or [""]
    best: tuple[tuple[str, ...], float] = ((text,), 0.0)
    for count in range(1, min(most_lines, len(words)) + 1):
        lines = _break(words, count, most_lines)
        longest = max(map(_width, lines))
        # Lines further from the middle have less room.
        width = LABEL_WIDTH * radius * ROOM[len(lines) - 1]
        height = min(width / max(longest, LETTER), 0.95 * radius / len(lines), most * radius)
        if height > best[1]:
            best = (tuple(lines), height)
    return best[0], round(best[1], 2)


def _width(line: str) -> float:
    """How wide a line is in letters of the height 1."""
    return sum(NARROW.get(one) or WIDE.get(one) or (CAPITAL if one.isupper() else LETTER) for one in line)


def _break(words: Sequence[str], count: int, most_lines: int) -> list[str]:
    """Words in about so many lines of about the same length."""
    room = max((len(" ".join(words)) / count), max(map(len, words), default=1))
    lines: list[str] = []
    for word in words:
        if lines and (len(lines[-1]) + 1 + len(word) <= room * 1.12 or len(lines) == most_lines):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def draw_map(seen: TopicMap, hues: Sequence[str]) -> DrawnMap:
    """Where everything stands on the map."""
    by_project: dict[str | None, list[Topic]] = {}
    for topic, _members in seen.groups:
        by_project.setdefault(topic.project, []).append(topic)
    inner = {
        name: pack_circles([LEAST + UNIT * sqrt(topic.size) for topic in topics]) for name, topics in by_project.items()
    }
    outer = {name: enclose(circles) for name, circles in inner.items()}
    order = sorted(by_project, key=lambda name: -outer[name].radius)
    placed = pack_circles([outer[name].radius for name in order], 6 * GAP, FLATNESS)
    projects = tuple(
        _project(name, by_project[name], inner[name], outer[name], at, hues.index(name) % 7 if name in hues else 7)
        for name, at in zip(order, placed, strict=True)
    )
    box = _box([one.circle for one in projects])
    return DrawnMap(projects, _lines(seen, projects), box, round(box[2] / 45, 1), seen.left_out)


def _project(
    name: str | None, topics: Sequence[Topic], inner: Sequence[Circle], outer: Circle, at: Circle, hue: int
) -> ProjectCircle:
    """A project and its topics, moved to their place on the map."""
    moved = tuple(
        TopicCircle(topic, _labelled(topic.name, at.x + one.x - outer.x, at.y + one.y - outer.y, one.radius, 0.42))
        for topic, one in zip(topics, inner, strict=True)
    )
    return ProjectCircle(name, Circle(round(at.x, 1), round(at.y, 1), round(at.radius, 1)), moved, hue)


def _labelled(name: str, x: float, y: float, radius: float, most: float, most_lines: int = 3) -> Circle:
    lines, height = label_lines(redact(name), radius, most, most_lines)
    return Circle(round(x, 1), round(y, 1), round(radius, 1), lines, height)


def _lines(seen: TopicMap, projects: Sequence[ProjectCircle]) -> tuple[tuple[Circle, Circle, float], ...]:
    """Lines between topics whose passages mention the same, or follow one another."""
    circles = {one.topic.id: one.circle for project in projects for one in project.topics}
    topic_of = {passage: topic.id for topic, members in seen.groups for passage in members}
    pairs = Counter(
        (min(pair), max(pair)) for edge in seen.edges if len(pair := {topic_of[edge.src], topic_of[edge.dst]}) == 2
    )
    most = pairs.most_common(MOST_LINES)
    return tuple(
        (circles[one], circles[other], round(min(3.0, 0.4 + 0.2 * number), 1))
        for (one, other), number in most
        if number >= FEWEST_LINKS
    )


def _box(circles: Sequence[Circle]) -> tuple[float, float, float, float]:
    if not circles:
        return (0, 0, 1, 1)
    left, top = min(one.x - one.radius for one in circles), min(one.y - one.radius for one in circles)
    right, bottom = max(one.x + one.radius for one in circles), max(one.y + one.radius for one in circles)
    # A project's name stands above it.
    room = (right - left) / 25
    return (round(left - 2, 1), round(top - room, 1), round(right - left + 4, 1), round(bottom - top + room + 2, 1))


def list_topics(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The map and the list of topics."""
    project = request.one("project")
    found = all_topics(memory, project or None)
    names = project_names(memory)
    by_project: dict[str | None, list[Topic]] = {}
    for topic in found:
        by_project.setdefault(topic.project, []).append(topic)
    return Rendered(
        "topics",
        {
            "topics": found,
            "by_project": by_project,
            "drawn": draw_map(build_topic_map(memory, project or None), sorted(names)) if found else None,
            "largest": max((topic.size for topic in found), default=1),
            "project": project,
            "projects": names,
            "short": short_project,
        },
    )


def show_topic(memory: LocalMemory, request: PageRequest) -> Rendered:
    """One topic and its most central passages, drawn and listed."""
    found, central = one_topic(memory, request.path["id"], CENTRAL)
    items = {item.id: item for item in get_items(memory, [one.passage.item_id for one in central]).items}
    # What was said comes first: a name of a command says little about what a topic is about.
    shown = sorted(
        (one for one in central if one.passage.item_id in items),
        key=lambda one: (is_tool_use(items[one.passage.item_id]), -one.nearness),
    )
    # Of an item with several passages the nearest stands for all.
    distinct = {one.passage.item_id: items[one.passage.item_id] for one in shown}
    lines = [(item, *_as_written(item, EXCERPT)) for item in distinct.values()]
    return Rendered("topic", {"topic": found, "lines": lines, "circles": draw_passages(shown, items)})


def draw_passages(central: Sequence[CentralPassage], items: dict[int, Item]) -> list[tuple[int, Item, Circle]]:
    """The most central passages of a topic as circles inside it; what is said twice is drawn once."""
    first = {items[one.passage.item_id].title: one for one in reversed(central)}
    chosen = [one for one in central if first[items[one.passage.item_id].title] is one][:DRAWN]
    placed = pack_circles([10.0 - 0.25 * n for n in range(len(chosen))], 0.7)
    around = enclose(placed, 1.0)
    scale = INSIDE / around.radius
    found = []
    for one, circle in zip(chosen, placed, strict=True):
        item, radius = items[one.passage.item_id], circle.radius * scale
        title = shorten(item.title or one.passage.text, TITLE)
        x, y = (circle.x - around.x) * scale, (circle.y - around.y) * scale
        found.append((one.passage.id, item, _labelled(title, x, y, radius, 0.28, 4)))
    return found


def show_passage(memory: LocalMemory, request: PageRequest) -> Rendered:
    """A passage on the map: its text, and what it is linked with."""
    number = request.path["id"]
    found = passage_links(memory, int(number) if number.isdecimal() and len(number) < 19 else -1)
    links = [(rel, item, *_as_written(item, EXCERPT // 2)) for rel, item, _text in found.links]
    title, text = _as_written(found.item, 4 * EXCERPT)
    return Rendered("passage", {"found": found, "title": title, "text": text, "links": links})


def _as_written(item: Item, limit: int) -> tuple[Markup, Markup]:
    """Title and text of an item for people: what is indexed of it also holds its fields and tags."""
    title, text = highlighted_item(item, frozenset(), limit)
    return title or Markup(item.short_id), text


LISTED = 200


def entities_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What memories name, by kind, what is named most first."""
    kind, project, named = request.one("kind"), request.one("project"), request.one("named")[:MAX_NAME]
    wanted = kind if kind in ENTITY_KINDS else ""
    try:
        found = list_entities(memory, wanted, project or None, named, LISTED)
    except (InvalidInput, NotFound):
        # A project that was renamed since the page was bookmarked.
        found, project = list_entities(memory, wanted, None, named, LISTED), ""
    groups = {one: [entity for entity in found if entity.kind == one] for one in ENTITY_KINDS}
    values = {
        "groups": {one: entities for one, entities in groups.items() if entities},
        "kind": wanted,
        "kinds": ENTITY_KINDS,
        "project": project,
        "projects": project_names(memory),
        "named": named,
        "limited": len(found) == LISTED,
        "limit": LISTED,
    }
    return Rendered("entities", values)


def entity_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What is known of somebody or something, now or at a moment."""
    name, as_of = request.path["name"], request.one("as_of")
    values = {"name": name[:MAX_NAME], "as_of": as_of, "wrong": None, "known": None}
    try:
        at_ms = parse_as_of(as_of, memory.clock()) if as_of else None
        known = about(memory, name, at_ms=at_ms)
    except (InvalidInput, NotFound) as error:
        return Rendered("entity", values | {"wrong": error}, error.http_status)
    return Rendered("entity", values | {"known": known})


def profile_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The lines by group, and what was hidden."""
    project = request.one("project")
    try:
        profile = build_profile(memory, project or None)
    except (InvalidInput, NotFound):
        profile, project = build_profile(memory), ""
    groups = {group: [line for line in profile.lines if line.group == group] for group in PROFILE_GROUPS}
    values = {
        "profile": profile,
        "groups": {group: lines for group, lines in groups.items() if lines},
        "most": PROFILE_TOKENS,
        "project": project,
        "projects": project_names(memory),
        "may_change": request.may("write"),
    }
    return Rendered("profile", values)


def show_in_profile(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Pin a memory, hide it, or leave that to the rules."""
    show = next((one for one in SHOW if one == request.given("show")), None)
    if show is None:
        raise InvalidInput("The request does not say what to do with it.", "Pin it, hide it, or leave it to the rules.")
    item = set_shown(memory, request.path["id"], show)
    path = with_query("/profile", {"project": request.given("at_project")})
    return Redirect(path, f"profile_{show}", item.short_id)
