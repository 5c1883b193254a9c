"""Every error Commonplace can answer with: a stable code, a sentence, a next step.

CommonplaceError                INTERNAL_ERROR       exit 1   500
├── InvalidInput                VALIDATION_ERROR     exit 2   422
│   ├── UnknownArgument         VALIDATION_ERROR     exit 2   422
│   ├── NothingToRemember       VALIDATION_ERROR     exit 2   422
│   ├── WrongMethod             METHOD_NOT_ALLOWED   exit 2   405
│   └── WrongMedia              UNSUPPORTED_MEDIA    exit 2   415
├── Unauthorized                UNAUTHORIZED         exit 8   401
│   └── KeyMissing              UNAUTHORIZED         exit 8   401
├── Forbidden                   FORBIDDEN            exit 8   403
├── RateLimited                 RATE_LIMIT_EXCEEDED  exit 8   429
├── NotFound                    NOT_FOUND            exit 3   404
├── NoResults                   NO_RESULTS           exit 3   404
├── Conflict                    CONFLICT             exit 4   409
├── TooLarge                    TOO_LARGE            exit 2   413
├── TimedOut                    TIMEOUT              exit 6   504
├── EmbedderUnavailable         EMBEDDER_UNAVAILABLE exit 7   503
├── RemoteError                 REMOTE_ERROR         exit 10  502
├── ShuttingDown                SHUTTING_DOWN        exit 6   503
├── Interrupted                 INTERRUPTED          exit 6   503
└── StoreError                  DB_ERROR             exit 5   500
    ├── StoreConstraint         DB_ERROR             exit 5   500
    ├── StoreBusy               SERVICE_UNAVAILABLE  exit 5   503
    ├── StoreUnavailable        SERVICE_UNAVAILABLE  exit 5   503
    ├── StoreMissing            DB_MISSING           exit 5   503
    ├── StoreReplaced           DB_REPLACED          exit 5   503
    ├── StoreReadOnly           DB_READ_ONLY         exit 5   503
    ├── StoreFull               DB_FULL              exit 5   507
    ├── QuotaExceeded           QUOTA_EXCEEDED       exit 5   507
    ├── StoreCorrupt            DB_CORRUPT           exit 5   500
    ├── StoreLocked             DB_LOCKED            exit 5   500
    └── StoreTooNew             DB_TOO_NEW           exit 5   500

Front doors render these; nothing below them prints or formats an error.
"""

from __future__ import annotations

from typing import ClassVar


def install_extra_hint(extra: str) -> str:
    """How to get an optional part of the package, which is on no package index."""
    return (
        f"Run `make install` in the clone, or reinstall the wheel with this extra: "
        f'uv tool install --force "$(ls dist/commonplace-*.whl)[{extra}]".'
    )


class CommonplaceError(Exception):
    """A fault in Commonplace; please report it. Also the base of all errors."""

    # `message` says what happened, `hint` what to do next. docs/conf.py lists the docstrings as what the codes mean.
    code: ClassVar[str] = "INTERNAL_ERROR"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    default_hint: ClassVar[str] = "Run `commonplace status` and look at the server's standard error."

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = self.default_hint if hint is None else hint


class InvalidInput(CommonplaceError):
    """An argument has a wrong type, range or shape, or is unknown."""

    code = "VALIDATION_ERROR"
    exit_code = 2
    http_status = 422
    default_hint = "Correct the argument and try again."


class UnknownArgument(InvalidInput):
    """An argument that the tool does not have; the hint names those it has."""


class NothingToRemember(InvalidInput):
    """Nothing is left to be kept, because there was nothing or all of it is private."""


class WrongMethod(InvalidInput):
    """HTTP: the wrong method for this address."""

    code = "METHOD_NOT_ALLOWED"
    http_status = 405


class WrongMedia(InvalidInput):
    """HTTP: the body is not JSON, or is not declared as `application/json`."""

    code = "UNSUPPORTED_MEDIA"
    http_status = 415


class Unauthorized(CommonplaceError):
    """No key, or one that is unknown, revoked or expired."""

    code = "UNAUTHORIZED"
    exit_code = 8
    http_status = 401
    default_hint = (
        "Send `Authorization: Bearer <key>`. Whoever runs the server makes keys: `commonplace keys create NAME`."
    )


class KeyMissing(Unauthorized):
    """A request without any key, where one is needed."""


class Forbidden(CommonplaceError):
    """The key may not do this, or not in this project; or another site's web page made the request."""

    code = "FORBIDDEN"
    exit_code = 8
    http_status = 403
    default_hint = "Use a key with more rights. `commonplace keys` lists what each key can do."


class RateLimited(CommonplaceError):
    """Too many requests; `retry_after` (HTTP: `Retry-After`) is the number of seconds to wait."""

    code = "RATE_LIMIT_EXCEEDED"
    exit_code = 8
    http_status = 429
    default_hint = "Wait 1 s, then continue more slowly."

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message, f"Wait {retry_after} s, then continue more slowly.")
        self.retry_after = retry_after


class NotFound(CommonplaceError):
    """Nothing in this space has this id or name, or it is forgotten."""

    code = "NOT_FOUND"
    exit_code = 3
    http_status = 404
    default_hint = "Find the id with a search or a list."


class NoResults(CommonplaceError):
    """Nothing answers `recall`, `explain` or `predict`."""

    code = "NO_RESULTS"
    exit_code = 3
    http_status = 404
    default_hint = "Try a broader query or check if sessions were ingested"


