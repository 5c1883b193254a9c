"""Rules as Markdown: a heading for each type, a list under it, and what is about some files under their globs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from commonplace.hosts.rule_file_parts import disarmed, without_imports
from commonplace.text.sentences import lines_as_one, normalise_statement

if TYPE_CHECKING:
    from commonplace.memory.rules import Rule

# In the order in which they are written.
HEADINGS = {
    "rule": "Rules",
    "constraint": "Constraints",
    "decision": "Decisions",
    "fact": "Facts",
    "heuristic": "Heuristics",
    "rejected": "Rejected",
    "note": "Notes",
}
MATCHING = "Files matching "
NOTED = "Noted, agreed by nobody"
"""The heading of what agents noted or an import brought: these files are read as instructions."""


def as_markdown(rules: Sequence[Rule]) -> str:
    """The rules as one text, oldest first within each heading; last, what no person stated or accepted."""
    sections = []
    for heading in (*HEADINGS.values(), NOTED):
        below = [rule for rule in rules if heading_of(rule) == heading]
        if below:
            sections.append(f"## {heading}")
        for paths in sorted(dict.fromkeys(rule.paths for rule in below), key=bool):
            if paths:
                sections.append(path_heading(paths))
            sections.append("\n".join(list_item(rule) for rule in below if rule.paths == paths))
    return "\n\n".join(sections)


def heading_of(rule: Rule) -> str:
    """The heading that a rule stands under."""
    return NOTED if rule.source else HEADINGS[rule.type]


def path_heading(paths: Iterable[str]) -> str:
    """A heading that names globs, for tools that have no other place for them; `learn` reads it back."""
    return f"### {MATCHING}{', '.join(f'`{disarmed(glob)}`' for glob in paths)}"


def list_item(rule: Rule) -> str:
    """A rule as an entry of a list, further lines indented below it. What nobody agreed to is one line, and marked."""
    if rule.source:
        return f"- ({rule.source}) [{rule.type}] {lines_as_one(without_imports(rule.words))}"
    first, *more = without_imports(rule.words).split("\n")
    return "\n".join([f"- {first}", *(f"  {line}".rstrip() for line in more)])


_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]++(.*))?\Z")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULER = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*\Z")
_ENTRY = re.compile(r"( {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]++|\Z))(.*)\Z")
_COMMENT = re.compile(r" {0,3}<!--")
_IMPORT = re.compile(r"@[\w./~-]+")
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_GLOB = re.compile(r"`([^`]+)`")

_TYPES = {heading.casefold(): type_ for type_, heading in HEADINGS.items()} | {
    "key decisions": "decision",
    "project facts": "fact",
    "key facts": "fact",
}
# Headings that say nothing about what stands below them.
_GENERIC = frozenset(
    "rules|project rules|global rules|active rules|coding rules|guidelines|instructions|conventions|general|important"
    "|overview|guidance|principles|best practices|requirements|notes|constraints|do|dos".split("|")
)


HeadingInfo = tuple[str, str, tuple[str, ...]]


class Statement(NamedTuple):
    """One rule as it stands in a file."""

    text: str
    type: str = "rule"
    topic: str = ""
    paths: tuple[str, ...] = ()


def statements(text: str) -> list[Statement]:
    """Every statement of a Markdown text without front matter, in order."""
    reader = _Reader(text.replace("\r\n", "\n").split("\n"))
    reader.read()
    found = (Statement("\n".join(pieces), *info) for pieces, info in reader.found)
    return [one for one in found if _says_something(one.text)]


class _Reader:
    """Goes through the lines once, from block to block."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.headings: list[tuple[int, str]] = []
        self.info = _heading_info([])
        # Each statement in pieces, with what its headings say.
        self.found: list[tuple[list[str], HeadingInfo]] = []
        # Whether a list that follows belongs to the last statement, and whether a blank line came after it.
        self.introduces = self.apart = False

    def read(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.strip():
                self.at, self.apart = self.at + 1, True
            elif _COMMENT.match(line):
                self._skip_comment()
            elif heading := _HEADING.match(line):
                self.at += 1
                self._enter(len(heading[1]), (heading[2] or "").strip().rstrip("#").rstrip())
            elif _FENCE.match(line):
                self._say("\n".join(self._fenced()), joins=not self.apart or self._promises())
                self.introduces = False
            elif _RULER.match(line):
                self.at, self.introduces = self.at + 1, False
            elif entry := _ENTRY.match(line):
                self._entry(entry)
            else:
                self._paragraph()

    def _enter(self, level: int, title: str) -> None:
        self.headings = [known for known in self.headings if known[0] < level] + [(level, title)]
        self.info = _heading_info(self.headings)
        self.introduces, self.apart = False, True

    def _skip_comment(self) -> None:
        while self.at < len(self.lines) and "-->" not in self.lines[self.at]:
            self.at += 1
        self.at, self.apart = self.at + 1, True

    def _fenced(self) -> list[str]:
        """A fence to its end, or to the end of the file if it has none."""
        opening = _FENCE.match(self.lines[self.at])
        assert opening is not None
        closing = re.compile(rf" {{0,3}}{re.escape(opening[1][0])}{{{len(opening[1])},}}[ \t]*\Z")
        start, self.at = self.at, self.at + 1
        while self.at < len(self.lines) and not closing.match(self.lines[self.at]):
            self.at += 1
        self.at += 1
        return self.lines[start : self.at]

    def _entry(self, entry: re.Match[str]) -> None:
        start, self.at = self.at, self.at + 1
        while (after := self._next_of_entry()) is not None:
            self.at = after + 1
        lines = self.lines[start + 1 : self.at]
        while lines and not lines[-1].strip():
            lines.pop()
        if self.introduces:
            self._say("\n".join([entry[0], *lines]), joins=True)
            self.introduces = True
            return
        deep = min([len(entry[1]), *(_indent(line) for line in lines if _indent(line))])
        dedented = [line[deep:] if line[:deep].isspace() else line for line in lines]
        self._say(_TASK.sub("", "\n".join([entry[2], *dedented]), count=1))
        self.introduces = False

    def _next_of_entry(self) -> int | None:
        """The next line that belongs to the list entry above it: indented, or going on without a break."""
        at = self.at
        while at < len(self.lines) and not self.lines[at].strip():
            at += 1
        if at == len(self.lines):
            return None
        line = self.lines[at]
        goes_on = at == self.at and not self._starts_a_block(line)
        return at if line.startswith(("  ", "\t")) or goes_on else None

    def _paragraph(self) -> None:
        start, self.at = self.at, self.at + 1
        while self.at < len(self.lines) and self.lines[self.at].strip():
            if underline := _UNDERLINE.match(self.lines[self.at]):
                title = " ".join(self.lines[start : self.at]).strip()
                self.at += 1
                self._enter(1 if underline[1][0] == "=" else 2, title)
                return
            if self._starts_a_block(self.lines[self.at]):
                break
            self.at += 1
        self._say("\n".join(line.strip() for line in self.lines[start : self.at]))
        self.introduces = self._promises()

    @staticmethod
    def _starts_a_block(line: str) -> bool:
        return any(pattern.match(line) for pattern in (_HEADING, _FENCE, _RULER, _ENTRY, _COMMENT))

    def _promises(self) -> bool:
        return bool(self.found) and self.found[-1][0][-1].rstrip("*_ ").endswith(":")

    def _say(self, text: str, *, joins: bool = False) -> None:
        if joins and self.found and self.found[-1][1] == self.info:
            self.found[-1][0].append(text.rstrip())
        else:
            self.found.append(([text.strip()], self.info))
        self.apart = False


def _heading_info(headings: list[tuple[int, str]]) -> HeadingInfo:
    """Type, topic and globs, each from the nearest heading that names one."""
    type_ = topic = ""
    paths: tuple[str, ...] = ()
    for level, title in reversed(headings):
        bare = " ".join(re.sub(r"[*_:]+|\A\W+", " ", title).split())
        if title.startswith(MATCHING) and not paths:
            paths = tuple(_GLOB.findall(title))
        elif bare.casefold() in _TYPES:
            type_ = type_ or _TYPES[bare.casefold()]
        elif level > 1 and not topic and bare and bare.casefold() not in _GENERIC:
            topic = bare
    return type_ or "rule", topic[:100], paths


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _says_something(text: str) -> bool:
    return len(re.findall(r"[^\W\d_]", text)) >= 2 and not _IMPORT.fullmatch(text)


# A statement of so few words may need its heading to mean anything: "Use two spaces" is one rule for each language.
FEW_WORDS = 6


class KnownStatements:
    """Statements by their words."""

    def __init__(self, known: Iterable[tuple[str, str, tuple[str, ...]]] = ()) -> None:
        self._topics: dict[tuple[str, tuple[str, ...]], set[str]] = {}
        for text, topic, paths in known:
            self.add(text, topic, paths)

    def add(self, text: str, topic: str = "", paths: tuple[str, ...] = ()) -> None:
        for spelled, under in _spellings(text, topic):
            for key in ((spelled, tuple(sorted(paths))), (spelled, ("*",))):
                self._topics.setdefault(key, set()).add(under)

    def has(self, text: str, topic: str = "", paths: tuple[str, ...] = ()) -> bool:
        """Whether there is such a statement about the same files."""
        return self._has(text, topic, tuple(sorted(paths)))

    def has_anywhere(self, text: str, topic: str = "") -> bool:
        """Whether there is such a statement about any files."""
        return self._has(text, topic, ("*",))

    def _has(self, text: str, topic: str, paths: tuple[str, ...]) -> bool:
        for spelled, under in _spellings(text, topic):
            topics = self._topics.get((spelled, paths))
            if topics is not None and (
                len(spelled.split()) >= FEW_WORDS or not under or under in topics or "" in topics
            ):
                return True
        return False


def _spellings(text: str, topic: str) -> list[tuple[str, str]]:
    """A statement under its heading, and with the heading in front of it."""
    words = normalise_statement(without_imports(text))
    return (
        [(words, normalise_statement(topic)), (normalise_statement(f"{topic}: {words}"), "")]
        if topic
        else [(words, "")]
    )
