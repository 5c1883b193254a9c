"""The model: whether it loads, and makes a vector of a sentence. The memory itself is not touched by this."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from commonplace.doctor.finding import Finding, failure, remark, well
from commonplace.doctor.patient import Patient
from commonplace.memory.book import open_book

AREA = "model"
SENTENCE = "The doctor asks whether meaning is understood."
FIXES = {
    "builtin": "Install Commonplace again; until then search goes by words.",
    "endpoint": "Start what endpoint_url names and see to endpoint_model and endpoint_key, or set embedder to builtin.",
}


def examine(patient: Patient) -> Iterator[Finding]:
    embedder = patient.settings.embedder
    if embedder == "off":
        yield remark(AREA, "model", "The embedder is off, so search goes by words only.", "Set embedder to builtin.")
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-doctor-") as folder:
        book = open_book(replace(patient.settings, data_dir=Path(folder)))
        try:
            began = time.monotonic()
            vector = book.meaning.of_question(SENTENCE)
            seconds, state, name = time.monotonic() - began, book.meaning.state, book.meaning.model
        finally:
            book.close()
    if vector is None or not vector.any():
        yield failure(AREA, "model", f"{name} does not work ({state}).", FIXES[embedder])
    else:
        yield well(AREA, "model", f"{name} makes vectors of {len(vector)} numbers ({seconds:.1f} s to begin).")
