"""Roo Code: .roo/rules/*.md, all of them always read, so globs are named in headings."""

from __future__ import annotations

from commonplace.hosts.host import Host, RuleFiles
from commonplace.hosts.rule_files import file_per_group

HOST = Host(
    name="roo",
    title="Roo Code",
    rule_files=RuleFiles(
        name="roo",
        title="Roo Code",
        signs=(".roo", ".roorules"),
        files=file_per_group(lambda group: f".roo/rules/{group.name}.md"),
        patterns=(".roo/rules/**/*.md",),
        skills=".roo/skills",
        older=(".roorules",),
    ),
)
