"""Topics: found among real texts, named as people would, stable while the memory grows, gone with what is forgotten."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from benchmarks.planted_topics import ASIDE, notes
from tests.capture.hooks.hook_sessions import FOLDER, THEN, Telling
from tests.conftest import Clock

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.config import Settings
from commonplace.errors import Conflict, NotFound
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.topics import LEASE_MS, find_topic, list_topics, topics_of_passages, update_topics


def tell(memory: LocalMemory, texts: Sequence[str], project: str | None = "my-api") -> list[int]:
    """Remember texts with their vectors; the passage of each."""
    stored = remember_all(memory, [NewItem(content=text, project=project) for text in texts])
    memory.embeddings.catch_up()
    passages = memory.store.passages_of([one.id for one in stored])
    return [passages[one.id][0] for one in stored]


def tend(memory: LocalMemory) -> int:
    """Do all there is to do; the number of steps."""
    steps = 0
    while update_topics(memory):
        steps += 1
        assert steps < 100
    return steps


def planted(count: int, seed: int = 5) -> tuple[list[str], list[str]]:
    """Subjects and texts, each text once."""
    statement = list(dict.fromkeys(notes(count, seed)))
    return [subject for subject, _text in statement], [text for _subject, text in statement]


def named(memory: LocalMemory, passages: Sequence[int]) -> list[str]:
    found = topics_of_passages(memory, passages)
    return [found[passage].name if passage in found else "" for passage in passages]


def test_planted_topics_are_found_and_named(memory_with_model: LocalMemory) -> None:
    subjects, texts = planted(500)
    passages = tell(memory_with_model, texts)
    tend(memory_with_model)
    names = named(memory_with_model, passages)
    of: dict[str, Counter[str]] = {}
    for subject, name in zip(subjects, names, strict=True):
        of.setdefault(subject, Counter())[name] += 1
    right = sum(count.most_common(1)[0][1] for subject, count in of.items() if subject != ASIDE)
    assert right > 0.75 * sum(subject != ASIDE for subject in subjects)
    assert of["authentication"].most_common(1)[0][0] == "Authentication"
    assert of["rate limiting"].most_common(1)[0][0] == "Rate Limiting"
    assert "Migration" in of["database migrations"].most_common(1)[0][0]
    # Named by words of its own, of which there are several as good.
    (kubernetes, _count), *_ = of["kubernetes"].most_common(1)
    own = " ".join(text for subject, text in zip(subjects, texts, strict=True) if subject == "kubernetes").lower()
    assert kubernetes and all(word in own for word in kubernetes.lower().replace("&", " ").split())
    listed = list_topics(memory_with_model)
    assert sum(one.size for one in listed) == sum(map(bool, names))
    assert [one.size for one in listed] == sorted((one.size for one in listed), reverse=True)
    assert {one.project for one in listed} == {"my-api"}
    assert len({one.name for one in listed}) == len(listed) <= 30


def test_topics_keep_their_ids_and_names_when_the_memory_grows(memory_with_model: LocalMemory, clock: Clock) -> None:
    _subjects, texts = planted(400)
    half = len(texts) * 10 // 14
    passages = tell(memory_with_model, texts[:half])
    tend(memory_with_model)
    first = topics_of_passages(memory_with_model, passages)
    before = {one.built_ms for one in list_topics(memory_with_model)}
    clock.forward(days=1)
    tell(memory_with_model, texts[half:])
    tend(memory_with_model)
    assert before.isdisjoint(one.built_ms for one in list_topics(memory_with_model)), "they were built anew"
    again = topics_of_passages(memory_with_model, passages)
    same = [passage for passage in first if passage in again and again[passage].id == first[passage].id]
    assert len(same) > 0.85 * len(first)
    renamed = [passage for passage in same if again[passage].name != first[passage].name]
    assert len(renamed) < 0.2 * len(same)


def test_a_few_new_passages_join_what_is_there(memory_with_model: LocalMemory, clock: Clock) -> None:
    _subjects, texts = planted(400)
    tell(memory_with_model, texts)
    tend(memory_with_model)
    before = list_topics(memory_with_model)
    clock.forward(days=1)
    new = tell(
        memory_with_model,
        ["Authentication by a session cookie failed for users of Safari.", "The moon is full tonight."],
    )
    assert named(memory_with_model, new) == ["", ""]
    assert tend(memory_with_model) == 1
    assert named(memory_with_model, new) == ["Authentication", ""]
    assert {one.built_ms for one in list_topics(memory_with_model)} == {one.built_ms for one in before}
    assert sum(one.size for one in list_topics(memory_with_model)) == sum(one.size for one in before) + 1
    assert tend(memory_with_model) == 0


def test_forgotten_passages_leave_at_once_and_empty_topics_with_them(memory_with_model: LocalMemory) -> None:
    _subjects, texts = planted(200)
    passages = tell(memory_with_model, texts)
    tend(memory_with_model)
    largest = list_topics(memory_with_model)[0]
    inside = [
        passage for passage, one in topics_of_passages(memory_with_model, passages).items() if one.id == largest.id
    ]
    items = [text.item_id for text in memory_with_model.store.passage_texts(inside).values()]
    forget_items(memory_with_model, items)
    assert topics_of_passages(memory_with_model, inside) == {}
    assert largest.id not in {one.id for one in list_topics(memory_with_model)}
    forget_items(memory_with_model, [text.item_id for text in memory_with_model.store.passage_texts(passages).values()])
    assert list_topics(memory_with_model) == []
    tend(memory_with_model)
    assert list_topics(memory_with_model) == [] and tend(memory_with_model) == 0


def test_one_topic_with_its_most_central_passages(memory_with_model: LocalMemory) -> None:
    _subjects, texts = planted(200)
    tell(memory_with_model, texts)
    tend(memory_with_model)
    found, central = find_topic(memory_with_model, "authentication", limit=5)
    assert found == find_topic(memory_with_model, found.id)[0] == find_topic(memory_with_model, f" {found.id} ")[0]
    assert len(central) == 5 and all(one.passage.text in texts for one in central)
    assert [one.nearness for one in central] == sorted((one.nearness for one in central), reverse=True)
    with pytest.raises(NotFound):
        find_topic(memory_with_model, "zebras")
    with pytest.raises(NotFound):
        find_topic(memory_with_model, "")


def test_projects_have_topics_of_their_own(memory_with_model: LocalMemory) -> None:
    _subjects, texts = planted(90)
    ours = tell(memory_with_model, texts, "github.com/acme/ours")
    tell(memory_with_model, texts, "github.com/acme/theirs")
    tell(memory_with_model, texts, None)
    tend(memory_with_model)
    by_project = {project: list_topics(memory_with_model, project) for project in ("ours", "theirs")}
    assert by_project["ours"] and len(list_topics(memory_with_model)) == 3 * len(by_project["ours"])
    assert list_topics(memory_with_model, "nobody") == []
    mine = by_project["ours"][0]
    with pytest.raises(Conflict) as refused:
        find_topic(memory_with_model, mine.name)
    assert str(mine.id) in refused.value.hint
    part = for_project(memory_with_model, "github.com/acme/ours")
    assert list_topics(part) == by_project["ours"] and list_topics(part, "theirs") == []
    assert find_topic(part, mine.name)[0] == mine
    other = next(one for one in by_project["theirs"] if one.name == mine.name)
    with pytest.raises(NotFound):
        find_topic(part, other.id)
    assert update_topics(part) is False
    assert set(topics_of_passages(part, ours).values()) <= set(by_project["ours"])


@pytest.mark.parametrize("many", [0, 1, 5])
def test_a_memory_of_a_few_things(memory_with_model: LocalMemory, many: int) -> None:
    passages = tell(memory_with_model, [f"The tokens of the login page expire after {n} days" for n in range(many)])
    tend(memory_with_model)
    assert len(list_topics(memory_with_model)) <= 1
    assert len(topics_of_passages(memory_with_model, passages)) in (0, many)
    assert update_topics(memory_with_model) is False


def test_the_same_thing_said_again_and_again_is_one_topic(memory_with_model: LocalMemory) -> None:
    messages = [
        NewItem(content="The backup of the database failed.", kind="message", session=f"s{n}", details={"role": "user"})
        for n in range(30)
    ]
    remember_all(memory_with_model, messages)
    memory_with_model.embeddings.catch_up()
    tend(memory_with_model)
    (only,) = list_topics(memory_with_model)
    assert only.size == 30 and ("Backup" in only.name or "Database" in only.name)


def test_without_meaning_there_are_no_topics_and_nothing_fails(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem(content=text) for text in planted(50)[1]])
    assert update_topics(memory) is False
    assert list_topics(memory) == [] and topics_of_passages(memory, [1, 2]) == {}


def test_who_comes_second_leaves_the_building_to_the_first(
    memory_with_model: LocalMemory, open_again: Callable[[], LocalMemory], clock: Clock
) -> None:
    tell(memory_with_model, planted(60)[1])
    (grown,) = memory_with_model.store.stale_topics()
    other = open_again()
    try:
        assert other.maintenance.claim_topics(grown.place, "somebody", clock.now, LEASE_MS)
        assert update_topics(memory_with_model) is False and list_topics(memory_with_model) == []
        clock.forward(ms=LEASE_MS)
        assert update_topics(memory_with_model) is True and list_topics(other) == list_topics(memory_with_model) != []
    finally:
        other.close()


TEND = """
import sys
from commonplace import config
from commonplace.memory.local_memory import open_memory
from commonplace.memory.topics import update_topics
memory = open_memory(config.load({"data_dir": sys.argv[1], "embedder": "off"}, env={}))
print("ready", flush=True)
sys.stdin.readline()
while update_topics(memory):
    pass
