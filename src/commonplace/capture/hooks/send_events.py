"""Events between machines: sending them to a server elsewhere, in their order, and storing them there.

The server knows each event by its name, so one that is sent twice is stored once. Secrets are removed before anything
is sent. Events of a folder that is not shared go to the spool of this machine's own memory instead.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from commonplace.capture.hooks.redact_event import redact_event
from commonplace.capture.hooks.remember_events import remember_events
from commonplace.capture.hooks.team_server import (
    SEND_TIMEOUT,
    TeamServer,
    event_stays_here,
    fetch_context,
    forget_what_it_gave,
    home_settings,
    stays_here,
)
from commonplace.capture.hooks.working_folder import WorkingFolder, WorkingFolders
from commonplace.errors import (
    CommonplaceError,
    Forbidden,
    InvalidInput,
    StoreUnavailable,
    TooLarge,
    Unauthorized,
    WrongMedia,
    WrongMethod,
)
from commonplace.fast.context_cache import cached_contexts
from commonplace.fast.spool import EVENT, ensure_private_folder, spool_folder
from commonplace.hosts.hook_event import Event
from commonplace.hosts.hook_event import EventKind as EventKind
from commonplace.hosts.host import HintMoment as HintMoment
from commonplace.hosts.tool_text import cut_middle
from commonplace.http_client import TRIES
from commonplace.memory.captured_events import CaptureCounts
from commonplace.memory.local_memory import LocalMemory

EVENTS_PATH = "/api/v1/hooks/events"
# Of one request: events, and bytes before they are packed.
MAX_EVENTS, MAX_BYTES = 250, 2_000_000
# Characters of one text in an event: much more than is stored of it.
LONGEST_TEXT = 60_000
_MAX_CONTEXTS = 40
# What becomes of the events that wait.
_LATER = "They are sent when it takes them."
_NEW_KEY = "They wait for a new key: ask whoever runs it for one, and `commonplace connect` again with it."


class EventSender:
    """Sends events to a server, in their order. Those that stay here go to this machine's own spool.

    `sample` is the id of an event that is about nothing, and sent wherever it was made.
    """

    def __init__(
        self, server: TeamServer, env: Mapping[str, str] = os.environ, tries: int = TRIES, sample: str = ""
    ) -> None:
        self._server, self._client, self._sample = server, server.client(tries=tries), sample
        self._settings = home_settings(server, env)
        self._folders = WorkingFolders()
        self.kept_here = 0
        """How many events were handed to this machine's own memory."""

    def __call__(self, events: Sequence[Event]) -> None:
        """Send them; StoreUnavailable if they have to wait, InvalidInput or TooLarge if the server refuses one."""
        batch: list[dict[str, Any]] = []
        size = 0
        for event in events:
            folder = self._folders.of(event.cwd)
            if event.id != self._sample and event_stays_here(self._server, self._settings, event, self._folders):
                self._keep_here(event)
                continue
            record = event_record(event, folder)
            length = len(json.dumps(record))
            if batch and (len(batch) >= MAX_EVENTS or size + length > MAX_BYTES):
                self._post(batch)
                batch, size = [], 0
            batch.append(record)
            size += length
        if batch:
            self._post(batch)

    def close(self) -> None:
        self._client.close()

    def _post(self, batch: Sequence[Mapping[str, Any]]) -> None:
        try:
            self._client.request("POST", EVENTS_PATH, {"events": batch})
        except (InvalidInput, TooLarge) as error:
            if isinstance(error, WrongMethod | WrongMedia):
                raise StoreUnavailable(error.message, _LATER) from error
            raise
        except (Unauthorized, Forbidden) as error:
            forget_what_it_gave(self._server)
            raise StoreUnavailable(error.message, _NEW_KEY) from error
        except CommonplaceError as error:
            # Away, too busy, full, or of an older version: nothing is wrong with the events.
            raise StoreUnavailable(error.message, _LATER) from error

    def _keep_here(self, event: Event) -> None:
        spool = spool_folder(str(self._server.home))
        ensure_private_folder(spool)
        waiting = Path(spool_folder(str(self._server.folder))) / f"{event.id}{EVENT}"
        if waiting.exists():
            waiting.replace(Path(spool) / waiting.name)
            self.kept_here += 1


def event_record(event: Event, folder: WorkingFolder) -> dict[str, Any]:
    """An event as a server takes it: without secrets, and with what is known about its folder here."""
    clean = redact_event(event)
    given, cut = _shortened(clean.input)
    output, cut_output = _shortened(clean.output)
    text = cut_middle(clean.text, LONGEST_TEXT)
    # Without a name of its own, a session is that of a project, a day and this machine.
    day = datetime.fromtimestamp(clean.at_ms / 1000, UTC).date().isoformat()
    session = clean.session.strip() or f"{folder.project or 'somewhere'} {day} {_machine()}"
    sent = replace(clean, input={}, output=None, text=text, partial=clean.partial or cut or cut_output, session=session)
    record = {name: value for name, value in asdict(sent).items() if value and name != "transcript"}
    return {**record, "input": given, "output": output, "folder": {k: v for k, v in asdict(folder).items() if v}}


def store_sent_events(memory: LocalMemory, records: Sequence[Mapping[str, Any]]) -> CaptureCounts:
    """Store events of another machine, given as `event_record` makes them. What is known already changes nothing."""
    folders = {str(record.get("cwd", "")): WorkingFolder(**record.get("folder", {})) for record in records}
    events = [Event(**{name: value for name, value in record.items() if name != "folder"}) for record in records]
    return remember_events(memory, events, WorkingFolders(folders))


def sent_event(record: Mapping[str, Any]) -> tuple[Event, WorkingFolder]:
    """An event of another machine and its folder, given as `event_record` makes it; without secrets."""
    event = Event(**{name: value for name, value in record.items() if name != "folder"})
    return redact_event(event), WorkingFolder(**record.get("folder", {}))


def _machine() -> str:
    return hashlib.sha256(f"{platform.node()}\0{Path.home()}".encode()).hexdigest()[:8]


def _shortened(value: Any) -> tuple[Any, bool]:
    """The same with long texts cut in the middle, and whether any was."""
    if isinstance(value, str):
        return cut_middle(value, LONGEST_TEXT), len(value) > LONGEST_TEXT
    if isinstance(value, Mapping):
        pairs = {str(name): _shortened(entry) for name, entry in value.items()}
        return {name: entry for name, (entry, _cut) in pairs.items()}, any(cut for _entry, cut in pairs.values())
    if isinstance(value, list | tuple):
        entries = [_shortened(entry) for entry in value]
        return [entry for entry, _cut in entries], any(cut for _entry, cut in entries)
    return value, False


def refresh_contexts(server: TeamServer, starts: Iterable[tuple[str, str]], env: Mapping[str, str]) -> None:
    """Fetch the contexts that will be needed next, and drop those that have not been used for long."""
    settings, folders = home_settings(server, env), WorkingFolders()
    for folder, session in starts:
        if not stays_here(server, settings, folders.of(folder).project):
            fetch_context(server, folder, session, env, SEND_TIMEOUT)
    for path, *_rest in list(cached_contexts(str(server.folder)))[_MAX_CONTEXTS:]:
        Path(path).unlink(missing_ok=True)
