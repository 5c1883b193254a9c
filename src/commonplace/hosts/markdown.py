"""Rules as Markdown: a heading for each type, a list under it, and what is about some files under their globs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonplace.hosts.markers import disarmed, without_imports
from commonplace.memory.rulebook import Rule

# In the order in which they are told.
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


def as_markdown(rules: Sequence[Rule]) -> str:
    """The rules as one text, oldest first within each heading."""
    sections = []
    for type_, heading in HEADINGS.items():
        told = [rule for rule in rules if rule.type == type_]
        if told:
            sections.append(f"## {heading}")
        for paths in sorted(dict.fromkeys(rule.paths for rule in told), key=bool):
            if paths:
                sections.append(path_heading(paths))
            sections.append("\n".join(list_item(rule) for rule in told if rule.paths == paths))
    return "\n\n".join(sections)


def path_heading(paths: Iterable[str]) -> str:
    """A heading that names globs, for tools that have no other place for them; `learn` reads it back."""
    return f"### {MATCHING}{', '.join(f'`{disarmed(glob)}`' for glob in paths)}"


def list_item(rule: Rule) -> str:
    """A rule as an entry of a list, further lines indented below it."""
    first, *more = without_imports(rule.words).split("\n")
    return "\n".join([f"- {first}", *(f"  {line}".rstrip() for line in more)])
