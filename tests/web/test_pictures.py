"""The pictures of the documentation can be made at any time, and are small enough for it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.web.pictures import FOLDER, PICTURES, take_pictures

LARGEST = 150 * 1024


def test_the_pictures_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    made = list(take_pictures(tmp_path / "pictures", tmp_path))
    assert [path.stem for path in made] == [picture.name for picture in PICTURES]
    for path in made:
        content = path.read_bytes()
        assert content[:4] == b"RIFF" and content[8:12] == b"WEBP" and 5_000 < len(content) < LARGEST, path.name


def test_the_documentation_shows_pictures_that_are_there() -> None:
    shown = [
        page.parent / link
        for page in FOLDER.parent.rglob("*.md")
        for link in re.findall(r"!\[[^\]]*\]\(([^)]+\.(?:webp|png))\)", page.read_text(encoding="utf-8"))
    ]
    assert shown and all(path.is_file() for path in shown)
    assert {path.resolve() for path in FOLDER.glob("*.webp")} >= {path.resolve() for path in shown}
