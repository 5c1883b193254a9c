"""A week of a project as a short story: a few plain sentences made of what was captured, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commonplace.memory.stats import utc_day
from commonplace.text.dates import clamp_time
from commonplace.text.sentences import sentences, shorten

if TYPE_CHECKING:
    from commonplace.memory.failed_commands import FailedCommand
    from commonplace.memory.project_overview import ProjectOverview
    from commonplace.memory.report import Report, ReportedFile, ReportedSession

# Characters of what is quoted, and how many of each are named.
_QUOTED, _NAMED = 90, 3
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
    yield from _work(found, week, quiet=quiet)
    decided = [one for one in found.decisions if week.from_ms <= one.item.created_ms < week.to_ms]
    if decided:
        latest = (
            f" The latest: {_quote(decided[0].statement)}" if len(decided) > 1 else f" {_quote(decided[0].statement)}"
        )
        yield f"{_count(len(decided), 'decision was', 'decisions were')} made.{latest}"
    yield from _failures(week.failures, now_ms)
    yield from _changes(week.files)
    yield from _left(found)


def _work(found: ProjectOverview, week: Report, *, quiet: bool) -> Iterator[str]:
    """Who worked in how many sessions, with which agents, and what the last of them were about."""
    when = "in the week before that" if quiet else "in the last seven days"
    sessions = [one for one in week.sessions if one.happenings]
    number = len(sessions) + week.left_out.get("sessions", 0)
    if not number:
        if week.happenings:
            yield f"{_count(week.happenings, 'thing was', 'things were')} remembered {when}, outside any session."
        return
    names = [one.name for one in found.people if one.sessions and one.last_ms >= week.from_ms]
    agents = [agent for agent, _n in Counter(one.session.source for one in sessions).most_common() if agent]
    by = f" by {_and(names)}" if names else ""
    with_ = f", with {_and(agents)}" if agents else ""
    there = f"There {'was' if number == 1 else 'were'} {_count(number, 'session', 'sessions').lower()}"
    yield f"{there}{by} {when}{with_}{_busiest(sessions)}."
    requests = list(dict.fromkeys(shorten(_first_sentence(one.request), _QUOTED) for one in sessions))[:_NAMED]
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
