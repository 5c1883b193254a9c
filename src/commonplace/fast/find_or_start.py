"""Where the resident process of a data folder listens, who may use it, and how it is started.

Everything is in the folder `resident` of the data folder, which only its owner may enter. The files are named by the
version and place of the program, so that another version never talks to this one:

    NAME.lock     locked by the process for as long as it lives
    NAME.address  where it listens: `unix PATH` or, on Windows, `tcp PORT TOKEN`, and its process id; there once it is
                  ready
    NAME.sock     the socket, unless the path would be too long for one
    NAME.log      what it warned of

Editors and shells wait for this, so it imports next to nothing, and uses sockets without the module `socket`.
"""

from __future__ import annotations

import _socket
import os
import stat
import sys
from zlib import crc32

import commonplace
from commonplace.caller_variables import AGENT_VARIABLES, USER_VARIABLES
from commonplace.detached_process import start_detached, take_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "resident"
# Seconds for a process that runs to accept us and to say that it serves us, and for one that starts to get ready.
GREETING_SECONDS, START_SECONDS = 1.0, 8.0
# In place of these and of the other limits of a resident process, for a machine that is very busy.
SECONDS_VARIABLE = "COMMONPLACE_RESIDENT_SECONDS"
# The longest path of a socket that every system accepts.
MAX_SOCKET_PATH = 100
UNIX, TCP = "unix", "tcp"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What a caller has to say of its environment: the settings, where the user's files are, how to print, and who it is.
_PREFIXES = ("COMMONPLACE_", "KIRO_MEMORY_")
_VARIABLES = (
    *("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_DATA_HOME", "TZ"),
    *("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM", "COLUMNS", "LINES"),
    *AGENT_VARIABLES,
    *USER_VARIABLES,
)
# Of these, the caller's have to be those of the resident process. Where data lies is said by every caller: some agents
# start servers with few variables, but hooks with all.
SAME_VARIABLES = ("HOME", "USERPROFILE", "TZ") if sys.platform == "win32" else ("HOME", "TZ")


def identity() -> str:
    """The version, and which copy of the program it is."""
    copy = "\0".join((sys.executable, _PACKAGE, str(os.stat(os.path.join(_PACKAGE, "__init__.py")).st_mtime_ns)))
    return f"{commonplace.__version__}-{crc32(os.fsencode(copy)):08x}"


def resident_folder(data: str) -> str:
    return os.path.join(data, FOLDER)


def resident_file(data: str, ending: str) -> str:
    return os.path.join(data, FOLDER, f"{identity()}.{ending}")


def is_private(folder: str) -> bool:
    """Whether a folder is ours alone, and no link."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return sys.platform == "win32" or (found.st_uid == os.getuid() and not found.st_mode & 0o077)


def caller_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What matters of an environment."""
    return {name: value for name, value in env.items() if name.startswith(_PREFIXES) or name in _VARIABLES}


def seconds_allowed(env: Mapping[str, str], usual: float) -> float:
    try:
        return float(env.get(SECONDS_VARIABLE) or usual)
    except ValueError:
        return usual


def read_address(data: str, path: str = "") -> list[str] | None:
    """The words of the address: its kind, then what the kind needs. None if nobody listens."""
    if not is_private(resident_folder(data)):
        return None
    try:
        with open(path or resident_file(data, "address"), encoding="utf-8") as file:
            words = file.readline().rstrip("\n").split(" ", 2)
    except (OSError, UnicodeDecodeError):
        return None
    return words if words[0] in (UNIX, TCP) and len(words) > 1 else None


def connect(data: str, seconds: float = GREETING_SECONDS, path: str = "") -> tuple[_socket.socket, str] | None:
    """A connection to the process of this data folder, and the proof that it wants to see; None if none listens.

    `path` is the address of another one than ours.
    """
    words = read_address(data, path)
    if words is None:
        return None
    family = getattr(_socket, "AF_UNIX", None) if words[0] == UNIX else _socket.AF_INET
    if family is None:
        return None
    try:
        connection = _socket.socket(family, _socket.SOCK_STREAM)
    except OSError:
        return None
    try:
        connection.settimeout(seconds)
        if words[0] == UNIX:
            connection.connect(" ".join(words[1:]))
            if is_own_user(connection):
                return connection, ""
        else:
            connection.connect(("127.0.0.1", int(words[1])))
            if proof := _exchange_proofs(connection, words[2]):
                return connection, proof
    except (OSError, ValueError, IndexError):
        pass
    connection.close()
    return None


def _exchange_proofs(connection: _socket.socket, token: str) -> str:
    """Any user can listen on a port: see that it is our process before it is told anything; empty if it is not."""
    ours = os.urandom(16).hex()
    connection.sendall(f"{ours}\n".encode())
    answer = b""
    while not answer.endswith(b"\n") and (part := connection.recv(1000)):
        answer += part
    theirs, _, proof = answer.decode("ascii").rstrip("\n").partition(" ")
    return prove(token, "caller", ours, theirs) if proof == prove(token, "process", ours, theirs) else ""


def prove(token: str, who: str, ours: str, theirs: str) -> str:
    """That somebody knows the token, shown without saying it, and only this once."""
    # Only Windows has a token.
    import hmac

    return hmac.digest(token.encode(), f"{who} {ours} {theirs}".encode(), "sha256").hex()


def is_own_user(connection: _socket.socket) -> bool:
    """Whether the process at the other end is of the same user, where the system tells."""
    # Only where there is somebody at the other end.
    import struct

    if hasattr(_socket, "SO_PEERCRED"):
        raw = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, struct.calcsize("3i"))
        user: int = struct.unpack("3i", raw)[1]
    elif sys.platform == "darwin":
        # LOCAL_PEERCRED of SOL_LOCAL: a version, the user, groups.
        user = struct.unpack_from("=Ii", connection.getsockopt(0, 1, 76))[1]
    else:
        return True
    return sys.platform == "win32" or user == os.getuid()


def start(data: str) -> bool:
    """Start the process unless one runs or starts already. False if it cannot be started here."""
    folder = resident_folder(data)
    try:
        os.makedirs(data, mode=0o700, exist_ok=True)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        if not is_private(folder):
            return False
        lock = take_lock(resident_file(data, "lock"))
        if lock is None:
            return True
        # -P: nothing is imported from the folder that we run in.
        command = [sys.executable, "-P", "-m", "commonplace.resident_process", os.path.abspath(data)]
        if sys.platform == "win32":
            os.close(lock)
            start_detached(command, folder)
        else:
            start_detached([*command, "locked"], folder, lock)
            os.close(lock)
    except OSError:
        return False
    return True


def is_running(data: str) -> bool:
    """Whether a process of this version runs or starts."""
    try:
        path = resident_file(data, "lock")
        lock = take_lock(path) if os.path.exists(path) else -1
    except OSError:
        return False
    if lock is not None and lock >= 0:
        os.close(lock)
    return lock is None
