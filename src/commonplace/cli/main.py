"""`commonplace`: the table of commands, and what happens when one of them cannot answer.

Commands are imported when they are run, so that `--help` and one-shot commands start fast.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from commonplace.cli.command import (
    CLOSED_PIPE,
    INTERRUPTED,
    Call,
    ClosedPipe,
    data_dir_option,
    json_option,
    report_failure,
    write_examples,
)
from commonplace.cli.terminal import use_colour, use_utf8

# name, where it is defined, what it does. `--help` reads only this.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("add", "commonplace.cli.add:add", "Remember something, or many things from a JSONL file."),
    ("search", "commonplace.cli.search:search", "Find what was remembered, by words and by meaning."),
    ("context", "commonplace.cli.context:context", "What to know before working on a project."),
    ("timeline", "commonplace.cli.context:timeline", "What happened before and after something."),
    ("show", "commonplace.cli.items:show", "Everything about items, by their ids."),
    ("list", "commonplace.cli.items:list_", "Newest first, page by page."),
    ("rules", "commonplace.cli.context:rules", "What always holds here, for every file or only for some."),
    ("edit", "commonplace.cli.items:edit", "Change what is remembered; its history keeps what it was."),
    ("history", "commonplace.cli.items:history", "What an item was before each change."),
    ("revert", "commonplace.cli.items:revert", "Bring back what an item was before a change."),
    ("supersede", "commonplace.cli.items:supersede", "Let one item take the place of another."),
    ("forget", "commonplace.cli.items:forget", "Take items out of every answer. `restore` undoes it."),
    ("restore", "commonplace.cli.items:restore", "Bring forgotten or superseded items back."),
    ("streams", "commonplace.cli.items:streams", "Memories that agents are still sending in chunks."),
    ("connect", "commonplace.cli.connect:connect", "Let editors and agents use this memory."),
    ("disconnect", "commonplace.cli.connect:disconnect", "Take out of editors what `connect` put in."),
    ("generate", "commonplace.cli.rule_files:generate", "Write the rules into the files that agents read."),
    ("learn", "commonplace.cli.rule_files:learn", "Read the rule files that are there into the memory."),
    ("import", "commonplace.cli.import_:import_", "Take over conversations from ChatGPT, Claude or text files."),
    ("ingest", "commonplace.cli.ingest:ingest", "Read the sessions that coding agents left on this machine."),
    ("sessions", "commonplace.cli.sessions:sessions", "All sessions, those of coding agents too, newest first."),
    ("reconstruct", "commonplace.cli.sessions:reconstruct", "What happened in a session, in order."),
    ("recall", "commonplace.cli.recall:recall", "What earlier sessions said and did about something."),
    ("explain", "commonplace.cli.recall:explain", "How something came about, over all sessions."),
    ("predict", "commonplace.cli.recall:predict", "What came next in situations like this one."),
    ("store", "commonplace.cli.import_:store", "Keep a conversation, from JSON or from a text with speakers."),
    ("conversations", "commonplace.cli.conversations:conversations", "List, read and arrange conversations."),
    ("export", "commonplace.cli.export:export", "Conversations as JSON to import again, or as Markdown."),
    ("prune", "commonplace.cli.conversations:prune", "Conversations that could go, archived if you say so."),
    ("stats", "commonplace.cli.stats:stats", "How much was said, where and when."),
    ("report", "commonplace.cli.report:report", "The week in a project: sessions, decisions, files, open ends."),
    ("projects", "commonplace.cli.projects_and_topics:projects", "Projects and the names they answer to."),
    (
        "clusters",
        "commonplace.cli.projects_and_topics:clusters",
        "Topics: what each project is about, by its own words.",
    ),
    ("keys", "commonplace.cli.keys_and_spaces:keys", "Who may call the HTTP server, and what for."),
    ("spaces", "commonplace.cli.keys_and_spaces:spaces", "Whose memories a shared server keeps, and who may use them."),
    ("sync", "commonplace.cli.sync:sync", "Bring this memory and a space on a server together."),
    ("push", "commonplace.cli.sync:push", "Send what changed here to a space on a server."),
    ("pull", "commonplace.cli.sync:pull", "Take in what changed in a space on a server."),
    ("promote", "commonplace.cli.sync:promote", "Share single memories with a space on a server."),
    ("status", "commonplace.cli.status:status", "What is kept where, and whether everything works."),
    ("scrub", "commonplace.cli.scrub:scrub", "Take secrets out of what is already kept."),
    ("check", "commonplace.cli.check:check", "Whether everything that is kept is sound."),
    ("repair", "commonplace.cli.check:repair", "Make anew what is derived; what was said stays as it is."),
    ("backup", "commonplace.cli.backup:backup", "A verified copy of everything."),
    ("backups", "commonplace.cli.backup:backups", "Copies that are there, and putting one back."),
    ("encrypt", "commonplace.cli.backup:encrypt", "Encrypt the file of the store."),
    ("decrypt", "commonplace.cli.backup:decrypt", "Write it without encryption again."),
    ("doctor", "commonplace.cli.doctor:doctor", "Try whether everything works, and mend what does not."),
    ("mcp", "commonplace.cli.serve:mcp", "Serve an agent over stdio (MCP)."),
    ("serve", "commonplace.cli.serve:serve", "Serve the dashboard, and agents over HTTP (MCP at /mcp)."),
    ("drain", "commonplace.cli.hooks:drain", "Remember now what hooks left waiting."),
    ("hook", "commonplace.cli.hooks:hook", "What editors run while they work: it keeps what they tell."),
    ("demo", "commonplace.cli.demo:demo", "See it work in a few seconds, on a temporary store."),
    ("settings", "commonplace.cli.status:settings", "Every setting, its value and where it comes from."),
    ("version", "commonplace.cli.status:version", "The version that is installed."),
    ("help", "commonplace.cli.status:help_", "How to call a command."),
)

EXAMPLES = (
    'commonplace add "Sessions are kept in Redis for 30 days" --type decision',
    'commonplace search "how long does a login last"',
    "commonplace context",
)


class CommandTable(click.Group):
    """A group whose commands stay unimported until one of them is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, _where, _what in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for name, where, _what in COMMANDS:
            if name == cmd_name:
                module, _, attribute = where.partition(":")
                found = getattr(import_module(module), attribute)
                assert isinstance(found, click.Command)
                return found
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise click.UsageError(_not_a_command(args[0]), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        ctx.ensure_object(Call).command = name or ""
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, what) for name, _where, what in COMMANDS])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(EXAMPLES, formatter)
        formatter.write("\nRun `commonplace COMMAND --help` for the options and examples of a command.\n")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            # Before click sees it: there a closed pipe is exit code 1, like any failure.
            if is_closed_pipe(error):
                raise ClosedPipe from error
            raise


