"""`backup` (create, list, restore), `encrypt` and `decrypt`: verified copies of the store, and its encryption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, default_group
from commonplace.text.dates import iso_time

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.memory.backup import Backup, BackupContents, RestoreResult


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
        call.say(f"{change.lost:,} items {verb} lost, {change.back:,} {verb} brought back, {change.changed:,} changed.")
        for title in change.examples:
            call.say(f"  lost: {title}", dim=True)
    elif dry_run:
        call.say("There is no readable store to compare it with.")
    if not dry_run:
        call.say("The backup is now the store.", bold=True)
    if done.old_copy is not None:
        call.note(f"The previous store was saved to {done.old_copy}")


def _describe(contents: BackupContents) -> str:
    newest = ""
    if contents.newest_ms is not None:
        newest = f", the newest from {iso_time(contents.newest_ms)[:16]}: {contents.newest_title}"
    return f"{contents.counts['items']:,} items in {contents.counts['sessions']:,} sessions{newest}"


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
    from commonplace.resident_client.control import stop_residents

    settings = call.settings()
    stop_residents(str(settings.data_dir))
    return settings


def _report_old_file(call: Call, sentence: str, file: Path) -> None:
    call.answer({"kept": str(file)}, sentence)
    call.note(f"The old file is {file}. Delete it once you have seen that everything works.")
