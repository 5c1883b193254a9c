"""Every target, in one table."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.capture.importers.formats import FORMATS
from fuzzing import (
    hook_payloads,
    imports,
    json_bounds,
    pages,
    protocol,
    queries,
    requests,
    rule_files,
    secrets,
    settings_files,
    transcripts,
)
from fuzzing.target import Target

# What writing into a store takes, and what it takes to load the rules of a language.
_KEEPING, _LOADING = 200_000, 1_000_000
_ALL = (
    Target("query", "the query language", queries.take, queries.WORDS),
    Target("redactor", "secrets in any text", secrets.take, secrets.WORDS),
    Target("claude-code", "sessions of Claude Code", transcripts.takes("claude-code"), transcripts.WORDS),
    Target("codex", "sessions of Codex CLI", transcripts.takes("codex"), transcripts.WORDS),
    Target("gemini", "sessions of Gemini CLI", transcripts.takes("gemini"), transcripts.WORDS),
    Target("cursor", "the database of Cursor", transcripts.takes("cursor"), transcripts.WORDS),
    *(
        Target(f"import-{name}", output.what, imports.takes(name), imports.WORDS, _KEEPING)
        for name, output in FORMATS.items()
        if name != "archive"
    ),
    Target("import-archive", "records of another Commonplace", imports.take_archive, imports.WORDS, _KEEPING),
    Target("import-any", "files and zips, by what is in them", imports.take_any, imports.WORDS, _KEEPING),
    Target("move-in", "databases of other memories", imports.take_database, imports.WORDS, _KEEPING),
    Target("hook", "what hosts tell their hooks", hook_payloads.take, hook_payloads.WORDS, _KEEPING),
    Target("json", "limits on JSON before it is parsed", json_bounds.take, json_bounds.WORDS),
    Target("stdio", "JSON-RPC on standard input", protocol.take_stdio, protocol.WORDS, _KEEPING),
    Target("http", "JSON-RPC over HTTP", protocol.take_http, protocol.WORDS, _KEEPING),
    Target("rest", "requests to the REST interface", requests.take, requests.WORDS, _KEEPING),
    Target("markdown", "remembered Markdown on our pages", pages.take, pages.WORDS, _LOADING),
    Target("rule-file", "rule files that others wrote", rule_files.take, rule_files.WORDS, _KEEPING),
    Target("editor-settings", "settings of editors", rule_files.take_settings, rule_files.SETTINGS_WORDS),
    Target("config", "the configuration file", settings_files.take, settings_files.WORDS),
)
TARGETS: Mapping[str, Target] = {target.name: target for target in _ALL}
