"""What a program does with a whole memory: figures, import and export, sync, backups, checks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.library.bound_methods import BoundMethods, When

if TYPE_CHECKING:
    from commonplace.library.results import Backup, ConversationStats, Fault, ImportReport, SyncSummary


class StoreMethods(BoundMethods):
    """The whole memory: status, import, export, sync, backup, check."""

    def stats(self, folder: str | None = None) -> ConversationStats:
        """How many conversations, messages and words there are, by folder, label and status."""
        from commonplace.memory.stats import conversation_stats

        return conversation_stats(self._local, folder)

    def status(self) -> dict[str, object]:
        """What is stored where, how much of it, and whether everything works."""
        from commonplace.memory.status import status

        return status(self._local)

    def import_(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        folder: str | None = None,
        project: str | None = None,
        dry_run: bool = False,
    ) -> ImportReport:
        """Import an export of ChatGPT, Claude or another product, a folder of chats, or an archive of Commonplace.

        Doing it again adds only what is new. What cannot be read is skipped and counted in the report.
        """
        from commonplace.capture.import_files import ImportRun
        from commonplace.temporary_files import private_temporary_files

        run = ImportRun(None if dry_run else self._local, folder=folder, project=project, format_=format)
        with private_temporary_files(self._local.settings.data_dir):
            run.add(_existing(path))
            return run.finish()

    def ingest(self, *paths: str | os.PathLike[str], project: str | None = None) -> ImportReport:
        """Read the sessions that coding agents left on this machine: in their usual places, or at `paths`.

        Only what is new since the last time is read.
        """
        from commonplace.capture.ingest import IngestRun
        from commonplace.capture.transcripts import transcript_folders
        from commonplace.hosts.host import locations_here
        from commonplace.memory.catch_up import link_pending

        found = [_existing(path) for path in paths] or transcript_folders(locations_here())
        run = IngestRun(self._local, project=project)
        run.add(found, named=bool(paths))
        link_pending(self._local)
        return run.report

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        projects: Sequence[str] = (),
        since: When | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write everything as an archive that others can read and `import_` takes: a zip file; returns its path."""
        from commonplace.memory.export_archive import Archive
        from commonplace.memory.sync_records import SyncScope
        from commonplace.temporary_files import written_file

        since_ms = None if since is None else self._moment(since)
        archive = Archive(self._local, SyncScope(projects=tuple(projects)), since_ms)
        with written_file(Path(path), overwrite=overwrite) as file:
            for piece in archive.zipped():
                file.write(piece)
        return Path(path)

    def sync(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        projects: Sequence[str] = (),
        pull: bool = True,
        push: bool = True,
        dry_run: bool = False,
    ) -> SyncSummary:
        """Exchange what changed with a space on a server, by default the one of the settings.

        What is tagged `private` stays here. Where both sides changed something, the later change stands and the
        history keeps the other one.
        """
        from commonplace.remote.sync import sync_with

        settings = self._local.settings
        server = (url or settings.remote_url, key or settings.remote_key)
        return sync_with(self._local, *server, projects=projects, pull=pull, push=push, dry_run=dry_run)

    def backup(self, path: str | os.PathLike[str] | None = None) -> Backup:
        """Make a verified copy of the store: in its folder of backups, or at `path`."""
        from commonplace.memory.backup import back_up_store

        return back_up_store(self._local, None if path is None else Path(path))

    def backups(self) -> list[Backup]:
        """The copies in the folder of backups, the newest first."""
        from commonplace.memory.backup import list_backups

        return list_backups(self._local.settings)

    def check(self, *, quick: bool = False) -> list[Fault]:
        """What is wrong with the store; empty if it is sound. `quick` reads no texts."""
        from commonplace.memory.check import check_store

        return check_store(self._local, quick=quick)


def _existing(path: str | os.PathLike[str]) -> Path:
    from commonplace.errors import InvalidInput

    found = Path(path).expanduser()
    if not found.exists():
        raise InvalidInput(f"There is no file or folder {found}.", "Name one that is there.")
    return found
