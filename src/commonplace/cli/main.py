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
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli.command import (
    CLOSED_PIPE,
    INTERRUPTED,
    Call,
    ClosedPipe,
    HelpContext,
    data_dir_option,
    json_option,
    report_failure,
    write_examples,
)
from commonplace.cli.terminal import use_colour, use_utf8

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Columns of the help in a wide terminal.
HELP_WIDTH = 100

CommandRow = tuple[str, str, str]

# The commands in groups: name, where it is defined in this package, what it does. `--help` reads only this.
GROUPS: tuple[tuple[str, tuple[CommandRow, ...]], ...] = (
    (
        "Everyday",
        (
            ("add", "add:add", "Remember something."),
            ("search", "search_and_context:search", "Find memories by words and by meaning."),
            ("recall", "recall_and_explain:recall", "Find what was said about it in earlier sessions."),
            ("overview", "projects_and_entities:overview", "Show where a project stands, and what is open."),
            ("context", "search_and_context:context", "Show what to know before working on a project."),
            ("list", "items:list_items", "List memories, newest first."),
            ("show", "items:show", "Show memories in full."),
            ("edit", "items:edit", "Change a memory; the old version stays in its history."),
            ("forget", "items:forget", "Hide memories from every answer; `restore` undoes it."),
        ),
    ),
    (
        "Review and undo",
        (
            ("review", "review:review", "Accept, edit or dismiss what agents proposed."),
            ("contradictions", "review:contradictions", "Find statements that contradict each other, and settle them."),
            ("history", "items:history", "Show the earlier versions of a memory."),
            ("revert", "items:revert", "Undo an edit, or go back to an earlier version."),
            ("restore", "items:restore", "Bring back forgotten or superseded memories."),
            ("supersede", "items:supersede", "Replace one memory with another."),
        ),
    ),
    (
        "Sessions",
        (
            ("sessions", "sessions:sessions", "List sessions, or show what happened in one."),
            ("shown", "sessions:shown", "Show what an agent was shown: at its start, at prompts, before tools."),
            ("timeline", "search_and_context:timeline", "Show what happened before and after a memory."),
            ("explain", "recall_and_explain:explain", "Show how something came about, across sessions."),
            ("predict", "recall_and_explain:predict", "Show what came next in similar situations."),
            ("report", "report:report", "Sum up a week: decisions, files, failures, open ends."),
            ("ingest", "import_and_ingest:ingest", "Import past agent sessions from this machine."),
        ),
    ),
    (
        "Rules and knowledge",
        (
            ("about", "projects_and_entities:about", "Show what is known about a person, service, file, ..."),
            ("profile", "projects_and_entities:profile", "Show how you and your team work, as agents see it."),
            ("rules", "search_and_context:rules", "Show the rules of a project, or for certain files."),
            ("generate", "rule_files:generate", "Write the rules to AGENTS.md, CLAUDE.md and the like."),
            ("learn", "rule_files:learn", "Import the rules from such files."),
        ),
    ),
    (
        "Conversations",
        (("conversations", "conversations:conversations", "List, read, add, move, archive and count conversations."),),
    ),
    (
        "Editors and agents",
        (
            ("connect", "connect:connect", "Connect your editors and agents to this memory."),
            ("disconnect", "connect:disconnect", "Undo `connect`."),
            ("hook", "serve_and_hooks:hook", "Capture an event; editors run this, not you."),
            ("drain", "serve_and_hooks:drain", "Store captured events now instead of later."),
            ("streams", "items:streams", "List memories that agents are still sending in parts."),
        ),
    ),
    (
        "Data",
        (
            ("projects", "projects_and_entities:projects", "List projects and their names."),
            ("topics", "projects_and_entities:topics", "List what each project is about."),
            ("import", "import_and_ingest:import_", "Import from ChatGPT, Claude, other memories or files."),
            ("export", "export:export", "Export conversations, or everything."),
            ("backup", "backup_and_sync:backup", "Make, list and restore backups."),
            ("check", "check_and_scrub:check", "Look for damage in the stored data; --fix repairs it."),
            ("scrub", "check_and_scrub:scrub", "Remove secrets from everything already stored."),
            ("encrypt", "backup_and_sync:encrypt", "Encrypt the store."),
            ("decrypt", "backup_and_sync:decrypt", "Remove the encryption of the store."),
        ),
    ),
    (
        "Server and settings",
        (
            ("serve", "serve_and_hooks:serve", "Serve the dashboard, and agents over HTTP."),
            ("mcp", "serve_and_hooks:mcp", "Serve one agent over stdio; editors run this, not you."),
            ("stop", "serve_and_hooks:stop", "Stop the background process that editors share."),
            ("status", "status:status", "Show what is stored, where, and how much."),
            ("doctor", "doctor:doctor", "Check the whole installation; --fix repairs it."),
            ("settings", "status:settings", "Show every setting and where it comes from."),
            ("models", "status:models", "List the models for search by meaning."),
        ),
    ),
    (
        "Team",
        (
            ("sync", "backup_and_sync:sync", "Exchange changes with a server, in both directions."),
            ("push", "backup_and_sync:push", "Only send local changes to a server."),
            ("pull", "backup_and_sync:pull", "Only fetch changes from a server."),
            ("promote", "backup_and_sync:promote", "Share single memories with a server."),
            ("keys", "keys_and_spaces:keys", "List, create and revoke API keys."),
            ("spaces", "keys_and_spaces:spaces", "Manage the separate memories of a shared server."),
        ),
    ),
    (
        "Help",
        (
            ("demo", "demo:demo", "See it work in a few seconds, on a temporary store."),
            ("completion", "completion:completion", "Complete commands with Tab in your shell."),
            ("help", "status:help_", "Show how to use a command."),
            ("version", "status:version", "Show the installed version."),
        ),
    ),
)
COMMANDS: tuple[CommandRow, ...] = tuple(row for _title, rows in GROUPS for row in rows)