def _not_a_command(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [known for known, _where, _what in COMMANDS], 1)
    return f"There is no command {name!r}." + (f" Did you mean {close[0]!r}?" if close else "")


def _show_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        import commonplace

        click.echo(f"commonplace {commonplace.__version__}")
        ctx.exit()


@click.command(
    cls=CommandTable,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    no_args_is_help=False,
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
)
@click.pass_context
def commonplace(ctx: click.Context) -> None:
    """One memory for every AI agent, and for you: local, offline, searchable by words and by meaning."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


commonplace.params += [json_option(), data_dir_option()]


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    use_utf8()
    call = Call(json="--json" in _options(arguments))
    try:
        code = commonplace.main(
            args=list(arguments), prog_name="commonplace", standalone_mode=False, obj=call, color=use_colour()
        )
        sys.stdout.flush()
    except ClosedPipe:
        return _hang_up()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 (whatever it is, a person gets a line and not a traceback)
        if isinstance(error, OSError) and is_closed_pipe(error):
            return _hang_up()
        return report_failure(error, call)
    return code if isinstance(code, int) else 0


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))


def is_closed_pipe(error: OSError) -> bool:
    """Whether the reader of our output went away; Windows says EINVAL for that."""
    return error.errno == errno.EPIPE or (sys.platform == "win32" and error.errno == errno.EINVAL)


def _options(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _hang_up() -> int:
    """Point stdout nowhere, so that the interpreter's last flush does not complain either."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED_PIPE


if __name__ == "__main__":
    main()
