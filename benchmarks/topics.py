"""Choose how topics are found by what people would see: `python -m benchmarks.topics FOLDER...`

A folder holds docs.jsonl (id, text, and more that is not needed); notes about planted subjects come first. Every set
is one project, stored and embedded through the production path. For each method: how many topics, how many groups no
word names, the share of passages in no topic, the largest topic, the median, in how many of its passages a topic's
name stands, and how many passages keep their topic and its name when 30 % more arrive. For planted notes also how
many are in a topic that is mostly about their subject. HDBSCAN is there if scikit-learn is.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import planted_topics
from commonplace import config
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.topics import list_topics, update_topics
from commonplace.ranking import clustering as ranking
from commonplace.ranking.clustering import NO_TOPIC, same_topics
from commonplace.text.topic_names import name_topics

Labels = NDArray[np.int64]
Method = Callable[[NDArray[np.int8], Labels], Labels]
GROWTH = 1.3
SHOWN = 14


@dataclass
class World:
    """A set of texts, their vectors, and what each is about if that is known."""

    name: str
    memory: LocalMemory
    texts: list[str]
    rows: NDArray[np.int8]
    subjects: list[str] | None = None


def shipped(**settings: float) -> Method:
    """The method of the product, with other settings where given."""

    def group(rows: NDArray[np.int8], before: Labels) -> Labels:
        usual = {name: getattr(ranking, name) for name in settings}
        for name, value in settings.items():
            setattr(ranking, name, value)
        try:
            return ranking.assign(rows, ranking.cluster(rows, before))[0]
        finally:
            for name, value in usual.items():
                setattr(ranking, name, value)

    return group


def k_means(rows: NDArray[np.int8], _before: Labels) -> Labels:
    """As many groups as the root of half the points, with the same border."""
    shift = ranking._shift(rows)
    points = ranking._directions(rows, shift)
    centres = ranking._settle(points, ranking._spread(points, int((len(rows) / 2) ** 0.5)), 20)
    return ranking.assign(rows, ranking.Centres(shift, centres))[0]


def hdbscan(dimensions: int | None) -> Method:
    def group(rows: NDArray[np.int8], _before: Labels) -> Labels:
        from sklearn.cluster import HDBSCAN  # type: ignore[import-not-found, unused-ignore]
        from sklearn.decomposition import PCA  # type: ignore[import-not-found, unused-ignore]

        points = ranking._directions(rows, ranking._shift(rows))
        if dimensions is not None:
            points = PCA(dimensions, random_state=0).fit_transform(points)
        return np.asarray(HDBSCAN(min_cluster_size=4, copy=True).fit_predict(points), np.int64)

    return group


METHODS: Mapping[str, Method] = {
    "small groups, joined (shipped)": shipped(),
    "joined at 0.1": shipped(JOIN_COSINE=0.1),
    "joined at 0.3": shipped(JOIN_COSINE=0.3),
    "border 0.4": shipped(MIN_COSINE=0.4),
    "without memory": shipped(STABILITY_BONUS=0.0),
    "k-means, root of n/2": k_means,
    "HDBSCAN": hdbscan(None),
    "HDBSCAN in 20 dimensions": hdbscan(20),
}


def load(name: str, texts: Sequence[str], work: Path, subjects: list[str] | None = None) -> World:
    """Store and embed texts as one project, in their order."""
    memory = open_memory(config.load({"data_dir": str(work / name)}, env={}))
    notes = [NewItem(content=text, kind="message", session="s", created_ms=n) for n, text in enumerate(texts)]
    stored = remember_all(memory, notes)
    memory.embeddings.catch_up()
    points = memory.maintenance.topic_points(0, 0, 1_000_000)
    order = np.argsort(points.passages)
    found = memory.store.passage_texts(points.passages[order].tolist())
    about = dict(zip((one.id for one in stored), subjects or [""] * len(stored), strict=True))
    passages = [found[int(passage)] for passage in points.passages[order]]
    known = [about[passage.item_id] for passage in passages] if subjects else None
    return World(name, memory, [passage.text for passage in passages], points.rows[order], known)


def named(world: World, labels: Labels, stored_dialogue: Sequence[str] = ()) -> tuple[Labels, list[str]]:
    """Labels without the groups that have no name, and the names of all."""
    many = int(labels.max(initial=NO_TOPIC)) + 1
    groups = [[world.texts[i] for i in np.flatnonzero(labels == n)] for n in range(many)]
    names = name_topics(groups, [world.texts[i] for i in np.flatnonzero(labels == NO_TOPIC)], stored_dialogue)
    return np.where(np.isin(labels, [n for n in range(many) if names[n]]), labels, NO_TOPIC), names


def centres(rows: NDArray[np.int8], labels: Labels) -> NDArray[np.float32]:
    points = ranking._directions(rows, ranking._shift(rows))
    return ranking._unit(ranking._sums(points, labels, int(labels.max(initial=NO_TOPIC)) + 1))


def stored_dialogue(world: World, method: Method) -> float:
    """The share of passages in a topic that keep it, and its name, when more arrive."""
    some = int(len(world.texts) / GROWTH)
    first = World(world.name, world.memory, world.texts[:some], world.rows[:some])
    old, names = named(first, method(first.rows, np.full(some, NO_TOPIC)))
    before = np.concatenate([old, np.full(len(world.texts) - some, NO_TOPIC)])
    labels = method(world.rows, before)
    same = same_topics(before, centres(first.rows, old), labels, centres(world.rows, labels))
    old_names = [names[same[n]] if n in same else "" for n in range(int(labels.max(initial=NO_TOPIC)) + 1)]
    new, new_names = named(world, labels, old_names)
    stay = sum(
        o != NO_TOPIC and n != NO_TOPIC and names[o] == new_names[n] for o, n in zip(old, new[:some], strict=True)
    )
    return float(stay / max(1, int((old != NO_TOPIC).sum())))


def stands(world: World, labels: Labels, names: Sequence[str]) -> float:
    """In which share of the passages of a topic a part of its name stands."""
    hits = [
        any(part.lower().rstrip("s") in world.texts[i].lower() for part in names[n].split(" & "))
        for i, n in enumerate(labels)
        if n != NO_TOPIC
    ]
    return float(np.mean(hits)) if hits else 0.0


def purity(world: World, labels: Labels) -> float:
    assert world.subjects is not None
    groups: dict[int, Counter[str]] = {}
    for label, subject in zip(labels.tolist(), world.subjects, strict=True):
        if label != NO_TOPIC:
            groups.setdefault(label, Counter())[subject] += 1
    return sum(group.most_common(1)[0][1] for group in groups.values()) / len(world.subjects)


def line(world: World, name: str, method: Method) -> str:
    began = time.perf_counter()
    found = method(world.rows, np.full(len(world.texts), NO_TOPIC))
    seconds = time.perf_counter() - began
    labels, names = named(world, found)
    sizes = sorted(Counter(labels[labels != NO_TOPIC].tolist()).values(), reverse=True) or [0]
    cells = [
        name,
        str(sum(map(bool, names))),
        str(names.count("")),
        f"{(labels == NO_TOPIC).mean():.0%}",
        f"{sizes[0] / len(labels):.0%}",
        str(int(np.median(sizes))),
        f"{stands(world, labels, names):.0%}",
        f"{stored_dialogue(world, method):.0%}",
        "" if world.subjects is None else f"{purity(world, labels):.0%}",
        f"{seconds:.1f} s",
    ]
    return "| " + " | ".join(cells) + " |"


def report(world: World) -> None:
    print(f"\n## {world.name}, {len(world.texts)} passages\n")
    print("| method | topics | unnamed | in none | largest | median | name stands in | kept | right | time |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, method in METHODS.items():
        try:
            print(line(world, name, method), flush=True)
        except ImportError:
            print(f"| {name} | needs scikit-learn |")
    while update_topics(world.memory):
        pass
    largest = [f"{topic.name} ({topic.size})" for topic in list_topics(world.memory)[:SHOWN]]
    print("\nLargest: " + ", ".join(largest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    options = parser.parse_args()
    messages = list(dict.fromkeys(planted_topics.notes(2000)))
    with tempfile.TemporaryDirectory() as work:
        sets: list[tuple[str, list[str], list[str] | None]] = [
            ("planted", [text for _subject, text in messages], [subject for subject, _text in messages])
        ]
        for folder in options.folders:
            rows = [json.loads(row) for row in (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()]
            sets.append((folder.name, [row["text"] for row in rows if row["text"].strip()], None))
        for name, texts, subjects in sets:
            world = load(name, texts, Path(work), subjects)
            report(world)
            world.memory.close()


if __name__ == "__main__":
    main()
