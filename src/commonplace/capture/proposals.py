"""What a person states in a prompt is proposed as a memory, whether hooks captured it or a transcript has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commonplace.hosts.tool_text import clean_text
from commonplace.memory.captured_events import PROPOSED, SENTENCE_KEY, EventOutcome
from commonplace.memory.draft import make_draft
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, same_statements
from commonplace.memory.said_again import find_repeated, note_said_again, without_repeats
from commonplace.text.proposed_memories import find_statements


def proposals_in(
    memory: LocalMemory, prompt: str, project: str | None, session: str, at_ms: int, commands: Sequence[str] = ()
) -> Iterator[EventOutcome]:
    """What a prompt states and is not in the memory, each proposed once, however often it is said.

    What says again what is agreed is noted there, with the last of the session's commands that broke it.
    """
    found = find_statements(clean_text(prompt))
    new = without_repeats([stated.text for stated in found])
    for stated in found:
        if stated.text not in new:
            continue
        note = NewItem(
            content=stated.text,
            type=stated.type,
            meta={SENTENCE_KEY: stated.sentence},
            project=project,
            session=session,
            created_ms=at_ms,
            origin="captured",
            review="proposed",
        )
        if repeated := find_repeated(memory, note):
            note_said_again(memory, repeated, at_ms, commands)
        elif not same_statements(memory, make_draft(note, at_ms)):
            name = f"stated in {project}: {stated.text.casefold().rstrip('. ')}"
            yield EventOutcome(name, f"{PROPOSED}:{stated.type}", note)
