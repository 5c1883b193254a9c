"""Checks of the memory: store, index, model and permissions.

A PostgreSQL server looks after its own files: here only what it reports is shown.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from commonplace.config import FOLDER, embedder_kind
from commonplace.data_folder import closed_folder, on_read_only_disk, read_only_files
from commonplace.doctor.doctor_context import DoctorContext, Finding, Fix, failure, ok, remark
from commonplace.errors import CommonplaceError, StoreCorrupt, TimedOut
from commonplace.fast.context_cache import CONTEXT_FOLDER
from commonplace.fast.spool import REFUSED, SPOOL
from commonplace.memory.check_and_repair import (
    IndexState,
    file_errors,
    index_missing_words,
    index_state,
    queue_all_embeddings,
)
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.status_and_stats import last_check_result, status
from commonplace.text.dates import time_ago
from commonplace.watchdog import log_path

CHECK_SECONDS = 30.0
LARGE_LOG = 512 * 1024**2
LOW_DISK_SPACE, NO_DISK_SPACE = 1024**3, 50 * 1024**2
# In SQLite's messages about a damaged full-text index, which can be rebuilt from the rows.
FULLTEXT_TABLE = "passages_fts"


def check_store(context: DoctorContext) -> Iterator[Finding]:
    """Whether it opens and is intact, the write-ahead log is small, and the disk has space."""
    database, data = context.settings.database, context.settings.data_dir
    if (closed := closed_folder(data)) is not None:
        # The settings could not be read, which says why.
        error = context.settings_error
        if error is not None:
            yield failure("folder", error.message, error.hint, _open_to_owner(data) if closed == data else None)
        return
    yield from _check_disk_space(data)
    if context.settings.database_url:
        yield from _check_server(context)
        return
    if not database.exists():
        yield remark("file", f"There is no store at {database} yet.", "It is created when something is stored.")
        return
    yield from _check_writable(database)
    try:
        memory = context.memory()
    except CommonplaceError as error:
        yield failure("file", error.message, error.hint)
        return
    yield ok("file", f"{database} opens: SQLite {_describe_store(memory)[1]}.")
    yield _check_integrity(context, memory)
    yield from _last_check(context)
    yield from _ended_processes(context)
    yield _check_log(database)


def _check_server(context: DoctorContext) -> Iterator[Finding]:
    try:
        memory = context.memory()
        described, about = _describe_store(memory)
    except CommonplaceError as error:
        yield failure("server", error.message, error.hint)
        return
    yield ok("server", f"{described['path']} answers: PostgreSQL {about}.")
    if not described["row_security"]:
        sentence = "The database user cannot use the role commonplace_member: only our statements separate spaces."
        advice = "Allow it to create roles, or create the role and grant it; see docs/reference/postgresql.md."
        yield remark("spaces", sentence, advice)
    replicas = described.get("replicas")
    for name, state in replicas.items() if isinstance(replicas, dict) else ():
        if state != "in use":
            yield remark("replica", f"The replica {name} is {state}.", "The primary answers instead.")
    found = file_errors(memory, CHECK_SECONDS)
    if found:
        advice = "See docs/reference/postgresql.md."
        yield failure("integrity", f"The server reports damage: {'; '.join(found)}.", advice)
    else:
        yield ok("integrity", "The server reports no damage.")


def _describe_store(memory: LocalMemory) -> tuple[Mapping[str, object], str]:
    data = status(memory)
    described, total = data["store"], data["total"]
    assert isinstance(described, dict)
    return described, f"{described['version']}, schema {described['schema']}, {total:,} items"


def _check_writable(database: Path) -> Iterator[Finding]:
    if on_read_only_disk(database.parent):
        advice = "Nothing can be stored. A disk with errors is often mounted so: look at the log of the system."
        yield failure("file", f"{database} is on a file system that is read-only.", advice)
    elif unwritable := read_only_files(database):
        named = ", ".join(map(str, unwritable))
        advice = "Make it writable by its owner, or use --fix; then end the programs that use it (`commonplace stop`)."
        yield failure("file", f"{named} is read-only.", advice, _make_writable(unwritable))


def _open_to_owner(data: Path) -> Fix:
    def fix() -> str:
        data.chmod(stat.S_IMODE(data.stat().st_mode) | stat.S_IRWXU)
        return f"{data} was opened to its owner."

    return fix


def _make_writable(paths: Sequence[Path]) -> Fix:
    def fix() -> str:
        for path in paths:
            path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IWUSR)
        return f"Made writable: {', '.join(map(str, paths))}."

    return fix


def _check_integrity(context: DoctorContext, memory: LocalMemory) -> Finding:
    try:
        found = file_errors(memory, CHECK_SECONDS)
    except StoreCorrupt as error:
        found = [error.message.removesuffix(".")]
    except TimedOut:
        return remark("integrity", f"The check of the file was stopped after {CHECK_SECONDS:.0f} seconds.")
    if not found:
        return ok("integrity", "The file is intact.")
    sentence = f"The file is damaged: {found[0]}" + (f", and {len(found) - 1} more." if len(found) > 1 else ".")
    if all(FULLTEXT_TABLE in line for line in found):
        return failure(
            "integrity",
            sentence,
            "The full-text index can be rebuilt: use --fix.",
            _rebuild_fulltext(context),
        )
    backups = context.settings.backups
    copy = f"one of {backups}" if _has_files(backups) else "a copy of your own"
    save = "`commonplace check --fix` saves everything readable"
    return failure(
        "integrity", sentence, f"Stop the programs that use it. {save}; `commonplace backup restore` restores {copy}."
    )


def _last_check(context: DoctorContext) -> Iterator[Finding]:
    """What the last `check`, by a person or a server, found."""
    health = last_check_result(context.settings)
    if health is None or not health.faults:
        return
    sentence = "; ".join(f"{fault.count:,} {fault.says}" for fault in health.faults)
    yield remark(
        "check", f"The last check found: {sentence}.", "Run `commonplace check`, then `commonplace check --fix`."
    )


def _ended_processes(context: DoctorContext) -> Iterator[Finding]:
    """What the watchdog ended."""
    path = log_path(context.settings.data_dir)
    if path.is_symlink() or not path.is_file() or not path.stat().st_size:
        return

    def fix() -> str:
        path.unlink(missing_ok=True)
        return f"{path} was deleted."

    when = time_ago(int(path.stat().st_mtime * 1000), time.time_ns() // 1_000_000)
    sentence = f"A process was ended because something held it up, the last one {when}. {path} says where."
    yield remark("ended", sentence, "Nothing acknowledged was lost. Please report it; --fix deletes the log.", fix)


def _rebuild_fulltext(context: DoctorContext) -> Fix:
    return lambda: f"The words of {index_missing_words(context.memory(), rebuild=True):,} items were indexed again."


def _check_log(database: Path) -> Finding:
    log = database.with_name(f"{database.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > LARGE_LOG:
        stop = "Close programs that keep the store open without using it; the last one to close it merges the log."
        return remark("log", f"The write-ahead log has {size / 1e6:,.0f} MB.", stop)
    return ok("log", f"The write-ahead log has {size / 1e6:.1f} MB.")


def _check_disk_space(folder: Path) -> Iterator[Finding]:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    sentence = f"{free / 1e9:,.1f} GB free on the disk of {folder}."
    if free < NO_DISK_SPACE:
        yield failure("disk", sentence, "Free some space.")
    elif free < LOW_DISK_SPACE:
        yield remark("disk", sentence, "Free some space soon.")
    else:
        yield ok("disk", sentence)


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


COUNT_SECONDS = 30.0
# How many passages a fix embeds at once; any server embeds the rest in the background.
EMBEDDED_AT_ONCE = 2_000


def check_index(context: DoctorContext) -> Iterator[Finding]:
    """Whether every passage can be found by its words and by meaning."""
    if not context.can_open():
        return
    try:
        state = index_state(context.memory(), COUNT_SECONDS)
    except TimedOut:
        yield remark("words", f"Counting was stopped after {COUNT_SECONDS:.0f} seconds.")
        return
    yield _check_words(context, state)
    yield _check_vectors(context, state)


def _check_words(context: DoctorContext, state: IndexState) -> Finding:
    def fix() -> str:
        return f"{index_missing_words(context.memory()):,} rows of the index were repaired."

    if state.wordless:
        sentence = f"{state.wordless:,} of {state.passages:,} passages cannot be found by their words."
        return failure("words", sentence, "They can be indexed again: use --fix.", fix)
    if state.stray:
        sentence = f"{state.stray:,} rows of the index belong to no passage."
        return failure("words", sentence, "They can be removed: use --fix.", fix)
    return ok("words", f"All {state.passages:,} passages can be found by their words.")


def _check_vectors(context: DoctorContext, state: IndexState) -> Finding:
    lost = state.vectorless + state.given_up
    if lost:
        sentence = f"{lost:,} of {state.passages:,} passages cannot be found by meaning, and are not queued."
        return failure("vectors", sentence, "They can be embedded again: use --fix.", _embed_again(context))
    if not state.waiting:
        return ok("vectors", f"All {state.passages:,} passages can be found by meaning.")
    sentence = f"{state.waiting:,} of {state.passages:,} passages are waiting for a vector."
    if context.settings.embedder == "off":
        return remark("vectors", f"{sentence} The embedder is off.", "Set embedder to builtin to search by meaning.")
    return remark("vectors", sentence, "A running server makes them, and so does the next search.")


def _embed_again(context: DoctorContext) -> Fix:
    def fix() -> str:
        waiting = queue_all_embeddings(context.memory())
        done = context.memory().embeddings.catch_up(EMBEDDED_AT_ONCE)
        return f"{done:,} passages were embedded again, {max(0, waiting - done):,} are waiting."

    return fix


SAMPLE_TEXT = "The doctor checks whether embedding works."
MODEL_ADVICE = {
    "builtin": "Reinstall Commonplace; until then search uses words only.",
    FOLDER: "Correct the folder in the setting embedder (see docs/use/embedding.md), or set embedder to builtin.",
    "endpoint": "Start the server at endpoint_url, check endpoint_model and endpoint_key, or set embedder to builtin.",
}


def check_model(context: DoctorContext) -> Iterator[Finding]:
    """Whether the model loads and makes a vector, on a temporary store."""
    embedder = embedder_kind(context.settings.embedder)
    if embedder == "off":
        yield remark("model", "The embedder is off, so search uses words only.", "Set embedder to builtin.")
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-doctor-") as folder:
        memory = open_memory(replace(context.settings, data_dir=Path(folder), database_url="", encryption="off"))
        try:
            began = time.monotonic()
            vector = memory.embeddings.embed_query(SAMPLE_TEXT)
            seconds, state, name = time.monotonic() - began, memory.embeddings.state, memory.embeddings.model
        finally:
            memory.close()
    if vector is None or not vector.any():
        advice = MODEL_ADVICE.get(embedder, f"Update the package that adds {embedder}, or set embedder to builtin.")
        yield failure("model", f"{name} does not work ({state}).", advice)
    else:
        yield ok("model", f"{name} makes vectors of {len(vector)} numbers ({seconds:.1f} s to load).")


FOLDERS = ("backups", "running", CONTEXT_FOLDER, SPOOL, f"{SPOOL}/{REFUSED}")
# The most files that are checked in one folder.
MAX_FILES = 10_000


def check_permissions(context: DoctorContext) -> Iterator[Finding]:
    """Whether only their owner can read our files."""
    data = context.settings.data_dir
    if os.name != "posix" or closed_folder(data) is not None or not data.exists():
        return
    open_ = [path for path in _our_files(data) if _mode(path) & 0o077]
    if not open_:
        yield ok("files", f"Only you can read the files in {data}.")
        return
    sentence = f"Others can read {open_[0]}" + (f" and {len(open_) - 1:,} more." if len(open_) > 1 else ".")
    yield failure("files", sentence, f"Make it private: chmod go-rwx {open_[0]}, or use --fix.", _make_private(open_))


def _our_files(data: Path) -> Iterator[Path]:
    """The data folder, our folders in it, and the files in them. Links are left alone."""
    yield data
    for folder in (data, *(data / name for name in FOLDERS)):
        if folder.is_dir() and not folder.is_symlink():
            yield from () if folder == data else (folder,)
            yield from (
                path for path in islice(folder.iterdir(), MAX_FILES) if path.is_file() and not path.is_symlink()
            )


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:
        # A hook or a server removed it meanwhile.
        return 0


def _make_private(paths: Sequence[Path]) -> Fix:
    def fix() -> str:
        for path in paths:
            if mode := _mode(path):
                path.chmod(mode & ~0o077)
        return f"{len(paths):,} files and folders were made private."

    return fix
