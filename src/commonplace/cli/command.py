"""What every command is given: where the store is, how to answer, and a help page with examples."""

from __future__ import annotations

import contextlib
import json
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from commonplace.cli.terminal import plain, use_colour
from commonplace.config import Settings, load
from commonplace.errors import CommonplaceError, InvalidInput, StoreError
from commonplace.text.redact import redact

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory


P = ParamSpec("P")


@dataclass(slots=True)
class Call:
    """One run of the command line."""

    command: str = ""
    data_dir: str | None = None
    json: bool = False

    def settings(self, **overrides: object) -> Settings:
        """Settings of this run; values that are None were not given."""
        return load({"data_dir": self.data_dir, **overrides})

    @contextlib.contextmanager
    def memory(self, *, asks: bool = False) -> Iterator[LocalMemory]:
        """The memory, open for the length of the block, with what hooks left for it: more of it for one who asks."""
        from commonplace.capture.hooks.drain_inline import (
            LONG_DRAIN_SECONDS,
            SHORT_DRAIN_SECONDS,
            drain_some,
            drop_stale_contexts,
        )
        from commonplace.memory.content_mark import mark_reader
        from commonplace.memory.local_memory import open_memory

        settings = self.settings()
        memory = open_memory(settings)
        try:
            if left := drain_some(settings, LONG_DRAIN_SECONDS if asks else SHORT_DRAIN_SECONDS):
                self.note(f"{left:,} captured events still wait; `commonplace drain` remembers them now.")
            yield memory
        finally:
            with contextlib.suppress(StoreError):
                drop_stale_contexts(settings, mark_reader(memory))
            memory.close()

    def project(self, named: str | None, everywhere: bool, here: Callable[[], str | None] | None = None) -> str | None:
        """The project that a command is about: the one named, none for --global, else the one of the folder."""
        if named is not None and everywhere:
            raise click.UsageError("--project and --global exclude each other.", click.get_current_context())
        if named is not None or everywhere:
            return named
        return (here or self.project_here)()

    def project_here(self) -> str | None:
        """The project of the current folder; None outside any."""
        try:
            return self.project_at(Path.cwd())
        except OSError:
            # The folder was removed under us.
            return None

    def project_at(self, folder: Path) -> str | None:
        """The project of a folder. What hooks told of it may still wait, and be the first of its project."""
        from commonplace.capture.hooks.drain_inline import LONG_DRAIN_SECONDS, drain_some
        from commonplace.memory.projects import detect_known_project
        from commonplace.text.project_names import detect_project

        found = detect_project(folder)
        if found is None:
            drain_some(self.settings(), LONG_DRAIN_SECONDS)
            found = detect_known_project(self.settings(), folder)
        return found

    def reply(self, data: Mapping[str, Any], shown_once: Mapping[str, str] | None = None) -> None:
        """The answer to a program, without secrets but one that is to be told."""
        from commonplace.text.redact import redact_data

        click.echo(json.dumps({**redact_data(dict(data)), **(shown_once or {})}, ensure_ascii=False, indent=2))

    def say(self, text: str, **style: Any) -> None:
        """A line of the answer to a person."""
        click.secho(plain(text), **style)

    def note(self, text: str) -> None:
        """A remark beside the answer, which programs do not need."""
        if not self.json:
            click.secho(plain(text), err=True, fg="yellow")


class Command(click.Command):
    """A command whose help ends with examples."""

    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)


class ListingGroup(click.Group):
    """A group that lists when it is called alone; its help ends with examples, those of its commands too."""

    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        inner = [line for made in self.commands.values() if isinstance(made, Command) for line in made.examples]
        write_examples(tuple(dict.fromkeys((*self.examples, *inner))), formatter)


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """The Examples section, unwrapped so that a line can be copied."""
    with formatter.section("Examples"):
        for line in examples:
            formatter.write(f"{'':{formatter.current_indent}}$ {line}\n")


def command(name: str, *examples: str) -> Callable[[Callable[Concatenate[Call, P], None]], click.Command]:
    """Make a command of a function whose first parameter is the Call. Every command has --json and --data-dir."""

    def decorate(function: Callable[Concatenate[Call, P], None]) -> click.Command:
        made = click.command(name, cls=Command)(pass_call(function))
        made.examples = examples
        made.params += [json_option(), data_dir_option()]
        return made

    return decorate


