"""The types that the methods of Memory take and return."""

from __future__ import annotations

from commonplace.capture.import_report import ImportReport
from commonplace.memory.about import EntityKnowledge, RelatedEntity
from commonplace.memory.backup import Backup
from commonplace.memory.context import Context, ContextItem
from commonplace.memory.contradictions import Contradiction, StatementPair
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
