"""What the stores of both engines have in common, part by part."""

from __future__ import annotations

from commonplace.store.sql.captures_and_sources import Captures, Sources
from commonplace.store.sql.conversations import Conversations
from commonplace.store.sql.counts import Counting
from commonplace.store.sql.events_and_replies import Events, Replies
from commonplace.store.sql.item_writes import ItemWrites
from commonplace.store.sql.items import Items
from commonplace.store.sql.items_by_time import Periods
from commonplace.store.sql.keys_and_spaces import ApiKeys, Spaces
from commonplace.store.sql.links import Links
from commonplace.store.sql.passages import Passages
from commonplace.store.sql.projects import Projects
from commonplace.store.sql.records import Records
from commonplace.store.sql.scrubbing import Scrubbing
from commonplace.store.sql.streams import Streams
from commonplace.store.sql.topics import Topics


class SharedStore(
    ApiKeys,
    Captures,
    Conversations,
    Counting,
    Events,
    Items,
    ItemWrites,
    Links,
    Passages,
    Periods,
    Projects,
    Records,
    Replies,
    Scrubbing,
    Sources,
    Spaces,
    Streams,
    Topics,
):
    """One space of one database. An engine adds full text, vectors, and its connections."""
