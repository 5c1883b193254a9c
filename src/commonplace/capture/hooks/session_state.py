"""The state of a session while its events are stored: its recent actions, and what its summary is made of."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from commonplace.capture.hooks.observations import ANSWER, PROMPT
from commonplace.memory.captured_events import SessionProgress
from commonplace.model import Item

FIRST_PROMPTS, RECENT_ACTIONS = 3, 300
"""How many prompts from the beginning of a session, and how many of its newest observations, are read."""


@dataclass(frozen=True, slots=True)
class Action:
    """One observation, as far as the state of a session needs it."""

    type: str
    title: str
    narrative: str
    facts: str
    read: tuple[str, ...]
    modified: tuple[str, ...]
    at_ms: int
    digest: str = ""
    error: str = ""
    succeeded: bool = False
    verbs: Mapping[str, object] = field(default_factory=dict)
    agent: str = ""
    text: str = ""
    """The text of a prompt or an answer; empty for everything else."""

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
            read=_split(details.get("files_read", "")),
            modified=_split(details.get("files_modified", "")),
            at_ms=at_ms,
            digest=_text(meta.get("digest")),
            error=_text(meta.get("error")),
            succeeded=meta.get("went_well") is True,
            verbs=verbs if isinstance(verbs := meta.get("verbs"), Mapping) else {},
            agent=_text(meta.get("agent")),
            text=text if type_ in (PROMPT, ANSWER) else "",
        )

    @classmethod
    def of_item(cls, item: Item) -> Action:
        return cls.of(item.type, item.title, item.body, item.details, item.meta, item.created_ms)


@dataclass(slots=True)
class SessionState:
    """A session while its events are stored."""

    key: str
    source: str
    started_ms: int
    project: str | None = None
    label: str = ""
    forgotten: bool = False
    is_new: bool = True
    meta: dict[str, object] = field(default_factory=dict)
    first_prompts: list[str] = field(default_factory=list)
    actions: deque[Action] = field(default_factory=lambda: deque(maxlen=RECENT_ACTIONS))
    counts: Counter[str] = field(default_factory=Counter)
    summary: Item | None = None
    checkpoint: Item | None = None
    answers: list[tuple[int, str]] = field(default_factory=list)
    """The answers at the stops since the last summary, with their times."""
    closes_ms: int | None = None
    """When it stopped since its last summary, which is then due."""
    summarised_ms: int = 0
    """When it was last summarised."""
    messages: int = 0
    """How many messages of it were stored in other ways."""

    def resume(self, progress: SessionProgress) -> None:
        """Continue a session that is in the store."""
        session = progress.session
        self.is_new, self.forgotten = False, session.forgotten_ms is not None
        self.project = session.project if session.project is not None else self.project
        self.label, self.started_ms = session.label, session.started_ms
        self.first_prompts = [item.title for item in progress.opening]
        self.actions.extend(map(Action.of_item, progress.recent))
        self.counts.update(progress.counts)
        self.summary, self.checkpoint = progress.summary, progress.checkpoint
        self.summarised_ms = max((one.created_ms for one in (self.summary, self.checkpoint) if one), default=0)
        self.messages = session.messages

    def add(self, action: Action) -> None:
        self.actions.append(action)
        self.counts[action.type] += 1
        if action.type == PROMPT:
            self.label = self.label or action.title
            if len(self.first_prompts) < FIRST_PROMPTS:
                self.first_prompts.append(action.title)

    def close(self, at_ms: int, answer: str) -> None:
        """Mark the session as due for its summary, with its last answer."""
        self.closes_ms = at_ms
        if answer.strip():
            self.answers.append((at_ms, answer))

    @property
    def is_empty(self) -> bool:
        """Whether nothing has happened in it that is worth listing."""
        return not (self.counts or self.messages or self.summary or self.checkpoint)

    def actions_since(self, since_ms: int) -> Iterable[Action]:
        """The actions since a time, the latest first."""
        for action in reversed(self.actions):
            if action.at_ms < since_ms:
                return
            yield action


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _split(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(", ") if name)
