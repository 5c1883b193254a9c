"""The profile: what people stated or accepted about how they work, short, quoted, the same every time, and theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conftest import Clock

from commonplace.dialects.get_context import context_text
from commonplace.dialects.memories import get_context
from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound
from commonplace.memory.authors import for_agent, for_capture, for_import, with_writer
from commonplace.memory.captured_events import SENTENCE_KEY
from commonplace.memory.context import build_context, plain_tokens
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded, restore_items
from commonplace.memory.hints import prompt_hints
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.profile import PROFILE_TOKENS, Profile, build_profile, show_in_profile
from commonplace.memory.profile_sentences import profile_sentence
from commonplace.memory.remember import NewItem, remember_item
from commonplace.memory.review import accept
from commonplace.memory.rules import rule_set
from commonplace.memory.session_context import SUBAGENTS, session_context
from commonplace.model import Author, Item
from commonplace.text.tokens import estimate_tokens

ANNA = Author("anna", "person")


@pytest.fixture
def anna(memory: LocalMemory) -> LocalMemory:
    return with_writer(memory, ANNA)


def say(memory: LocalMemory, text: str, type_: str = "note", project: str | None = None) -> Item:
    return remember_item(memory, NewItem(text, type=type_, project=project)).item


def profile_lines(memory: LocalMemory, project: str | None = None) -> list[str]:
    return [line.text for line in build_profile(memory, project).lines]


@pytest.mark.parametrize(
    ("text", "type_", "group"),
    [
        ("I prefer small pull requests.", "note", "preferences"),
        ("We don't like long functions", "fact", "preferences"),
        ("The team prefers squash merges", "fact", "preferences"),
        ("Priya prefers calls over mails.", "note", "preferences"),
        ("When a disk is full, look at the logs first", "heuristic", "ways"),
        ("We use pnpm, not npm.", "fact", "environment"),
        ("I'm on macOS with zsh", "note", "environment"),
        ("Our CI is GitHub Actions.", "fact", "environment"),
        ("My editor is Helix", "note", "environment"),
        ("Never push to main", "rule", "ways"),
    ],
)
def test_sentences_that_tell_how_people_work(text: str, type_: str, group: str) -> None:
    found = profile_sentence(text, type_)
    assert found is not None and (found.text, found.group) == (text, group)


@pytest.mark.parametrize(
    "text",
    [
        "Amounts are cents",
        "Redis is version 7",
        "Do we use pnpm?",
        "The customer prefers invoices by mail",
        "Sessions are kept for 30 days because we use Redis",
        "I prefer " + "very " * 60 + "short sentences",
    ],
)
def test_sentences_that_do_not(text: str) -> None:
    assert profile_sentence(text, "fact") is None


def test_the_sentence_is_quoted_from_where_it_stands() -> None:
    found = profile_sentence("The build was slow. We use Vite since then. It is fast.", "fact")
    assert found is not None and found.text == "We use Vite since then."


def test_only_what_a_person_stated_or_accepted_counts(anna: LocalMemory) -> None:
    say(anna, "I prefer tabs")
    say(for_agent(anna, "claude-code"), "I prefer writing long answers")
    say(for_import(anna), "I prefer imported goods")
    say(with_writer(anna, Author()), "I prefer to be nobody")
    proposed = remember_item(
        for_capture(anna, "claude-code"), NewItem("We use pnpm, not npm", type="fact", review="proposed")
    ).item
    assert profile_lines(anna) == ["I prefer tabs"]
    accept(anna, [proposed.id])
    assert profile_lines(anna) == ["I prefer tabs", "We use pnpm, not npm"]


def test_what_does_not_hold_or_was_forgotten_is_not_told(anna: LocalMemory, clock: Clock) -> None:
    remember_item(anna, NewItem("We use Node 18", type="fact", valid_until_ms=clock() + 1000, reads_validity=False))
    gone = say(anna, "I prefer spaces")
    assert len(profile_lines(anna)) == 2
    forget_items(anna, [gone.id])
    clock.forward(days=1)
    assert profile_lines(anna) == []


def test_it_takes_at_most_300_tokens_however_much_there_is(anna: LocalMemory, clock: Clock) -> None:
    for number in range(60):
        clock.forward(minutes=1)
        say(anna, f"I prefer the number {number} to all the other numbers that I know of")
        say(anna, f"Always write test {number} before the code that it is a test of", "rule")
        say(anna, f"We use the tool number {number} for the things that it can do")
    profile = build_profile(anna)
    assert 200 < profile.tokens == estimate_tokens(len(profile.text)) <= PROFILE_TOKENS
    assert {line.group for line in profile.lines} == {"preferences", "environment", "ways"}
    assert profile == build_profile(anna)
    assert profile.lines[0].text.startswith("I prefer the number 59")
    assert all(f"({line.item.short_id})" in profile.text for line in profile.lines)


def test_nothing_is_said_twice(anna: LocalMemory) -> None:
    say(anna, "We use pnpm", project="one")
    say(anna, "we use pnpm.", project="two")
    assert len(profile_lines(anna)) == 1


def test_a_correction_that_was_said_in_several_sessions_comes_first(anna: LocalMemory, clock: Clock) -> None:
    captured = for_capture(anna, "claude-code")
    for session in ("claude-code:1", "claude-code:2"):
        prompt = NewItem("No, use pnpm for everything.", "observation", "prompt", title="Prompt", session=session)
        remember_item(captured, prompt)
        clock.forward(days=1)
    meta = {SENTENCE_KEY: "No, use pnpm for everything."}
    often = NewItem("Use pnpm for everything.", type="decision", meta=meta, review="proposed")
    once = replace(often, content="Use tabs in makefiles.", meta={SENTENCE_KEY: "No, use tabs in makefiles."})
    items = [remember_item(captured, new).item for new in (often, once)]
    clock.forward(minutes=1)
    accept(anna, [item.id for item in items])
    lines = build_profile(anna).lines
    assert [(line.text, line.group, line.times) for line in lines] == [
        ("Use pnpm for everything.", "corrections", 2),
        ("Use tabs in makefiles.", "corrections", 1),
    ]


def test_lines_are_pinned_hidden_and_left_to_the_rules_again(anna: LocalMemory, clock: Clock) -> None:
    tabs, cents = say(anna, "I prefer tabs"), say(anna, "Amounts are cents")
    clock.forward(minutes=1)
    say(anna, "I prefer mornings")
    show_in_profile(anna, cents.id, "pinned")
    show_in_profile(anna, tabs.short_id, "hidden")
    profile = build_profile(anna)
    assert [(line.text, line.pinned) for line in profile.lines] == [
        ("I prefer mornings", False),
        ("Amounts are cents", True),
    ]
    assert [item.id for item in profile.hidden] == [tabs.id]
    show_in_profile(anna, tabs.id, "pinned")
    assert profile_lines(anna) == ["I prefer tabs", "I prefer mornings", "Amounts are cents"]
    for item in (tabs, cents):
        show_in_profile(anna, item.id, "auto")
    assert profile_lines(anna) == ["I prefer mornings", "I prefer tabs"] and build_profile(anna).hidden == ()


def test_pinning_keeps_the_author_and_an_edit_changes_the_line(anna: LocalMemory) -> None:
    item = say(anna, "I prefer tabs")
    pinned = show_in_profile(with_writer(anna, Author("ravi", "person")), item.id, "pinned")
    assert (pinned.author, pinned.origin) == ("anna", "person")
    edit_item(anna, item.id, Changes(content="I prefer spaces"))
    assert profile_lines(anna) == ["I prefer spaces"]


def test_only_people_change_it_and_only_with_what_people_said(anna: LocalMemory) -> None:
    mine, theirs = say(anna, "I prefer tabs"), say(for_agent(anna, "claude-code"), "I prefer to talk")
    for show in ("pinned", "hidden", "auto"):
        with pytest.raises(Forbidden, match="Only a person"):
            show_in_profile(for_agent(anna, "claude-code"), mine.id, show)
    with pytest.raises(Conflict, match="not stated or accepted"):
        show_in_profile(anna, theirs.id, "pinned")
    with pytest.raises(InvalidInput):
        show_in_profile(anna, mine.id, "loudly")  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        show_in_profile(anna, 999, "pinned")


def test_a_project_has_its_own_lines_and_those_of_everywhere(anna: LocalMemory) -> None:
    say(anna, "We use pnpm", project="web")
    say(anna, "We use uv", project="api")
    say(anna, "I prefer tabs")
    assert sorted(profile_lines(anna)) == ["I prefer tabs", "We use pnpm", "We use uv"]
    assert sorted(profile_lines(anna, "web")) == ["I prefer tabs", "We use pnpm"]
    assert profile_lines(for_project(anna, "api")) == ["We use uv"]
    with pytest.raises(NotFound):
        build_profile(anna, "nowhere")


def test_who_says_i_is_named_to_others_and_comes_after_what_they_say_themselves(
    anna: LocalMemory, clock: Clock
) -> None:
    ravi = with_writer(anna, Author("ravi", "person"))
    say(anna, "I prefer tabs", project="web")
    clock.forward(minutes=1)
    say(ravi, "I prefer spaces", project="web")
    say(ravi, "We use pnpm", project="web")
    assert [line.quote for line in build_profile(anna).lines] == [
        "I prefer tabs",
        "ravi: I prefer spaces",
        "ravi: We use pnpm",
    ]
    assert [line.quote for line in build_profile(for_agent(ravi, "cursor")).lines] == [
        "I prefer spaces",
        "anna: I prefer tabs",
        "We use pnpm",
    ]
    text = session_context(anna, "web", 625)
    assert "- I prefer tabs (" in text and "- ravi: I prefer spaces (" in text and text.count("I prefer") == 2


def test_rules_for_certain_files_are_not_how_people_work(anna: LocalMemory) -> None:
    remember_item(anna, NewItem("Use tabs", type="rule", details={"paths": "Makefile"}))
    assert profile_lines(anna) == []


def test_a_session_is_told_once_and_only_if_it_is_not_off(anna: LocalMemory) -> None:
    say(anna, "I prefer small commits", "heuristic", "web")
    say(anna, "Never push to main", "rule", "web")
    say(anna, "Our CI is GitHub Actions", "fact", "web")
    say(anna, "We use uv", project="api")
    text = session_context(anna, "web", 625)
    assert "## Preferences and environment\n- I prefer small commits (" in text
    assert text.count("small commits") == text.count("push to main") == text.count("GitHub Actions") == 1
    assert "We use uv" not in text


def at_each_door(agent: LocalMemory, question: str) -> dict[str, str]:
    """What an agent is told without having searched for it."""
    return {
        "start": session_context(agent, "web", 2000, told=()),
        "context": " ".join(e.text for e in build_context(agent, "web", None, 9000, plain_tokens).items),
        "question": " ".join(e.text for e in build_context(agent, "web", question, 9000, plain_tokens).items),
        "get_context": get_context(agent, question, "web", 50).text,
        "resource": context_text(agent, "web", question),
        "rule files": " ".join(rule.text for rule in rule_set(agent, "web").rules),
        "hints": " ".join(
            hint.line for hint in prompt_hints(agent, "web", "Are commits squashed before they are merged upstream?")
        ),
    }


def test_a_profile_that_is_off_is_hidden_from_agents_and_not_from_people(anna: LocalMemory) -> None:
    say(anna, "I prefer small commits, squashed before they are merged upstream", "preference", "web")
    say(anna, "Our CI is GitHub Actions, for all commits", "fact", "web")
    say(anna, "I prefer " + "small commits " * 20, "note", "web")
    say(with_writer(anna, Author("bo", "person")), "We like commits with a scope", "note", "web")
    show_in_profile(anna, say(anna, "Commits are signed", "note", "web").id, "pinned")
    say(anna, "I prefer that nobody commits to main", "rule", "web")
    say(anna, "We use conventional commits", "decision", "web")
    say(anna, "The commits of the importer are slow", "fact", "web")
    say(for_agent(anna, "cursor"), "I use commits of 10 rows", "note", "web")
    told = ("nobody commits", "conventional commits", "commits of the importer", "commits of 10 rows")
    hidden = ("small commits", "GitHub Actions", "with a scope", "Commits are signed")
    question = "How are commits to be made?"
    off = replace(anna, settings=replace(anna.settings, user_profile="off"))
    shown = at_each_door(for_agent(anna, "cursor"), question)
    shown_off = at_each_door(for_agent(off, "cursor"), question)
    for door, text in shown.items():
        assert any(words in text for words in hidden), door
        assert not any(words in shown_off[door] for words in hidden), door
        assert [w for w in told if w in text] == [w for w in told if w in shown_off[door]], door
    assert session_context(off, "web", 2000, SUBAGENTS).count("\n- ") == 1
    assert build_profile(for_agent(off, "cursor"), "web") == Profile((), offered=False)
    assert not build_profile(off, "web").offered and build_profile(off, "web").lines


def test_where_the_profile_has_no_room_a_heuristic_is_told_as_before(anna: LocalMemory) -> None:
    for number in range(40):
        say(anna, f"I prefer way number {number} of all the ways there are to do the thing", "heuristic", "web")
    text = session_context(anna, "web", 300)
    assert estimate_tokens(len(text)) <= 300
    assert text.count("I prefer way") == len(
        {line.split("(")[0] for line in text.splitlines() if "I prefer way" in line}
    )
    assert "[heuristic] I prefer way" in text


def test_what_the_profile_would_not_show_is_not_pinned(anna: LocalMemory) -> None:
    old, new = say(anna, "I prefer tabs."), say(anna, "I prefer spaces.")
    mark_superseded(anna, old.id, by=new.id)
    with pytest.raises(Conflict, match=f"superseded by {new.id}") as refused:
        show_in_profile(anna, old.id, "pinned")
    assert f"commonplace restore {old.id}" in refused.value.hint
    restore_items(anna, [old.id])
    assert show_in_profile(anna, old.id, "pinned").tags == ("profile-pinned",)
    edit_item(anna, new.id, Changes(valid_until_ms=anna.clock() - 1))
    with pytest.raises(Conflict, match="no longer valid"):
        show_in_profile(anna, new.id, "pinned")