def listing(name: str, *examples: str) -> Callable[[Callable[Concatenate[Call, P], None]], ListingGroup]:
    """Make a group of a function that lists, with its options; its other commands are added to it."""

    def decorate(function: Callable[Concatenate[Call, P], None]) -> ListingGroup:
        def alone(*args: P.args, **kwargs: P.kwargs) -> None:
            ctx = click.get_current_context()
            if ctx.invoked_subcommand is None:
                function(ctx.ensure_object(Call), *args, **kwargs)
            else:
                _refuse_options(ctx)

        # With its options, which click keeps on the function until a command is made of it.
        made = click.command(name, cls=ListingGroup, invoke_without_command=True)(update_wrapper(alone, function))
        made.examples = examples
        made.params += [json_option(), data_dir_option()]
        return made

    return decorate


def _refuse_options(ctx: click.Context) -> None:
    """Complain about options of the list before another command, which would not see them."""
    typed = click.core.ParameterSource.COMMANDLINE
    for param in ctx.command.params:
        if param.expose_value and param.name and ctx.get_parameter_source(param.name) is typed:
            raise click.UsageError(f"{param.opts[0]} is for the list, not for {ctx.invoked_subcommand}.", ctx)


pass_call = click.make_pass_decorator(Call, ensure=True)


def json_option() -> click.Option:
    return click.Option(
        ["--json", "json_"], is_flag=True, expose_value=False, callback=_set_json, help="Answer in JSON, for programs."
    )


def data_dir_option() -> click.Option:
    return click.Option(
        ["--data-dir"],
        metavar="PATH",
        expose_value=False,
        callback=_set_data_dir,
        help="Where the store is (else COMMONPLACE_DATA_DIR, else your data folder).",
    )


def _set_json(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    call = ctx.ensure_object(Call)
    call.json = call.json or value


def _set_data_dir(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    if not value.strip() or "\0" in value:
        raise click.BadParameter("it is empty.", ctx, param)
    ctx.ensure_object(Call).data_dir = value


WRONG_USE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141


class ClosedPipe(Exception):
    """Whoever read our output went away."""


class StoppedEarly(InvalidInput):
    """Bad input in the middle of something long. `done` tells what had happened by then."""

    def __init__(self, message: str, hint: str, done: Mapping[str, object]) -> None:
        super().__init__(message, hint)
        self.done = done


def report_failure(error: Exception, call: Call) -> int:
    """Tell what went wrong and return the exit code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.Abort):
        return INTERRUPTED
    if isinstance(error, CommonplaceError):
        more = error.done if isinstance(error, StoppedEarly) else {}
        _print_error(call, error.code, error.message, error.hint, more)
        return error.exit_code
    if isinstance(error, click.ClickException):
        _print_error(call, InvalidInput.code, error.format_message(), _usage_hint(error))
        return WRONG_USE
    if os.environ.get("COMMONPLACE_DEBUG"):
        traceback.print_exception(error)
    _print_error(
        call,
        CommonplaceError.code,
        f"Something unexpected happened: {type(error).__name__}: {error}",
        "Set COMMONPLACE_DEBUG=1 to see where, and please report it.",
    )
    return CommonplaceError.exit_code


def _print_error(call: Call, code: str, message: str, hint: str, more: Mapping[str, object] | None = None) -> None:
    if call.json:
        body: dict[str, Any] = {"code": code, "message": redact(message), "suggestion": redact(hint), **(more or {})}
        # The stdout of `mcp` belongs to the protocol.
        click.echo(json.dumps({"error": body}, ensure_ascii=False, indent=2), err=call.command == "mcp")
        return
    # Outside of click's context, which knew about colour.
    click.secho("error: ", fg="red", bold=True, nl=False, err=True, color=use_colour())
    click.echo(plain(message), err=True)
    if hint:
        click.secho("hint: ", fg="cyan", nl=False, err=True, color=use_colour())
        click.echo(plain(hint), err=True)


def _usage_hint(error: click.ClickException) -> str:
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    return f"`{ctx.command_path} --help` tells how to call it." if ctx else "`commonplace --help` tells how to call it."
