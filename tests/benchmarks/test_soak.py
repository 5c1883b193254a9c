"""The soak's verdict, on samples of which the answer is known, and its pictures."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from benchmarks.plots import plot
from benchmarks.soak import Sample, plots, slope_an_hour, verdict


def samples(memory_growth: float = 0.0, log_mb: float = 4.0) -> list[Sample]:
    """Ten minutes of a server that needs 100 MB after its first minute, and so much more every second after it."""
    return [
        Sample(5.0 * n, 50.0 if n < 12 else 100 + memory_growth * 5 * n, 40, 12, log_mb, 200, 3.0, 20.0, 5.0)
        for n in range(1, 121)
    ]


def test_what_is_flat_after_the_warm_up_is_well() -> None:
    rows, wrong = verdict(samples())
    assert wrong == []
    assert ("memory, MB", "100.0 -> 100.0", "+0.0%, +0.0/h") in rows


def test_what_grows_is_told() -> None:
    growing = samples(memory_growth=0.05)
    assert slope_an_hour(growing, lambda one: one.memory_mb) == pytest.approx(180)
    (memory,) = verdict(growing)[1]
    assert memory.startswith("memory, MB grew by")
    assert verdict(samples(log_mb=80.0))[1] == ["the log grew to 80 MB"]


def test_pictures_are_svg_that_any_reader_takes(tmp_path: Path) -> None:
    plots(samples(), tmp_path / "pictures")
    made = sorted((tmp_path / "pictures").iterdir())
    assert [path.name for path in made] == ["soak-handles.svg", "soak-latency.svg", "soak-log.svg", "soak-memory.svg"]
    for path in made:
        root = ET.fromstring(path.read_text(encoding="utf-8"))
        assert root.tag.endswith("svg") and root.findall("{*}polyline")


def test_a_title_is_text_and_a_line_stays_inside() -> None:
    drawn = ET.fromstring(plot("<b> & co", "minutes", {"one": [(0, 0), (1, 7.3)]}))
    assert drawn.findtext("{*}title") == "<b> & co"
    line = drawn.find("{*}polyline")
    assert line is not None
    places = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    assert all(0 <= x <= 720 and 0 <= y <= 260 for x, y in places)
