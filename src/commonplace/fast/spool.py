"""The spool: a folder in which hooks leave their events, one small file each.

Names are in the order of time. A file is complete before it gets its name, so half a file is never read. Failures are
counted in the file `troubles`, a line each; on a full disk by the length of the sparse file `unwritten`.
"""

from __future__ import annotations

import errno
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SPOOL, FAILURES, UNWRITTEN, REFUSED = "spool", "troubles", "unwritten", "refused"
EVENT, SAMPLE, PART = ".event", ".sample", ".part"
# Set when a hook is only being tested: its event is written under this name, and nobody drains it. Its failures are not
# counted: no session was without anything.
SAMPLE_VARIABLE = "COMMONPLACE_HOOK_SAMPLE"
VERSION = b"1"
# No more failures are counted beyond this many bytes.
_MAX_FAILURES = 1 << 20
# Left free on a disk for other programs; of a small disk, a twentieth.
_LEFT_FREE = 50 << 20
_BINARY: int = getattr(os, "O_BINARY", 0)
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
DISK_FULL = "disk-full"
# The seconds that a hook waits for its event and for a context, and for which a command drains, in place of their own
# limits.
SECONDS_VARIABLE = "COMMONPLACE_HOOKS_SECONDS"
_MAX_SECONDS = 600.0
# Who failed: a hook, or a drain.
HOOK, DRAIN = "hook", "drain"
# The beginning of the reason if only the context of a session failed, not its capture.
CONTEXT_FAILURE = "opening-"
# The same if only hints could not be looked up; and where it is remembered what was shown.
HINT_FAILURE, HINT_FOLDER = "hint-", "hints"
_REASONS = {
    **dict.fromkeys((errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)), DISK_FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "not-writable"),
}


class UnsafeFolder(Exception):
    """The folder is a link, no folder at all, or belongs to someone else."""


def seconds_to_wait(env: Mapping[str, str], limit: float) -> float:
    """How long a hook may wait: what the environment says, or its own limit if that is nothing or no such number."""
    try:
        seconds = float(env.get(SECONDS_VARIABLE) or limit)
    except ValueError:
        return limit
    return seconds if 0 < seconds <= _MAX_SECONDS else limit


def spool_folder(data_folder: str) -> str:
    return os.path.join(data_folder, SPOOL)


def encode_record(fields: Sequence[str], payload: bytes) -> bytes:
    """An event as its file holds it. No field can hold a NUL: they come from the command line and its folder."""
    return b"\0".join([VERSION, *(os.fsencode(field) for field in fields), payload])


def event_name() -> str:
    """A name for an event that happens now."""
    return f"{time.time_ns():020d}-{os.getpid():x}-{os.urandom(4).hex()}"


def write_event(folder: str, content: bytes, ending: str = EVENT, name: str = "") -> str:
    """Write an event so that it survives a power cut; returns its name."""
    ensure_private_folder(folder)
    if os.name == "posix":
        disk = os.statvfs(folder)
        if not has_disk_space(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize):
            raise OSError(errno.ENOSPC, "hardly any disk space is left")
    name = name or event_name()
    part, path = os.path.join(folder, name + PART), os.path.join(folder, name + ending)
    try:
        descriptor = _write(part, content)
        try:
            # Before it is synced, which takes long on a busy disk: a hook that is killed meanwhile has left its event.
            if os.name == "posix":
                os.rename(part, path)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if os.name != "posix":
            os.rename(part, path)
    except BaseException:
        try:
            os.unlink(part)
        except OSError:
            pass
        raise
    _sync_folder(folder)
    return name


def has_disk_space(free: int, total: int) -> bool:
    """Whether a disk has space for an event: a spool that nobody drains must not fill it."""
    return free >= min(_LEFT_FREE, total // 20)


def count_failure(folder: str, who: str, reason: str) -> bool:
    """Count a failure of a hook or of a drain; False if even that is impossible."""
    if who == HOOK and os.environ.get(SAMPLE_VARIABLE):
        return True
    try:
        ensure_private_folder(folder)
        path = os.path.join(folder, FAILURES)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY | _NO_LINK, 0o600)
        try:
            if os.fstat(descriptor).st_size < _MAX_FAILURES:
                os.write(descriptor, f"{time.time_ns() // 1_000_000}\t{who}\t{reason}\n".encode())
        finally:
            os.close(descriptor)
    except (OSError, UnsafeFolder) as error:
        return failure_reason(error) == DISK_FULL and _count_unwritten(folder)
    return True


def _count_unwritten(folder: str) -> bool:
    """Lengthen a sparse file by one byte, which takes no space on the disk."""
    try:
        path = os.path.join(folder, UNWRITTEN)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | _BINARY | _NO_LINK, 0o600)
        try:
            os.ftruncate(descriptor, os.fstat(descriptor).st_size + 1)
        finally:
            os.close(descriptor)
    except OSError:
        return False
    return True


def failure_reason(error: BaseException) -> str:
    """One word for what went wrong."""
    if isinstance(error, UnsafeFolder):
        return "not-our-folder"
    known = _REASONS.get(error.errno or 0) if isinstance(error, OSError) else None
    return known or type(error).__name__


def ensure_private_folder(folder: str) -> None:
    """Make sure that the folder exists, is no link, belongs to us and is closed to others."""
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            # Another hook made it first.
            pass
        found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafeFolder(folder)
    if os.name == "posix":
        if found.st_uid != os.geteuid():
            raise UnsafeFolder(folder)
        if found.st_mode & 0o077:
            os.chmod(folder, 0o700)


def _write(path: str, content: bytes) -> int:
    """The descriptor of a new file with this content, still open."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | _NO_LINK, 0o600)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _sync_folder(folder: str) -> None:
    """Sync the folder too, so that the file's name is on the disk, where the system can do that."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
