"""Doctor: examines the installation and tells what to do; mends what can be mended safely."""

from __future__ import annotations

from commonplace.doctor.checkup import NAMES, checkup, mend
from commonplace.doctor.finding import Finding
from commonplace.doctor.patient import Patient
from commonplace.errors import InvalidInput
from commonplace.hosts.connect.places import places_here
from commonplace.memory.book import Book
from commonplace.web.page import Asked, Shown
from commonplace.web.settings import check_machine


def rooms(book: Book, asked: Asked) -> Shown:
    """What can be examined."""
    check_machine(book, asked)
    return Shown("doctor", {"areas": NAMES, "chosen": NAMES, "findings": None, "mended": []})


def examine(book: Book, asked: Asked) -> Shown:
    """Examine some areas, and mend what can be if that is wanted."""
    check_machine(book, asked)
    chosen = asked.chosen("area")
    if not chosen or not set(chosen) <= set(NAMES):
        raise InvalidInput("No area was chosen.", f"Choose from {', '.join(NAMES)}.")
    patient = Patient(book.settings, (places_here(),))
    try:
        findings = list(checkup(patient, chosen))
        mended = [(finding, done) for finding, done in mend(findings)] if asked.given("mend") else []
        if mended:
            patient.close()
            findings = list(checkup(patient, chosen))
    finally:
        patient.close()
    findings.sort(key=_worst_first)
    return Shown("doctor", {"areas": NAMES, "chosen": chosen, "findings": findings, "mended": mended})


def _worst_first(finding: Finding) -> int:
    return ("failure", "remark", "ok").index(finding.state)
