"""A year of synthetic life with an answer key: 10,000 items, 400 changes of truth: `python -m benchmarks.year_of_life`.

What a team says over a year: where things run, who owns them, dates, limits, rules. 400 times something changes, in
many wordings (year_of_life.txt): most changes are only said, some are said with what they supersede, some by editing
the item, some ahead ("from 3 May on") or for a while ("until 3 May"). Whoever writes accepts what a reply proposes to
supersede, as an agent that follows the next step does. At the end every subject that changed is asked about: what
holds now, and what held at a moment of each earlier stretch. Right is what names the value of that time first.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

from commonplace import config
from commonplace.memory.edit_and_forget import Changes, edit_item, mark_superseded
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember_all, remember_item
from commonplace.model import Scope

ITEMS, CHANGES = 10_000, 400
START = date(2025, 1, 1)
DAYS = 365
PHRASES = Path(__file__).with_suffix(".txt")
PROJECTS = ("web", "mobile", "platform", "data")
# The same year said in other words.
REWORDED = Path(__file__).with_name("year_of_life_reworded.txt")
Told = Literal["first", "again", "said", "superseded", "edited", "announced", "temporary", "noise"]
# How a change is told, with its share.
HOW: Mapping[Told, float] = {"said": 0.66, "superseded": 0.14, "edited": 0.08, "announced": 0.07, "temporary": 0.05}
# Days between two changes of one thing, so that a question as of a date has one answer.
APART = 24

_NAMES = (
    "billing checkout search ledger inventory shipping pricing catalogue loyalty returns payroll onboarding analytics"
    " reporting notification identity consent media translation recommendation fraud tax invoice warehouse calendar"
    " survey ticketing booking telemetry archive"
)
_NOUNS = "service gateway worker dashboard exporter API importer portal app pipeline"
_PEOPLE = "Marta Jonas Ines Tomasz Priya Luca Aylin Stefan Noor Greta Hamid Chiara Oskar Yuki Babak Elif"
_ATTRIBUTES = ("the hosting", "the owner", "the name", "the port", "the limits", "the schedule", "the runtime")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of truth, with its wordings."""

    name: str
    values: tuple[str, ...]
    parts: tuple[str, ...]
    first: tuple[str, ...]
    change: tuple[str, ...]
    ask: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One item to write at a moment: about which thing, with which value, and told how.

    `replaces` is the entry that it supersedes, or rewrites if it is told by an edit.
    """

    number: int
    at_ms: int
    text: str
    type: str
    project: str
    told: Told
    slot: int = -1
    value: str = ""
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A value that holds from a moment on; the texts that state it, each from the moment it was written."""

    from_ms: int
    texts: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of one thing as of a moment, and the texts of which one has to come first."""

    text: str
    project: str
    kind: str
    as_of_ms: int
    right: frozenset[str]
    is_now: bool


@dataclass(frozen=True, slots=True)
class Year:
    """The items in the order of time, and the answer key."""

    entries: tuple[Entry, ...]
    questions: tuple[Question, ...]
    end_ms: int


@dataclass(slots=True)
class _Slot:
    """One thing whose truth may change: which kind of, of which subject, and what held when."""

    number: int
    kind: Kind
    subject: str
    part: str
    pair: tuple[str, ...]
    project: str
    value: str
    ask: str
    stretches: list[Stretch] = field(default_factory=list)
    latest: int | None = None
    free_from: int = 0


def ms(day: int, minute: int = 0) -> int:
    at = datetime(START.year, START.month, START.day, tzinfo=UTC) + timedelta(days=day, minutes=minute)
    return int(at.timestamp() * 1000)


def read_phrases(path: Path = PHRASES) -> tuple[dict[str, Kind], dict[str, tuple[str, ...]]]:
    """The kinds of truth by name, and the sentences that change nothing."""
    kinds, others = {}, {}
    for block in path.read_text(encoding="utf-8").split("\n== ")[1:]:
        name, *lines = [line for line in block.splitlines() if line]
        fields = dict(line.split(": ", 1) for line in lines if line.startswith(("values: ", "parts: ")))
        text: dict[str, list[str]] = defaultdict(list)
        for line in lines:
            if line[1] == " ":
                text[line[0]].append(line[2:])
        if text["n"]:
            others[name] = tuple(text["n"])
            continue
        values, parts = (tuple(fields.get(key, "").split(" | ")) for key in ("values", "parts"))
        kinds[name] = Kind(name, values, parts, tuple(text["i"]), tuple(text["c"]), tuple(text["q"]))
    return kinds, others


def read_subjects(path: Path = PHRASES) -> list[str]:
    """What the year is about: each name with each noun, those that the file gives or else ours."""
    fields = dict(line.split(": ", 1) for line in path.read_text(encoding="utf-8").splitlines() if ": " in line)
    names = fields["subjects"].split(" | ") if "subjects" in fields else _NAMES.split()
    nouns = fields["nouns"].split(" | ") if "nouns" in fields else _NOUNS.split()
    return [f"the {name} {noun}" for name in names for noun in nouns]


class Generator:
    """Makes a year: first what holds, then its changes, what is said again, and everything that changes nothing."""

    def __init__(self, items: int = ITEMS, changes: int = CHANGES, seed: int = 22, phrases: Path = PHRASES) -> None:
        self.chance = random.Random(seed)
        self.kinds, self.others = read_phrases(phrases)
        self.subjects = read_subjects(phrases)
        self.items, self.changes = items, changes
        self.entries: list[Entry] = []
        self.said: set[str] = set()
        self.slots = self._slots(max(len(self.kinds), round(changes * 1.3)))

    def year(self) -> Year:
        for slot in self.slots:
            self._first(slot, self.chance.randrange(0, 45))
        # Some things change several times, and about a half never.
        changing = self.slots[: max(1, len(self.slots) // 2)]
        for number in range(self.changes):
            self._change(changing[number % len(changing)], 45 + APART + (DAYS - 90) * number // self.changes)
        changed = [slot for slot in self.slots if len(slot.stretches) > 1]
        self._noise(self.items - len(self.entries))
        self.entries.sort(key=lambda entry: (entry.at_ms, entry.number))
        return Year(tuple(self.entries), tuple(self._questions(changed)), ms(DAYS))

    def _slots(self, count: int) -> list[_Slot]:
        """Things of all kinds in turn; no two of a kind have the same subject."""
        shuffled = {name: self.chance.sample(self.subjects, len(self.subjects)) for name in self.kinds}
        made = []
        for number in range(count):
            kind = list(self.kinds.values())[number % len(self.kinds)]
            subject = shuffled[kind.name].pop()
            place = self.chance.randrange(max(len(kind.values), len(kind.parts)))
            pair = tuple(kind.values[place % len(kind.values)].split("/")) if "/" in kind.values[0] else ()
            part = kind.parts[place % len(kind.parts)]
            value = self.chance.choice(pair or kind.values) if kind.name != "stopped" else "yes"
            project, ask = self.chance.choice(PROJECTS), self.chance.choice(kind.ask)
            made.append(_Slot(number, kind, subject, part, pair, project, value, ask))
        self.chance.shuffle(made)
        return made

    def _first(self, slot: _Slot, day: int) -> None:
        text = self._worded(slot.kind.first, slot, slot.value)
        at = self._moment(day)
        slot.latest = self._add(at, text, slot, "first", slot.value)
        slot.stretches.append(Stretch(at, [(at, text)]))
        slot.free_from = day + APART

    def _change(self, slot: _Slot, day: int) -> None:
        """A change at this day, or as soon as the thing may change again."""
        day = max(day + self.chance.randrange(9), slot.free_from)
        before = slot.value
        value = self.chance.choice([v for v in slot.pair or slot.kind.values if v != before])
        how: Told = self.chance.choices(list(HOW), list(HOW.values()))[0]
        if how in ("announced", "temporary") and (slot.kind.name in ("stopped", "date", "renamed") or day > DAYS - 50):
            how = "said"
        if how == "edited" and (slot.kind.name == "stopped" or len(slot.stretches[-1].texts) > 1):
            how = "said"
        if slot.kind.name == "stopped" and value == "yes":
            how = "said"
            again = [phrase.replace("{s} {p}", "{s} again {p}") for phrase in slot.kind.first]
            text = self._worded(again, slot, value)
        elif how in ("announced", "temporary", "edited"):
            text = self._worded(slot.kind.first, slot, value)
        else:
            text = self._worded(_fitting(slot.kind, before, value), slot, value, before)
        if how in ("announced", "temporary"):
            self._dated_change(slot, day, text, value, how)
            return
        at = self._moment(day)
        replaces = slot.latest if how in ("superseded", "edited") else None
        number = self._add(at, text, slot, how, value, replaces)
        slot.latest = replaces if how == "edited" else number
        slot.value = value
        slot.stretches.append(Stretch(at, [(at, text)]))
        slot.free_from = day + APART
        if self.chance.random() < 0.4:
            self._again(slot, day + self.chance.randrange(2, APART - 6))

    def _dated_change(self, slot: _Slot, day: int, text: str, value: str, how: Told) -> None:
        """A change that says its own time: announced some days ahead, or for some weeks only."""
        turning = day + self.chance.randrange(6, 20)
        when = _date(turning, self.chance.randrange(3))
        lead = "From {} on, {}" if how == "announced" else "Until {}, {}"
        text = lead.format(when, text[0].lower() + text[1:] if text.startswith(("The ", "We ")) else text)
        at = self._moment(day)
        number = self._add(at, text, slot, how, value)
        if how == "announced":
            slot.stretches.append(Stretch(ms(turning), [(at, text)]))
            slot.latest, slot.value = number, value
        else:
            earlier = slot.stretches[-1]
            slot.stretches.append(Stretch(at, [(at, text)]))
            slot.stretches.append(Stretch(ms(turning + 1), list(earlier.texts)))
        slot.free_from = turning + APART

    def _again(self, slot: _Slot, day: int) -> None:
        """Say once more what holds, in other words."""
        lead = self.chance.choice(("Reminder: {}", "As said before, {}", "For the record: {}", "{}"))
        if slot.kind.name == "stopped" or day >= DAYS:
            return
        text = self._worded(slot.kind.first, slot, slot.value)
        text = lead.format(text if lead in ("{}", "Reminder: {}") else text[0].lower() + text[1:])
        at = self._moment(day)
        self._add(at, text, slot, "again", slot.value)
        slot.stretches[-1].texts.append((at, text))

    def _noise(self, count: int) -> None:
        subjects = [slot.subject for slot in self.slots]
        seen: set[str] = set()
        while len(seen) < count:
            phrase = self.chance.choice(self.others["plan" if self.chance.random() < 0.03 else "noise"])
            text = phrase.format(
                s=self.chance.choice(subjects),
                w=self.chance.choice(_PEOPLE.split()),
                h=self.chance.randrange(2, 60),
                k=self.chance.choice(_ATTRIBUTES),
            )
            if text not in seen:
                seen.add(text)
                at = self._moment(self.chance.randrange(DAYS))
                entry = Entry(len(self.entries), at, _capital(text), "note", self.chance.choice(PROJECTS), "noise")
                self.entries.append(entry)

    def _questions(self, slots: Sequence[_Slot]) -> Iterator[Question]:
        """For each thing that changed: what holds now, and in the middle of each stretch before."""
        for slot in slots:
            pair = slot.pair or ("", "")
            ask = _capital(slot.ask.format(s=slot.subject, p=slot.part, a=pair[0], b=pair[-1]))
            stretches = sorted(slot.stretches, key=lambda one: one.from_ms)
            for number, stretch in enumerate(stretches):
                is_now = number == len(stretches) - 1
                end = ms(DAYS) if is_now else stretches[number + 1].from_ms
                as_of = end if is_now else (stretch.from_ms + end) // 2
                right = frozenset(text for at, text in stretch.texts if at <= as_of)
                yield Question(ask, slot.project, slot.kind.name, as_of, right, is_now)

    def _worded(self, phrases: Sequence[str], slot: _Slot, value: str, before: str = "") -> str:
        """One of the wordings, as nobody said it yet."""
        for _attempt in range(50):
            text = self.chance.choice(phrases).format(s=slot.subject, p=slot.part, v=value, o=before)
            text = text if self.chance.random() < 0.1 else _capital(text)
            if text.casefold() not in self.said:
                break
        self.said.add(text.casefold())
        return text

    def _add(self, at: int, text: str, slot: _Slot, message: Told, value: str, replaces: int | None = None) -> int:
        type_ = "rule" if slot.kind.name == "rule" and message == "first" else "fact"
        if message in ("said", "superseded") and self.chance.random() < 0.4:
            type_ = "decision"
        entry = Entry(len(self.entries), at, text, type_, slot.project, message, slot.number, value, replaces)
        self.entries.append(entry)
        return entry.number

    def _moment(self, day: int) -> int:
        return ms(min(day, DAYS - 1), self.chance.randrange(8 * 60, 18 * 60))


def _fitting(kind: Kind, before: str, value: str) -> Sequence[str]:
    """The wordings of a change that are true of it: nothing is raised from 200 to 50."""
    if kind.name != "number":
        return kind.change
    down, up = ("lower", "reduce", "cut", "drop"), ("raise", "increase", "bump", "doubled", "goes up")
    wrong = down if int(value) > int(before) else up
    return [phrase for phrase in kind.change if not any(word in phrase for word in wrong)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _date(day: int, style: int) -> str:
    when = START + timedelta(days=day)
    return (f"{when.day} {when:%B}", f"{when.day} {when:%B} {when.year}", f"{when:%B} {when.day}")[style]


@dataclass(slots=True)
class Writer:
    """Writes a year into a memory whose clock it turns, and accepts what a reply proposes to supersede."""

    memory: LocalMemory
    clock: list[int]
    ids: dict[int, int] = field(default_factory=dict)
    slots: dict[int, Entry] = field(default_factory=dict)
    told: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    wrong: list[tuple[str, str]] = field(default_factory=list)

    def write(self, year: Year) -> None:
        batch: list[Entry] = []
        for entry in year.entries:
            if entry.told == "noise":
                batch.append(entry)
                continue
            self._write_noise(batch)
            batch.clear()
            self.clock[0] = entry.at_ms
            if entry.told == "edited":
                edit_item(self.memory, self.ids[entry.replaces or 0], Changes(content=entry.text))
                self.ids[entry.number] = self.ids[entry.replaces or 0]
                continue
            new = NewItem(entry.text, type=entry.type, project=entry.project, created_ms=entry.at_ms)
            # Between two statements of a day a running server has made all vectors.
            self.memory.embeddings.catch_up()
            done = remember_item(self.memory, new)
            self.ids[entry.number] = done.item.id
            self.slots[done.item.id] = entry
            found = [one.item.id for one in done.contradictions]
            if entry.replaces is not None and self.ids[entry.replaces] not in found:
                mark_superseded(self.memory, self.ids[entry.replaces], by=done.item.id)
            for id_ in found:
                if self.slots[id_].slot != entry.slot or self.slots[id_].value == entry.value:
                    self.wrong.append((self.slots[id_].text, entry.text))
                if entry.told in ("said", "superseded", "announced"):
                    mark_superseded(self.memory, id_, by=done.item.id)
            count = self.told[entry.told]
            count[0] += any(self.slots[id_].slot == entry.slot for id_ in found)
            count[1] += 1
        self._write_noise(batch)
        self.clock[0] = year.end_ms

    def _write_noise(self, batch: Sequence[Entry]) -> None:
        if batch:
            self.clock[0] = batch[-1].at_ms
            notes = [NewItem(e.text, type=e.type, project=e.project, created_ms=e.at_ms) for e in batch]
            stored = remember_all(self.memory, notes)
            self.slots |= {one.id: entry for one, entry in zip(stored, batch, strict=True)}


def ask(memory: LocalMemory, question: Question) -> str:
    """The text that comes first."""
    scope = replace(Scope.around(question.project), at_ms=None if question.is_now else question.as_of_ms)
    hits = recall(memory, question.text, scope, 1).hits
    return hits[0].item.text if hits else ""


def measured(
    memory: LocalMemory, questions: Sequence[Question], answer: Callable[[LocalMemory, Question], str]
) -> tuple[dict[str, list[int]], list[tuple[Question, str]]]:
    """Right and asked by kind, and the questions that were answered wrongly, with what came first."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    wrong = []
    for question in questions:
        found = answer(memory, question)
        is_right = found in question.right
        counts[question.kind][0] += is_right
        counts[question.kind][1] += 1
        if not is_right:
            wrong.append((question, found))
    return counts, wrong


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--changes", type=int, default=CHANGES)
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--print", type=Path, help="write the items and the answer key to this folder, and stop")
    parser.add_argument("--wrong", type=int, default=0, help="show so many wrong answers of each round")
    parser.add_argument("--embedder", default="builtin")
    parser.add_argument("--phrases", type=Path, default=PHRASES, help=f"the wordings, for example {REWORDED.name}")
    options = parser.parse_args(arguments)
    year = Generator(options.items, options.changes, options.seed, options.phrases).year()
    if options.print:
        write_files(year, options.print)
        return
    with tempfile.TemporaryDirectory() as folder:
        clock = [ms(0)]
        settings = config.load({"data_dir": folder, "embedder": options.embedder}, env={})
        memory = open_memory(settings, lambda: clock[0])
        # As in a process that runs for longer than a moment.
        memory.embeddings.embed_query("load the model")
        writer = Writer(memory, clock)
        writer.write(year)
        memory.embeddings.catch_up()
        for expected, (found, message) in writer.told.items():
            print(f"{expected:12} {message:5} written, a contradiction with what held was found for {found}")
        print(f"{len(writer.wrong)} contradictions were found where there is none")
        for name, is_now in (("now", True), ("as of", False)):
            requested = [question for question in year.questions if question.is_now == is_now]
            counts, wrong = measured(memory, requested, ask)
            right = sum(pair[0] for pair in counts.values())
            print(f"{name}: {right} of {len(requested)} right first ({100 * right / max(1, len(requested)):.1f} %)")
            print("  " + ", ".join(f"{kind} {a}/{b}" for kind, (a, b) in sorted(counts.items())))
            for question, found_text in wrong[: options.wrong]:
                day = datetime.fromtimestamp(question.as_of_ms / 1000, UTC).date()
                print(f"  {question.text} ({day})\n    found {found_text!r}\n    right {sorted(question.right)}")
        for old, new in writer.wrong[: options.wrong]:
            print(f"  no contradiction: {old!r} / {new!r}")
        memory.close()


def write_files(year: Year, folder: Path) -> None:
    """items.jsonl and questions.jsonl, for whoever measures something else with them."""
    folder.mkdir(parents=True, exist_ok=True)
    items = (
        {"at_ms": e.at_ms, "text": e.text, "type": e.type, "project": e.project, "told": e.told, "slot": e.slot}
        | ({} if e.replaces is None else {"replaces": e.replaces})
        | {"number": e.number}
        for e in year.entries
    )
    question = (
        {"question": q.text, "project": q.project, "kind": q.kind, "as_of_ms": q.as_of_ms, "now": q.is_now}
        | {"right": sorted(q.right)}
        for q in year.questions
    )
    for name, rows in (("items", items), ("questions", question)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
