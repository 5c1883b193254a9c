"""Commonplace: one memory for every AI agent.

    from commonplace import Memory

    with Memory() as memory:
        memory.remember("Sessions are kept in Redis for 30 days", type="decision", project="my-api")
        for hit in memory.search("how do we keep users logged in?"):
            print(hit.relevance, hit.item.title)

What is imported from here is loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NoResults, NotFound
    from commonplace.library.async_memory import AsyncMemory
    from commonplace.library.memory import Memory
    from commonplace.library.results import Hit, Item, NewItem, NewMessage, Session

__version__ = "0.1.0"

__all__ = [
    "AsyncMemory",
    "CommonplaceError",
    "Conflict",
    "Hit",
    "InvalidInput",
    "Item",
    "Memory",
    "NewItem",
    "NewMessage",
    "NoResults",
    "NotFound",
    "Session",
    "__version__",
]

_MODULES = {
    "AsyncMemory": "commonplace.library.async_memory",
    "CommonplaceError": "commonplace.errors",
    "Conflict": "commonplace.errors",
    "Hit": "commonplace.memory.recall",
    "InvalidInput": "commonplace.errors",
    "Item": "commonplace.model",
    "Memory": "commonplace.library.memory",
    "NewItem": "commonplace.memory.remember",
    "NewMessage": "commonplace.memory.conversations",
    "NoResults": "commonplace.errors",
    "NotFound": "commonplace.errors",
    "Session": "commonplace.model",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
