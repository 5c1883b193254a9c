"""`backup` and `backups`: verified copies of the store, made, listed and put back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.cli import tables
from commonplace.cli.command import Call, command, listing
from commonplace.text.dates import iso_time

if TYPE_CHECKING:
    from commonplace.memory.backup import Backup, BackupContents, RestoreResult


@command("backup", "commonplace backup", "commonplace backup memory-of-today.db", "commonplace backup --json")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--encrypt", is_flag=True, help="Encrypt the copy of a store that is not (see docs/backup.md).")
def backup(call: Call, path: Path | None, encrypt: bool) -> None:
    """Make a copy of everything, verified by opening it: to PATH, or into the folder `backups` beside the store.

    Servers and editors may go on meanwhile. Nothing is overwritten. A running server makes a copy every day.
    """
    from commonplace.memory.backup import back_up_store

    with call.memory() as memory:
        made = back_up_store(memory, path, encrypt=encrypt)
    if call.json:
        call.reply(_backup_record(made))
        return
    call.say(f"Everything is copied to {made.path} ({made.bytes / 1e6:,.1f} MB).")


@listing("backups", "commonplace backups", "commonplace backups --json")
def backups(call: Call) -> None:
    """Copies of the store that are there, the newest first, and why each was made."""
    from commonplace.memory.backup import list_backups as listed

    settings = call.settings()
    made = listed(settings)
    if call.json:
        call.reply({"folder": str(settings.backups), "backups": [*map(_backup_record, made)]})
    elif not made:
        call.say(f"There are no backups in {settings.backups} yet. `commonplace backup` makes one.")
    else:
        rows = [{"name": one.path.name, "why": one.why, "when": one.made_ms, "size": f"{one.bytes:,}"} for one in made]
        tables.table(("name", "why", "when", "size"), rows)


@command("restore", "commonplace backups restore latest --dry-run", "commonplace backups restore latest")
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Only tell what would be lost, come back and change.")
def restore(call: Call, name: str, dry_run: bool) -> None:
    """Put a backup in the place of the store: by its NAME in the list, `latest`, or the path of any copy.

    The store as it is now is kept as a backup first. Stop servers and editors that use it: while one has it open,
    nothing is done.
    """
    from commonplace.memory.backup import restore_backup as put_back
    from commonplace.memory.local_memory import wall_clock

    done = put_back(call.settings(), name, wall_clock(), dry_run=dry_run)
    if call.json:
        call.reply(_restore_record(done, dry_run))
    else:
        _show_restored(call, done, dry_run)


backups.add_command(restore)


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


def _contents_record(held: BackupContents) -> Mapping[str, Any]:
    newest = None if held.newest_ms is None else iso_time(held.newest_ms)
    return {"schema": held.schema, **held.counts, "newest_at": newest, "newest": held.newest_title}


def _show_restored(call: Call, done: RestoreResult, dry_run: bool) -> None:
    call.say(f"The backup: {_described(done.backup)}.")
    if dry_run and done.current is not None:
        call.say(f"The store:  {_described(done.current)}.")
    if done.difference is not None:
        change = done.difference
        verb = "would be" if dry_run else "were"
        call.say(f"{change.lost:,} items {verb} lost, {change.back:,} {verb} brought back, {change.changed:,} changed.")
        for title in change.examples:
            call.say(f"  lost: {title}", dim=True)
    elif dry_run:
        call.say("There is no store that could be read in its place.")
    if not dry_run:
        call.say("The backup is the store now.", bold=True)
    if done.old_copy is not None:
        call.note(f"The store as it was is kept: {done.old_copy}")


def _described(held: BackupContents) -> str:
    newest = "" if held.newest_ms is None else f", the newest from {iso_time(held.newest_ms)[:16]}: {held.newest_title}"
    return f"{held.counts['items']:,} items in {held.counts['sessions']:,} sessions{newest}"


@command("encrypt", "commonplace encrypt", "commonplace encrypt --json")
def encrypt(call: Call) -> None:
    """Encrypt the store with the key that the setting `encryption` names; it is made if there is none yet.

    Stop servers and editors that use the store first. What it was is kept until you delete it: it is not encrypted.
    """
    from commonplace.memory.encryption import encrypt_store as turn
    from commonplace.memory.local_memory import wall_clock

    settings = call.settings()
    _report_kept_copy(call, "The store is encrypted.", turn(settings, wall_clock()))
    plain = "Backups that were made before are not encrypted either: `commonplace backups` lists them."
    call.note(f"Keep a copy of the key elsewhere: without it nobody opens the store. {plain}")


@command("decrypt", "commonplace decrypt", "commonplace decrypt --json")
def decrypt(call: Call) -> None:
    """Write the store without encryption. Then set `encryption` to off; until then it does not open.

    Stop servers and editors that use the store first. What it was is kept until you delete it.
    """
    from commonplace.memory.encryption import decrypt_store as turn
    from commonplace.memory.local_memory import wall_clock

    _report_kept_copy(call, "The store is not encrypted any more.", turn(call.settings(), wall_clock()))
    call.note("Set `encryption` to off now.")


def _report_kept_copy(call: Call, sentence: str, kept: Path) -> None:
    if call.json:
        call.reply({"kept": str(kept)})
        return
    call.say(sentence)
    call.note(f"What it was is kept: {kept}. Delete it when you have seen that everything works.")
