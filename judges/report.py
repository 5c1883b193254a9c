"""What a judge found, and what of it was expected: one shape for all of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase

from judges.expectations import EXPECTED, Expected
from judges.installed import FOLDER


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a judge did not like: where it looked, which check it was, and what it said."""

    where: str
    check: str
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """One judge's run."""

    judge: str
    version: str
    checks: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A report after the expectations: what is left, what was explained, and what was expected but did not happen."""

    report: Report
    failures: tuple[Finding, ...]
    explained: tuple[tuple[Finding, Expected], ...]
    unmet: tuple[Expected, ...]

    @property
    def clean(self) -> bool:
        return not self.failures and not self.unmet and self.report.checks > 0


def judged(report: Report, expected: Sequence[Expected] = EXPECTED) -> Verdict:
    """Every finding is explained by the first expectation that fits it; one that fits nothing is out of date."""
    ours = [one for one in expected if one.judge == report.judge]
    failures: list[Finding] = []
    explained: list[tuple[Finding, Expected]] = []
    for finding in report.findings:
        fitting = next((one for one in ours if _fits(one, finding)), None)
        if fitting is None:
            failures.append(finding)
        else:
            explained.append((finding, fitting))
    met = {one for _finding, one in explained}
    unmet = tuple(one for one in ours if one not in met and not one.by_chance)
    return Verdict(report, tuple(failures), tuple(explained), unmet)


def _fits(expected: Expected, finding: Finding) -> bool:
    return (
        fnmatchcase(finding.where, expected.where)
        and fnmatchcase(finding.check, expected.check)
        and re.search(expected.text, finding.text) is not None
    )


def output(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as a table, then every failure, and how often each reason was needed."""
    lines = ["| judge | version | checks | failures | expected |", "|---|---|---:|---:|---:|"]
    for verdict in verdicts:
        report = verdict.report
        failed = len(verdict.failures) + len(verdict.unmet)
        lines.append(f"| {report.judge} | {report.version} | {report.checks} | {failed} | {len(verdict.explained)} |")
    for verdict in verdicts:
        name = verdict.report.judge
        lines += [f"FAILED {name} | {one.where} | {one.check} | {one.text[:300]}" for one in verdict.failures]
        lines += [f"OUT OF DATE {name} | {one.where} | {one.check} | {one.reason}" for one in verdict.unmet]
        for reason, times in Counter(one.reason for _finding, one in verdict.explained).items():
            lines.append(f"expected {name} | {times} x | {reason}")
    return "\n".join(lines)


def keep(verdicts: Sequence[Verdict]) -> None:
    """All of it as JSON, for whoever wants to look closer."""
    saved = [asdict(verdict) for verdict in verdicts]
    (FOLDER / "report.json").write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