class Conflict(CommonplaceError):
    """Someone changed it first, it exists already, or its state forbids the call, such as a stream that has ended."""

    code = "CONFLICT"
    exit_code = 4
    http_status = 409
    default_hint = "Read it again and repeat your change on the current version."


class TooLarge(CommonplaceError):
    """A text, a query, a body or a file is beyond its limit."""

    code = "TOO_LARGE"
    exit_code = 2
    http_status = 413
    default_hint = "Split it into smaller parts."


class TimedOut(CommonplaceError):
    """The deadline of a query passed; it was interrupted and changed nothing."""

    code = "TIMEOUT"
    exit_code = 6
    http_status = 504
    default_hint = "Ask a narrower question, or name a project."


class EmbedderUnavailable(CommonplaceError):
    """No vectors can be made now; search by words still works."""

    code = "EMBEDDER_UNAVAILABLE"
    exit_code = 7
    http_status = 503
    default_hint = "Keyword search still works. `commonplace status` says why the embedder is down."


class ShuttingDown(CommonplaceError):
    """The server is shutting down; it finishes what it has begun."""

    code = "SHUTTING_DOWN"
    exit_code = 6
    http_status = 503
    default_hint = "Use another server, or wait until this one has restarted."


class Interrupted(CommonplaceError):
    """The resident process ended or hung during a call, which may have been done or not."""

    code = "INTERRUPTED"
    exit_code = 6
    http_status = 503
    default_hint = "Check whether it was done, and repeat it if not. The next call will work."


class RemoteError(CommonplaceError):
    """The other server cannot be reached, is not Commonplace, or cannot sync with this version."""

    code = "REMOTE_ERROR"
    exit_code = 10
    http_status = 502
    default_hint = (
        "Check that it is running and that remote_url (or --to) is its address. What was exchanged stays; the same"
        " command continues from there."
    )


class StoreError(CommonplaceError):
    """Any other error of the database."""

    code = "DB_ERROR"
    exit_code = 5
    default_hint = "Check the data folder that `commonplace status` names."


class StoreConstraint(StoreError):
    """A row would break a rule of the tables, such as a name that must be unique. Says nothing of other rows."""

    default_hint = "Nothing was written. Run `commonplace check` on the server, and please report this."

    def __init__(self, message: str = "The store refused the write.", hint: str | None = None) -> None:
        super().__init__(message, hint)


class StoreBusy(StoreError):
    """Another process held the write lock for longer than `busy_timeout`."""

    code = "SERVICE_UNAVAILABLE"
    http_status = 503
    default_hint = "Nothing was written. Try again; if it persists, look for a stuck process that uses the data folder."


class StoreUnavailable(StoreError):
    """The database server cannot be reached now."""

    code = "SERVICE_UNAVAILABLE"
    http_status = 503
    default_hint = "Start the database server, or correct `database_url`. Then try again; nothing needs a restart."


class StoreMissing(StoreError):
    """The database file was removed or moved while it was in use."""

    code = "DB_MISSING"
    http_status = 503
    default_hint = (
        "Nothing was written. Put the file back, or restore a backup (`commonplace backup list` shows them)."
        " Running servers then continue by themselves."
    )


class StoreReplaced(StoreError):
    """The database file was replaced or overwritten while it was in use."""

    code = "DB_REPLACED"
    http_status = 503
    default_hint = (
        "Put an intact file in its place, or restore a backup (`commonplace backup list` shows them)."
        " Running servers then continue by themselves."
    )


class StoreReadOnly(StoreError):
    """The data folder or its file cannot be written."""

    code = "DB_READ_ONLY"
    http_status = 503
    default_hint = "Make the data folder writable, or point --data-dir elsewhere. Nothing was written."


class StoreFull(StoreError):
    """The disk is full; the write was rolled back."""

    code = "DB_FULL"
    http_status = 507
    default_hint = "Free disk space and try again. Nothing was lost; the write was rolled back."


class QuotaExceeded(StoreError):
    """The space may not hold more; the write was rolled back."""

    code = "QUOTA_EXCEEDED"
    http_status = 507
    default_hint = (
        "Nothing was written. Forget what you do not need (`commonplace conversations prune` suggests conversations),"
        " or ask whoever runs the server to raise the limit: `commonplace spaces limit SPACE`."
    )


class StoreCorrupt(StoreError):
    """The file is damaged, or is not a database of ours."""

    code = "DB_CORRUPT"
    default_hint = (
        "Keep the file. Restore the newest copy from the `backups` folder beside it, or choose another --data-dir."
    )


class StoreLocked(StoreError):
    """The store is encrypted, and the key is missing or wrong."""

    code = "DB_LOCKED"
    default_hint = "Check `encryption` and `encryption_key_file`: the store needs the key it was encrypted with."


class StoreTooNew(StoreError):
    """The file was written by a newer version of Commonplace."""

    code = "DB_TOO_NEW"
    default_hint = "Upgrade Commonplace, or point --data-dir at another folder. The file was not touched."


def with_own_code() -> list[type[CommonplaceError]]:
    """The classes that introduce a code or say what else it means, in the order of the tree."""
    found: list[type[CommonplaceError]] = []
    todo: list[type[CommonplaceError]] = [CommonplaceError]
    while todo:
        found.append(todo.pop(0))
        todo = found[-1].__subclasses__() + todo
    return [one for one in found if one.__module__ == __name__ and "code" in vars(one)]
