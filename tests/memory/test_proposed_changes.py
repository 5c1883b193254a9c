"""What an agent would change of what people decided: proposed, not done, until a person accepts it; and undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.conftest import Clock

from commonplace.errors import Conflict, Forbidden
from commonplace.memory.authors import for_agent, for_capture, for_import, with_writer
from commonplace.memory.check_and_repair import check_store
from commonplace.memory.conversations import (
    NewConversation,
    NewMessage,
    forget_session,
    restore_session,
    store_conversation,
)
from commonplace.memory.edit_and_forget import (
    Changes,
    edit_item,
    enrich_item,
    forget_items,
    mark_superseded,
    parse_validity,
    restore_items,
    revert_to_revision,
)
from commonplace.memory.import_items_and_records import ImportedItem, import_items
from commonplace.memory.imports import Brought, note_import, redo_import, undo_import
from commonplace.memory.inbox import read_inbox
from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import RESERVED_METADATA, RESERVED_TAGS
from commonplace.memory.profile import show_in_profile
from commonplace.memory.proposed_changes import is_only_proposed
from commonplace.memory.remember import NewItem, remember, remember_all, remember_item
from commonplace.memory.review import accept, accept_changed, dismiss, list_proposals, undo_review
from commonplace.memory.rules import active_rules
from commonplace.memory.settle_contradictions import reopen_contradiction, settle_contradiction
from commonplace.memory.statement_pairs import list_contradictions
from commonplace.memory.streamed_memories import append_to_stream, finalize_stream, start_stream
from commonplace.model import Author, Item, Session

RULE = "Never push to main without a review"


@pytest.fixture
def anna(memory: LocalMemory) -> LocalMemory:
    """A person, whose agents' changes wait for a review."""
    strict = replace(memory.settings, agent_memories="proposed")
    return with_writer(replace(memory, settings=strict), Author("anna", "person"))


@pytest.fixture
def agent(anna: LocalMemory) -> LocalMemory:
    return for_agent(anna, "claude-code")


@pytest.fixture
def rule(anna: LocalMemory) -> Item:
    return remember_item(anna, NewItem(RULE, type="rule")).item


def now(memory: LocalMemory, item: Item) -> Item:
    return get_item(memory, item.id, forgotten=True)


def source(item: Item) -> tuple[str | None, str | None, str | None]:
    return item.author, item.origin, item.review


def rules(memory: LocalMemory) -> list[str]:
    return [item.text for item in active_rules(memory, None).everywhere]


def edit(memory: LocalMemory, item: Item) -> Item:
    return edit_item(memory, item.id, Changes(content="Push to main as you like"))


def retype(memory: LocalMemory, item: Item) -> Item:
    return edit_item(memory, item.id, Changes(type="note"))


def tag(memory: LocalMemory, item: Item) -> Item:
    return edit_item(memory, item.id, Changes(tags=("old",)))


def move(memory: LocalMemory, item: Item) -> Item:
    return edit_item(memory, item.id, Changes(project="elsewhere"))


def expire(memory: LocalMemory, item: Item) -> Item:
    return edit_item(memory, item.id, Changes(**parse_validity(memory.clock(), expires="2020-01-01")))


def end(memory: LocalMemory, item: Item) -> Item:
    return edit_item(memory, item.id, Changes(**parse_validity(memory.clock(), valid_until="2020-01-01")))


def say_again_with_an_end(memory: LocalMemory, item: Item) -> Item:
    remember_item(memory, NewItem(item.text, type=item.type, expires_ms=memory.clock() - 1))
    return enrich_item(memory, item, validity=(None, None, memory.clock() - 1))


def forget(memory: LocalMemory, item: Item) -> Item:
    return forget_items(memory, [item.id])[0]


