"""What every command is given: where the store is, how to answer, and a help page with examples."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from commonplace.cli.terminal import plain
from commonplace.config import Settings, load
from commonplace.errors import StoreError

if TYPE_CHECKING:
    from commonplace.memory.book import Book

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
    def book(self, *, asks: bool = False) -> Iterator[Book]:
        """The memory, open for the length of the block, with what hooks left for it: more of it for one who asks."""
        from commonplace.capture.hooks.beside import MORE, SOME, drain_some, drop_untrue
        from commonplace.memory.book import open_book
        from commonplace.memory.unchanged import asker

        settings = self.settings()
        book = open_book(settings)
        try:
            if left := drain_some(settings, MORE if asks else SOME):
                self.note(f"{left:,} captured events still wait; `commonplace drain` remembers them now.")
            yield book
        finally:
            with contextlib.suppress(StoreError):
                drop_untrue(settings, asker(book))
            book.close()

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
        from commonplace.capture.hooks.beside import MORE, drain_some
        from commonplace.memory.whereabouts import project_at
        from commonplace.text.names import detect_project

        found = detect_project(folder)
        if found is None:
            drain_some(self.settings(), MORE)
            found = project_at(self.settings(), folder)
        return found

    def reply(self, data: Mapping[str, Any], told_once: Mapping[str, str] | None = None) -> None:
        """The answer to a program, without secrets but one that is to be told."""
        from commonplace.text.redacted_data import redacted

        click.echo(json.dumps({**redacted(dict(data)), **(told_once or {})}, ensure_ascii=False, indent=2))

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


class Listing(click.Group):
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


def listing(name: str, *examples: str) -> Callable[[Callable[Concatenate[Call, P], None]], Listing]:
    """Make a group of a function that lists, with its options; its other commands are added to it."""

    def decorate(function: Callable[Concatenate[Call, P], None]) -> Listing:
        def alone(*args: P.args, **kwargs: P.kwargs) -> None:
            ctx = click.get_current_context()
            if ctx.invoked_subcommand is None:
                function(ctx.ensure_object(Call), *args, **kwargs)
            else:
                _refuse_options(ctx)

        # With its options, which click keeps on the function until a command is made of it.
        made = click.command(name, cls=Listing, invoke_without_command=True)(update_wrapper(alone, function))
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
