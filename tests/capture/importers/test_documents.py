"""Documents: pages as their text, files that follow their source, and what is no text refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.capture.import_files import import_path
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Scope

PAGE = """<!DOCTYPE html><html><head><title>Release notes</title><style>p { color: red }</style></head>
<body><nav>Menu</nav><h1>Release 3</h1><p>We <b>moved</b> to Postgres&nbsp;16 &amp; left MySQL.</p>
<ul><li>one</li><li>two</li></ul><table><tr><td>a</td><td>b</td></tr></table><pre>make   deploy</pre>
<script>alert("x")</script></body></html>"""


def texts(memory: LocalMemory) -> list[str]:
    return [item.body for item in browse_items(memory, Scope(), 100).items]


def test_a_page_is_imported_as_what_a_reader_sees(memory: LocalMemory, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    import_path(memory, tmp_path / "page.html")
    (text,) = texts(memory)
    assert text == (
        "# Release 3\n\nWe moved to Postgres\u00a016 & left MySQL.\n\n- one\n- two\n\n | a | b\n\n"
        "```\nmake   deploy\n```"
    )


@pytest.mark.parametrize(
    "broken", ["<html><pre>", "<html></pre></script>x", "<html><p>" * 2000 + "x", "<html>&#xD800;y"]
)
def test_broken_pages_are_read_as_far_as_they_go(memory: LocalMemory, tmp_path: Path, broken: str) -> None:
    (tmp_path / "page.html").write_text(broken, encoding="utf-8")
    summary = import_path(memory, tmp_path / "page.html")
    assert summary.files.added == 1


@pytest.mark.parametrize(
    ("head", "why"),
    [(b"%PDF-1.7\n1 0 obj", "it is a PDF"), (b"{\\rtf1 hello", "RTF"), (b"%!PS-Adobe-3.0", "PostScript")],
)
@pytest.mark.parametrize("name", ["paper.txt", "paper.md"])
def test_what_is_no_text_is_refused_in_words(
    memory: LocalMemory, tmp_path: Path, head: bytes, why: str, name: str
) -> None:
    (tmp_path / name).write_bytes(head)
    summary = import_path(memory, tmp_path / name)
    assert not texts(memory)
    assert any(why in reason for _what, reason in summary.reasons), summary


@pytest.mark.parametrize("name", ["plan.md", "plan.txt"])
def test_a_document_says_what_its_file_says(memory: LocalMemory, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    for text in ("Alpha.\n\nBeta.", "Alpha.\n\nGamma.\n\nDelta.", "Alpha.", "New beginning."):
        file.write_text(text, encoding="utf-8")
        import_path(memory, file)
        assert texts(memory) == [text]


def test_two_files_of_one_name_stay_two(memory: LocalMemory, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.md").write_text(f"Of {folder}.", encoding="utf-8")
        import_path(memory, tmp_path / folder / "notes.md")
    assert sorted(texts(memory)) == ["Of a.", "Of b."]


def test_what_a_person_changed_here_stays(memory: LocalMemory, tmp_path: Path) -> None:
    file = tmp_path / "plan.md"
    file.write_text("From the file.", encoding="utf-8")
    import_path(memory, file)
    (item,) = browse_items(memory, Scope(), 10).items
    edit_item(memory, item.id, Changes(content="From a person."))
    file.write_text("From the file, later.", encoding="utf-8")
    import_path(memory, file)
    assert texts(memory) == ["From a person."]


@pytest.mark.parametrize("unit", ["<a ", "<!", "&", "</", "<!--", "<p><b>", "<?", "<a href='", "<![CDATA["])
def test_a_megabyte_of_broken_markup_is_read_in_time(memory: LocalMemory, tmp_path: Path, unit: str) -> None:
    """A parser that begins again at every mark would not end here."""
    (tmp_path / "page.html").write_text(f"<html>Before {unit * (1_000_000 // len(unit))}", encoding="utf-8")
    assert import_path(memory, tmp_path / "page.html").files.added == 1
