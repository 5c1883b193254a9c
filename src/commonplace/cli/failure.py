"""How a failure is told: one clear line and a hint for people, one object for programs, an exit code for both.

0 fine    1 unexpected    2 wrong arguments    3 not found    4 conflict    5 store    6 timeout    7 embedder
8 not allowed    10 another server    130 interrupted (Ctrl-C)    141 whoever read the output went away
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Mapping
from typing import Any

import click

from commonplace.cli.call import Call
from commonplace.cli.terminal import colour, plain
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.text.redact import redact

WRONG_USE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141


class PipeClosed(Exception):
    """Whoever read our output went away."""


class Stopped(InvalidInput):
    """Bad input in the middle of something long. `done` tells what had happened by then."""

    def __init__(self, message: str, hint: str, done: Mapping[str, object]) -> None:
        super().__init__(message, hint)
        self.done = done


def report(error: Exception, call: Call) -> int:
    """Tell what went wrong and return the exit code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.Abort):
        return INTERRUPTED
    if isinstance(error, CommonplaceError):
        more = error.done if isinstance(error, Stopped) else {}
        _tell(call, error.code, error.message, error.hint, more)
        return error.exit_code
    if isinstance(error, click.ClickException):
        _tell(call, InvalidInput.code, error.format_message(), _usage_hint(error))
        return WRONG_USE
    if os.environ.get("COMMONPLACE_DEBUG"):
        traceback.print_exception(error)
    _tell(
        call,
        CommonplaceError.code,
        f"Something unexpected happened: {type(error).__name__}: {error}",
        "Set COMMONPLACE_DEBUG=1 to see where, and please report it.",
    )
    return CommonplaceError.exit_code


def _tell(call: Call, code: str, message: str, hint: str, more: Mapping[str, object] | None = None) -> None:
    if call.json:
        body: dict[str, Any] = {"code": code, "message": redact(message), "suggestion": redact(hint), **(more or {})}
        # The stdout of `mcp` belongs to the protocol.
        click.echo(json.dumps({"error": body}, ensure_ascii=False, indent=2), err=call.command == "mcp")
        return
    # Outside of click's context, which knew about colour.
    click.secho("error: ", fg="red", bold=True, nl=False, err=True, color=colour())
    click.echo(plain(message), err=True)
    if hint:
        click.secho("hint: ", fg="cyan", nl=False, err=True, color=colour())
        click.echo(plain(hint), err=True)


def _usage_hint(error: click.ClickException) -> str:
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    return f"`{ctx.command_path} --help` tells how to call it." if ctx else "`commonplace --help` tells how to call it."
