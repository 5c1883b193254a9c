"""Versions: whether the settings hold, and whether what editors start is the Commonplace that you are asking."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator

import commonplace
from commonplace.doctor.context import DoctorContext, Finding, failure, ok, remark

VERSIONS_AREA = "versions"


def check_versions(context: DoctorContext) -> Iterator[Finding]:
    python = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    yield ok(VERSIONS_AREA, "commonplace", f"Commonplace {commonplace.__version__} runs on {python}.")
    if context.settings_error is not None:
        yield failure(VERSIONS_AREA, "settings", context.settings_error.message, context.settings_error.hint)
    else:
        yield ok(VERSIONS_AREA, "settings", f"The settings hold; the data is in {context.settings.data_dir}.")
    others = {answer.version for answer in context.answers.values() if answer.version} - {commonplace.__version__}
    if others:
        sentence = f"Editors start Commonplace {', '.join(sorted(others))}, and not {commonplace.__version__}."
        yield remark(VERSIONS_AREA, "editors", sentence, "Connect them again with this one: `commonplace connect`.")