# Earlier names, which go on working, and what they are called now.
RENAMED = {
    "store": "conversations add",
    "stats": "conversations stats",
    "prune": "conversations prune",
    "reconstruct": "sessions show",
    "clusters": "topics",
    "repair": "check --fix",
    "backups": "backup list",
}
# What people type for a command, if its name is not close to what they typed.
SYNONYMS = {
    **dict.fromkeys(("remember", "save", "note", "new", "create", "put"), "add"),
    **dict.fromkeys(("find", "grep", "query", "ask"), "search"),
    **dict.fromkeys(("ls", "items", "memories", "all"), "list"),
    **dict.fromkeys(("get", "cat", "view", "read", "open"), "show"),
    **dict.fromkeys(("update", "change", "set"), "edit"),
    **dict.fromkeys(("rm", "delete", "remove", "del", "drop"), "forget"),
    **dict.fromkeys(("undelete", "unforget", "recover"), "restore"),
    **dict.fromkeys(("undo", "rollback"), "revert"),
    **dict.fromkeys(("log", "diff", "versions"), "history"),
    **dict.fromkeys(("init", "install", "setup", "start", "begin"), "connect"),
    **dict.fromkeys(("uninstall", "off"), "disconnect"),
    **dict.fromkeys(("config", "configure", "options", "env"), "settings"),
    **dict.fromkeys(("server", "dashboard", "web", "ui", "run", "up"), "serve"),
    **dict.fromkeys(("kill", "quit", "down"), "stop"),
    **dict.fromkeys(("info", "health"), "status"),
    **dict.fromkeys(("fix", "diagnose", "test", "verify"), "doctor"),
    **dict.fromkeys(("chats", "messages", "chat"), "conversations"),
    **dict.fromkeys(("share", "upload"), "promote"),
    **dict.fromkeys(("dump", "archive"), "export"),
    **dict.fromkeys(("load",), "import"),
    **dict.fromkeys(("week", "summary", "standup"), "report"),
    **dict.fromkeys(("completions", "autocomplete"), "completion"),
    **dict.fromkeys(("tags", "subjects"), "topics"),
    **dict.fromkeys(("inbox", "proposals", "accept", "dismiss"), "review"),
    **dict.fromkeys(("conflicts",), "contradictions"),
    **dict.fromkeys(("users", "people", "teams"), "spaces"),
    **dict.fromkeys(("login", "token", "tokens", "key"), "keys"),
}

