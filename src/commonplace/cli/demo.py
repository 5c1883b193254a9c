"""`demo`: add, search and context in a few seconds, on a temporary store."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command
from commonplace.cli.search_and_context import call_tool, show_context
from commonplace.cli.start_screen import find_editors
from commonplace.dialects.records import hit_record
from commonplace.library.memory import Memory
from commonplace.memory.local_memory import open_memory
from commonplace.text.dates import HOUR_MS

PROJECT = "github.com/acme/my-api"

# Hours ago, and what happened then.
STORY: tuple[tuple[int, dict[str, Any]], ...] = (
    (
        200,
        {
            "content": "Sessions last 30 days in a JWT cookie; nobody re-enters a password before that.",
            "type": "decision",
        },
    ),
    (
        150,
        {"content": "The service must answer within 200 ms, even when the cache is cold.", "type": "constraint"},
    ),
    (
        120,
        {
            "content": "MongoDB was tried for orders and dropped: we need transactions across tables.",
            "type": "rejected",
        },
    ),
    (
        26,
        {
            "kind": "observation",
            "type": "file-write",
            "title": "Modified src/auth/tokens.py",
            "narrative": "Rotate the refresh token on every use and reject one that is presented twice.",
            "concepts": "security, api",
            "files_modified": "src/auth/tokens.py",
        },
    ),
    (
        25,
        {
            "kind": "observation",
            "type": "command",
            "title": "pytest tests/auth",
            "narrative": "Ran the authentication tests: 47 passed.",
            "concepts": "testing, security",
        },
    ),
    (
        3,
        {
            "kind": "observation",
            "type": "file-write",
            "title": "Modified deploy/nginx.conf",
            "narrative": "Limit each client address to 20 requests per second, with a burst of 40.",
            "concepts": "infrastructure",
            "files_modified": "deploy/nginx.conf",
        },
    ),
    (
        2,
        {
            "kind": "summary",
            "session": "monday",
            "request": "Harden authentication",
            "completed": "Refresh tokens rotate; nginx limits requests per client.",
            "next_steps": "Tell the mobile team about the new 429 answers.",
        },
    ),
    (
        1,
        {
            "kind": "checkpoint",
            "session": "monday",
            "task": "Write the runbook for token rotation",
            "progress": "Outline done, examples missing",
        },
    ),
)
QUESTIONS = ("how do we keep users logged in?", "why did we not choose a NoSQL database?")
OPERATORS = 'concepts:security AND (token* OR "47 passed") NOT nginx'
# The field that says most about an item, the best first.
SHOWN_FIELDS = ("content", "narrative", "completed", "title", "task")


@command("demo", "commonplace demo")
def demo(call: Call) -> None:
    """Add a few items about a small project, find them by meaning, and show what an agent would see.

    It works offline, on a temporary store; your own memory is not touched.
    """
    report: dict[str, Any] = {}
    with _temporary_memory(call) as memory:
        _add_items(call, memory, report)
        for question in QUESTIONS:
            _search(call, memory, question, "Found by meaning, with words that appear nowhere:", report)
        _search(call, memory, OPERATORS, "Operators filter strictly:", report)
        _show_context(call, memory, report)
    if call.json:
        call.reply(report)
    call.note(f"\nNext: {_next_step()}")


def _next_step() -> str:
    """What to do after the demo, by the editors that are here."""
    connected, found = find_editors()
    if found:
        titles = " and ".join(filter(None, (", ".join(one.title for one in found[:-1]), found[-1].title)))
        return f"`commonplace connect --dry-run` shows what connecting {titles} would change."
    if connected:
        return "`commonplace` shows where you stand."
    return "`commonplace connect claude-code` connects an editor; `commonplace connect --help` lists them."


def _add_items(call: Call, memory: Memory, report: dict[str, Any]) -> None:
    _caption(call, f"Adding {len(STORY)} items about {PROJECT}")
    now, spent = memory.local.clock(), []
    for hours, item in STORY:
        start = time.perf_counter()
        memory.remember(project=PROJECT, at=now - hours * HOUR_MS, **item)
        spent.append(_ms(start))
        if not call.json:
            text = next(item[name] for name in SHOWN_FIELDS if name in item)
            click.echo(f"  {item.get('type') or item['kind']:<11} {text}")
    start = time.perf_counter()
    embedded = memory.local.embeddings.catch_up()
    report["write_ms"], report["understand_ms"] = round(sorted(spent)[len(spent) // 2], 2), round(_ms(start), 1)
    report["understood"] = embedded
    _timing(call, f"a write took {report['write_ms']} ms (median) and was searchable at once")
    if embedded:
        _timing(call, f"loading the model and embedding all items took {report['understand_ms']:.0f} ms, once")
    else:
        call.note(f"  The embedder is {memory.embedding_state}: the following is found by keywords only.")


def _search(call: Call, memory: Memory, question: str, caption: str, report: dict[str, Any]) -> None:
    _caption(call, f"{caption}\n  $ commonplace search '{question}'")
    start = time.perf_counter()
    found = memory.search(question, project=PROJECT, limit=3)
    took = round(_ms(start), 1)
    results = [hit_record(hit) for hit in found.hits]
    search = {"query": question, "ms": took, "by_meaning": found.by_meaning, "results": results}
    report.setdefault("searches", []).append(search)
    if call.json:
        return
    if results:
        tables.search_results(results)
    else:
        click.echo("  (nothing)")
    _timing(call, f"answered in {took} ms")


def _show_context(call: Call, memory: Memory, report: dict[str, Any]) -> None:
    _caption(call, "What an agent sees before it starts to work\n  $ commonplace context my-api --budget 1000\n")
    start = time.perf_counter()
    report["context"] = call_tool(memory.local, "get_context", {"project": "my-api", "token_budget": 1000})
    report["context_ms"] = round(_ms(start), 1)
    if not call.json:
        show_context(report["context"])
        _timing(call, f"answered in {report['context_ms']} ms")


@contextlib.contextmanager
def _temporary_memory(call: Call) -> Iterator[Memory]:
    # On Windows a scanner may hold a file open a moment longer; that must not fail the demo.
    with tempfile.TemporaryDirectory(prefix="commonplace-demo-", ignore_cleanup_errors=True) as folder:
        local = open_memory(replace(call.settings(), data_dir=Path(folder), database_url="", encryption="off"))
        with contextlib.closing(local):
            yield Memory.over(local)


def _caption(call: Call, text: str) -> None:
    if not call.json:
        click.secho(f"\n{text}", bold=True)


def _timing(call: Call, text: str) -> None:
    if not call.json:
        click.secho(f"  ({text})", dim=True)


def _ms(start: float) -> float:
    return (time.perf_counter() - start) * 1000
