"""Where a project stands: what is open, what was decided and why, what contradicts, what failed, who works on what.

It is put together from the report of its last week, its newest notes, rules and decisions. Everything is bounded, so
that a page can show it at once however much is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from commonplace.memory.failed_commands import FailedCommand
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.open_steps import STILL_FAILING, failing_command, open_steps_of, summaries_and_checkpoints
from commonplace.memory.projects import list_projects, resolve_project
from commonplace.memory.report import OpenEnd, Report, ReportedFile, report, week_story
from commonplace.memory.rules import ActiveRules, active_rules
from commonplace.memory.statement_pairs import StatementPair, list_contradictions
from commonplace.memory.status_and_stats import items_per_day
from commonplace.model import PROPOSED, SETTLED, VIA, Item, Project, Scope, Session, SessionScope
from commonplace.text.dates import DAY_MS, EARLIEST_MS
from commonplace.text.project_names import short_names
from commonplace.text.sentences import join_lines, key_sentence, sentences, shorten, split_reason, title_of

WEEK_MS, PEOPLE_MS = 7 * DAY_MS, 30 * DAY_MS
# Days of activity that are counted, of one project and on a card.
ACTIVITY_DAYS, CARD_DAYS = 56, 28
# What is looked at, and what is told of each part, at most.
MAX_EVENTS, MAX_STATEMENTS, MAX_RULES, MAX_PROPOSALS = 1_000, 60, 50, 100
OPEN_ENDS, DECISIONS, PAIRS, FAILURES, PEOPLE, FILES, SESSIONS, FACTS = 12, 12, 3, 6, 8, 8, 8, 6
CARD_STEPS, CARDS = 3, 12
# Characters of a request, a statement, a reason, and of each part of a session.
REQUEST, STATED, REASON, PART = 160, 200, 320, 280
DECIDED, REJECTED, KNOWN = ("constraint", "decision"), ("rejected",), ("fact", "heuristic", "note", "skill")
# How hooks name a file that was written: "Modified src/app.py".
_CHANGED = re.compile(r"(?:Created|Modified|Deleted|Moved|Wrote|Edited) (\S+)")
# Of a long message its end says what came of it.
_MESSAGE_END = 4_000


@dataclass(frozen=True, slots=True)
class Decision:
    """Something that was decided or rejected, why in its own words, and what it replaced; empty where not known.

    `said` is the whole of it, as it was written.
    """

    item: Item
    statement: str
    reason: str
    said: str
    replaced: str = ""


@dataclass(frozen=True, slots=True)
class SessionCard:
    """A session in short: what was asked, found and changed, and what is left to do, each empty if not known.

    `files` are those that it changed, as far as its summary names them.
    """

    session: Session
    request: str
    found: str
    changed: str
    files: tuple[str, ...]
    next_steps: tuple[str, ...]
    author: str = ""


@dataclass(frozen=True, slots=True)
class Contributor:
    """Somebody who worked in the project: by which agents, in how many sessions, and on what last."""

    name: str
    agents: tuple[str, ...]
    sessions: int
    statements: int
    last_ms: int
    last_work: str


@dataclass(frozen=True, slots=True)
class ProjectOverview:
    """Where a project stands. `project` is None for what belongs to none; `name` is what people call it.

    `from_ms` and `to_ms` are the week that is told: the last one, or the last one in which anything happened.
    `session_ids` has the short ids of the sessions that open ends and failures are of. `left_out` counts, by part, what
    is not listed.
    """

    project: str | None
    name: str
    items: int
    last_ms: int | None
    from_ms: int
    to_ms: int
    story: tuple[str, ...] = ()
    open_ends: tuple[OpenEnd, ...] = ()
    decisions: tuple[Decision, ...] = ()
    rejected: tuple[Decision, ...] = ()
    contradictions: tuple[StatementPair, ...] = ()
    failures: tuple[FailedCommand, ...] = ()
    rules: ActiveRules = field(default_factory=lambda: ActiveRules((), ()))
    facts: tuple[Item, ...] = ()
    people: tuple[Contributor, ...] = ()
    files: tuple[ReportedFile, ...] = ()
    sessions: tuple[SessionCard, ...] = ()
    activity: Mapping[date, int] = field(default_factory=dict)
    proposals: int = 0
    session_ids: Mapping[int, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProjectBrief:
    """A project in short: its newest open steps and how many there are, the last decision and the last session."""

    project: str | None
    name: str
    items: int
    last_ms: int | None
    open_steps: tuple[str, ...]
    open_count: int
    decision: Decision | None
    session: SessionCard | None
    activity: Mapping[date, int]


def project_overview(memory: LocalMemory, project: str | None) -> ProjectOverview:
    """Where a project stands now, or what belongs to none. NotFound if there is no such project."""
    name = None if project is None else resolve_project(memory, project)
    return memory.store.snapshot(lambda: _overview(memory, name))


def project_briefs(memory: LocalMemory, limit: int = CARDS) -> list[ProjectBrief]:
    """Every project in short, the one worked on last first, and what belongs to none if there is anything."""
    return memory.store.snapshot(lambda: _briefs(memory, limit))


def _overview(memory: LocalMemory, project: str | None) -> ProjectOverview:
    now, scope = memory.clock(), Scope.inside(project)
    projects = list_projects(memory)
    known = next((one for one in projects if one.name == project), None)
    last_ms = (known.last_ms if known else None) or _last_ms(memory, scope)
    to_ms = now + 1 if last_ms is None or last_ms > now - WEEK_MS else last_ms + 1
    week = report(memory, scope, to_ms - WEEK_MS, to_ms, MAX_EVENTS, topics=False)
    notes = summaries_and_checkpoints(memory, project)
    decisions = _newest(memory, project, DECIDED, DECISIONS)
    rejected = _newest(memory, project, REJECTED, DECISIONS)
    rules = active_rules(memory, project, most=MAX_RULES)
    cards = _session_cards(memory, scope, notes, week, SESSIONS)
    found = ProjectOverview(
        project,
        "" if project is None else _names(projects).get(project, project),
        _outside(memory, projects) if known is None else known.items,
        last_ms,
        week.from_ms,
        to_ms,
        open_ends=tuple(map(_open_end, week.open_ends[:OPEN_ENDS])),
        decisions=tuple(decisions),
        rejected=tuple(rejected),
        contradictions=tuple(_contradictions(memory, project)),
        failures=week.failures[:FAILURES],
        rules=rules,
        facts=tuple(memory.store.newest(replace(Scope.inside(project, types=KNOWN), review=SETTLED), FACTS)),
        people=tuple(_people([*notes, *(one.item for one in (*decisions, *rejected)), *rules.project], now)[:PEOPLE]),
        files=week.files[:FILES],
        sessions=tuple(cards),
        activity=_activity(memory, scope, to_ms, ACTIVITY_DAYS),
        proposals=_proposals(memory, project),
        session_ids=_session_ids(memory, [*week.open_ends[:OPEN_ENDS], *week.failures[:FAILURES]]),
        left_out=_left_out(week),
    )
    return replace(found, story=week_story(found, week, now))


def _briefs(memory: LocalMemory, limit: int) -> list[ProjectBrief]:
    now, projects = memory.clock(), list_projects(memory)
    names = _names(projects)
    found = [_brief(memory, one.name, names[one.name], one.items, one.last_ms, now) for one in projects[:limit]]
    outside = memory.store.newest(Scope.inside(None), 1)
    # To a key for one project its project is all there is.
    if outside and outside[0].project is None:
        found.append(_brief(memory, None, "", _outside(memory, projects), outside[0].created_ms, now))
    return sorted(found, key=lambda one: -(one.last_ms or 0))


def _brief(
    memory: LocalMemory, project: str | None, name: str, items: int, last_ms: int | None, now: int
) -> ProjectBrief:
    scope = Scope.inside(project)
    notes = summaries_and_checkpoints(memory, project)
    steps = open_steps_of(notes)
    decisions = _newest(memory, project, ("decision",), 1)
    cards = _session_cards(memory, scope, notes, None, 1)
    return ProjectBrief(
        project,
        name,
        items,
        last_ms,
        tuple(step.text for step in steps[:CARD_STEPS]),
        len(steps),
        decisions[0] if decisions else None,
        cards[0] if cards else None,
        _activity(memory, scope, now, CARD_DAYS),
    )


def _last_ms(memory: LocalMemory, scope: Scope) -> int | None:
    newest = memory.store.newest(scope, 1)
    return newest[0].created_ms if newest else None


def _names(projects: Iterable[Project]) -> dict[str, str]:
    return short_names((one.name, one.aliases) for one in projects)


def _outside(memory: LocalMemory, projects: Iterable[Project]) -> int:
    """How many items belong to no project."""
    return sum(memory.store.counts().items.values()) - sum(one.items for one in projects)


def _newest(memory: LocalMemory, project: str | None, types: tuple[str, ...], limit: int) -> list[Decision]:
    """The newest memories of these types with their reasons."""
    found = memory.store.newest(replace(Scope.inside(project, types=types), review=SETTLED), limit)
    return [_decision(memory, item) for item in found]


def _decision(memory: LocalMemory, item: Item) -> Decision:
    before = memory.store.superseded(item.id)[:1]
    replaced = [stated_and_why(one)[0] for one in memory.store.get(before).values()]
    statement, reason = stated_and_why(item)
    return Decision(
        item,
        shorten(statement, STATED),
        shorten(reason, REASON),
        shorten(titled_text(item), STATED + REASON),
        shorten("".join(replaced), STATED),
    )


def titled_text(item: Item) -> str:
    """What an item says, after a title of its own."""
    text = item.text or item.title
    return f"{item.title.rstrip('.:')}: {text}" if _has_own_title(item, text) else text


def _has_own_title(item: Item, text: str) -> bool:
    return bool(item.title) and item.title != title_of(text) and not text.startswith(item.title.rstrip(".…"))


def stated_and_why(item: Item) -> tuple[str, str]:
    """What an item states, and why: after a title of its own the text is the reason."""
    text = item.text or item.title
    if _has_own_title(item, text):
        return item.title, text
    statement, reason = split_reason(text)
    return statement or item.title, reason


def _contradictions(memory: LocalMemory, project: str | None) -> list[StatementPair]:
    # Without a project the list is that of all of them.
    return [] if project is None else list_contradictions(memory, project, PAIRS, scanned=MAX_STATEMENTS)


def _session_cards(
    memory: LocalMemory, scope: Scope, notes: Sequence[Item], week: Report | None, limit: int
) -> list[SessionCard]:
    """The latest sessions in which anything happened, without those of sub-agents, which are part of others."""
    by_session: dict[str, list[Item]] = {}
    for item in notes:
        if item.session:
            by_session.setdefault(item.session, []).append(item)
    busy = {one.session.id: one.request for one in week.sessions} if week else {}
    latest = memory.store.sessions_during(scope, EARLIEST_MS, memory.clock() + DAY_MS, 4 * limit + 4)
    kinds = memory.store.kinds_per_session([session.id for session in latest])
    shown = [
        session
        for session in latest
        if "parent_session" not in session.meta
        and (session.messages or session.key in by_session or any(kinds.get(session.id, {}).values()))
    ]
    return [
        _session_card(memory, session, by_session.get(session.key, ()), busy.get(session.id, ""))
        for session in shown[:limit]
    ]


def _session_card(memory: LocalMemory, session: Session, notes: Sequence[Item], request: str) -> SessionCard:
    """A session as its summary and checkpoint tell it; a conversation without them by its last answer."""
    noted = {name: text.strip() for item in reversed(notes) for name, text in item.details.items() if text.strip()}
    files, changed = _changes(noted.get("completed") or noted.get("progress", ""))
    found = noted.get("learned", "") or _without_reading(noted.get("investigated", ""))
    if not (found or changed or files) and session.messages:
        found = _outcome(memory, session)
    shown = noted.get("request") or noted.get("task") or session.label or request or session.key or session.short_id
    return SessionCard(
        session,
        shorten(shown.partition("\n")[0], REQUEST),
        shorten(join_lines(found), PART),
        shorten(join_lines(changed), PART),
        files,
        tuple(shorten(_open_step(step.text), REQUEST) for step in open_steps_of(notes)),
        next((item.author for item in notes if item.author), "") or _author(memory, session),
    )


def _author(memory: LocalMemory, session: Session) -> str:
    """Whose session it is, of one without notes."""
    scope = Scope(sessions=SessionScope(ids=(session.id,), empty=True))
    last = memory.store.items_between(scope, EARLIEST_MS, session.ended_ms + DAY_MS, 1)
    return (last[0].author or "") if last else ""


def _changes(completed: str) -> tuple[tuple[str, ...], str]:
    """The files that a summary says were changed, and what else it says was done; commands that passed are left out."""
    files: list[str] = []
    rest: list[str] = []
    for line in completed.splitlines():
        if _CHANGED.match(line):
            files += (found[1] for part in line.split(", ") if (found := _CHANGED.match(part)))
        elif not line.startswith("Ran "):
            rest.append(line)
    return tuple(dict.fromkeys(files)), "\n".join(rest)


def _without_reading(investigated: str) -> str:
    """What was looked into, without the list of files that hooks write."""
    return "\n".join(line for line in investigated.splitlines() if not line.startswith("Read "))


def _open_step(step: str) -> str:
    return f"Fix {failing_command(step)}" if step.startswith(STILL_FAILING) else step


def _outcome(memory: LocalMemory, session: Session) -> str:
    """What came of a conversation: the sentence of its last answer that says most."""
    scope = Scope(kinds=("message",), sessions=SessionScope(ids=(session.id,), empty=True))
    last = memory.store.items_between(scope, EARLIEST_MS, session.ended_ms + DAY_MS, 2)
    answers = [item for item in last if item.details.get("role") == "assistant"]
    return key_sentence(answers[0].body[-_MESSAGE_END:], (), PART).text if answers else ""


def _people(items: Iterable[Item], now: int) -> list[Contributor]:
    """Who wrote lately, those who did last first; for an agent, the person it works for."""
    by_person: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda one: -one.created_ms):
        if item.author and item.created_ms > now - PEOPLE_MS:
            by_person.setdefault(item.author.partition(VIA)[0].strip(), []).append(item)
    return [
        Contributor(
            name,
            tuple(dict.fromkeys(agent for one in wrote if (agent := (one.author or "").partition(VIA)[2]))),
            len({one.session for one in wrote if one.kind != "memory" and one.session}),
            sum(one.kind == "memory" for one in wrote),
            wrote[0].created_ms,
            shorten(next(filter(None, map(_worked_on, wrote)), ""), REQUEST),
        )
        for name, wrote in by_person.items()
    ]


def _worked_on(item: Item) -> str:
    if item.kind == "memory":
        return stated_and_why(item)[0]
    request = item.details.get("request") or item.details.get("task") or item.title
    return next(iter(sentences(request)), "")


def _proposals(memory: LocalMemory, project: str | None) -> int:
    """How many of the newest proposals are of the project: they have an index of their own, of all projects."""
    return sum(item.project == project for item in memory.store.newest(Scope(review=PROPOSED), MAX_PROPOSALS))


def _activity(memory: LocalMemory, scope: Scope, to_ms: int, days: int) -> dict[date, int]:
    counted = items_per_day(memory, scope, (to_ms // DAY_MS - days + 1) * DAY_MS, to_ms + DAY_MS)
    return {day: sum(kinds.values()) for day, kinds in counted.items()}


def _session_ids(memory: LocalMemory, of: Iterable[OpenEnd | FailedCommand]) -> dict[int, str]:
    ids = {one.session_id for one in of if one.session_id is not None}
    return {id_: session.short_id for id_, session in memory.store.get_sessions(sorted(ids)).items()}


def _open_end(end: OpenEnd) -> OpenEnd:
    """What is left open; a step that only says which command still fails is a failure."""
    return replace(end, what="failing") if end.text.startswith(STILL_FAILING) else end


def _left_out(week: Report) -> dict[str, int]:
    """How much of each part of the report is not listed."""
    lists = (
        ("open_ends", week.open_ends, OPEN_ENDS),
        ("failures", week.failures, FAILURES),
        ("files", week.files, FILES),
    )
    more = {name: len(rows) + week.left_out.get(name, 0) - most for name, rows, most in lists}
    return {name: number for name, number in more.items() if number > 0}