EXAMPLES = (
    "commonplace connect",
    'commonplace add "Sessions are kept in Redis for 30 days" --type decision',
    'commonplace search "how long does a login last?"',
    "commonplace context",
)


class CommandTable(click.Group):
    """A group whose commands stay unimported until one of them is run."""

    context_class = HelpContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, _where, _what in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for name, where, _what in COMMANDS:
            if name == cmd_name:
                module, _, attribute = where.partition(":")
                found = getattr(import_module(f"commonplace.cli.{module}"), attribute)
                assert isinstance(found, click.Command)
                return found
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        call, typed = ctx.ensure_object(Call), args[0]
        if typed in RENAMED:
            call.old_name, args = typed, renamed_arguments(args)
            if not ctx.resilient_parsing:
                new = " ".join(_new_name(typed, args))
                call.note(f"`commonplace {typed}` is now `commonplace {new}`; the old name still works.")
        elif not (typed.startswith("-") or ctx.resilient_parsing or typed in self.list_commands(ctx)):
            raise click.UsageError(_not_a_command(typed), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        call.command = name or ""
        return name, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names in the table, without importing what they stand for; and the options."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=what) for name, _where, what in COMMANDS if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(name) for name, _where, _what in COMMANDS)
        for title, rows in GROUPS:
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", what) for name, _where, what in rows])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(EXAMPLES, formatter)
        formatter.write("\n`commonplace COMMAND --help` shows the options and examples of a command.\n")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            # Before click sees it: there a closed pipe is exit code 1, like any failure.
            if is_closed_pipe(error):
                raise ClosedPipe from error
            raise


def renamed_arguments(args: Sequence[str]) -> list[str]:
    """The arguments with the new name of the command instead of the old one."""
    old, *rest = args
    if old == "backups" and "restore" in rest:
        return ["backup", *rest]
    return [*RENAMED[old].split(), *rest]


def _new_name(old: str, args: Sequence[str]) -> Sequence[str]:
    return ("backup", "restore") if old == "backups" and "restore" in args else RENAMED[old].split()


def _not_a_command(name: str) -> str:
    from difflib import get_close_matches

    known = [command for command, _where, _what in COMMANDS]
    word = name.casefold()
    close = [SYNONYMS[word]] if word in SYNONYMS else get_close_matches(word, [*known, *SYNONYMS], 3, 0.7)
    found = list(dict.fromkeys(SYNONYMS.get(one, one) for one in close))
    suggestion = f" Did you mean {' or '.join(map(repr, found))}?" if found else ""
    return f"There is no command {name!r}.{suggestion}"


def _show_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        import commonplace

        click.echo(f"commonplace {commonplace.__version__}")
        ctx.exit()


@click.command(
    cls=CommandTable,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH},
    invoke_without_command=True,
    no_args_is_help=False,
)
@click.option(
    "-V", "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
)
@click.pass_context
def commonplace(ctx: click.Context) -> None:
    """One memory for every AI agent, and for you: local, offline, searchable by words and by meaning.

    Without a command it shows where you stand and what to do next.
    """
    if ctx.invoked_subcommand is None:
        from commonplace.cli.start_screen import show_next_steps

        show_next_steps(ctx.ensure_object(Call))


commonplace.params += [json_option(), data_dir_option()]


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    use_utf8()
    if "_COMMONPLACE_COMPLETE" in os.environ:
        # Tab was pressed: click answers, once it knows every shell.
        import_module("commonplace.cli.completion")
    call = Call(json=not {"-j", "--json"}.isdisjoint(_options(arguments)))
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
