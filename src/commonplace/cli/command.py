"""How a command is declared, what it is given (the memory, the settings, the output), and how its errors are printed.

Exit codes: 0 success    1 unexpected    2 wrong arguments    3 not found    4 conflict    5 store    6 timeout
7 embedder    8 not allowed    9 faults found    10 another server    130 interrupted (Ctrl-C)    141 closed pipe
"""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec

import click

from commonplace.cli.terminal import caller_terminal, current_folder, environment, plain, use_colour, wrapped
from commonplace.config import Settings, load
from commonplace.data_folder import TEAMS
from commonplace.errors import CommonplaceError, InvalidInput, StoreError
from commonplace.text.redact import redact

if TYPE_CHECKING:
    from commonplace.capture.hooks.team_server import TeamServer
    from commonplace.library.memory import Memory
    from commonplace.memory.local_memory import LocalMemory

P = ParamSpec("P")
Text = str | Sequence[str] | Callable[[], object]

WRONG_USE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141


@dataclass(slots=True)
class Call:
    """One run of the command line. `old_name` is what was typed if the command has another name now."""

    command: str = ""
    old_name: str = ""
    data_dir: str | None = None
    json: bool = False
    # What was remarked already.
    noted: set[str] = field(default_factory=set)

    def settings(self, **overrides: object) -> Settings:
        """Settings of this run; an override that is None is ignored."""
        return load({"data_dir": self.data_dir, **overrides}, environment())

    @contextlib.contextmanager
    def local_memory(self, *, drain_more: bool = False, is_shown: bool = True) -> Iterator[LocalMemory]:
        """Open the memory for the length of the block, and store captured events that are waiting.

        Commands that answer questions take more time for waiting events (`drain_more`) than others. Unless nothing that
        is remembered is shown or changed (`is_shown`), a person is told where agents have another memory.
        """
        from commonplace.capture.hooks.drain_inline import (
            LONG_DRAIN_SECONDS,
            SHORT_DRAIN_SECONDS,
            drain_some,
            drop_stale_contexts,
        )
        from commonplace.memory.content_fingerprint import fingerprint_reader
        from commonplace.memory.local_memory import open_memory

        settings = self.settings()
        caller = caller_terminal.get()
        memory = open_memory(settings) if caller is None else caller.reach(settings)
        try:
            if left := drain_some(settings, LONG_DRAIN_SECONDS if drain_more else SHORT_DRAIN_SECONDS):
                self.note(f"{left:,} captured events are still waiting; `commonplace drain` stores them now.")
            if is_shown:
                self._note_other_memory()
            yield memory
            self._name_other_spaces(memory)
        finally:
            with contextlib.suppress(StoreError):
                drop_stale_contexts(settings, fingerprint_reader(memory), environment())
            if caller is None:
                memory.close()

    def _name_other_spaces(self, memory: LocalMemory) -> None:
        """On a server's machine, whose own space is often empty: where the memories are."""
        if self.json:
            return
        from commonplace.memory.spaces import spaces_instead

        if others := spaces_instead(memory):
            self.note(
                f"The space {memory.settings.space} is empty. This store also has {', '.join(others)}:"
                f" `COMMONPLACE_SPACE={others[0]}` before a command chooses it."
            )

    @contextlib.contextmanager
    def memory(self, *, drain_more: bool = False) -> Iterator[Memory]:
        """The same with the methods of the Python library."""
        from commonplace.library.memory import Memory

        with self.local_memory(drain_more=drain_more) as local:
            yield Memory.over(local, catch_up=True)

    def project(
        self, named: str | None, only_global: bool, default: Callable[[], str | None] | None = None
    ) -> str | None:
        """The project a command is about: the given one, none with --global, else that of the current folder."""
        if named is not None and only_global:
            raise click.UsageError("Use either --project or --global, not both.", click.get_current_context())
        if named is not None or only_global:
            return named
        return (default or self.current_project)()

    def searched_place(
        self, named: str | None, *, everywhere: bool, only_global: bool = False
    ) -> tuple[str | None, bool]:
        """The project to search, none for all of them, and whether what applies everywhere is part of it.

        Nobody asked for other projects who asks in the folder of one.
        """
        if named is not None and everywhere:
            raise click.UsageError("Use either --project or --everywhere, not both.", click.get_current_context())
        if named is not None or everywhere or only_global:
            return named, False
        here = self.current_project()
        return here, here is not None

    def say_where(self, project: str | None, with_global: bool) -> None:
        """Tell a person who did not say where to search that there may be more."""
        if with_global and project is not None:
            self.note(f"Searched {project} and what applies everywhere; --everywhere searches every project.")

    def warn_incomplete(self, waiting: int) -> None:
        """Say that some passages were compared by their words only."""
        if waiting:
            from commonplace.dialects.tool import missing_vectors_notice

            self.note(missing_vectors_notice(waiting).replace("Ask again in a moment", "Search again, or run a server"))

    def warn_keywords_only(self, state: str) -> None:
        """Say that only words were compared, if so, and why."""
        if state == "off" or state.startswith("failed"):
            why = "meaning is off" if state == "off" else state.removeprefix("failed: ").rstrip(".")
            self.note(f"Found by keywords only: {why}.")

    def named_project(self, argument: str | None, option: str | None) -> str | None:
        """A project that may be given as an argument or as an option."""
        if argument is not None and option is not None:
            raise click.UsageError("Name the project once.", click.get_current_context())
        return option if argument is None else argument

    def current_project(self) -> str | None:
        """The project of the current folder, if it belongs to one."""
        try:
            return self.project_at(current_folder())
        except OSError:
            # The folder was removed while we are in it.
            return None

    def project_at(self, folder: Path) -> str | None:
        """The project of a folder. Waiting events are stored first: they may be the first of a project."""
        from commonplace.capture.hooks.drain_inline import LONG_DRAIN_SECONDS, drain_some
        from commonplace.memory.detect_project import detect_project
        from commonplace.memory.projects import detect_known_project

        found = detect_project(folder)
        if found is None:
            drain_some(self.settings(), LONG_DRAIN_SECONDS)
            found = detect_known_project(self.settings(), folder)
        return found

    def shared_here(self) -> tuple[str | None, list[TeamServer]]:
        """The project of the current folder, and the servers elsewhere whose memory agents have there."""
        data = self.settings().data_dir
        if not (data / TEAMS).is_dir():
            return None, []
        from commonplace.capture.hooks.team_server import home_settings, stays_here, team_servers
        from commonplace.capture.hooks.working_folder import WorkingFolders

        try:
            project = WorkingFolders().of(str(current_folder())).project
        except OSError:
            # The folder was removed while we are in it.
            return None, []
        servers = [server for server in team_servers(data) if not server.leaving]
        return project, [one for one in servers if not stays_here(one, home_settings(one, environment()), project)]

    def _note_other_memory(self) -> None:
        """Say that colleagues and connected agents use a server's memory here, and this command does not."""
        project, servers = self.shared_here()
        for server in servers:
            self.note_once(
                f"This is the memory of this machine. {project or 'This folder'} is shared through {server.url}:"
                " its agents and your colleagues use the memory there."
            )

    def answer(self, record: Mapping[str, Any], text: Text = (), **style: Any) -> None:
        """Print the result of the command: the record with --json, else lines of text or what `text` prints."""
        if self.json:
            self.reply(record)
        elif callable(text):
            text()
        else:
            for line in [text] if isinstance(text, str) else text:
                self.say(line, **style)

    def answer_list(
        self,
        name: str,
        rows: Sequence[Mapping[str, Any]],
        show: Callable[[Sequence[Mapping[str, Any]]], object],
        empty: str,
        **more: Any,
    ) -> None:
        """Print a list under its name with --json, else as a table, or a note if it is empty.

        `next_cursor`, if given, is where the next page starts.
        """
        if self.json:
            self.reply({name: rows, **more})
            return
        if rows:
            show(rows)
        else:
            self.note(empty)
        if more.get("next_cursor"):
            self.note(f"More: --cursor {more['next_cursor']}")

    def reply(self, data: Mapping[str, Any], secrets: Mapping[str, str] | None = None) -> None:
        """Print JSON without secrets, except those in `secrets`, such as a new key."""
        from commonplace.text.redact import redact_data

        click.echo(json.dumps({**redact_data(dict(data)), **(secrets or {})}, ensure_ascii=False, indent=2))

    def say(self, text: str, **style: Any) -> None:
        """Print a line for a person."""
        click.secho(plain(text), **style)

    def note(self, text: str) -> None:
        """Print a remark on standard error, for people only."""
        if not self.json:
            click.secho(wrapped(plain(text), sys.stderr), err=True, fg="yellow")

    def note_once(self, text: str) -> None:
        if text not in self.noted:
            self.noted.add(text)
            self.note(text)

    def exit(self, code: int) -> NoReturn:
        """End with an exit code after the answer was printed."""
        click.get_current_context().exit(code)


