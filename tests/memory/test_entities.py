"""Who and what memories name: the list, and what is known of one, now, then, and for who may see one project only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Clock

from commonplace.errors import InvalidInput, NotFound
from commonplace.library.memory import Memory
from commonplace.memory.about import EntityKnowledge, about
from commonplace.memory.authors import for_agent, with_writer
from commonplace.memory.conversations import NewMessage
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded
from commonplace.memory.entities import list_entities
from commonplace.memory.local_memory import LocalMemory, for_project, for_space
from commonplace.memory.remember import NewItem, remember_item
from commonplace.memory.settle_contradictions import settle_contradiction
from commonplace.memory.spaces import create_space
from commonplace.model import Author, Item
from commonplace.store.maintenance import Limits

ANNA = Author("anna", "person")


@pytest.fixture
def anna(memory: LocalMemory) -> LocalMemory:
    return with_writer(memory, ANNA)


def say(memory: LocalMemory, text: str, project: str | None = None, type_: str = "fact") -> Item:
    return remember_item(memory, NewItem(text, type=type_, project=project)).item


def listed(memory: LocalMemory, **more: str) -> dict[str, str]:
    return {entity.name: entity.kind for entity in list_entities(memory, **more)}  # type: ignore[arg-type]


def stated(known: EntityKnowledge) -> list[str]:
    return [item.body for item in known.statements]


def relations(known: EntityKnowledge) -> list[str]:
    return [one.phrase for one in known.related]


def test_what_is_known_comes_with_its_kind_its_people_and_what_it_has_to_do_with(
    anna: LocalMemory, clock: Clock
) -> None:
    first = say(anna, "checkout-api is our payment service")
    clock.forward(days=3)
    say(with_writer(anna, Author("ravi", "person")), "checkout-api uses Redis and PostgreSQL")
    say(anna, "Jonas maintains checkout-api")
    known = about(anna, "Checkout-API")
    assert (known.entity.name, known.entity.kind, known.total) == ("checkout-api", "service", 3)
    assert known.what == "checkout-api is our payment service"
    assert known.entity.first_ms == first.created_ms and known.entity.last_ms == clock()
    assert known.authors == {"anna": 2, "ravi": 1}
    assert relations(known) == ["Jonas maintains it", "uses Redis", "PostgreSQL"]
    assert relations(about(anna, "redis")) == ["checkout-api uses it", "PostgreSQL"]


def test_the_most_trusted_come_first_then_the_newest_and_proposals_last(anna: LocalMemory, clock: Clock) -> None:
    agent = for_agent(anna, "claude-code")
    remember_item(agent, NewItem("Redis has 4 GB", type="fact", review="proposed"))
    say(anna, "Redis keeps sessions")
    clock.forward(minutes=1)
    say(agent, "Redis runs on host 7")
    clock.forward(minutes=1)
    say(anna, "Redis is version 7")
    assert stated(about(anna, "Redis")) == [
        "Redis is version 7",
        "Redis keeps sessions",
        "Redis runs on host 7",
        "Redis has 4 GB",
    ]


def test_what_was_forgotten_superseded_or_has_expired_is_not_known(anna: LocalMemory, clock: Clock) -> None:
    old, new = say(anna, "Redis is version 6"), say(anna, "Redis is version 7")
    mark_superseded(anna, old.id, by=new.id)
    gone = say(anna, "Redis is slow")
    forget_items(anna, [gone.id])
    remember_item(anna, NewItem("Redis is read-only", type="fact", valid_until_ms=clock() + 1000, reads_validity=False))
    clock.forward(minutes=5)
    assert stated(about(anna, "redis")) == ["Redis is version 7"]
    assert [entity.items for entity in list_entities(anna) if entity.name == "Redis"] == [1]


def test_as_of_a_moment_it_is_what_was_held_true_then(anna: LocalMemory, clock: Clock) -> None:
    first = say(anna, "Redis is version 6")
    forgotten = say(anna, "Redis belongs to Jonas")
    then = clock()
    clock.forward(days=10)
    edit_item(anna, first.id, Changes(content="Redis is version 7"))
    forget_items(anna, [forgotten.id])
    say(anna, "Redis moved to Hetzner")
    known = about(anna, "redis", at_ms=then)
    assert sorted(stated(known)) == ["Redis belongs to Jonas", "Redis is version 6"]
    assert relations(known) == ["belongs to Jonas"]
    assert sorted(stated(about(anna, "redis"))) == ["Redis is version 7", "Redis moved to Hetzner"]
    assert "Hetzner" not in {entity.name for entity in list_entities(anna, at_ms=then)}
    with pytest.raises(NotFound):
        about(anna, "Hetzner", at_ms=then)


def test_a_given_name_means_the_only_person_of_that_name(anna: LocalMemory) -> None:
    say(anna, "Anna Schmidt maintains checkout-api")
    say(anna, "Anna prefers squash merges")
    for name in ("anna", "Anna Schmidt"):
        known = about(anna, name)
        assert (known.entity.name, known.entity.aliases, known.total) == ("Anna Schmidt", ("Anna",), 2)
        assert relations(known) == ["maintains checkout-api"]
    assert [entity.aliases for entity in list_entities(anna) if entity.name == "Anna Schmidt"] == [("Anna", "anna")]
    say(anna, "Anna Weber reviews the mail-worker")
    assert stated(about(anna, "Anna Schmidt")) == ["Anna Schmidt maintains checkout-api"]
    assert about(anna, "Anna").total == 3
    assert {"Anna", "Anna Schmidt", "Anna Weber"} <= listed(anna, kind="person").keys() | {"Anna"}


def test_a_file_is_the_same_by_a_shorter_path(anna: LocalMemory) -> None:
    say(anna, "The pool is set up in src/db/pool.py")
    say(anna, "Never import pool.py from a view")
    say(anna, "Another one is src/web/pool.py")
    assert about(anna, "src/db/pool.py").entity.kind == "file"
    assert sorted(stated(about(anna, "src/db/pool.py"))) == [
        "Never import pool.py from a view",
        "The pool is set up in src/db/pool.py",
    ]
    assert about(anna, "pool.py").total == 3


def test_a_project_is_known_by_all_its_names_and_by_what_is_stated_in_it(anna: LocalMemory) -> None:
    say(anna, "Amounts are cents", project="github.com/acme/shop-api")
    say(anna, "The mail-worker reads from shop-api")
    anna.maintenance.alias_project("github.com/acme/shop-api", "shop")
    for name in ("shop-api", "shop", "github.com/acme/shop-api"):
        known = about(anna, name)
        assert (known.entity.name, known.entity.kind) == ("shop-api", "project")
        assert sorted(stated(known)) == ["Amounts are cents", "The mail-worker reads from shop-api"]
        assert relations(known) == ["mail-worker reads from it"]
    assert listed(anna, kind="project") == {"shop-api": "project"}


def test_people_are_known_who_only_write_or_speak(anna: LocalMemory) -> None:
    say(anna, "Amounts are cents")
    spoken = [NewMessage("user", "We ship on Monday", meta={"name": "Zenobia"})]
    Memory.over(anna).store_conversation("Plan", spoken)
    assert listed(anna, kind="person") == {"anna": "person", "Zenobia": "person"}
    known = about(anna, "anna")
    assert (known.entity.kind, known.total, [item.body for item in known.written]) == (
        "person",
        0,
        ["Amounts are cents"],
    )


def test_names_of_code_and_files_have_to_come_again_for_the_list(anna: LocalMemory) -> None:
    say(anna, "`RetryPolicy` doubles the wait, see src/retry.py")
    assert {"RetryPolicy", "src/retry.py"}.isdisjoint(listed(anna))
    say(anna, "`RetryPolicy` gives up after a minute, as src/retry.py says")
    assert listed(anna)["RetryPolicy"] == "thing" and listed(anna)["src/retry.py"] == "file"


def test_imported_entities_keep_their_kind_and_relations_their_name(anna: LocalMemory, tmp_path: Path) -> None:
    lines = [
        {"type": "entity", "name": "Blue Whale", "entityType": "service", "observations": ["Speaks gRPC"]},
        {"type": "entity", "name": "Ofelia", "entityType": "person", "observations": ["Likes short mails"]},
        {"type": "relation", "from": "Ofelia", "to": "Blue Whale", "relationType": "is_on_call_for"},
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    Memory.over(anna).import_(file)
    assert listed(anna)["Blue Whale"] == "service" and listed(anna)["Ofelia"] == "person"
    known = about(anna, "blue whale")
    assert (known.entity.name, known.entity.kind) == ("Blue Whale", "service")
    assert "Blue Whale: Speaks gRPC" in stated(known) and "Blue Whale (service)" not in stated(known)
    assert relations(known)[0] == "Ofelia is on call for it"
    assert relations(about(anna, "Ofelia"))[0] == "is on call for Blue Whale"


def test_who_may_see_one_project_learns_nothing_of_others(anna: LocalMemory) -> None:
    say(anna, "Jonas maintains the mail-worker", project="here")
    say(anna, "Jonas dislikes the audit-service", project="elsewhere")
    say(anna, "Jonas is our boss")
    limited = for_project(anna, "here")
    assert "audit-service" not in listed(limited) and listed(limited)["mail-worker"] == "service"
    known = about(limited, "Jonas")
    assert stated(known) == ["Jonas maintains the mail-worker"] and relations(known) == ["maintains mail-worker"]
    for name in ("audit-service", "elsewhere"):
        with pytest.raises(NotFound):
            about(limited, name)
    assert stated(about(anna, "Jonas", project="elsewhere")) == ["Jonas dislikes the audit-service"]
    with pytest.raises(NotFound, match="no project"):
        about(anna, "Jonas", project="nowhere")


def test_another_space_has_its_own(anna: LocalMemory) -> None:
    create_space(anna, "team", Limits())
    team = for_space(anna, "team")
    say(team, "Jonas maintains the audit-service")
    say(anna, "Redis is version 7")
    assert "Jonas" not in listed(anna) and "Redis" not in listed(team)
    with pytest.raises(NotFound):
        about(anna, "Jonas")


@pytest.mark.parametrize("name", ["", " ", "x", "x" * 121, "\n\t"])
def test_a_name_has_some_letters(anna: LocalMemory, name: str) -> None:
    with pytest.raises(InvalidInput):
        about(anna, name)


@pytest.mark.parametrize(
    "name", ["..", "a OR b", "(?:x", "../../etc/passwd", "%_", "‮abc", "\\\\", "* *", "a\x01b", "''"]
)
def test_strange_names_are_unknown_rather_than_errors(anna: LocalMemory, name: str) -> None:
    say(anna, "Redis is version 7")
    with pytest.raises(NotFound):
        about(anna, name)


def test_what_cannot_be_listed_is_refused(anna: LocalMemory) -> None:
    with pytest.raises(InvalidInput, match="no kind"):
        list_entities(anna, kind="robot")
    with pytest.raises(InvalidInput, match="limit"):
        list_entities(anna, limit=0)
    assert list_entities(anna) == []


def test_a_settled_contradiction_leaves_one_side(anna: LocalMemory) -> None:
    one, other = say(anna, "The mail-worker is owned by Jonas"), say(anna, "The mail-worker is owned by Ravi")
    settle_contradiction(anna, one.id, other.id, "new")
    assert relations(about(anna, "mail-worker")) == ["is owned by Ravi"]
