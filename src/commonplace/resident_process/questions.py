"""What a hook or a command may ask the resident process (`client.ask`): a table of names and functions.

A function is given the caller's memory and the parameters, and returns what becomes JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from commonplace.errors import InvalidInput
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.model import Scope

Answer = Callable[[LocalMemory, Mapping[str, Any]], dict[str, Any]]

# Imported when it is first asked.
QUESTIONS: dict[str, str] = {
    "completion": "commonplace.cli.completion_values:answer_completion",
    "hints": "commonplace.capture.hooks.hint_answers:answer_hints",
    "search": "commonplace.resident_process.questions:answer_search",
}


def find_answer(method: str) -> Answer:
    """The function that answers; InvalidInput if there is none."""
    if method not in QUESTIONS:
        raise InvalidInput(f"There is no question {method!r}.", f"Known: {', '.join(sorted(QUESTIONS))}.")
    module, _, name = QUESTIONS[method].partition(":")
    found: Answer = getattr(import_module(module), name)
    return found


def answer_search(memory: LocalMemory, params: Mapping[str, Any]) -> dict[str, Any]:
    """The best hits for a question, in a project or in all."""
    project = params.get("project")
    found = recall(memory, str(params.get("query", "")), Scope(project=project), int(params.get("limit", 10)))
    hits = [{"id": hit.item.id, "title": hit.item.title, "relevance": hit.relevance} for hit in found.hits]
    return {"hits": hits, "by_meaning": found.by_meaning}
