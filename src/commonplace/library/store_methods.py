"""What a program does with a whole memory: figures, imports, archives, sync, backups, checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.library.open_memory import File, OpenMemory, When

if TYPE_CHECKING:
    from commonplace.library.results import Backup, ConversationStats, Fault, ImportReport, PastImport, SyncSummary


class StoreMethods(OpenMemory):
    """A whole memory: stats, import, export, sync, backup, check."""

    def stats(self, folder: str | None = None) -> ConversationStats:
        """How many conversations, messages and words there are, by folder, label and status."""
        from commonplace.memory.status_and_stats import conversation_stats

        return conversation_stats(self._local, folder)

    def status(self) -> dict[str, object]:
        """What is stored where, how much of it, and whether everything works."""
        from commonplace.memory.status_and_stats import status

        return status(self._local)

    def import_(
        self,
        path: File,
        *,
        format: str | None = None,
        folder: str | None = None,
        project: str | None = None,
        dry_run: bool = False,
        accept: bool = False,
    ) -> ImportReport:
        """Import an export of ChatGPT, Claude or another product, a folder of chats, or an archive of Commonplace.

        Rules of other products wait for review, unless you `accept` them. Doing it again adds only what is new. What
        cannot be read is skipped and counted in the report.
        """
        from commonplace.capture.import_files import ImportRun
        from commonplace.temporary_files import private_temporary_files

        run = ImportRun(None if dry_run else self._local, folder=folder, project=project, format_=format, accept=accept)
        with private_temporary_files(self._local.settings.data_dir):
            run.add(_existing(path))
            return run.finish()

    def imports(self) -> list[PastImport]:
        """The imports so far that brought something in, the newest first."""
        from commonplace.memory.imports import list_imports

        return list_imports(self._local)

    def undo_import(self, id: str) -> PastImport:
        """Take back all that an import brought in, by its id."""
        from commonplace.memory.imports import undo_import

        return undo_import(self._local, id)

    def redo_import(self, id: str) -> PastImport:
        """Bring back what `undo_import` took back."""
        from commonplace.memory.imports import redo_import

        return redo_import(self._local, id)

    def ingest(self, *paths: File, project: str | None = None) -> ImportReport:
        """Read the sessions that coding agents left on this machine: in their usual places, or at `paths`.

        Only what is new since the last time is read.
        """
        from commonplace.capture.ingest_transcripts import IngestRun
        from commonplace.capture.transcripts import transcript_folders
        from commonplace.hosts.host import locations_here
        from commonplace.memory.graph import link_pending

        found = [_existing(path) for path in paths] or transcript_folders(locations_here())
        run = IngestRun(self._local, project=project)
        run.add(found, named=bool(paths))
        link_pending(self._local)
        return run.report

    def export(
        self,
        path: File,
        *,
        projects: Sequence[str] = (),
        since: When | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write everything as an archive that others can read and `import_` takes: a zip file; returns its path."""
        from commonplace.memory.sync_and_archive import Archive, SyncScope
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
        from commonplace.remote_sync import sync_with

        settings = self._local.settings
        server = (url or settings.remote_url, key or settings.remote_key)
        return sync_with(self._local, *server, projects=projects, pull=pull, push=push, dry_run=dry_run)

    def backup(self, path: File | None = None) -> Backup:
        """Make a verified copy of the store: in its folder of backups, or at `path`."""
        from commonplace.memory.backup import back_up_store

        return back_up_store(self._local, None if path is None else Path(path))

    def backups(self) -> list[Backup]:
        """The copies in the folder of backups, the newest first."""
        from commonplace.memory.backup import list_backups

        return list_backups(self._local.settings)

    def check(self, *, quick: bool = False) -> list[Fault]:
        """What is wrong with the store; empty if it is sound. `quick` reads no texts."""
        from commonplace.memory.check_and_repair import check_store

        return check_store(self._local, quick=quick)


def _existing(path: File) -> Path:
    from commonplace.errors import InvalidInput

    found = Path(path).expanduser()
    if not found.exists():
        raise InvalidInput(f"There is no file or folder {found}.", "Name one that is there.")
    return found
