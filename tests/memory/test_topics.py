"""Topics: found among real texts, named as people would, stable while the memory grows, gone with what is forgotten."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from benchmarks.planted import ASIDE, notes
from tests.conftest import Clock

from commonplace.config import Settings
from commonplace.errors import Conflict, NotFound
from commonplace.memory.book import Book, limited
from commonplace.memory.forget import forget
from commonplace.memory.remember import Note, remember_all
from commonplace.memory.topics import LEASE_MS, tend_topics, topic, topics, topics_of


def tell(book: Book, texts: Sequence[str], project: str | None = "my-api") -> list[int]:
    """Remember texts with their vectors; the passage of each."""
    stored = remember_all(book, [Note(content=text, project=project) for text in texts])
    book.meaning.catch_up()
    passages = book.store.passages_of([one.id for one in stored])
    return [passages[one.id][0] for one in stored]


def tend(book: Book) -> int:
    """Do all there is to do; the number of steps."""
    steps = 0
    while tend_topics(book):
        steps += 1
        assert steps < 100
    return steps


def planted(count: int, seed: int = 5) -> tuple[list[str], list[str]]:
    """Subjects and texts, each text once."""
    said = list(dict.fromkeys(notes(count, seed)))
    return [subject for subject, _text in said], [text for _subject, text in said]


def named(book: Book, passages: Sequence[int]) -> list[str]:
    found = topics_of(book, passages)
    return [found[passage].name if passage in found else "" for passage in passages]


def test_planted_topics_are_found_and_named(wise_book: Book) -> None:
    subjects, texts = planted(500)
    passages = tell(wise_book, texts)
    tend(wise_book)
    names = named(wise_book, passages)
    of: dict[str, Counter[str]] = {}
    for subject, name in zip(subjects, names, strict=True):
        of.setdefault(subject, Counter())[name] += 1
    right = sum(count.most_common(1)[0][1] for subject, count in of.items() if subject != ASIDE)
    assert right > 0.75 * sum(subject != ASIDE for subject in subjects)
    assert of["authentication"].most_common(1)[0][0] == "Authentication"
    assert of["rate limiting"].most_common(1)[0][0] == "Rate Limiting"
    assert "Migration" in of["database migrations"].most_common(1)[0][0]
    assert "Kubernetes" in of["kubernetes"]
    listed = topics(wise_book)
    assert sum(one.size for one in listed) == sum(map(bool, names))
    assert [one.size for one in listed] == sorted((one.size for one in listed), reverse=True)
    assert {one.project for one in listed} == {"my-api"}
    assert len({one.name for one in listed}) == len(listed) <= 30


def test_topics_keep_their_ids_and_names_when_the_memory_grows(wise_book: Book, clock: Clock) -> None:
    _subjects, texts = planted(400)
    half = len(texts) * 10 // 14
    passages = tell(wise_book, texts[:half])
    tend(wise_book)
    first = topics_of(wise_book, passages)
    before = {one.built_ms for one in topics(wise_book)}
    clock.forward(days=1)
    tell(wise_book, texts[half:])
    tend(wise_book)
    assert before.isdisjoint(one.built_ms for one in topics(wise_book)), "they were built anew"
    again = topics_of(wise_book, passages)
    same = [passage for passage in first if passage in again and again[passage].id == first[passage].id]
    assert len(same) > 0.85 * len(first)
    renamed = [passage for passage in same if again[passage].name != first[passage].name]
    assert len(renamed) < 0.2 * len(same)


def test_a_few_new_passages_join_what_is_there(wise_book: Book, clock: Clock) -> None:
    _subjects, texts = planted(400)
    tell(wise_book, texts)
    tend(wise_book)
    before = topics(wise_book)
    clock.forward(days=1)
    new = tell(
        wise_book, ["Authentication by a session cookie failed for users of Safari.", "The moon is full tonight."]
    )
    assert named(wise_book, new) == ["", ""]
    assert tend(wise_book) == 1
    assert named(wise_book, new) == ["Authentication", ""]
    assert {one.built_ms for one in topics(wise_book)} == {one.built_ms for one in before}
    assert sum(one.size for one in topics(wise_book)) == sum(one.size for one in before) + 1
    assert tend(wise_book) == 0


def test_forgotten_passages_leave_at_once_and_empty_topics_with_them(wise_book: Book) -> None:
    _subjects, texts = planted(200)
    passages = tell(wise_book, texts)
    tend(wise_book)
    largest = topics(wise_book)[0]
    inside = [passage for passage, one in topics_of(wise_book, passages).items() if one.id == largest.id]
    items = [text.item_id for text in wise_book.store.passage_texts(inside).values()]
    forget(wise_book, items)
    assert topics_of(wise_book, inside) == {}
    assert largest.id not in {one.id for one in topics(wise_book)}
    forget(wise_book, [text.item_id for text in wise_book.store.passage_texts(passages).values()])
    assert topics(wise_book) == []
    tend(wise_book)
    assert topics(wise_book) == [] and tend(wise_book) == 0


def test_one_topic_with_its_most_central_passages(wise_book: Book) -> None:
    _subjects, texts = planted(200)
    tell(wise_book, texts)
    tend(wise_book)
    found, central = topic(wise_book, "authentication", limit=5)
    assert found == topic(wise_book, found.id)[0] == topic(wise_book, f" {found.id} ")[0]
    assert len(central) == 5 and all(one.passage.text in texts for one in central)
    assert [one.nearness for one in central] == sorted((one.nearness for one in central), reverse=True)
    with pytest.raises(NotFound):
        topic(wise_book, "zebras")
    with pytest.raises(NotFound):
        topic(wise_book, "")


def test_projects_have_topics_of_their_own(wise_book: Book) -> None:
    _subjects, texts = planted(90)
    ours = tell(wise_book, texts, "github.com/acme/ours")
    tell(wise_book, texts, "github.com/acme/theirs")
    tell(wise_book, texts, None)
    tend(wise_book)
    by_project = {project: topics(wise_book, project) for project in ("ours", "theirs")}
    assert by_project["ours"] and len(topics(wise_book)) == 3 * len(by_project["ours"])
    assert topics(wise_book, "nobody") == []
    with pytest.raises(Conflict) as refused:
        topic(wise_book, "Authentication")
    mine = next(one for one in by_project["ours"] if one.name == "Authentication")
    assert str(mine.id) in refused.value.hint
    part = limited(wise_book, "github.com/acme/ours")
    assert topics(part) == by_project["ours"] and topics(part, "theirs") == []
    assert topic(part, "Authentication")[0] == mine
    other = next(one for one in by_project["theirs"] if one.name == "Authentication")
    with pytest.raises(NotFound):
        topic(part, other.id)
    assert tend_topics(part) is False
    assert set(topics_of(part, ours).values()) <= set(by_project["ours"])


@pytest.mark.parametrize("many", [0, 1, 5])
def test_a_memory_of_a_few_things(wise_book: Book, many: int) -> None:
    passages = tell(wise_book, [f"The tokens of the login page expire after {n} days" for n in range(many)])
    tend(wise_book)
    assert len(topics(wise_book)) <= 1
    assert len(topics_of(wise_book, passages)) in (0, many)
    assert tend_topics(wise_book) is False


def test_the_same_thing_said_again_and_again_is_one_topic(wise_book: Book) -> None:
    said = [
        Note(content="The backup of the database failed.", kind="message", session=f"s{n}", details={"role": "user"})
        for n in range(30)
    ]
    remember_all(wise_book, said)
    wise_book.meaning.catch_up()
    tend(wise_book)
    (only,) = topics(wise_book)
    assert only.size == 30 and ("Backup" in only.name or "Database" in only.name)


def test_without_meaning_there_are_no_topics_and_nothing_fails(book: Book) -> None:
    remember_all(book, [Note(content=text) for text in planted(50)[1]])
    assert tend_topics(book) is False
    assert topics(book) == [] and topics_of(book, [1, 2]) == {}


def test_who_comes_second_leaves_the_building_to_the_first(
    wise_book: Book, open_again: Callable[[], Book], clock: Clock
) -> None:
    tell(wise_book, planted(60)[1])
    (grown,) = wise_book.store.grown_topics()
    other = open_again()
    try:
        assert other.store.claim_topics(grown.place, "somebody", clock.now, LEASE_MS)
        assert tend_topics(wise_book) is False and topics(wise_book) == []
        clock.forward(ms=LEASE_MS)
        assert tend_topics(wise_book) is True and topics(other) == topics(wise_book) != []
    finally:
        other.close()


TEND = """
import sys
from commonplace import config
from commonplace.memory.book import open_book
from commonplace.memory.topics import tend_topics
book = open_book(config.load({"data_dir": sys.argv[1], "embedder": "off"}, env={}))
print("ready", flush=True)
sys.stdin.readline()
while tend_topics(book):
    pass
book.close()
"""


def test_several_processes_at_once_build_one_set_of_topics(wise_book: Book, settings: Settings) -> None:
    passages = tell(wise_book, planted(200)[1])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TEND, str(settings.data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n", process.communicate()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    tend(wise_book)
    listed = topics(wise_book)
    assert len({one.name for one in listed}) == len(listed) > 3
    assert Counter(one.id for one in topics_of(wise_book, passages).values()) == {one.id: one.size for one in listed}
