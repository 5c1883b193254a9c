"""The file of the first key: whole from the moment that it has its name, whoever starts or dies meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from commonplace.config import Settings
from commonplace.http_server.auth import ensure_first_key
from commonplace.memory import api_keys
from commonplace.memory.local_memory import LocalMemory, open_memory

SERVERS, ROUNDS, WAIT = 4, 5, 60


def test_an_empty_file_of_a_server_that_was_killed_is_replaced(memory: LocalMemory, tmp_path: Path) -> None:
    path = tmp_path / "api-key"
    path.touch()
    assert "first API key was created" in ensure_first_key(memory, path)
    api_keys.check_key(memory, path.read_text(encoding="utf-8").strip())
    assert [file.name for file in tmp_path.glob("api-key*")] == ["api-key"]


def test_servers_that_start_at_once_leave_one_key_that_works(settings: Settings, tmp_path: Path) -> None:
    for round_ in range(ROUNDS):
        memories = [open_memory(settings) for _ in range(SERVERS)]
        path, begin = tmp_path / f"api-key-{round_}", Barrier(SERVERS, timeout=WAIT)

        def start(memory: LocalMemory, path: Path = path, begin: Barrier = begin) -> str:
            begin.wait()
            result = ensure_first_key(memory, path)
            if f"in {path}." in result and "none is" not in result:
                api_keys.check_key(memory, path.read_text(encoding="utf-8").strip())
            return result

        with ThreadPoolExecutor(SERVERS) as pool:
            lines = [one.result(WAIT) for one in [pool.submit(start, memory) for memory in memories]]
        assert sum("was created" in one for one in lines) == 1
        (key,) = api_keys.working_keys(memories[0])
        api_keys.revoke_key(memories[0], key.id)
        for memory in memories:
            memory.close()
