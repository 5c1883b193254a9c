"""Remembered Markdown on our pages: no script, no handler, nothing that is fetched, no scheme but those we know."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlsplit

from commonplace.web.rendering import ATTRIBUTES, SCHEMES, TAGS, markdown
from fuzzing.target import Broken, must

WORDS = (
    *("<script>", "</script>", "<img src=x onerror=", "<svg/onload=", "javascript:", "JaVaScRiPt:", "data:text/html,"),
    *("vbscript:", "&#106;", "&colon;", "&Tab;", "\x01", "[a](", "![a](", ")", "<http://a>", "[a]: ", "[a]", "```html"),
    *(
        "```python\n",
        "```",
        "~~~",
        "`",
        "<",
        ">",
        '"',
        "'",
        "&lt;",
        "<!--",
        "-->",
        "]]>",
        "<![CDATA[",
        "<?",
        "| a | b |",
    ),
    *(
        "\n|---|---|\n",
        "~~x~~",
        "**",
        "__",
        "# ",
        "> ",
        "- ",
        "1. ",
        "\t",
        "    ",
        "\\",
        "<style>",
        "<iframe",
        "<a href=",
    ),
    *("<math>", "<base href=//x>", "\n", "\n\n", "\0", "\u2028", "javascript&#58;alert(1)", "//host", "mailto:a@b"),
)
# What the parser that cleans adds to links by itself.
_ALSO = {"a": {"rel"}}


def take(data: bytes) -> None:
    safe(str(markdown(data.decode("utf-8", "replace"))))


def safe(html: str) -> None:
    """Read HTML as a browser would, and look at every tag."""
    reader = _Reader()
    reader.feed(html)
    reader.close()


class _Reader(HTMLParser):
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        must(tag in TAGS, f"<{tag}> is not one of our tags")
        allowed = ATTRIBUTES.get(tag, set()) | _ALSO.get(tag, set())
        for name, value in attrs:
            must(name in allowed, f"{name} may not stand in <{tag}>")
            if name == "href":
                must(_scheme(value or "") in (*SCHEMES, ""), f"a link leads to {value!r}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_comment(self, data: str) -> None:
        raise Broken("a comment passes")

    def handle_decl(self, decl: str) -> None:
        raise Broken("a declaration passes")

    def handle_pi(self, data: str) -> None:
        raise Broken("an instruction passes")


def _scheme(address: str) -> str:
    """As browsers read it, which pass over control characters and spaces at the beginning, and tabs everywhere."""
    output = "".join(letter for letter in address if letter > " " and letter != "\x7f")
    try:
        return urlsplit(output).scheme
    except ValueError:
        return ""
