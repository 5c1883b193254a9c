"""`commonplace`: the table of commands, and how one of them is run.

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

# Name, where it is defined, what it does. `--help` reads only this.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("add", "commonplace.cli.add:add", "Remember something, or many things from a JSONL file."),
    ("search", "commonplace.cli.search_and_recall:search", "Search by words and by meaning."),
    ("context", "commonplace.cli.context:context", "Show what to know before working on a project."),
    ("timeline", "commonplace.cli.context:timeline", "Show what happened before and after an item."),
    ("show", "commonplace.cli.items:show", "Show items in full, by their ids."),
    ("list", "commonplace.cli.items:list_items", "List items, newest first, page by page."),
    ("rules", "commonplace.cli.context:rules", "Show the rules, for all files or only for some."),
    ("edit", "commonplace.cli.items:edit", "Change an item; its history keeps the old version."),
    ("history", "commonplace.cli.items:history", "Show the versions of an item before each change."),
    ("revert", "commonplace.cli.items:revert", "Restore an earlier version of an item."),
    ("supersede", "commonplace.cli.items:supersede", "Replace one item by another."),
    (
        "contradictions",
        "commonplace.cli.contradictions:contradictions",
        "List statements that contradict each other, and settle them.",
    ),
    ("forget", "commonplace.cli.items:forget", "Hide items from every answer. `restore` undoes it."),
    ("restore", "commonplace.cli.items:restore", "Bring back forgotten or superseded items."),
    ("review", "commonplace.cli.review:review", "Accept, edit or dismiss what agents and capture proposed."),
    ("streams", "commonplace.cli.items:streams", "List memories that agents are still sending in chunks."),
    ("connect", "commonplace.cli.connect:connect", "Connect editors and agents to this memory."),
    ("disconnect", "commonplace.cli.connect:disconnect", "Remove what `connect` added to editors."),
    ("generate", "commonplace.cli.rule_files:generate", "Write the rules into the files that agents read."),
    ("learn", "commonplace.cli.rule_files:learn", "Read existing rule files into the memory."),
    (
        "import",
        "commonplace.cli.import_and_ingest:import_",
        "Import from ChatGPT, Claude, other memories or text files.",
    ),
    ("ingest", "commonplace.cli.import_and_ingest:ingest", "Read the sessions of coding agents on this machine."),
    ("sessions", "commonplace.cli.sessions:sessions", "List all sessions, also of coding agents, newest first."),
    ("reconstruct", "commonplace.cli.sessions:reconstruct", "Show what happened in a session, in order."),
    ("recall", "commonplace.cli.search_and_recall:recall", "Find what earlier sessions say about something."),
    ("explain", "commonplace.cli.search_and_recall:explain", "Explain how something came about, across all sessions."),
    ("predict", "commonplace.cli.search_and_recall:predict", "Show what came next in situations like this one."),
    ("store", "commonplace.cli.import_and_ingest:store", "Store a conversation, from JSON or a text with speakers."),
    ("conversations", "commonplace.cli.conversations:conversations", "List, read and arrange conversations."),
    ("export", "commonplace.cli.export:export", "Export conversations as JSON or Markdown, or everything."),
    ("prune", "commonplace.cli.conversations:prune", "Suggest old conversations for archiving."),
    ("stats", "commonplace.cli.stats:stats", "Count conversations, messages and words, where and when."),
    ("overview", "commonplace.cli.project_overview:overview", "Show where a project stands: open steps, decisions."),
    ("report", "commonplace.cli.report:report", "Summarise a week: sessions, decisions, files, open ends."),
    ("projects", "commonplace.cli.projects_and_topics:projects", "List projects and their names."),
    ("clusters", "commonplace.cli.projects_and_topics:clusters", "List topics: what each project is about."),
    ("keys", "commonplace.cli.keys_and_spaces:keys", "Manage API keys for the HTTP server."),
    ("spaces", "commonplace.cli.keys_and_spaces:spaces", "Manage the separate memories of a shared server."),
    ("sync", "commonplace.cli.sync:sync", "Synchronise this memory with a space on a server."),
    ("push", "commonplace.cli.sync:push", "Send local changes to a space on a server."),
    ("pull", "commonplace.cli.sync:pull", "Fetch changes from a space on a server."),
    ("promote", "commonplace.cli.sync:promote", "Share single memories with a space on a server."),
    ("status", "commonplace.cli.status:status", "Show what is stored where, and whether it works."),
    ("models", "commonplace.cli.status:models", "List the models for search by meaning, and what each costs."),
    ("scrub", "commonplace.cli.scrub:scrub", "Remove secrets from everything already stored."),
    ("check", "commonplace.cli.check:check", "Check the integrity of everything stored."),
    ("repair", "commonplace.cli.check:repair", "Rebuild indexes; stored content is unchanged."),
    ("backup", "commonplace.cli.backup:backup", "Make a verified copy of everything."),
    ("backups", "commonplace.cli.backup:backups", "List backups, and restore one."),
    ("encrypt", "commonplace.cli.backup:encrypt", "Encrypt the file of the store."),
    ("decrypt", "commonplace.cli.backup:decrypt", "Remove the encryption of the store."),
    ("doctor", "commonplace.cli.doctor:doctor", "Check that everything works, and fix what does not."),
    ("mcp", "commonplace.cli.serve:mcp", "Serve an agent over stdio (MCP)."),
    ("serve", "commonplace.cli.serve:serve", "Serve the dashboard, and agents over HTTP (MCP at /mcp)."),
    ("stop", "commonplace.cli.serve:stop", "End the resident process that windows share."),
    ("drain", "commonplace.cli.hooks:drain", "Store captured events that are waiting."),
    ("hook", "commonplace.cli.hooks:hook", "Capture an event; editors run this while they work."),
    ("demo", "commonplace.cli.demo:demo", "See it work in a few seconds, on a temporary store."),
    ("settings", "commonplace.cli.status:settings", "Show every setting, its value and where it comes from."),
    ("version", "commonplace.cli.status:version", "Show the installed version."),
    ("help", "commonplace.cli.status:help_", "Show how to call a command."),
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
