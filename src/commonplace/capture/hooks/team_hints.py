"""Hints of a team's server, in the resident process: it keeps a connection, so that a hook waits for no network.

A server that is near answers within a hook's time. The answer of a slower one is kept for the next moment of the
session, and from then on it is not waited for until it is quick again. One that fails is left alone for a while. A
folder that is not shared gets the hints of this machine's own memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from commonplace.capture.hooks.hint_answers import NO_HINTS, answer_hints, is_wanted, read_request
from commonplace.capture.hooks.send_events import event_record
from commonplace.capture.hooks.team_server import TeamServer, event_stays_here, home_settings, load_server, team_servers
from commonplace.capture.hooks.working_folder import WorkingFolders, is_known_repository
from commonplace.data_folder import TEAMS
from commonplace.errors import InvalidInput, TooLarge
from commonplace.fast.spool import HINT_FAILURE, count_failure, event_name, seconds_to_wait, spool_folder
from commonplace.memory.local_memory import LocalMemory

HINTS_PATH = "/api/v1/hooks/hints"
_PING_PATH = "/health"
# Seconds that a hook may be kept waiting at a prompt and at a tool, less than it waits itself, and that a server
# has for its answer.
PROMPT_SECONDS, NEAR_SECONDS, ANSWER_SECONDS = 1.2, 0.35, 10.0
# Seconds for which a server that failed is not asked.
PAUSE_SECONDS = 30.0
_MOST_LATE = 50

Answer = dict[str, Any]


class TeamHints:
    """One server: its connection, how quick it was, and answers that came too late to be shown."""

    def __init__(self, server: TeamServer) -> None:
        self.server = server
        self._client = server.client(seconds_to_wait(os.environ, ANSWER_SECONDS), tries=1)
        self._lock = Lock()
        self._is_far = False
        self._ask_from = 0.0
        self._late: dict[str, Answer] = {}

    def warm_up(self) -> None:
        """Connect, before a prompt has to wait for that."""
        self._request("GET", _PING_PATH, None)

    def ask(self, body: Mapping[str, Any], near_seconds: float = NEAR_SECONDS) -> Answer:
        """What the server says of an event, or said too late of an earlier one of the session."""
        session = str(body["event"]["session"])
        if body["moment"] == "prompt":
            # What was late for the last prompt does not belong to this one.
            self._take_late(session)
        found: Answer | None = None
        if time.monotonic() >= self._ask_from:
            found = self._ask_in_time(session, body, near_seconds)
        if found and found.get("text"):
            return found
        late = self._take_late(session)
        seen = late and any(id_ in body["shown"] for ids, _words in late["hints"] for id_ in ids)
        return late if late and not seen else NO_HINTS

    def _ask_in_time(self, session: str, body: Mapping[str, Any], seconds: float) -> Answer | None:
        """The answer, if it comes in time; a later one is kept."""
        answers: SimpleQueue[Answer | None] = SimpleQueue()
        given_up = False

        def work() -> None:
            began = time.monotonic()
            answer = self._request("POST", HINTS_PATH, body)
            with self._lock:
                self._is_far = time.monotonic() - began > seconds
                if given_up and answer and answer.get("text"):
                    self._late[session] = answer
                    for name in list(self._late)[:-_MOST_LATE]:
                        del self._late[name]
                else:
                    answers.put(answer)

        Thread(target=work, name="commonplace-team-hints", daemon=True).start()
        try:
            return answers.get(timeout=0.001 if self._is_far else seconds)
        except Empty:
            with self._lock:
                given_up = True
            return None if answers.empty() else answers.get()

    def _take_late(self, session: str) -> Answer | None:
        with self._lock:
            return self._late.pop(session, None)

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None) -> Answer | None:
        try:
            return self._client.request(method, path, body)
        except Exception as error:  # noqa: BLE001 - counted; a prompt can do without
            if not isinstance(error, InvalidInput | TooLarge):
                # Away, an older version, another program.
                self._ask_from = time.monotonic() + PAUSE_SECONDS
            reason = f"{HINT_FAILURE}{getattr(error, 'code', type(error).__name__)}"
            count_failure(spool_folder(str(self.server.folder)), "hook", reason)
            return None


class TeamServers:
    """The servers that hooks on this machine are connected to."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[TeamServer, TeamHints] = {}

    def warm_up(self, data: str) -> None:
        """Connect to those of a data folder."""
        for server in team_servers(Path(data)):
            self._hints_of(server).warm_up()

    def answer(
        self, data: str, request: Mapping[str, Any], env: Mapping[str, str], reach: Callable[[], LocalMemory]
    ) -> Answer:
        """Answer a hook. `reach` opens this machine's own memory, for a project that stays here."""
        folder = Path(str(request["team"]))
        server = load_server(folder) if folder.parent == Path(data).absolute() / TEAMS else None
        event = read_request(request)
        if server is None or event is None:
            return NO_HINTS
        settings, moment = home_settings(server, env), str(request["moment"])
        folders = WorkingFolders()
        where = folders.of(event.cwd)
        if event_stays_here(server, settings, event, folders):
            return answer_hints(reach(), request)
        proven = not where.project or is_known_repository(server.folder, where.project, Path(event.cwd))
        if not proven or not is_wanted(settings.hooks_recall, moment):
            return NO_HINTS
        named = replace(event, id=event_name(), at_ms=time.time_ns() // 1_000_000)
        record = {**event_record(named, where), "session": str(request["session"])}
        seen = {name: list(request.get(name, ())) for name in ("shown", "at_start", "breaches")}
        body = {"moment": moment, "event": record, **seen, "recall": settings.hooks_recall}
        # Half of what a hook waits that was told how long: an answer for a hook that has gone would be lost.
        near = PROMPT_SECONDS if moment == "prompt" else NEAR_SECONDS
        return self._hints_of(server).ask(body, seconds_to_wait(env, 2 * near) / 2)

    def _hints_of(self, server: TeamServer) -> TeamHints:
        with self._lock:
            if server not in self._known:
                self._known[server] = TeamHints(server)
            return self._known[server]
