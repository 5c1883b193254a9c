"""Grouping: how the topics of a project are built from all of its passages, and extended by those that came since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.memory.book import Book
from commonplace.ranking.topics import NONE, Centres, assign, cluster, same_topics
from commonplace.store.topics import Centre, Known, Member, Points
from commonplace.text.topic_names import name_topics

if TYPE_CHECKING:
    from numpy import float32, int64
    from numpy.typing import NDArray

PAGE = 5000
# Passages that names are made of: of all topics together, at least and at most of each, and of what is in none.
READ, FEWEST_EACH, MOST_EACH, READ_OF_REST = 6000, 20, 80, 500


def extend(book: Book, place: int) -> None:
    """Look at the next passages that came since the topics were built: each joins one that is near, or none."""
    known = book.store.known_topics(place)
    if known is None:
        return
    points = book.store.points(place, known.seen, PAGE)
    if not len(points.passages) or points.model != known.model:
        return
    labels, scores = assign(points.rows, Centres(known.shift, _rows(known.centres, points.rows.shape[1])))
    book.store.extend_topics(place, known, _members(points, labels, scores), points.last)


def rebuild(book: Book, place: int, owner: str) -> None:
    """Group all passages of a project anew. Nothing is locked until the result is written."""
    points = _all_points(book, place)
    if points is None:
        return
    old = _old_centres(book, place, points)
    before = _before(book, place, points, old)
    centres = cluster(points.rows, before)
    labels, scores = assign(points.rows, centres)
    same = same_topics(before, _rows(old, points.rows.shape[1]), labels, centres.rows)
    kept = [old[same[number]] if number in same else None for number in range(len(centres.rows))]
    names = _names(book, points, labels, [was.name if was else "" for was in kept])
    # A group that no word tells from the others is no topic: tables, drawings, "yeah".
    named = [number for number, name in enumerate(names) if name]
    built = [Centre(was.id if (was := kept[number]) else None, names[number], centres.rows[number]) for number in named]
    book.store.replace_topics(
        place,
        owner,
        Known(built, centres.shift, points.last, points.model),
        _members(points, _renumbered(labels, named), scores),
        len(points.passages),
        book.clock(),
    )


def _all_points(book: Book, place: int) -> Points | None:
    """Every point of a project, read page by page; None if the model changed meanwhile."""
    import numpy as np

    pages = [book.store.points(place, 0, PAGE)]
    while len(pages[-1].passages) == PAGE:
        pages.append(book.store.points(place, pages[-1].last, PAGE))
    pages = [page for page in pages if len(page.passages)] or pages[:1]
    if len({page.model for page in pages}) > 1:
        return None
    passages = np.concatenate([page.passages for page in pages])
    return Points(passages, np.concatenate([page.rows for page in pages]), pages[-1].last, pages[0].model)


def _old_centres(book: Book, place: int, points: Points) -> Sequence[Centre]:
    known = book.store.known_topics(place)
    return () if known is None or known.model != points.model else known.centres


def _before(book: Book, place: int, points: Points, old: Sequence[Centre]) -> NDArray[int64]:
    """The number of the old topic of each point, or NONE."""
    import numpy as np

    numbers = {centre.id: number for number, centre in enumerate(old)}
    members = book.store.topic_members(place)
    was = [numbers.get(members.get(passage), NONE) for passage in points.passages.tolist()]
    return np.asarray(was, np.int64)


def _names(book: Book, points: Points, labels: NDArray[int64], kept: Sequence[str]) -> list[str]:
    """Names made of some passages of each topic, spread over all of its time."""
    import numpy as np

    each = min(MOST_EACH, max(FEWEST_EACH, READ // max(1, len(kept))))
    groups = [_spread(points.passages[np.flatnonzero(labels == n)], each) for n in range(len(kept))]
    rest = _spread(points.passages[np.flatnonzero(labels == NONE)], READ_OF_REST)
    return name_topics([_texts(book, group) for group in groups], _texts(book, rest), kept)


def _texts(book: Book, passages: Sequence[int]) -> list[str]:
    found = book.store.passage_texts(passages)
    return [found[passage].text for passage in passages if passage in found]


def _spread(passages: NDArray[int64], most: int) -> list[int]:
    step = max(1, -(-len(passages) // most))
    return [int(passage) for passage in passages[::step]]


def _rows(centres: Sequence[Centre], dim: int) -> NDArray[float32]:
    import numpy as np

    if not centres:
        return np.empty((0, dim), np.float32)
    return np.stack([centre.row for centre in centres])


def _renumbered(labels: NDArray[int64], named: Sequence[int]) -> NDArray[int64]:
    import numpy as np

    place = np.full(int(labels.max(initial=NONE)) + 2, NONE, np.int64)
    place[list(named)] = np.arange(len(named))
    # The last entry is for NONE, which is -1.
    renumbered: NDArray[int64] = place[labels]
    return renumbered


def _members(points: Points, labels: NDArray[int64], scores: NDArray[float32]) -> list[Member]:
    rows = zip(labels.tolist(), points.passages.tolist(), scores.tolist(), strict=True)
    return [(label, passage, score) for label, passage, score in rows if label != NONE]
