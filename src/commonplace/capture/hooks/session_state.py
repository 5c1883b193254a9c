"""The course of a session: what of it the next events are judged by, and its summary is made of."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from commonplace.capture.hooks.observations import ANSWER, PROMPT
from commonplace.memory.captured_events import SessionProgress
from commonplace.model import Item

FIRST_PROMPTS, RECENT_ACTIONS = 3, 300
"""How many prompts of a session's beginning, and how many of its newest observations, are looked at."""


@dataclass(frozen=True, slots=True)
class Action:
    """One observation, as far as the course of a session needs it."""

    type: str
    title: str
    narrative: str
    facts: str
    read: tuple[str, ...]
    modified: tuple[str, ...]
    at_ms: int
    digest: str = ""
    error: str = ""
    went_well: bool = False
    verbs: Mapping[str, object] = field(default_factory=dict)
    agent: str = ""
    text: str = ""
    """What a prompt or an answer said; empty for everything else."""

    @classmethod
    def of(
        cls, type_: str, title: str, text: str, details: Mapping[str, str], meta: Mapping[str, object], at_ms: int
    ) -> Action:
        """From an observation, whether it is stored already or about to be."""
        return cls(
            type=type_,
            title=title,
            narrative=details.get("narrative", ""),
            facts=details.get("facts", ""),
            read=_listed(details.get("files_read", "")),
            modified=_listed(details.get("files_modified", "")),
            at_ms=at_ms,
            digest=_text(meta.get("digest")),
            error=_text(meta.get("error")),
            went_well=meta.get("went_well") is True,
            verbs=verbs if isinstance(verbs := meta.get("verbs"), Mapping) else {},
            agent=_text(meta.get("agent")),
            text=text if type_ in (PROMPT, ANSWER) else "",
        )

    @classmethod
    def of_item(cls, item: Item) -> Action:
        return cls.of(item.type, item.title, item.body, item.details, item.meta, item.created_ms)


@dataclass(slots=True)
class SessionState:
    """A session while its events are taken, from where the store says it stands."""

    key: str
    source: str
    started_ms: int
    project: str | None = None
    label: str = ""
    forgotten: bool = False
    is_new: bool = True
    meta: dict[str, object] = field(default_factory=dict)
    opening: list[str] = field(default_factory=list)
    actions: deque[Action] = field(default_factory=lambda: deque(maxlen=RECENT_ACTIONS))
    counts: Counter[str] = field(default_factory=Counter)
    summary: Item | None = None
    checkpoint: Item | None = None
    answers: list[tuple[int, str]] = field(default_factory=list)
    """What was answered at the stops since the last summary, and when."""
    closes_ms: int | None = None
    """When it was to be summed up, since it was the last time."""
    summed_up_ms: int = 0
    """When it was summed up the last time."""
    messages: int = 0
    """How many messages of it came in by other ways."""

    def go_on(self, thread: SessionProgress) -> None:
        """Take up a session that is known."""
        session = thread.session
        self.is_new, self.forgotten = False, session.forgotten_ms is not None
        self.project = session.project if session.project is not None else self.project
        self.label, self.started_ms = session.label, session.started_ms
        self.opening = [item.title for item in thread.opening]
        self.actions.extend(map(Action.of_item, thread.recent))
        self.counts.update(thread.counts)
        self.summary, self.checkpoint = thread.summary, thread.checkpoint
        self.summed_up_ms = max((item.created_ms for item in (thread.summary, thread.checkpoint) if item), default=0)
        self.messages = session.messages

    def add(self, action: Action) -> None:
        self.actions.append(action)
        self.counts[action.type] += 1
        if action.type == PROMPT:
            self.label = self.label or action.title
            if len(self.opening) < FIRST_PROMPTS:
                self.opening.append(action.title)

    def close(self, at_ms: int, answer: str) -> None:
        """Note that the session is to be summed up, and what was answered last."""
        self.closes_ms = at_ms
        if answer.strip():
            self.answers.append((at_ms, answer))

    @property
    def is_empty(self) -> bool:
        """Whether nothing has happened in it that is worth a place in a list."""
        return not (self.counts or self.messages or self.summary or self.checkpoint)

    def lately(self, since_ms: int) -> Iterable[Action]:
        """What was done since a moment, the last first."""
        for action in reversed(self.actions):
            if action.at_ms < since_ms:
                return
            yield action


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(", ") if name)
