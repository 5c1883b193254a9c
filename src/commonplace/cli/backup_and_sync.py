"""`backup`, `encrypt`, `decrypt`; `push`, `pull`, `sync`, `promote`: copies of the store, and a space on a server."""

from __future__ import annotations

import contextlib
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, StoppedEarly, command, default_group
from commonplace.cli.options import combine, ids_argument, project_option
from commonplace.cli.terminal import progress
from commonplace.config import Settings
from commonplace.errors import InvalidInput
from commonplace.text.dates import iso_time
from commonplace.text.sentences import counted

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.memory.backup import Backup, BackupContents, RestoreResult
    from commonplace.remote_sync import RemoteServer, Sync, SyncSummary


@command("create", "commonplace backup", "commonplace backup create memory.db")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--encrypt", is_flag=True, help="Encrypt the copy of an unencrypted store.")
def create(call: Call, path: Path | None, encrypt: bool) -> None:
    """Copy everything to PATH, or into the folder `backups` next to the store, and verify the copy.

    Servers and editors can keep running, and nothing is overwritten. A running server makes a backup every day.
    """
    from commonplace.memory.backup import back_up_store

    with call.local_memory() as memory:
        made = back_up_store(memory, path, encrypt=encrypt)
    call.answer(_backup_record(made), f"Copied everything to {made.path} ({made.bytes / 1e6:,.1f} MB).")


@command("restore", "commonplace backup restore latest --dry-run", "commonplace backup restore latest")
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Change nothing; show what would be lost, restored and changed.")
def restore(call: Call, name: str, dry_run: bool) -> None:
    """Replace the store with a backup: NAME from the list, `latest`, or the path of any copy.

    The current store is backed up first. Stop the servers that use it; the background process of editors is stopped for
    you.
    """
    from commonplace.memory.backup import restore_backup
    from commonplace.memory.local_memory import wall_clock

    settings = call.settings() if dry_run else close_store(call)
    done = restore_backup(settings, name, wall_clock(), dry_run=dry_run)
    call.answer(_restore_record(done, dry_run), lambda: _show_restored(call, done, dry_run))


@command("list", "commonplace backup list")
def list_(call: Call) -> None:
    """List the backups, newest first, and why each was made."""
    from commonplace.memory.backup import list_backups

    settings = call.settings()
    made = list_backups(settings)
    record = {"folder": str(settings.backups), "backups": [*map(_backup_record, made)]}
    if not made:
        call.answer(record, f"There are no backups in {settings.backups} yet. `commonplace backup` makes one.")
        return
    rows = [{"name": one.path.name, "why": one.why, "when": one.made_ms, "size": f"{one.bytes:,}"} for one in made]
    call.answer(record, lambda: tables.table(("name", "why", "when", "size"), rows))


backup = default_group(
    "backup",
    "commonplace backup",
    "commonplace backup memory-of-today.db",
    "commonplace backup list",
    "commonplace backup restore latest --dry-run",
    help_="""Make a backup of everything, to PATH or into the folder `backups` next to the store.

    The commands below list backups and restore one. `commonplace backup PATH` is short for `commonplace backup create
    PATH`.
    """,
    commands=(create, list_, restore),
)


def _backup_record(made: Backup) -> dict[str, Any]:
    return {"path": str(made.path), "why": made.why, "made_at": iso_time(made.made_ms), "bytes": made.bytes}


def _restore_record(done: RestoreResult, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "backup": _contents_record(done.backup),
        "store": None if done.current is None else _contents_record(done.current),
        "difference": None if done.difference is None else asdict(done.difference),
        "kept": None if done.old_copy is None else str(done.old_copy),
        "revoked_keys": list(done.revoked_keys),
    }


def _contents_record(contents: BackupContents) -> Mapping[str, Any]:
    newest = None if contents.newest_ms is None else iso_time(contents.newest_ms)
    return {"schema": contents.schema, **contents.counts, "newest_at": newest, "newest": contents.newest_title}


