"""Memory: everything that a program can do with Commonplace, as the methods of one class.

`Memory()` is the user's own memory, `Memory(folder)` one in another folder, `Memory("postgresql://...")` one in a
database, and `Memory("https://...", key=...)` one behind a server; the methods are the same for all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from commonplace.library.bound_methods import File, When
from commonplace.library.item_methods import ItemMethods
from commonplace.library.session_methods import SessionMethods

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.library.results import Backup, ConversationStats, Fault, ImportReport, PastImport, SyncSummary
    from commonplace.memory.local_memory import LocalMemory

SERVERS = ("http://", "https://")


class Memory(ItemMethods, SessionMethods):
    """One memory, open until it is closed; `with Memory() as memory:` closes it at the end of the block.

    Errors are `commonplace.CommonplaceError`s: each has a message, and a hint that says what to do. A memory may be
    used from any number of threads.
    """

    def __new__(cls, where: str | os.PathLike[str] | None = None, **_options: Any) -> Memory:
        if cls is Memory and isinstance(where, str) and where.startswith(SERVERS):
            from commonplace.library.remote_calls import RemoteMemory

            return object.__new__(RemoteMemory)
        return object.__new__(cls)

    def __init__(
        self,
        where: str | os.PathLike[str] | None = None,
        *,
        key: str | None = None,
        space: str | None = None,
        **settings: object,
    ) -> None:
        """Open a memory; `settings` are those of docs/reference/settings.md, such as `embedder="off"`.

        `key` is for a server only. What is not given is taken from the environment and the configuration file.
        """
        from commonplace.errors import InvalidInput
        from commonplace.memory.local_memory import open_memory

        if key is not None:
            raise InvalidInput(
                "Only a server asks for a key.", 'Give its address first: Memory("https://...", key=...).'
            )
        self._local = open_memory(_settings(where, space, settings))
        self._owned = self._catches_up = True

    @classmethod
    def over(cls, local: LocalMemory, *, catch_up: bool = False) -> Memory:
        """The same methods for a memory that is open already, and that is closed by whoever opened it.

        With `catch_up`, what waits for vectors and links gets them before a question is answered; a server does that
        in the background.
        """
        made = object.__new__(Memory)
        made._local, made._owned, made._catches_up = local, False, catch_up
        return made

    @property
    def local(self) -> LocalMemory:
        """What the functions of `commonplace.memory` take."""
        return self._local

    @property
    def embedding_state(self) -> str:
        """Whether search understands meaning: "ready", "not loaded", "off", or "failed: " and why."""
        return self._local.embeddings.state

    def close(self) -> None:
        """Close it. What was written is safe without that, too."""
        if self._owned:
            self._local.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

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


def _settings(where: str | os.PathLike[str] | None, space: str | None, options: Mapping[str, object]) -> Settings:
    from commonplace.config import DATABASES, load

    given: dict[str, object] = {**options, "space": space}
    # PostgreSQL's own other spelling, `host=... dbname=...`, names a database too.
    if isinstance(where, str) and (where.startswith(DATABASES) or "dbname=" in where):
        given["database_url"] = where
    elif where is not None:
        given["data_dir"] = os.fspath(where)
    return load(given)


def _existing(path: File) -> Path:
    from commonplace.errors import InvalidInput

    found = Path(path).expanduser()
    if not found.exists():
        raise InvalidInput(f"There is no file or folder {found}.", "Name one that is there.")
    return found
