"""Versions: whether the settings hold, and whether what editors start is the Commonplace that you are asking."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator

import commonplace
from commonplace.doctor.finding import Finding, failure, remark, well
from commonplace.doctor.patient import Patient

AREA = "versions"


def examine(patient: Patient) -> Iterator[Finding]:
    python = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    yield well(AREA, "commonplace", f"Commonplace {commonplace.__version__} runs on {python}.")
    if patient.trouble is not None:
        yield failure(AREA, "settings", patient.trouble.message, patient.trouble.hint)
    else:
        yield well(AREA, "settings", f"The settings hold; the data is in {patient.settings.data_dir}.")
    others = {answer.version for answer in patient.answers.values() if answer.version} - {commonplace.__version__}
    if others:
        told = f"Editors start Commonplace {', '.join(sorted(others))}, and not {commonplace.__version__}."
        yield remark(AREA, "editors", told, "Connect them again with this one: `commonplace connect`.")