def _show_restored(call: Call, done: RestoreResult, dry_run: bool) -> None:
    call.say(f"The backup: {_describe(done.backup)}.")
    if dry_run and done.current is not None:
        call.say(f"The store:  {_describe(done.current)}.")
    if done.difference is not None:
        change = done.difference
        verb = "would be" if dry_run else "were"
        counts = (f"{change.lost:,} {verb} lost", f"{change.back:,} {verb} brought back", f"{change.changed:,} changed")
        call.say(f"Of the items, {', '.join(counts)}.")
        for title in change.examples:
            call.say(f"  lost: {title}", dim=True)
    elif dry_run:
        call.say("There is no readable store to compare it with.")
    for name in done.revoked_keys:
        call.say(f"The key of {name} was revoked since, and {'would stay' if dry_run else 'stays'} revoked.")
    if done.difference is None and done.working_keys:
        call.note(
            f"The keys of {', '.join(done.working_keys)} {'would work' if dry_run else 'work'}. If one of them was"
            " revoked after the last backup, revoke it again: `commonplace spaces people NAME` lists those of a space."
        )
    if not dry_run:
        call.say("The backup is now the store.", bold=True)
    if done.old_copy is not None:
        call.note(f"The previous store was saved to {done.old_copy}")


def _describe(contents: BackupContents) -> str:
    newest = ""
    if contents.newest_ms is not None:
        newest = f", the newest from {iso_time(contents.newest_ms)[:16]}: {contents.newest_title}"
    return f"{counted(contents.counts['items'], 'item')} in {counted(contents.counts['sessions'], 'session')}{newest}"


@command("encrypt", "commonplace encrypt")
def encrypt(call: Call) -> None:
    """Encrypt the store with the key of the setting `encryption`, which is created if there is none.

    Stop servers that use the store first. The unencrypted file is kept until you delete it.
    """
    from commonplace.memory.encryption import encrypt_store
    from commonplace.memory.local_memory import wall_clock

    settings = close_store(call)
    _report_old_file(call, "The store is encrypted.", encrypt_store(settings, wall_clock()))
    older = "Earlier backups are not encrypted either: `commonplace backup list` shows them."
    call.note(f"Keep a copy of the key elsewhere: without it nobody can open the store. {older}")


@command("decrypt", "commonplace decrypt")
def decrypt(call: Call) -> None:
    """Remove the encryption of the store. Set `encryption` to off afterwards; until then it cannot be opened.

    Stop servers that use the store first. The encrypted file is kept until you delete it.
    """
    from commonplace.memory.encryption import decrypt_store
    from commonplace.memory.local_memory import wall_clock

    settings = close_store(call)
    _report_old_file(call, "The store is no longer encrypted.", decrypt_store(settings, wall_clock()))
    call.note("Set `encryption` to off now.")


def close_store(call: Call) -> Settings:
    """The settings, after the resident process, which has the store open, has ended."""
    from commonplace.resident_client.list_and_stop import stop_residents

    settings = call.settings()
    stop_residents(str(settings.data_dir))
    return settings


def _report_old_file(call: Call, sentence: str, file: Path) -> None:
    call.answer({"kept": str(file)}, sentence)
    call.note(f"The old file is {file}. Delete it once you have seen that everything works.")


# Conflicts that are named to a person; programs get all of them.
MAX_NAMED = 10

server_options = combine(
    click.option("--to", metavar="URL", help="The server (default: the setting remote_url)."),
    click.option("--key", help="Its key; COMMONPLACE_REMOTE_KEY keeps it out of the list of processes."),
)
sync_options = combine(
    server_options,
    project_option("Only this project; repeatable.", names=("projects",), multiple=True),
    click.option("--dry-run", is_flag=True, help="Change nothing; count the differences."),
)


@command("push", "commonplace push", "commonplace push -p my-api --dry-run")
@sync_options
def push(call: Call, **options: Any) -> None:
    """Send local changes to a space on a server.

    Everything is sent except items tagged `private` and the projects of the setting sync_private. After an
    interruption, run it again: nothing is sent twice.
    """
    with _open_sync(call, "Pushing", **options) as sync:
        sync.push()


