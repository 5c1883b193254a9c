"""What every engine keeps of API keys and of visits. No secret is among it: each is known by its digest."""

from __future__ import annotations

from typing import Protocol

from commonplace.model import Key


class Keyring(Protocol):
    """The keys of one space."""

    # The key with the id it was given.
    def add_key(self, key: Key, digest: bytes) -> Key: ...

    # All of them, revoked and expired ones too, the oldest first.
    def all_keys(self) -> list[Key]: ...

    # Those whose secret begins so, with the digests of the whole secrets.
    def keys_beginning(self, prefix: str) -> list[tuple[Key, bytes]]: ...

    # The key as it is then; None if there is no such key. A key stays revoked since the first time.
    def revoke_key(self, key_id: int, now_ms: int) -> Key | None: ...
    def touch_key(self, key_id: int, now_ms: int) -> None: ...

    # Written down until the visit would have been over anyway.
    def end_visit(self, digest: bytes, until_ms: int, now_ms: int) -> None: ...
    def is_visit_over(self, digest: bytes) -> bool: ...
