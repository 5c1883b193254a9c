"""Documents: pages as their text, files that follow their source, and what is no text refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.capture.imports import import_path
from commonplace.memory.book import Book
from commonplace.memory.browse import browse
from commonplace.memory.edit import Changes, edit
from commonplace.model import Scope

PAGE = """<!DOCTYPE html><html><head><title>Release notes</title><style>p { color: red }</style></head>
<body><nav>Menu</nav><h1>Release 3</h1><p>We <b>moved</b> to Postgres&nbsp;16 &amp; left MySQL.</p>
<ul><li>one</li><li>two</li></ul><table><tr><td>a</td><td>b</td></tr></table><pre>make   deploy</pre>
<script>alert("x")</script></body></html>"""


def texts(book: Book) -> list[str]:
    return [item.body for item in browse(book, Scope(), 100).items]


def test_a_page_is_imported_as_what_a_reader_sees(book: Book, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    import_path(book, tmp_path / "page.html")
    (text,) = texts(book)
    assert text == (
        "# Release 3\n\nWe moved to Postgres\u00a016 & left MySQL.\n\n- one\n- two\n\n | a | b\n\n"
        "```\nmake   deploy\n```"
    )


@pytest.mark.parametrize(
    "broken", ["<html><pre>", "<html></pre></script>x", "<html><p>" * 2000 + "x", "<html>&#xD800;y"]
)
def test_broken_pages_are_read_as_far_as_they_go(book: Book, tmp_path: Path, broken: str) -> None:
    (tmp_path / "page.html").write_text(broken, encoding="utf-8")
    summary = import_path(book, tmp_path / "page.html")
    assert summary.files.added == 1


@pytest.mark.parametrize(
    ("head", "why"),
    [(b"%PDF-1.7\n1 0 obj", "it is a PDF"), (b"{\\rtf1 hello", "RTF"), (b"%!PS-Adobe-3.0", "PostScript")],
)
@pytest.mark.parametrize("name", ["paper.txt", "paper.md"])
def test_what_is_no_text_is_refused_in_words(book: Book, tmp_path: Path, head: bytes, why: str, name: str) -> None:
    (tmp_path / name).write_bytes(head)
    summary = import_path(book, tmp_path / name)
    assert not texts(book)
    assert any(why in reason for _what, reason in summary.reasons), summary


@pytest.mark.parametrize("name", ["plan.md", "plan.txt"])
def test_a_document_says_what_its_file_says(book: Book, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    for text in ("Alpha.\n\nBeta.", "Alpha.\n\nGamma.\n\nDelta.", "Alpha.", "New beginning."):
        file.write_text(text, encoding="utf-8")
        import_path(book, file)
        assert texts(book) == [text]


def test_two_files_of_one_name_stay_two(book: Book, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.md").write_text(f"Of {folder}.", encoding="utf-8")
        import_path(book, tmp_path / folder / "notes.md")
    assert sorted(texts(book)) == ["Of a.", "Of b."]


def test_what_a_person_changed_here_stays(book: Book, tmp_path: Path) -> None:
    file = tmp_path / "plan.md"
    file.write_text("From the file.", encoding="utf-8")
    import_path(book, file)
    (item,) = browse(book, Scope(), 10).items
    edit(book, item.id, Changes(content="From a person."))
    file.write_text("From the file, later.", encoding="utf-8")
    import_path(book, file)
    assert texts(book) == ["From a person."]


@pytest.mark.parametrize("unit", ["<a ", "<!", "&", "</", "<!--", "<p><b>", "<?", "<a href='", "<![CDATA["])
def test_a_megabyte_of_broken_markup_is_read_in_time(book: Book, tmp_path: Path, unit: str) -> None:
    """A parser that begins again at every mark would not end here."""
    (tmp_path / "page.html").write_text(f"<html>Before {unit * (1_000_000 // len(unit))}", encoding="utf-8")
    assert import_path(book, tmp_path / "page.html").files.added == 1
