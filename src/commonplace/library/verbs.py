"""Every verb, declared once: the function that does it, and what a caller needs for it.

What a verb takes and returns is in the signature of its function. The methods of `Memory` are these functions, for a
memory of this machine and for one behind a server; REST answers them at `/api/v1/verbs/NAME`. The endpoints of REST and
the tools of MCP name the verb that they are another form of, and need what it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from commonplace.library.item_methods import ItemMethods
from commonplace.library.session_methods import SessionMethods
from commonplace.library.store_methods import StoreMethods

KeyScope = Literal["read", "write", "admin"]
"""What a key allows (model.py)."""
Permission = Literal[KeyScope, "person"]
"""What a caller needs: a key of this scope, or one that may write in the hands of a person, not of an agent.

Whether a person calls is asked where it is done (memory/permissions.py), which no door can pass by.
"""
Answering = Literal["verbs", "status", "nowhere"]
"""Where a server answers: at `/api/v1/verbs/NAME`, at `/api/v1/status`, or nowhere, as it is about its own machine."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One row of the table."""

    function: Callable[..., Any]
    needs: Permission
    server: Answering = "verbs"

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def key_scope(self) -> KeyScope:
        """What a key must allow."""
        return "write" if self.needs == "person" else self.needs


_ALL = (
    # Remember, change, forget.
    Verb(ItemMethods.remember, "write"),
    Verb(ItemMethods.add, "write"),
    Verb(ItemMethods.add_many, "write"),
    Verb(ItemMethods.edit, "write"),
    Verb(ItemMethods.forget, "write"),
    Verb(ItemMethods.restore, "write"),
    Verb(ItemMethods.supersede, "write"),
    Verb(ItemMethods.revert, "write"),
    # Review what was proposed, and settle what contradicts.
    Verb(ItemMethods.proposals, "read"),
    Verb(ItemMethods.accept, "person"),
    Verb(ItemMethods.dismiss, "person"),
    Verb(ItemMethods.undo_review, "person"),
    Verb(ItemMethods.contradictions, "read"),
    Verb(ItemMethods.open_contradictions, "read"),
    Verb(ItemMethods.settle, "person"),
    Verb(ItemMethods.reopen, "person"),
    # Look up and find items.
    Verb(ItemMethods.get, "read"),
    Verb(ItemMethods.get_many, "read"),
    Verb(ItemMethods.list, "read"),
    Verb(ItemMethods.history, "read"),
    Verb(ItemMethods.related, "read"),
    Verb(ItemMethods.timeline, "read"),
    Verb(ItemMethods.search, "read"),
    # What to know before starting.
    Verb(ItemMethods.context, "read"),
    Verb(ItemMethods.session_context, "read"),
    Verb(ItemMethods.rules, "read"),
    # Projects, people and things.
    Verb(ItemMethods.projects, "read"),
    Verb(ItemMethods.topics, "read"),
    Verb(ItemMethods.entities, "read"),
    Verb(ItemMethods.about, "read"),
    Verb(ItemMethods.profile, "read"),
    Verb(ItemMethods.show_in_profile, "person"),
    Verb(SessionMethods.overview, "read"),
    Verb(SessionMethods.overviews, "read"),
    Verb(SessionMethods.close_step, "write"),
    # Past sessions.
    Verb(SessionMethods.recall, "read"),
    Verb(SessionMethods.explain, "read"),
    Verb(SessionMethods.predict, "read"),
    Verb(SessionMethods.report, "read"),
    Verb(SessionMethods.reconstruct, "read"),
    Verb(SessionMethods.sessions, "read"),
    # Conversations.
    Verb(SessionMethods.store_conversation, "write"),
    Verb(SessionMethods.append, "write"),
    Verb(SessionMethods.conversation, "read"),
    Verb(SessionMethods.conversations, "read"),
    Verb(SessionMethods.update_conversation, "write"),
    Verb(SessionMethods.forget_conversation, "write"),
    Verb(SessionMethods.restore_conversation, "write"),
    Verb(SessionMethods.export_conversation, "read"),
    Verb(SessionMethods.prune, "read"),
    # The whole memory.
    Verb(StoreMethods.stats, "read"),
    Verb(StoreMethods.status, "read", server="status"),
    Verb(StoreMethods.import_, "write", server="nowhere"),
    Verb(StoreMethods.imports, "read", server="nowhere"),
    Verb(StoreMethods.undo_import, "write", server="nowhere"),
    Verb(StoreMethods.redo_import, "write", server="nowhere"),
    Verb(StoreMethods.ingest, "write", server="nowhere"),
    Verb(StoreMethods.export, "admin", server="nowhere"),
    Verb(StoreMethods.sync, "write", server="nowhere"),
    Verb(StoreMethods.backup, "admin", server="nowhere"),
    Verb(StoreMethods.backups, "admin", server="nowhere"),
    Verb(StoreMethods.check, "admin", server="nowhere"),
)
VERBS = {verb.name: verb for verb in _ALL}
"""Every verb by its name."""
