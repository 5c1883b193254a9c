"""Rule files and settings of editors: what others wrote is read, learned from, and put back as it was."""

from __future__ import annotations

from commonplace.hosts import json_and_toml_edits, rule_file_parts
from commonplace.hosts.learn_rule_files import learn
from commonplace.hosts.rules_markdown import statements
from commonplace.hosts.settings_file import OurSettings, add_our_settings, foreign_settings, parse_settings
from fuzzing import workspace
from fuzzing.target import must

# One file of each kind that is read in its own way.
FILES = (
    "AGENTS.md",
    ".cursor/rules/one.mdc",
    ".github/instructions/one.instructions.md",
    ".claude/skills/one/SKILL.md",
)
WORDS = (
    *("---\n", "...", "globs: ", "paths:\n", "  - ", "alwaysApply: true", "applyTo: ", "description: ", "name: ", '"'),
    *("**/*.ts", "{a,b}", "[x, y]", "'", "#", "|", ">", "<!-- commonplace:begin -->", "<!-- commonplace:end -->", "# "),
    *("- ", "* ", "1. ", "```", "\n\n", "\r\n", "\t", "\ufeff", "Front matter: 0123abcd", "never ", "always ", "../"),
)
SETTINGS_WORDS = (
    *('{"mcpServers": {', '"commonplace": ', '"command": ', '"hooks": {', '"SessionStart": [', "//", "/*", "*/", ","),
    *("{", "}", "[", "]", ":", '"', "null", "1e9", "[mcp_servers.x]", "[[a]]", "a = 1", "'''", '"""', "a.b = {}", "\n"),
    *('"commonplace hook claude-code Stop"', "\\u0000", "\\ud800", "\ufeff", "true", "-", "inf", "1979-05-27", "\r\n"),
)
_WANTED = OurSettings(
    "mcpServers", {"command": "commonplace", "args": ["mcp"]}, ((("hooks", "Stop"), {"command": "x"}),)
)
_WANTED_TOML = OurSettings("mcp_servers", {"command": "commonplace", "args": ["mcp"], "env": {"A": "b"}})


def take(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    head, rest = rule_file_parts.cut(text)
    must(head + rest == text, "a front matter and the text below it are the whole")
    fields = rule_file_parts.read(head)
    rule_file_parts.digest(head)
    rule_file_parts.comma_globs(rule_file_parts.globs_in(fields, tuple(fields)))
    list(statements(text))
    _block(text)
    root = workspace.folder() / "project"
    for name in FILES:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    learn(workspace.memory(), root, None, write=False)


def _block(text: str) -> None:
    try:
        cut = rule_file_parts.parts(text)
    except rule_file_parts.BadMarkers:
        return
    must(cut.before + (cut.block or "") + cut.after == text, "the parts are the whole")
    made = rule_file_parts.block(rule_file_parts.disarmed(text), "")
    again = rule_file_parts.parts(
        rule_file_parts.appended(text, made) if cut.block is None else rule_file_parts.replaced(cut, made)
    )
    must(again.block is not None, "our block is found again")


def take_settings(data: bytes) -> None:
    """The file of an editor: refused with a reason, or ours gets in and nothing else changes."""
    text = data.decode("utf-8", "replace")
    for format_, wanted in (("jsonc", _WANTED), ("toml", _WANTED_TOML)):
        try:
            before = foreign_settings(parse_settings(text, format_), wanted)  # type: ignore[arg-type]
            after = add_our_settings(text, format_, wanted)  # type: ignore[arg-type]
            value = parse_settings(after, format_)  # type: ignore[arg-type]
        except (ValueError, RecursionError):
            # What whoever plans a connection takes for a refusal.
            continue
        harmless = foreign_settings(value, wanted) == before
        must(not harmless or add_our_settings(after, format_, wanted) == after, "doing it twice changes nothing")  # type: ignore[arg-type]
    try:
        json_and_toml_edits.parse_json(text)
    except (ValueError, RecursionError):
        return
