"""Report: a stretch of time in a project, from what was captured: sessions, decisions, files, failures, open ends.

One bounded look over what happened makes all of it; nothing is made up, and what was left out is counted. A week is
also told as a short story, in a few plain sentences.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from commonplace.errors import InvalidInput
from commonplace.memory.callers import person_named
from commonplace.memory.failed_commands import FailedCommand, find_failed_commands, passed_after
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.open_steps import LONGEST_STEP, STILL_FAILING, dismissed_steps, failing_command
from commonplace.memory.open_steps import MAX_NOTES as OLDER_NOTES
from commonplace.model import KNOWLEDGE_TYPES, Item, Kind, Scope, Session
from commonplace.store.types import ItemHeader
from commonplace.text.dates import clamp_time, utc_day
from commonplace.text.sentences import join_lines, sentences, shorten

if TYPE_CHECKING:
    from commonplace.memory.project_overview import ProjectOverview

# What is looked at, and what is told of each part, at most.
MAX_EVENTS, MAX_SESSIONS = 20_000, 1_000
SESSIONS, DECISIONS, FILES, FAILURES, OPEN_ENDS, TOPICS = 100, 100, 20, 20, 30, 10
# Characters of a request.
REQUEST = 200
DECISION_TYPES = (*sorted(KNOWLEDGE_TYPES), "rule")

T = TypeVar("T")
OpenEndKind = Literal["next step", "question", "failing"]
_NOTES: tuple[Kind, ...] = ("summary", "checkpoint")
_LEFT_TO_DO: tuple[tuple[OpenEndKind, str], ...] = (("next step", "next_steps"), ("question", "open_questions"))


@dataclass(frozen=True, slots=True)
class ReportedSession:
    """A session, what it was for, and how much of it fell into the time.

    `requests` are what was asked, one by one; `request` is all of that. `people` are those who worked in it.
    """

    session: Session
    request: str
    requests: tuple[str, ...]
    happenings: int
    people: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportedFile:
    """A file that was worked on: in how many steps it was changed, and in how many only read or named."""

    path: str
    changed: int
    read: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class OpenEnd:
    """Something left to do, to answer or to fix, and in which session."""

    what: OpenEndKind
    text: str
    session_id: int | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Report:
    """A report. `quiet` counts sessions in which nothing happened; `left_out` counts, by part, what is not listed."""

    from_ms: int
    to_ms: int
    happenings: int
    sessions: tuple[ReportedSession, ...]
    quiet: int
    decisions: tuple[Item, ...]
    files: tuple[ReportedFile, ...]
    failures: tuple[FailedCommand, ...]
    open_ends: tuple[OpenEnd, ...]
    topics: tuple[tuple[str, int], ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.sessions or self.happenings)

    @property
    def complete(self) -> bool:
        """Whether everything in the period was read, not only the newest of it."""
        return self.happenings < MAX_EVENTS


def report(
    memory: LocalMemory, scope: Scope, from_ms: int, to_ms: int, most_events: int = MAX_EVENTS, *, topics: bool = True
) -> Report:
    """What happened in a scope from a moment up to another; of more than `most_events` the newest count."""
    if from_ms >= to_ms:
        raise InvalidInput("The time ends before it begins.", "Choose an earlier beginning or a later end.")
    happened = memory.store.item_headers(scope, from_ms, to_ms, most_events)
    during = memory.store.sessions_during(scope, from_ms, to_ms, MAX_SESSIONS)
    failed = find_failed_commands(happened, lambda ids: {id_: item.body for id_, item in memory.store.get(ids).items()})
    reported = _reported_sessions(during, happened)
    busy = [one for one in reported if one.happenings]
    decided = [one.item_id for one in happened if one.type in DECISION_TYPES]
    left: dict[str, int] = {}

    def most(name: str, rows: Sequence[T], number: int) -> tuple[T, ...]:
        if len(rows) > number:
            left[name] = len(rows) - number
        return tuple(rows[:number])

    return Report(
        from_ms,
        to_ms,
        len(happened),
        most("sessions", busy, SESSIONS),
        len(reported) - len(busy),
        tuple(memory.store.get(most("decisions", decided, DECISIONS)).values()),
        most("files", _files(happened), FILES),
        most("failures", failed, FAILURES),
        most("open_ends", _open_ends(failed, happened, _older_notes(memory, scope, from_ms)), OPEN_ENDS),
        most("topics", _topics(memory, happened) if topics else [], TOPICS),
        left,
    )


def _reported_sessions(sessions: Iterable[Session], happened: Sequence[ItemHeader]) -> list[ReportedSession]:
    """The sessions, those of sub-agents as part of others. What was asked: as its summary says, or its first words.

    A session in which nobody asked for anything is called by its label.
    """
    counts = Counter(one.session_id for one in happened)
    requests: dict[int | None, str] = {}
    asked_in: dict[int | None, str] = {}
    # The newest come first, and what is told first stays.
    for kind, field_ in (("summary", "request"), ("checkpoint", "task")):
        for one in happened:
            if one.kind == kind and (request := one.details.get(field_) or one.title):
                requests.setdefault(one.session_id, request)
                if field_ in one.details:
                    asked_in.setdefault(one.session_id, request)
    said = {one.session_id: one.title for one in happened if one.kind == "message" or one.type == "prompt"}
    first = {one.session_id: one.title for one in happened if one.title}
    people: defaultdict[int | None, dict[str, None]] = defaultdict(dict)
    for one in happened:
        # Who accepts or edits later what was stated there did not work in it: an agent's name says that it was.
        if one.author and (one.kind != "memory" or person_named(one.author) != one.author):
            people[one.session_id][person_named(one.author)] = None
    reported = []
    for session in sessions:
        if "parent_session" in session.meta:
            continue
        name = requests.get(session.id) or session.label or first.get(session.id) or session.key
        # A summary of a session without prompts is called like the session, by what happened first.
        is_name = name in (session.label, first.get(session.id), session.key) or name.startswith(STILL_FAILING)
        asked = asked_in.get(session.id) or (said.get(session.id, "") if is_name else name)
        lines = tuple(shorten(line, REQUEST) for line in asked.splitlines() if line.strip())
        request, worked = shorten(join_lines(name), REQUEST), tuple(people[session.id])
        reported.append(ReportedSession(session, request, lines, counts[session.id], worked))
    return reported


def _files(happened: Iterable[ItemHeader]) -> list[ReportedFile]:
    """Files by how many steps changed them, then by how many read them."""
    changed: Counter[str] = Counter()
    read: Counter[str] = Counter()
    last: dict[str, int] = {}
    for one in happened:
        wrote = set(_listed(one, "files_modified"))
        # A turn that was told whole does not say which of its files it changed.
        seen = {*_listed(one, "files_read"), *_listed(one, "files")} - wrote
        changed.update(wrote)
        read.update(seen)
        for path in wrote | seen:
            last[path] = max(one.at_ms, last.get(path, one.at_ms))
    found = [ReportedFile(path, changed[path], read[path], at_ms) for path, at_ms in last.items()]
    return sorted(found, key=lambda file: (-file.changed, -file.read, -file.last_ms, file.path))


def _listed(one: ItemHeader, name: str) -> Iterator[str]:
    return filter(None, (part.strip() for part in one.details.get(name, "").split(", ")))


def _older_notes(memory: LocalMemory, scope: Scope, from_ms: int) -> list[ItemHeader]:
    """The newest summaries and checkpoints from before the time: what they leave open is open still."""
    kinds = tuple(kind for kind in (scope.kinds or _NOTES) if kind in _NOTES)
    return (
        memory.store.item_headers(replace(scope, kinds=kinds), 0, from_ms, OLDER_NOTES) if kinds and from_ms > 0 else []
    )


def _open_ends(
    failed: Iterable[FailedCommand], happened: Sequence[ItemHeader], older: Sequence[ItemHeader]
) -> list[OpenEnd]:
    """What a session ended with, if that failed and is not among what it says is left to do; and that."""
    known = {one.session_id for one in happened if one.kind in _NOTES}
    before = [one for one in older if one.session_id is None or one.session_id not in known]
    left = [end for end in _left_to_do([*happened, *before]) if not _passed_since(end, happened)]
    last: dict[int | None, int] = defaultdict(int)
    for one in happened:
        if one.kind == "observation" or one.details.get("commands"):
            last[one.session_id] = max(last[one.session_id], one.at_ms)
    failing = [
        OpenEnd("failing", f"{failure.command}: {failure.why}", failure.session_id, failure.at_ms)
        for failure in failed
        if failure.fixed_ms is None
        and failure.at_ms >= last[failure.session_id]
        and not any(end.session_id == failure.session_id and failure.command in end.text for end in left)
    ]
    return [*failing, *left]


def _passed_since(end: OpenEnd, happened: Iterable[ItemHeader]) -> bool:
    """Whether it is a command that failed and went well later, perhaps in another session."""
    return end.text.startswith(STILL_FAILING) and passed_after(happened, failing_command(end.text), end.at_ms)


def _left_to_do(happened: Iterable[ItemHeader]) -> Iterator[OpenEnd]:
    """Next steps and open questions of the newest summary or checkpoint of each session."""
    notes: defaultdict[object, list[ItemHeader]] = defaultdict(list)
    for one in happened:
        if one.kind in _NOTES:
            notes[one.session_id if one.session_id is not None else f"item {one.item_id}"].append(one)
    seen: set[tuple[str, str]] = set()
    for of_session in notes.values():
        gone = dismissed_steps(of_session)
        for what, name in _LEFT_TO_DO:
            newest = next((one for one in of_session if one.details.get(name, "").strip()), None)
            lines = newest.details[name].splitlines() if newest else []
            for line in filter(None, map(str.strip, lines)):
                if newest and line not in gone and (what, line.casefold()) not in seen:
                    seen.add((what, line.casefold()))
                    yield OpenEnd(what, shorten(line, LONGEST_STEP), newest.session_id, newest.at_ms)


def _topics(memory: LocalMemory, happened: Iterable[ItemHeader]) -> list[tuple[str, int]]:
    """What it was about, by how many passages."""
    passages = memory.store.passages_of([one.item_id for one in happened])
    found = memory.store.topics_of([passage for parts in passages.values() for passage in parts])
    return Counter(topic.name for topic in found.values()).most_common()


# Characters of what is quoted, and how many of each are named.
_QUOTED, _NAMED, _PEOPLE = 90, 3, 6
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def week_story(found: ProjectOverview, week: Report, now_ms: int) -> tuple[str, ...]:
    """What happened in the week of an overview, who did it, what came of it and what is left, in sentences."""
    if found.last_ms is None:
        return ()
    return tuple(_sentences(found, week, now_ms))


def _sentences(found: ProjectOverview, week: Report, now_ms: int) -> Iterator[str]:
    quiet = week.to_ms <= now_ms
    if quiet:
        yield f"Nothing happened here in the last seven days; the last work was on {_day(week.to_ms, now_ms)}."
    yield from _work(week, quiet=quiet)
    # A constraint is listed with the decisions, but it is a limit that somebody stated.
    decisions = [one for one in found.decisions if one.item.type == "decision"]
    decided = [one for one in decisions if week.from_ms <= one.item.created_ms < week.to_ms]
    if decided:
        latest = f"{' The latest:' if len(decided) > 1 else ''} {_quote(next(iter(sentences(decided[0].said)), ''))}"
        yield f"{_count(len(decided), 'decision was', 'decisions were')} made.{latest}"
    yield from _failures(week.failures, now_ms)
    yield from _changes(week.files)
    yield from _left(found)


def _work(week: Report, *, quiet: bool) -> Iterator[str]:
    """Who worked in how many sessions, with which agents, and what the last of them were about."""
    when = "in the week before that" if quiet else "in the last seven days"
    sessions = [one for one in week.sessions if one.happenings]
    number = len(sessions) + week.left_out.get("sessions", 0)
    if not number:
        if week.happenings:
            yield f"{_count(week.happenings, 'thing was', 'things were')} remembered {when}, outside any session."
        return
    people = list(dict.fromkeys(name for one in sessions for name in one.people))
    names = people[:_PEOPLE]
    if len(people) > _PEOPLE or not all(one.people for one in sessions):
        names.append("others")
    agents = [agent for agent, _n in Counter(one.session.source for one in sessions).most_common() if agent]
    by = f" by {_and(names)}" if people else ""
    with_ = f", with {_and(agents)}" if agents else ""
    there = f"There {'was' if number == 1 else 'were'} {_count(number, 'session', 'sessions').lower()}"
    yield f"{there}{by} {when}{with_}{_busiest(sessions)}."
    asked = (request for one in sessions for request in reversed(one.requests))
    requests = list(dict.fromkeys(shorten(_first_sentence(request), _QUOTED) for request in asked))[:_NAMED]
    if requests:
        yield _ended(f"The latest request{'' if len(requests) == 1 else 's'}: {_and([f'“{one}”' for one in requests])}")


def _busiest(sessions: Sequence[ReportedSession]) -> str:
    """The day with most sessions, if one stands out."""
    days = Counter(utc_day(clamp_time(one.session.ended_ms)) for one in sessions)
    (day, most), *others = days.most_common()
    stands_out = len(sessions) > _NAMED and all(most > number for _day, number in others)
    return f", most of them on {day:%A}" if stands_out and 2 * most > len(sessions) else ""


def _failures(failures: Sequence[FailedCommand], now_ms: int) -> Iterator[str]:
    """What failed: first what still does, then what was fixed."""
    broken = [one for one in failures if one.fixed_ms is None][:_NAMED]
    cured = [one for one in failures if one.fixed_ms is not None and one.times > 1][:_NAMED]
    if broken:
        commands = _and([f"`{_command(one)}`" for one in broken])
        yield f"{commands} {'was' if len(broken) == 1 else 'were'} still failing at the end."
    if cured:
        first, others = cured[0], [f"`{_command(one)}`" for one in cured[1:]]
        assert first.fixed_ms is not None
        more = f", and so {'was' if len(others) == 1 else 'were'} {_and(others)}" if others else ""
        yield f"`{_command(first)}` failed {first.times} times and was fixed on {_day(first.fixed_ms, now_ms)}{more}."


def _changes(files: Sequence[ReportedFile]) -> Iterator[str]:
    changed = [one for one in files if one.changed]
    if len(changed) == 1:
        yield f"The only file that changed is `{changed[0].path}`."
    elif changed:
        yield f"Most changes went into {_and([f'`{one.path}`' for one in changed[:2]])}."


def _left(found: ProjectOverview) -> Iterator[str]:
    number = len(found.open_ends) + found.left_out.get("open_ends", 0)
    steps = [one for one in found.open_ends if one.what == "next step"]
    if number and steps:
        newest = "" if number == 1 else ", the newest"
        yield f"{_count(number, 'thing is', 'things are')} still open{newest}: {_quote(steps[0].text)}"
    elif number:
        yield f"{_count(number, 'thing is', 'things are')} still open."
    else:
        yield "Nothing is known to be left open."


def _count(number: int, one: str, many: str) -> str:
    words = _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"
    return f"{words} {one if number == 1 else many}"


def _and(names: Sequence[str]) -> str:
    """Names as one says them: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _first_sentence(text: str) -> str:
    return next(iter(sentences(text)), text).rstrip(".")


def _ended(sentence: str) -> str:
    """A sentence with a full stop, unless it ends with a quoted question or an ellipsis."""
    return sentence if sentence.endswith(("?”", "!”", "…”")) else f"{sentence}."


def _quote(text: str) -> str:
    """A quoted sentence, with its full stop inside."""
    quote = shorten(text, _QUOTED)
    return f"“{quote if quote.endswith(('.', '!', '?', '…')) else quote + '.'}”"


def _command(one: FailedCommand) -> str:
    return shorten(one.command.replace("`", "'"), _QUOTED // 2)


def _day(ms: int, now_ms: int) -> str:
    """A day of the last week by its name, an older one by its date."""
    day, today = utc_day(clamp_time(ms)), utc_day(now_ms)
    if 0 <= (today - day).days < 7:
        return f"{day:%A}"
    return f"{day.day} {day:%B}" if day.year == today.year else f"{day.day} {day:%B} {day.year}"
