"""What belongs to another project, and chats that belong to none, are told by no door that is asked about one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from commonplace import Memory
from commonplace.dialects.tool_profiles import tools_of
from commonplace.mcp.resources_and_prompts import get_prompt, read_resource
from commonplace.memory.hints import prompt_hints
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.tool_hints import failure_hints, tool_hints
from commonplace.text.command_actions import edit_action

SECRET = "Hartmann"
OURS, THEIRS = "field-app", "platform"
QUESTION = "where is the data of customers stored"
ERROR = "psycopg.errors.DeadlockDetected: deadlock detected in the data of customers"


@pytest.fixture
def both(memory: LocalMemory) -> LocalMemory:
    """Something of each kind that answers the question, in another project and in none, and little in our own."""
    library = Memory.over(memory)
    library.remember("The data of the app is stored with op-sqlite", type="decision", project=OURS)
    library.remember("Answer in English", type="rule")
    said = f"The data of customers is stored for {SECRET}"
    for type_ in ("rule", "constraint", "decision", "rejected", "fact", "note"):
        library.remember(f"{said}, as {type_}", type=type_, project=THEIRS)
    library.remember(f"I prefer that {said}", type="note", project=THEIRS)
    for project in (THEIRS, None):
        library.remember(
            f"{said}: {ERROR}", kind="observation", type="command", session=f"s {project}", project=project
        )
        library.remember(kind="summary", title=said, session=f"s {project}", learned=said, project=project or THEIRS)
        library.remember(kind="checkpoint", title=said, progress=said, next_steps=said, project=project or THEIRS)
    chat = [("user", f"{QUESTION}, {SECRET}?"), ("assistant", f"{said} in a diary")]
    library.store_conversation("Private", chat, folder="/chatgpt")
    library.store_conversation("Theirs", chat, project=THEIRS)
    return memory


Door = Callable[[LocalMemory, Memory], object]
DOORS: dict[str, Door] = {
    "context": lambda _m, library: library.context(project=OURS),
    "context for a question": lambda _m, library: library.context(QUESTION, project=OURS),
    "session start": lambda _m, library: library.session_context(OURS),
    "session start of no project": lambda _m, library: library.session_context(None),
    "rules": lambda _m, library: library.rules(OURS),
    "search": lambda _m, library: library.search(QUESTION, project=OURS, with_global=True).hits,
    "search with operators": lambda _m, library: library.search("data AND customers OR app", project=OURS).hits,
    "recall": lambda _m, library: library.recall("app data", project=OURS, with_global=True, min_score=0.0),
    "explain": lambda _m, library: library.explain("app data", project=OURS, with_global=True),
    "predict": lambda _m, library: library.predict(f"{QUESTION} {ERROR}", project=OURS, with_global=True),
    "overview": lambda _m, library: library.overview(OURS),
    "profile": lambda _m, library: library.profile(OURS),
    "entities": lambda _m, library: library.entities(project=OURS),
    "contradictions": lambda _m, library: library.contradictions(library.remember(f"{QUESTION}", project=OURS).id),
    "open contradictions": lambda _m, library: library.open_contradictions(project=OURS, twins=True),
    "hints at a prompt": lambda memory, _l: prompt_hints(memory, OURS, QUESTION),
    "hints at a prompt of no project": lambda memory, _l: prompt_hints(memory, None, QUESTION),
    "hints before a tool": lambda memory, _l: tool_hints(memory, OURS, edit_action(["customers.py"])),
    "hints after a failure": lambda memory, _l: failure_hints(memory, OURS, ERROR, ()),
    "the resource of a context": lambda memory, _l: read_resource(memory, f"memory://project/{OURS}/context"),
    "the resource of rules": lambda memory, _l: read_resource(memory, "memory://rules"),
    "the resource of a project's rules": lambda memory, _l: read_resource(memory, f"memory://project/{OURS}/rules"),
    "the resource of a profile": lambda memory, _l: read_resource(memory, f"memory://project/{OURS}/profile"),
    "the prompt of a task": lambda memory, _l: get_prompt(
        memory, {"get_context"}, "start_task", {"project": OURS, "task": QUESTION}
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_door_that_is_asked_about_one_project_tells_of_no_other(both: LocalMemory, door: str) -> None:
    told = str(DOORS[door](both, Memory.over(both)))
    assert SECRET not in told


@pytest.mark.parametrize("profile", ["core", "all", "memories"])
def test_no_tool_tells_of_another_project_unasked(both: LocalMemory, profile: str) -> None:
    asked: dict[str, dict[str, Any]] = {
        "get_context": {"query": QUESTION},
        "search": {"query": QUESTION},
        "recall": {"query": QUESTION, "minScore": 0.0},
        "explain": {"topic": "app data"},
        "predict": {"context": f"{QUESTION} {ERROR}"},
        "search_memories": {"query": QUESTION},
        "list_memories": {},
        "get_rules": {},
        "timeline": {"anchor_id": 1},
    }
    if profile == "all":
        # In a window without a project it searches everything; `core` is strict there.
        both = replace(both, settings=replace(both.settings, project=OURS))
    for tool in tools_of(profile):
        if tool.name in asked:
            try:
                told = str(tool.run(both, asked[tool.name]).data)
            except Exception as nothing:  # noqa: BLE001
                told = str(nothing)
            assert SECRET not in told, tool.name
