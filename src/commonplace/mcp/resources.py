"""Resources: an item, a project's context, and the rules, as documents a host can attach."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from commonplace.dialects import kiro
from commonplace.dialects.memories_text import rules_text
from commonplace.dialects.tool import LONGEST_NOTICE
from commonplace.errors import CommonplaceError
from commonplace.mcp.recalled import marked
from commonplace.memory.book import Book
from commonplace.memory.browse import projects
from commonplace.memory.rules import rules
from commonplace.text.control_characters import without_controls
from commonplace.text.redact import redact, redact_lines
from commonplace.text.summarise import shorten

MOST_PROJECTS = 50

TEMPLATES = (
    types.ResourceTemplate(
        name="item",
        title="Remembered item",
        uri_template="memory://item/{id}",
        description="One item in full, by number, UUID or short id.",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        name="project-context",
        title="Project context",
        uri_template="memory://project/{project}/context",
        description="What to know before working on a project.",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        name="project-rules",
        title="Project rules",
        uri_template="memory://project/{project}/rules",
        description="The rules of a project and those that hold everywhere.",
        mime_type="text/markdown",
    ),
)

_ITEM = re.compile(r"memory://item/([^/]+)")
_CONTEXT = re.compile(r"memory://project/([^/]+)/context")
_RULES = re.compile(r"memory://project/([^/]+)/rules")


def listed(book: Book) -> list[types.Resource]:
    """The rules, and a context for each of the projects used last."""
    rules = types.Resource(
        name="rules",
        title="Rules",
        uri="memory://rules",
        description="Rules that hold everywhere.",
        mime_type="text/markdown",
    )
    return [rules] + [
        types.Resource(
            name=f"context-{project.name}",
            title=f"Context of {project.name}",
            uri=f"memory://project/{quote(project.name, safe='')}/context",
            mime_type="application/json",
        )
        for project in projects(book)[:MOST_PROJECTS]
        # An address cannot be redacted, and still lead there.
        if redact(project.name) == project.name
    ]


def read(book: Book, uri: str) -> types.ReadResourceResult:
    """The document behind an address of ours."""
    try:
        mime_type, text = _document(book, uri)
    except CommonplaceError as error:
        told = {"uri": _shown(uri), "details": redact(error.hint)}
        raise MCPError(types.INVALID_PARAMS, redact(error.message), told) from error
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.ReadResourceResult(contents=[contents], _meta=marked())


def _document(book: Book, uri: str) -> tuple[str, str]:
    if uri == "memory://rules":
        return "text/markdown", redact_lines(without_controls(rules_text(rules(book, None))))
    if match := _RULES.fullmatch(uri):
        return "text/markdown", redact_lines(without_controls(rules_text(rules(book, unquote(match[1])))))
    if match := _CONTEXT.fullmatch(uri):
        return "application/json", kiro.context_text(book, unquote(match[1]))
    if match := _ITEM.fullmatch(uri):
        return "application/json", kiro.record_text(book, unquote(match[1]))
    unknown = shorten(f"Resource not found: {_shown(uri)}", LONGEST_NOTICE)
    raise MCPError(types.INVALID_PARAMS, unknown, {"uri": _shown(uri)})


def _shown(uri: str) -> str:
    """The address as it was asked for, unless it holds a secret, which its escapes would hide."""
    said = unquote(uri)
    return uri if redact(said) == said else redact(said)