@command("pull", "commonplace pull", "commonplace pull -p my-api --dry-run")
@sync_options
def pull(call: Call, **options: Any) -> None:
    """Fetch changes from a space on a server.

    Where both sides changed something, the later change wins, and the other one is kept in its history.
    """
    with _open_sync(call, "Pulling", **options) as sync:
        sync.pull()


@command("sync", "commonplace sync", "commonplace sync -p my-api")
@sync_options
def sync(call: Call, **options: Any) -> None:
    """Pull, then push: afterwards both sides have the same content.

    Work done offline is merged with the work of others. Run it as often as you like.
    """
    with _open_sync(call, "Syncing", **options) as exchange:
        exchange.pull()
        exchange.push()


@command("promote", "commonplace promote 12", "commonplace promote 12 17")
@server_options
@ids_argument
def promote(call: Call, ids: Sequence[str], to: str | None, key: str | None) -> None:
    """Share single memories with a space on a server, and nothing else.

    They are sent as they are now, without their history and without their session.
    """
    with _open_sync(call, "Promoting", to, key) as sync:
        sync.promote(ids)


@contextlib.contextmanager
def _open_sync(
    call: Call, what: str, to: str | None, key: str | None, projects: Sequence[str] = (), dry_run: bool = False
) -> Iterator[Sync]:
    """An exchange with the server; at the end of the block its result is printed."""
    from commonplace.remote_sync import RemoteServer, Sync, sync_scope

    settings = call.settings(remote_url=to, remote_key=key)
    if not settings.remote_url:
        raise InvalidInput("No server is set.", "Give --to URL, or set remote_url (see `commonplace settings`).")
    server = RemoteServer(settings.remote_url, settings.remote_key)
    _warn(call, settings, server)
    with contextlib.closing(server), call.local_memory() as memory, progress(what) as advance:
        sync = Sync(memory, server, sync_scope(memory, projects), dry_run=dry_run, advance=advance)
        try:
            yield sync
        except KeyboardInterrupt:
            done = sync.summary
            call.note(
                f"Interrupted. {done.received:,} received, {done.sent:,} sent; the same command continues from there."
            )
            raise
    _show_summary(call, sync.summary, dry_run)


def _warn(call: Call, settings: Settings, server: RemoteServer) -> None:
    if server.address.is_unencrypted:
        call.note("The address begins with http://: others on the network can read the key and the content.")
    file = settings.data_dir / "config.toml"
    with contextlib.suppress(OSError):
        readable = file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH)
        if sys.platform != "win32" and readable and "remote_key" in file.read_text(encoding="utf-8", errors="replace"):
            call.note(f"Others on this machine can read the key in {file}: chmod 600 it.")


def _show_summary(call: Call, summary: SyncSummary, dry_run: bool) -> None:
    record = {"dry_run": dry_run, **asdict(summary)}
    if summary.failed:
        first = summary.failed[0]
        raise StoppedEarly(
            f"{len(summary.failed):,} of the records could not be stored. {_record_name(first)}: {first['why']}",
            "All others were stored. The next run tries again to send the rest.",
            record,
        )
    words = ("would be received", "would be sent") if dry_run else ("received", "sent")
    call.answer(
        record,
        f"{summary.received:,} {words[0]}, {summary.sent:,} {words[1]}, {summary.unchanged:,} already the same.",
    )
    for one in summary.conflicts[:MAX_NAMED]:
        winner = "The local version" if one["stands"] == "here" else "The server's version"
        call.note(f"{_record_name(one)} was changed on both sides. {winner} wins; the other one is in its history.")
    if len(summary.conflicts) > MAX_NAMED:
        call.note(f"And {len(summary.conflicts) - MAX_NAMED:,} more (--json names all).")


def _record_name(one: dict[str, Any]) -> str:
    """A record by the id that commands take."""
    if one["what"] == "item":
        return f"Item {one['name'][-12:]}"
    return f"{'Conversation' if one['what'] == 'session' else 'Project'} {one['name']}"
