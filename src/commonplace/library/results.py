"""The types that the methods of Memory take and return; each is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.capture.import_report import ImportReport
    from commonplace.memory.about import EntityKnowledge, RelatedEntity
    from commonplace.memory.backup import Backup
    from commonplace.memory.context import Context, ContextItem
    from commonplace.memory.contradictions import Contradiction
    from commonplace.memory.conversations import (
        MessageLike,
        NewMessage,
        SessionPage,
        StoredConversation,
        WholeConversation,
    )
    from commonplace.memory.entities import Entity
    from commonplace.memory.explain import Explanation
    from commonplace.memory.graph import RelatedItems
    from commonplace.memory.imports import PastImport
    from commonplace.memory.items import FetchedItems, ItemPage
    from commonplace.memory.predict import Prediction
    from commonplace.memory.profile import Profile, ProfileLine, Show
    from commonplace.memory.project_overview import Contributor, Decision, ProjectBrief, ProjectOverview, SessionCard
    from commonplace.memory.prune import PruneProposal
    from commonplace.memory.recall import Hit, RecallResult
    from commonplace.memory.recall_chunks import Chunk, RecalledChunks
    from commonplace.memory.remember import NewItem, Remembered
    from commonplace.memory.report import Report
    from commonplace.memory.rules import ActiveRules
    from commonplace.memory.sessions import Reconstruction
    from commonplace.memory.settle_contradictions import Keep, Settled
    from commonplace.memory.statement_pairs import StatementPair
    from commonplace.memory.status_and_stats import ConversationStats, Fault
    from commonplace.memory.timeline import TimelineEntry
    from commonplace.memory.topics import Topic
    from commonplace.model import Change, Item, Kind, Project, Session, Stored
    from commonplace.remote_sync import SyncSummary

__all__ = [
    "ActiveRules",
    "Backup",
    "Change",
    "Chunk",
    "Context",
    "ContextItem",
    "Contradiction",
    "Contributor",
    "ConversationStats",
    "Decision",
    "Entity",
    "EntityKnowledge",
    "Explanation",
    "Fault",
    "FetchedItems",
    "Hit",
    "ImportReport",
    "Item",
    "ItemPage",
    "Keep",
    "Kind",
    "MessageLike",
    "NewItem",
    "NewMessage",
    "PastImport",
    "Prediction",
    "Profile",
    "ProfileLine",
    "Project",
    "ProjectBrief",
    "ProjectOverview",
    "PruneProposal",
    "RecallResult",
    "RecalledChunks",
    "Reconstruction",
    "RelatedEntity",
    "RelatedItems",
    "Remembered",
    "Report",
    "Session",
    "SessionCard",
    "SessionPage",
    "Settled",
    "Show",
    "StatementPair",
    "Stored",
    "StoredConversation",
    "SyncSummary",
    "TimelineEntry",
    "Topic",
    "WholeConversation",
]

_MODULES = {
    "ActiveRules": "commonplace.memory.rules",
    "Backup": "commonplace.memory.backup",
    "Change": "commonplace.model",
    "Chunk": "commonplace.memory.recall_chunks",
    "Context": "commonplace.memory.context",
    "ContextItem": "commonplace.memory.context",
    "Contradiction": "commonplace.memory.contradictions",
    "Contributor": "commonplace.memory.project_overview",
    "ConversationStats": "commonplace.memory.status_and_stats",
    "Decision": "commonplace.memory.project_overview",
    "Entity": "commonplace.memory.entities",
    "EntityKnowledge": "commonplace.memory.about",
    "Explanation": "commonplace.memory.explain",
    "Fault": "commonplace.memory.status_and_stats",
    "FetchedItems": "commonplace.memory.items",
    "Hit": "commonplace.memory.recall",
    "ImportReport": "commonplace.capture.import_report",
    "Item": "commonplace.model",
    "ItemPage": "commonplace.memory.items",
    "Keep": "commonplace.memory.settle_contradictions",
    "Kind": "commonplace.model",
    "MessageLike": "commonplace.memory.conversations",
    "NewItem": "commonplace.memory.remember",
    "NewMessage": "commonplace.memory.conversations",
    "PastImport": "commonplace.memory.imports",
    "Prediction": "commonplace.memory.predict",
    "Profile": "commonplace.memory.profile",
    "ProfileLine": "commonplace.memory.profile",
    "Project": "commonplace.model",
    "ProjectBrief": "commonplace.memory.project_overview",
    "ProjectOverview": "commonplace.memory.project_overview",
    "PruneProposal": "commonplace.memory.prune",
    "RecallResult": "commonplace.memory.recall",
    "RecalledChunks": "commonplace.memory.recall_chunks",
    "Reconstruction": "commonplace.memory.sessions",
    "RelatedEntity": "commonplace.memory.about",
    "RelatedItems": "commonplace.memory.graph",
    "Remembered": "commonplace.memory.remember",
    "Report": "commonplace.memory.report",
    "Session": "commonplace.model",
    "SessionCard": "commonplace.memory.project_overview",
    "SessionPage": "commonplace.memory.conversations",
    "Settled": "commonplace.memory.settle_contradictions",
    "Show": "commonplace.memory.profile",
    "StatementPair": "commonplace.memory.statement_pairs",
    "Stored": "commonplace.model",
    "StoredConversation": "commonplace.memory.conversations",
    "SyncSummary": "commonplace.remote_sync",
    "TimelineEntry": "commonplace.memory.timeline",
    "Topic": "commonplace.memory.topics",
    "WholeConversation": "commonplace.memory.conversations",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
