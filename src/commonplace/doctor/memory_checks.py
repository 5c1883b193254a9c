"""The store: whether it opens, its file is whole, its write-ahead log small, and the disk has room.

One on a server is looked after there: what that server tells of itself is told here.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from commonplace.capture.hooks.context_cache import CONTEXT_FOLDER
from commonplace.capture.hooks.spool import REFUSED, SPOOL
from commonplace.doctor.context import DoctorContext, Finding, failure, ok, remark
from commonplace.errors import CommonplaceError, StoreCorrupt, TimedOut
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.repair import IndexState, file_errors, index_missing_words, index_state, queue_all_embeddings
from commonplace.memory.status import last_check_result, status

STORE_AREA = "store"
CHECK_SECONDS = 30.0
LARGE_LOG = 512 * 1024**2
LOW_DISK_SPACE, NO_DISK_SPACE = 1024**3, 50 * 1024**2
# What SQLite says of a damaged full-text index, which can be made anew from the rows.
FULLTEXT_TABLE = "passages_fts"


def check_store(context: DoctorContext) -> Iterator[Finding]:
    database = context.settings.database
    yield from _check_disk_space(context.settings.data_dir)
    if context.settings.database_url:
        yield from _on_a_server(context)
        return
    if not database.exists():
        yield remark(
            STORE_AREA, "file", f"There is no store at {database} yet.", "It is made when something is remembered."
        )
        return
    try:
        memory = context.memory()
    except CommonplaceError as error:
        yield failure(STORE_AREA, "file", error.message, error.hint)
        return
    yield _opened(memory, database)
    yield _check_integrity(context, memory)
    yield from _checked(context)
    yield _log(database)


def _on_a_server(context: DoctorContext) -> Iterator[Finding]:
    try:
        memory = context.memory()
        described, about = _described(memory)
    except CommonplaceError as error:
        yield failure(STORE_AREA, "server", error.message, error.hint)
        return
    yield ok(STORE_AREA, "server", f"{described['path']} answers: PostgreSQL {about}.")
    if not described["row_security"]:
        sentence = (
            "The user of the database may not take the role commonplace_member: only our own statements part spaces."
        )
        yield remark(
            STORE_AREA, "spaces", sentence, "Let it create roles, or create the role and grant it; see docs/team.md."
        )
    replicas = described.get("replicas")
    for place, state in replicas.items() if isinstance(replicas, dict) else ():
        if state != "in use":
            yield remark(STORE_AREA, "replica", f"The replica {place} is {state}.", "The primary answers in its place.")
    found = file_errors(memory, CHECK_SECONDS)
    if found:
        yield failure(STORE_AREA, "integrity", f"The server tells of damage: {'; '.join(found)}.", "See docs/team.md.")
    else:
        yield ok(STORE_AREA, "integrity", "The server knows of no damage.")


def _described(memory: LocalMemory) -> tuple[Mapping[str, object], str]:
    data = status(memory)
    described, total = data["store"], data["total"]
    assert isinstance(described, dict)
    return described, f"{described['version']}, schema {described['schema']}, {total:,} items"


def _opened(memory: LocalMemory, database: Path) -> Finding:
    # Asked of the mode as well: a superuser may write anything.
    if not database.stat().st_mode & stat.S_IWUSR or not os.access(database, os.W_OK):
        return failure(STORE_AREA, "file", f"{database} is read-only.", "Make it writable for its owner.")
    return ok(STORE_AREA, "file", f"{database} opens: SQLite {_described(memory)[1]}.")


def _check_integrity(context: DoctorContext, memory: LocalMemory) -> Finding:
    try:
        found = file_errors(memory, CHECK_SECONDS)
    except StoreCorrupt as error:
        found = [error.message.removesuffix(".")]
    except TimedOut:
        return remark(STORE_AREA, "integrity", f"The check of the file was given up after {CHECK_SECONDS:.0f} seconds.")
    if not found:
        return ok(STORE_AREA, "integrity", "The file is whole.")
    sentence = f"The file is damaged: {found[0]}" + (f", and {len(found) - 1} more." if len(found) > 1 else ".")
    if all(FULLTEXT_TABLE in line for line in found):
        return failure(
            STORE_AREA,
            "integrity",
            sentence,
            "The full-text index can be made anew: use --fix.",
            _rebuild_fulltext(context),
        )
    backups = context.settings.backups
    kept = f"one of {backups}" if _has_files(backups) else "a copy of your own"
    save = "`commonplace repair` saves all that can be read"
    return failure(
        STORE_AREA, "integrity", sentence, f"Stop what uses it. {save}; `commonplace backups restore` puts {kept} back."
    )


def _checked(context: DoctorContext) -> Iterator[Finding]:
    """What the last check found that somebody made, or a server by itself."""
    health = last_check_result(context.settings)
    if health is None or not health.faults:
        return
    sentence = "; ".join(f"{fault.count:,} {fault.says}" for fault in health.faults)
    yield remark(
        STORE_AREA, "check", f"The last check found: {sentence}.", "Run `commonplace check`, then `commonplace repair`."
    )


def _rebuild_fulltext(context: DoctorContext) -> Callable[[], str]:
    return lambda: f"The words of {index_missing_words(context.memory(), rebuild=True):,} items were indexed anew."


def _log(database: Path) -> Finding:
    log = database.with_name(f"{database.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > LARGE_LOG:
        stop = "End programs that keep the store open for long without using it; the last one folds it in."
        return remark(STORE_AREA, "log", f"The write-ahead log has {size / 1e6:,.0f} MB.", stop)
    return ok(STORE_AREA, "log", f"The write-ahead log has {size / 1e6:.1f} MB.")


def _check_disk_space(folder: Path) -> Iterator[Finding]:
    there: Sequence[Path] = [place for place in (folder, *folder.parents) if place.exists()]
    free = shutil.disk_usage(there[0]).free
    sentence = f"{free / 1e9:,.1f} GB are free on the disk of {folder}."
    if free < NO_DISK_SPACE:
        yield failure(STORE_AREA, "disk", sentence, "Make room on it.")
    elif free < LOW_DISK_SPACE:
        yield remark(STORE_AREA, "disk", sentence, "Make room on it soon.")
    else:
        yield ok(STORE_AREA, "disk", sentence)


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


INDEX_AREA = "index"
COUNT_SECONDS = 30.0
# What is embedded at once when something is mended; the rest follows in the background of any server.
EMBEDDED_AT_ONCE = 2_000


def check_index(context: DoctorContext) -> Iterator[Finding]:
    if not context.can_open():
        return
    try:
        state = index_state(context.memory(), COUNT_SECONDS)
    except TimedOut:
        yield remark(INDEX_AREA, "words", f"Counting was given up after {COUNT_SECONDS:.0f} seconds.")
        return
    yield _words(context, state)
    yield _vectors(context, state)


def _words(context: DoctorContext, state: IndexState) -> Finding:
    def mend() -> str:
        return f"{index_missing_words(context.memory()):,} rows of the index were mended."

    if state.wordless:
        sentence = f"{state.wordless:,} of {state.passages:,} passages cannot be found by their words."
        return failure(INDEX_AREA, "words", sentence, "They can be indexed again: use --fix.", mend)
    if state.stray:
        sentence = f"{state.stray:,} rows of the index belong to nothing."
        return failure(INDEX_AREA, "words", sentence, "They can be taken away: use --fix.", mend)
    return ok(INDEX_AREA, "words", f"All {state.passages:,} passages can be found by their words.")


def _vectors(context: DoctorContext, state: IndexState) -> Finding:
    lost = state.vectorless + state.given_up
    if lost:
        sentence = f"{lost:,} of {state.passages:,} passages cannot be found by meaning, and nobody is working on it."
        return failure(INDEX_AREA, "vectors", sentence, "They can be embedded again: use --fix.", _embed_again(context))
    if not state.waiting:
        return ok(INDEX_AREA, "vectors", f"All {state.passages:,} passages can be found by meaning.")
    sentence = f"{state.waiting:,} of {state.passages:,} passages wait for a vector."
    if context.settings.embedder == "off":
        return remark(
            INDEX_AREA, "vectors", f"{sentence} The embedder is off.", "Set embedder to builtin to search by meaning."
        )
    return remark(INDEX_AREA, "vectors", sentence, "A running server makes them, and so does the next search.")


def _embed_again(context: DoctorContext) -> Callable[[], str]:
    def mend() -> str:
        waiting = queue_all_embeddings(context.memory())
        done = context.memory().embeddings.catch_up(EMBEDDED_AT_ONCE)
        return f"{done:,} passages were embedded again, {max(0, waiting - done):,} wait for it."

    return mend


MODEL_AREA = "model"
SENTENCE = "The doctor asks whether meaning is understood."
MODEL_ADVICE = {
    "builtin": "Install Commonplace again; until then search goes by words.",
    "endpoint": "Start what endpoint_url names and see to endpoint_model and endpoint_key, or set embedder to builtin.",
}


def check_model(context: DoctorContext) -> Iterator[Finding]:
    embedder = context.settings.embedder
    if embedder == "off":
        yield remark(
            MODEL_AREA, "model", "The embedder is off, so search goes by words only.", "Set embedder to builtin."
        )
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-doctor-") as folder:
        memory = open_memory(replace(context.settings, data_dir=Path(folder)))
        try:
            began = time.monotonic()
            vector = memory.embeddings.embed_query(SENTENCE)
            seconds, state, name = time.monotonic() - began, memory.embeddings.state, memory.embeddings.model
        finally:
            memory.close()
    if vector is None or not vector.any():
        yield failure(MODEL_AREA, "model", f"{name} does not work ({state}).", MODEL_ADVICE[embedder])
    else:
        yield ok(MODEL_AREA, "model", f"{name} makes vectors of {len(vector)} numbers ({seconds:.1f} s to begin).")


PERMISSIONS_AREA = "permissions"
FOLDERS = ("backups", "running", CONTEXT_FOLDER, SPOOL, f"{SPOOL}/{REFUSED}")
# Of a folder with very many files, so many are looked at.
MAX_FILES = 10_000


def check_permissions(context: DoctorContext) -> Iterator[Finding]:
    data = context.settings.data_dir
    if os.name != "posix" or not data.exists():
        return
    open_ = [path for path in _ours(data) if _mode(path) & 0o077]
    if not open_:
        yield ok(PERMISSIONS_AREA, "files", f"Only you can read what is in {data}.")
        return
    sentence = f"Others may read {open_[0]}" + (f" and {len(open_) - 1:,} more." if len(open_) > 1 else ".")
    yield failure(
        PERMISSIONS_AREA, "files", sentence, f"Close it: chmod go-rwx {open_[0]}, or use --fix.", _closing(open_)
    )


def _ours(data: Path) -> Iterator[Path]:
    """The data folder, the files in it, and the folders of ours with theirs. Links are left to whoever made them."""
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
        # A hook or a server took it away meanwhile.
        return 0


def _closing(paths: Sequence[Path]) -> Callable[[], str]:
    def mend() -> str:
        for path in paths:
            if mode := _mode(path):
                path.chmod(mode & ~0o077)
        return f"{len(paths):,} files and folders were closed to others."

    return mend