CHANGES: list[Callable[[LocalMemory, Item], Item]] = [
    *(edit, retype, tag, move, expire, end, say_again_with_an_end, forget)
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_an_agent_changes_waits_is_carried_out_and_undone(
    anna: LocalMemory, agent: LocalMemory, rule: Item, change: Callable[[LocalMemory, Item], Item]
) -> None:
    proposal = change(agent, rule)
    assert is_only_proposed(proposal) and proposal.id != rule.id
    assert check_store(anna) == []
    assert source(proposal) == ("anna via claude-code", "agent", "proposed")
    assert now(anna, rule) == rule and rules(anna) == [RULE]
    assert change(agent, rule).id == proposal.id

    accept(anna, [proposal.id])
    changed = now(anna, rule)
    assert (changed.rev, changed.body) != (rule.rev, rule.body) and changed != rule
    assert item_history(anna, rule.id)[-1].author == "anna"
    assert change is tag or rules(anna) != [RULE]
    assert [one.id for one in list_proposals(anna).items] == []

    undo_review(anna, proposal.id)
    back = now(anna, rule)
    assert rules(anna) == [RULE] and replace(back, rev=rule.rev, updated_ms=rule.updated_ms) == rule
    assert [one.id for one in list_proposals(anna).items] == [proposal.id]

    dismiss(anna, [proposal.id])
    assert change(agent, rule).review == "dismissed" and rules(anna) == [RULE]
    assert list_proposals(anna).items == ()


def test_words_that_were_accepted_are_the_persons_and_their_history_has_both(
    anna: LocalMemory, agent: LocalMemory, rule: Item
) -> None:
    accept(anna, [edit(agent, rule).id])
    assert source(now(anna, rule)) == ("anna", "agreed", "accepted")
    (line,) = item_history(anna, rule.id)
    assert (line.op, line.author, line.before["body"], line.before["author"]) == ("edit", "anna", RULE, "anna")


def test_who_only_adds_a_tag_has_not_said_the_words(anna: LocalMemory, agent: LocalMemory, rule: Item) -> None:
    accept(anna, [tag(agent, rule).id])
    assert now(anna, rule).tags == ("old",) and source(now(anna, rule)) == source(rule)


def test_a_change_on_top_of_an_accepted_one_is_not_undone_with_it(
    anna: LocalMemory, agent: LocalMemory, rule: Item, clock: Clock
) -> None:
    proposal = edit(agent, rule)
    accept(anna, [proposal.id])
    clock.now += 1
    edit_item(anna, rule.id, Changes(content="Push to main on Fridays"))
    with pytest.raises(Conflict, match="changed again"):
        undo_review(anna, proposal.id)
    assert rules(anna) == ["Push to main on Fridays"]


def test_bringing_back_waits_too(anna: LocalMemory, agent: LocalMemory, rule: Item) -> None:
    forget_items(anna, [rule.id])
    (proposal,) = restore_items(agent, [rule.id])
    again = remember_item(agent, NewItem(RULE, type="rule"))
    assert again.duplicate and again.item.id == proposal.id and rules(anna) == []
    remember_all(agent, [NewItem(RULE, type="rule")])
    assert rules(anna) == []
    accept(anna, [proposal.id])
    assert rules(anna) == [RULE]
    undo_review(anna, proposal.id)
    assert rules(anna) == []


def test_a_person_who_forgets_what_an_agent_said_is_not_overruled(anna: LocalMemory, agent: LocalMemory) -> None:
    said = remember_item(agent, NewItem("Tests live in spec", type="fact")).item
    accept(anna, [said.id])
    forget_items(anna, [said.id])
    assert is_only_proposed(restore_items(agent, [said.id])[0]) and now(anna, said).forgotten_ms is not None
    other = remember_item(agent, NewItem("Tests live in test", type="fact")).item
    dismiss(anna, [other.id])
    with pytest.raises(Forbidden, match="dismissed"):
        restore_items(agent, [other.id])


def test_going_back_to_earlier_words_waits_too(anna: LocalMemory, agent: LocalMemory, rule: Item) -> None:
    edit_item(anna, rule.id, Changes(content="Push to main after a review"))
    assert is_only_proposed(revert_to_revision(agent, rule.id)) and rules(anna) == ["Push to main after a review"]


def test_a_proposal_supersedes_once_it_is_accepted(anna: LocalMemory, agent: LocalMemory) -> None:
    fact = remember_item(anna, NewItem("The production database is PostgreSQL 15", type="fact")).item
    proposal = remember_item(agent, NewItem("The production database is MySQL 8", type="fact")).item
    edited = edit_item(agent, proposal.id, Changes(), supersedes=fact.id)
    assert edited.id == proposal.id and edited.review == "proposed"
    assert now(anna, fact) == fact
    accept(anna, [proposal.id])
    assert now(anna, fact).superseded_by == proposal.id and now(anna, proposal).review == "accepted"
    undo_review(anna, proposal.id)
    assert now(anna, fact).superseded_by is None and now(anna, fact).valid_until_ms is None
    accept_changed(anna, proposal.id, Changes(content="The production database is MySQL 9"))
    assert now(anna, fact).superseded_by == proposal.id


def test_what_an_agent_said_before_supersedes_once_a_person_agrees(memory: LocalMemory) -> None:
    anna = with_writer(memory, Author("anna", "person"))
    agent = for_agent(anna, "claude-code")
    said = remember_item(agent, NewItem("Push to main as you like", type="rule")).item
    strict = replace(anna, settings=replace(anna.settings, agent_memories="proposed"))
    rule = remember_item(strict, NewItem(RULE, type="rule")).item
    proposal, by = mark_superseded(for_agent(strict, "claude-code"), rule.id, by=said.id)
    assert is_only_proposed(proposal) and by.id == said.id and now(anna, rule) == rule
    edited = edit_item(for_agent(strict, "claude-code"), said.id, Changes(importance=9.0), supersedes=rule.id)
    assert edited.id == proposal.id and now(anna, said).importance == 9.0
    accept(anna, [proposal.id])
    assert now(anna, rule).superseded_by == said.id and now(anna, proposal).forgotten_ms is not None
    undo_review(anna, proposal.id)
    assert now(anna, rule).superseded_by is None


def test_a_person_who_says_that_a_proposal_replaces_something_accepts_it(
    anna: LocalMemory, agent: LocalMemory, rule: Item
) -> None:
    proposal = remember_item(agent, NewItem("Always push to main without a review", type="rule")).item
    settle_contradiction(anna, rule.id, proposal.id, "new")
    assert now(anna, rule).superseded_by == proposal.id and now(anna, proposal).review == "accepted"


def test_without_the_setting_only_what_was_reviewed_or_pinned_waits(memory: LocalMemory) -> None:
    anna = with_writer(memory, Author("anna", "person"))
    agent = for_agent(anna, "claude-code")
    stated, pinned = (remember_item(anna, NewItem(text, type="rule")).item for text in ("Use tabs", "Use pnpm"))
    show_in_profile(anna, pinned.id, "pinned")
    captured = NewItem("Write short commits", type="rule", review="proposed")
    accepted = remember_item(for_capture(anna, "claude-code"), captured).item
    accept(anna, [accepted.id])
    for item in (pinned, accepted):
        assert is_only_proposed(edit_item(agent, item.id, Changes(content="Anything goes")))
        assert is_only_proposed(forget_items(agent, [item.id])[0])
    edited = edit_item(agent, stated.id, Changes(content="Use spaces"))
    assert source(edited) == ("anna via claude-code", "agent", None)
    assert item_history(anna, stated.id)[-1].before["author"] == "anna"
    assert set(rules(anna)) == {"Use spaces", "Use pnpm", "Write short commits"}


@pytest.mark.parametrize("setting", ["proposed", "accepted"])
def test_an_agent_that_says_it_again_brings_back_nothing_that_a_person_decided_about(
    memory: LocalMemory, setting: str
) -> None:
    settings = replace(memory.settings, agent_memories=setting)
    anna = with_writer(replace(memory, settings=settings), Author("anna", "person"))
    agent = for_agent(anna, "claude-code")
    pinned = remember_item(anna, NewItem("Use pnpm", type="rule")).item
    show_in_profile(anna, pinned.id, "pinned")
    accepted, dismissed = (
        remember_item(for_capture(anna, "claude-code"), NewItem(text, type="rule", review="proposed")).item
        for text in ("Write short commits", "Deploy on Fridays")
    )
    accept(anna, [accepted.id])
    forget_items(anna, [pinned.id, accepted.id])
    dismiss(anna, [dismissed.id])
    for item in (pinned, accepted, dismissed):
        before = now(anna, item)
        again = NewItem(item.text, type="rule")
        assert remember_item(agent, again).item.id != item.id or item is dismissed
        remember_all(agent, [again])
        assert now(anna, item) == before and before.forgotten_ms is not None
    assert rules(anna) == []
    # What a person says again they want back.
    assert remember_item(anna, NewItem("Use pnpm", type="rule")).item.id == pinned.id and rules(anna) == ["Use pnpm"]


def test_agents_change_what_agents_wrote_but_their_words_wait(anna: LocalMemory, agent: LocalMemory) -> None:
    said = remember_item(agent, NewItem("Deploys run on Monday", type="fact")).item
    edited = edit_item(agent, said.id, Changes(content="Deploys run on Tuesday"))
    assert (edited.id, edited.body, edited.review) == (said.id, "Deploys run on Tuesday", "proposed")
    (forgotten,) = forget_items(agent, [said.id])
    assert forgotten.id == said.id and now(anna, said).forgotten_ms is not None


def test_an_agent_withdraws_its_own_proposal_and_proposes_it_anew(
    anna: LocalMemory, agent: LocalMemory, rule: Item
) -> None:
    proposal = edit(agent, rule)
    forget_items(agent, [proposal.id])
    assert list_proposals(anna).items == ()
    assert edit(agent, rule).id == proposal.id
    assert [one.id for one in list_proposals(anna).items] == [proposal.id]
    accept(anna, [proposal.id])
    edit_item(anna, rule.id, Changes(content=RULE))
    assert edit(agent, rule).id == proposal.id and rules(anna) == [RULE]
    assert source(now(anna, proposal)) == ("anna via claude-code", "agent", "proposed")


def test_what_a_person_reads_is_what_happens(anna: LocalMemory, agent: LocalMemory, rule: Item) -> None:
    proposal = edit(agent, rule)
    assert RULE in proposal.body and "Push to main as you like" in proposal.body
    for caller in (agent, anna):
        with pytest.raises(Conflict, match="cannot be edited"):
            edit_item(caller, proposal.id, Changes(content="Fix a typo"))
    with pytest.raises(Conflict, match="cannot be edited"):
        accept_changed(anna, proposal.id, Changes(content="Fix a typo"))
    draft_meta = {"proposed_change": {**proposal.meta["proposed_change"], "title": "Fix a typo"}}  # type: ignore[dict-item]
    forged = remember_item(anna, NewItem("Change it", type="change", meta=draft_meta, review="proposed")).item
    with pytest.raises(Conflict, match="does not say"):
        accept(anna, [forged.id])
    assert rules(anna) == [RULE]


def test_a_proposed_change_neither_contradicts_nor_repeats_anything(
    anna: LocalMemory, agent: LocalMemory, rule: Item
) -> None:
    edit_item(agent, rule.id, Changes(content="Always push to main without a review"))
    forget(agent, rule)
    inbox = read_inbox(anna)
    assert len(inbox.proposals) == 2 and inbox.contradictions == inbox.twins == ()
    assert list_contradictions(anna) == []


@pytest.mark.parametrize("name", sorted(RESERVED_TAGS | RESERVED_METADATA))
def test_the_names_of_our_own_notes_are_refused_from_agents_everywhere(
    anna: LocalMemory, agent: LocalMemory, name: str
) -> None:
    own = remember_item(agent, NewItem("Agents like tabs", type="note", tags=("x",), meta={"y": 1})).item
    tags, meta = ((name.title(),), {}) if name in RESERVED_TAGS else ((), {name: ["z"]})
    note = NewItem("Agents like spaces", type="note", tags=tags, meta=meta)
    for write in (
        lambda: remember_item(agent, note),
        lambda: remember(agent, note),
        lambda: remember_all(agent, [note]),
        lambda: import_items(agent, [ImportedItem(note)]),
        lambda: remember_item(agent, replace(note, content="Agents like tabs")),
        lambda: edit_item(agent, own.id, Changes(tags=tags or None, meta=meta or None)),
        lambda: start_stream(agent, "note", tags) if tags else remember_item(agent, note),
    ):
        with pytest.raises(Forbidden, match="own notes") as refused:
            write()
        assert refused.value.hint
    assert now(anna, own) == own
    assert remember_item(anna, note).duplicate is False


def test_our_own_notes_stay_when_an_agent_writes_other_metadata(anna: LocalMemory, memory: LocalMemory) -> None:
    open_ = with_writer(memory, Author("anna", "person"))
    one, other = (remember_item(open_, NewItem(text, type="rule")).item for text in ("Use tabs", "Never use tabs"))
    settle_contradiction(open_, one.id, other.id, "both")
    edited = edit_item(for_agent(open_, "codex"), other.id, Changes(meta={"why": "makefiles"}))
    assert edited.meta == {"why": "makefiles", "both_hold": [one.uid], **_compared(other)}


def _compared(item: Item) -> dict[str, object]:
    return {name: value for name, value in item.meta.items() if name in RESERVED_METADATA}


def test_only_people_settle_and_open_contradictions(anna: LocalMemory, agent: LocalMemory) -> None:
    one, other = (remember_item(anna, NewItem(text, type="rule")).item for text in ("Use tabs", "Never use tabs"))
    for act in (
        lambda: settle_contradiction(agent, one.id, other.id, "new"),
        lambda: settle_contradiction(agent, one.id, other.id, "both"),
        lambda: reopen_contradiction(agent, one.id, other.id),
    ):
        with pytest.raises(Forbidden, match="Only a person") as refused:
            act()
        assert "commonplace contradictions" in refused.value.hint
    assert [pair.newer.id for pair in list_contradictions(anna)] == [other.id]


def test_an_agent_forgets_no_conversation_with_what_a_person_accepted_in_it(
    anna: LocalMemory, agent: LocalMemory
) -> None:
    messages = [NewMessage("user", "Never push to main, please")]
    stored = store_conversation(anna, NewConversation("About main", messages=messages))
    item = remember_item(anna, NewItem(RULE, type="rule", session=stored.session.key)).item
    with pytest.raises(Forbidden, match="Only a person"):
        forget_session(agent, stored.session.uid)
    assert rules(anna) == [RULE]
    forget_items(anna, [item.id])
    forget_session(agent, stored.session.uid)


@pytest.mark.parametrize("setting", ["proposed", "accepted"])
def test_an_agent_brings_back_a_conversation_without_what_people_forgot_in_it(
    memory: LocalMemory, setting: str
) -> None:
    anna = with_writer(
        replace(memory, settings=replace(memory.settings, agent_memories=setting)), Author("anna", "person")
    )
    agent = for_agent(anna, "claude-code")
    talk = NewConversation("About main", messages=[NewMessage("user", "Never push to main, please")])
    stored = store_conversation(anna, talk)
    item = remember_item(anna, NewItem(RULE, type="rule", session=stored.session.key)).item
    ways: list[Callable[[], Session]] = [
        lambda: restore_session(agent, stored.session.uid),
        lambda: store_conversation(agent, talk).session,
    ]
    for bring_back in ways:
        forget_session(anna, stored.session.uid)
        assert item_history(anna, item.id)[-1].author == "anna"
        back = bring_back()
        assert back.forgotten_ms is None and back.messages == 1
        assert rules(anna) == []
        # What was forgotten with it comes back when a person asks for it.
        restore_session(anna, stored.session.uid)
        assert rules(anna) == [RULE] and item_history(anna, item.id)[-1].author == "anna"


def test_an_agent_takes_back_and_brings_back_no_import_with_what_people_decided_about(
    anna: LocalMemory, agent: LocalMemory
) -> None:
    mine = remember_item(agent, NewItem("Okapis are shy", type="fact")).item
    rule = remember_item(anna, NewItem(RULE, type="rule")).item
    for_agents = note_import(agent, Brought(items={mine.id}))
    assert undo_import(agent, for_agents).undone and now(anna, mine).forgotten_ms is not None
    assert not redo_import(agent, for_agents).undone and now(anna, mine).forgotten_ms is None

    whole = note_import(anna, Brought(items={mine.id, rule.id}))
    with pytest.raises(Forbidden, match="Only a person can take back an import"):
        undo_import(agent, whole)
    assert rules(anna) == [RULE] and now(anna, mine).forgotten_ms is None
    undo_import(anna, whole)
    with pytest.raises(Forbidden, match="Only a person can bring back an import"):
        redo_import(agent, whole)
    assert rules(anna) == []
    redo_import(anna, whole)
    assert rules(anna) == [RULE]


def test_an_agent_takes_back_no_imported_conversation_with_what_people_decided_in_it(
    anna: LocalMemory, agent: LocalMemory
) -> None:
    talk = NewConversation("About main", messages=[NewMessage("user", "Never push to main, please")])
    stored = store_conversation(for_import(anna), talk)
    remember_item(anna, NewItem(RULE, type="rule", session=stored.session.key))
    whole = note_import(anna, Brought(sessions={stored.session.id}))
    with pytest.raises(Forbidden, match="Only a person"):
        undo_import(agent, whole)
    assert rules(anna) == [RULE]


def test_a_stream_of_an_agent_changes_nothing_of_a_person(anna: LocalMemory, agent: LocalMemory, rule: Item) -> None:
    for taken_back in (False, True):
        if taken_back:
            forget_items(anna, [rule.id])
        stream = start_stream(agent, "rule", ("more",))
        append_to_stream(agent, stream.id, RULE)
        _stream, remembered = finalize_stream(agent, stream.id)
        assert remembered.duplicate and remembered.item.id == rule.id
        assert rules(anna) == ([] if taken_back else [RULE]) and now(anna, rule).tags == ()