memory.close()
"""


def test_several_processes_at_once_build_one_set_of_topics(memory_with_model: LocalMemory, settings: Settings) -> None:
    passages = tell(memory_with_model, planted(200)[1])
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
    tend(memory_with_model)
    listed = list_topics(memory_with_model)
    assert len({one.name for one in listed}) == len(listed) > 3
    assert Counter(one.id for one in topics_of_passages(memory_with_model, passages).values()) == {
        one.id: one.size for one in listed
    }


SESSIONS = {
    "checkout": [
        "The checkout is slow, find out why",
        "Customers pay twice at checkout when the network is slow",
        "Checkout shows the wrong tax for companies in Norway",
        "Why does the checkout forget the delivery address?",
        "Add gift cards to the checkout",
        "The checkout button stays grey after a failed payment",
    ],
    "importer": [
        "The nightly importer drops rows with umlauts",
        "Make the importer resume after a crash",
        "The importer should skip empty supplier files",
        "Why does the importer take four hours on Mondays?",
        "Let the importer report duplicate articles",
        "The importer must check the supplier's signature",
    ],
    "login": [
        "Login by passkey fails on Firefox",
        "After login people land on the wrong page",
        "Lock the login after ten wrong passwords",
        "The login mail arrives too late",
        "Why does login need two redirects?",
        "Show the last login on the profile page",
    ],
}
COMMANDS = ("npm run lint", "npm test", "git status --short", "npm run build", "git push origin main")


def test_captured_sessions_are_named_by_what_people_say(memory_with_model: LocalMemory) -> None:
    events = []
    for subject, prompts in SESSIONS.items():
        for number, prompt in enumerate(prompts):
            session = Telling(session=f"{subject}-{number}", at_ms=THEN + number * 86_400_000)
            session.asks(prompt)
            for command in COMMANDS:
                session.uses("Bash", {"stdout": f"{number} lines of output modified in {number} s"}, command=command)
            session.uses("Edit", file_path=f"{FOLDER}/src/{subject}.ts", old_string="a", new_string=f"{number}")
            session.stops(f"I changed how the {subject} works. {prompt.rstrip('?')}: that is done.")
            events += session.events
    remember_events(memory_with_model, events)
    memory_with_model.embeddings.catch_up()
    tend(memory_with_model)
    names = [topic.name for topic in list_topics(memory_with_model)]
    words = {word.lower() for name in names for word in name.replace("&", " ").split()}
    assert names and not words & {"ran", "npm", "lint", "output", "line", "lines", "modified", "git", "push"}, names
    assert words & {"checkout", "importer", "login"}, names