class HelpFormatter(click.HelpFormatter):
    """Help with bold headings and coloured names; `click.echo` takes both out where there is no terminal."""

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{click.style(f'{heading}:', bold=True)}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(click.style(first, fg="cyan"), second) for first, second in rows], col_max, col_spacing)


class HelpContext(click.Context):
    formatter_class = HelpFormatter


class Command(click.Command):
    """A command whose help ends with examples."""

    context_class = HelpContext
    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)


class ListingGroup(click.Group):
    """A group that lists if it is called without a subcommand; its help ends with examples."""

    context_class = HelpContext
    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)
        formatter.write(f"\n`{ctx.command_path} COMMAND --help` shows the options and examples of a command.\n")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not (args[0].startswith("-") or ctx.resilient_parsing or args[0] in self.commands):
            raise click.UsageError(self._not_a_command(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def _not_a_command(self, name: str) -> str:
        from difflib import get_close_matches

        close = get_close_matches(name.casefold(), self.commands, 1)
        known = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(self.commands)}."
        return f"`{self.name}` has no command {name!r}. {known}"


class DefaultGroup(ListingGroup):
    """A group that runs one of its commands if none is named, with the arguments that are given."""

    default = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        asks_for_help = not set(ctx.help_option_names).isdisjoint(args)
        if not (asks_for_help or ctx.resilient_parsing or any(word in self.commands for word in args)):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write the Examples section, unwrapped so that a line can be copied."""
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


def listing(
    name: str, *examples: str, commands: Sequence[click.Command]
) -> Callable[[Callable[Concatenate[Call, P], None]], ListingGroup]:
    """Make a group of a function that lists, with its options and its subcommands."""

    def decorate(function: Callable[Concatenate[Call, P], None]) -> ListingGroup:
        def without_subcommand(*args: P.args, **kwargs: P.kwargs) -> None:
            ctx = click.get_current_context()
            if ctx.invoked_subcommand is None:
                function(ctx.ensure_object(Call), *args, **kwargs)
            else:
                _refuse_options(ctx)

        # With its options, which click keeps on the function until a command is made of it.
        wrapped = update_wrapper(without_subcommand, function)
        made = click.command(name, cls=ListingGroup, invoke_without_command=True)(wrapped)
        made.examples = examples
        made.params += [json_option(), data_dir_option()]
        for subcommand in commands:
            made.add_command(subcommand)
        return made

    return decorate


def default_group(name: str, *examples: str, help_: str, commands: Sequence[click.Command]) -> DefaultGroup:
    """Make a group that runs the first of its commands if none is named."""
    made = DefaultGroup(name, help=inspect.cleandoc(help_), params=[json_option(), data_dir_option()])
    made.examples, made.default = examples, commands[0].name or ""
    for subcommand in commands:
        made.add_command(subcommand)
    return made


def _refuse_options(ctx: click.Context) -> None:
    """Refuse options of the list before a subcommand, which would not see them."""
    typed = click.core.ParameterSource.COMMANDLINE
    for param in ctx.command.params:
        if param.expose_value and param.name and ctx.get_parameter_source(param.name) is typed:
            raise click.UsageError(
                f"{max(param.opts, key=len)} is for the list, not for {ctx.invoked_subcommand}.", ctx
            )


pass_call = click.make_pass_decorator(Call, ensure=True)


def json_option() -> click.Option:
    return click.Option(
        ["-j", "--json", "json_"],
        is_flag=True,
        expose_value=False,
        callback=_set_json,
        help="Print JSON, for programs.",
    )


def data_dir_option() -> click.Option:
    return click.Option(
        ["--data-dir"],
        metavar="PATH",
        type=click.Path(),
        expose_value=False,
        callback=_set_data_dir,
        help="Use the store in this folder (default: COMMONPLACE_DATA_DIR, else your data folder).",
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


class ClosedPipe(Exception):
    """The reader of our output closed the pipe."""


class StoppedEarly(InvalidInput):
    """Invalid input in the middle of something long; `done` says what had been done by then."""

    def __init__(self, message: str, hint: str, done: Mapping[str, object]) -> None:
        super().__init__(message, hint)
        self.done = done


def report_failure(error: Exception, call: Call) -> int:
    """Print what went wrong and return the exit code."""
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
    if environment().get("COMMONPLACE_DEBUG"):
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
    # click's context, which knows about colour, is gone by now.
    click.secho("error: ", fg="red", bold=True, nl=False, err=True, color=use_colour())
    click.echo(wrapped(f"error: {plain(message)}", sys.stderr).removeprefix("error: "), err=True)
    if hint:
        click.secho("hint: ", fg="cyan", nl=False, err=True, color=use_colour())
        click.echo(wrapped(f"hint: {plain(hint)}", sys.stderr).removeprefix("hint: "), err=True)


def _usage_hint(error: click.ClickException) -> str:
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    return f"See `{ctx.command_path if ctx else 'commonplace'} --help`."
