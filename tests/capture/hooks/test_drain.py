"""What waits is remembered in order, once, by one process at a time; what cannot be is counted and holds up nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from tests.polling import until

from commonplace.capture.hooks.drain import ENDED_THE_DRAIN, drain, drain_to
from commonplace.capture.hooks.drain_attempts import BEGUN
from commonplace.capture.hooks.spool_reader import clear_failures, remove_leftovers, spool_path, spool_state
from commonplace.config import Settings
from commonplace.doctor.editor_checks import try_hook
from commonplace.errors import StoreBusy
from commonplace.fast.drain_process import DrainLock
from commonplace.fast.spool import EVENT, PART, REFUSED
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.model import Item, Scope

from .hook_runner import COMMAND, SECONDS, argv, environment, fire, names, put

HOLD_LOCK = """
import sys
from pathlib import Path
from commonplace.fast.drain_process import DrainLock
with DrainLock(Path(sys.argv[1])) as ours:
    print(ours, flush=True)
    sys.stdin.read()
"""


def write(number: int) -> dict[str, object]:
    given = {"file_path": f"/src/my-api/part{number}.py", "content": f"part = {number}\n"}
    return {"session_id": "s1", "cwd": "/src/my-api", "tool_name": "Write", "tool_input": given}


def observations(memory: LocalMemory) -> list[Item]:
    """Oldest first."""
    return memory.store.newest(Scope(kinds=("observation",)), 1000)[::-1]


def test_events_become_what_they_tell_in_the_order_of_time(memory: LocalMemory, settings: Settings) -> None:
    for number in range(30):
        put(settings, write(number))
    done = drain(memory, settings)
    assert (done.remembered, done.left, done.passed_over, done.refused) == (30, 0, 0, {})
    assert names(settings) == []
    assert [item.title.split()[-1] for item in observations(memory)] == [f"part{number}.py" for number in range(30)]


def test_nothing_waits_nothing_is_done(memory: LocalMemory, settings: Settings) -> None:
    assert drain(memory, settings).done == 0 and not spool_path(settings).exists()


def test_a_crash_before_the_files_are_removed_stores_nothing_twice(memory: LocalMemory, settings: Settings) -> None:
    for number in range(5):
        put(settings, write(number))
    files = {path.name: path.read_bytes() for path in spool_path(settings).glob(f"*{EVENT}")}
    drain(memory, settings)
    once = [item.uid for item in observations(memory)]
    for name, content in files.items():
        (spool_path(settings) / name).write_bytes(content)
    assert drain(memory, settings).left == 0
    assert [item.uid for item in observations(memory)] == once and names(settings) == []


def test_at_most_so_many_and_the_rest_later(memory: LocalMemory, settings: Settings) -> None:
    for number in range(7):
        put(settings, write(number))
    assert (drain(memory, settings, limit=3).left, drain(memory, settings, seconds=SECONDS).left) == (4, 0)
    assert len(observations(memory)) == 7


def test_whoever_comes_second_leaves(memory: LocalMemory, settings: Settings) -> None:
    put(settings, write(1))
    command = [sys.executable, "-c", HOLD_LOCK, str(settings.data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline().strip() == b"True"
        assert drain(memory, settings).elsewhere and len(names(settings)) == 1
        # A lock ends with its holder, however that ends.
        other.kill()
        other.communicate(timeout=SECONDS)
    assert drain(memory, settings).remembered == 1


def test_a_busy_store_only_delays(memory: LocalMemory, settings: Settings) -> None:
    put(settings, write(1))
    holder = apsw.Connection(str(settings.database))
    holder.execute("BEGIN IMMEDIATE")
    hasty = open_memory(replace(settings, busy_timeout=0.05))
    with pytest.raises(StoreBusy):
        drain(hasty, settings)
    hasty.close()
    holder.execute("ROLLBACK")
    holder.close()
    assert len(names(settings)) == 1 and drain(memory, settings).remembered == 1


def test_nonsense_is_counted_kept_aside_redacted_and_holds_up_nobody(memory: LocalMemory, settings: Settings) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    put(settings, b"token: " + secret.encode())
    put(settings, b'{"session_id": "s1", "tool_n')
    put(settings, b"{}", "PreToolUse")
    put(settings, b"{}", host="nobody")
    (spool_path(settings) / f"0{EVENT}").write_bytes(b"no record")
    put(settings, write(1))
    done = drain(memory, settings)
    assert (done.remembered, done.passed_over, done.left) == (1, 1, 0)
    counted = {"not-json": 1, "truncated": 1, "unknown-host": 1, "unknown-record": 1}
    assert done.refused == counted and spool_state(settings).refused == counted
    conversation = "".join(path.read_text(encoding="utf-8") for path in (spool_path(settings) / REFUSED).iterdir())
    assert "token" in conversation and secret not in conversation
    clear_failures(settings)
    assert spool_state(settings).refused == {}


def test_the_corner_of_what_was_refused_does_not_grow(memory: LocalMemory, settings: Settings) -> None:
    for _ in range(60):
        put(settings, b"nonsense")
    assert drain(memory, settings).refused == {"not-json": 60}
    assert len(list((spool_path(settings) / REFUSED).iterdir())) == 50
    assert spool_state(settings).refused == {"not-json": 60}


def test_a_cut_event_is_remembered_and_told(memory: LocalMemory, settings: Settings) -> None:
    put(settings, json.dumps(write(1)).encode()[:-3], ended="cut")
    done = drain(memory, settings)
    assert (done.remembered, done.cut) == (1, 1) and len(observations(memory)) == 1


def test_a_host_that_came_too_late_is_counted(memory: LocalMemory, settings: Settings) -> None:
    put(settings, b"", ended="silent")
    put(settings, b"", "Stop", ended="silent")
    done = drain(memory, settings)
    assert (done.remembered, done.refused, done.left) == (1, {"silent": 1}, 0)


def test_what_a_killed_hook_left_is_never_read_and_swept_later(memory: LocalMemory, settings: Settings) -> None:
    put(settings, write(1))
    half = spool_path(settings) / f"1{PART}"
    half.write_bytes(b"1\0claude-code\0")
    assert drain(memory, settings).remembered == 1 and half.exists()
    os.utime(half, (1, 1))
    remove_leftovers(spool_path(settings))
    assert not half.exists()


def test_how_the_spool_fares(settings: Settings) -> None:
    assert (spool_state(settings).waiting, spool_state(settings).oldest_ms) == (0, None)
    put(settings, write(1), name="01742049000000000000-1-a")
    put(settings, write(2))
    state = spool_state(settings)
    assert (state.waiting, state.oldest_ms, state.broken) == (2, 1_742_049_000_000, "")


def test_the_next_command_drains(settings: Settings) -> None:
    fire(settings, payload=write(1))
    command = [COMMAND, "--data-dir", str(settings.data_dir), "list", "--json"]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=True, env=environment())
    assert "part1.py" in done.stdout.decode() and names(settings) == []


def test_a_command_says_how_much_still_waits_and_one_has_it_all_remembered(
    memory: LocalMemory, settings: Settings
) -> None:
    for number in range(30):
        put(settings, write(number))
    at = [COMMAND, "--data-dir", str(settings.data_dir)]
    holder = apsw.Connection(str(settings.database))
    holder.execute("BEGIN IMMEDIATE")
    quick = subprocess.run([*at, "projects"], capture_output=True, timeout=SECONDS, check=True)
    holder.close()
    assert "30 captured events are still waiting; `commonplace drain`" in quick.stderr.decode()
    done = subprocess.run([*at, "drain", "--json"], capture_output=True, timeout=SECONDS, check=True)
    result = json.loads(done.stdout)
    assert (result["remembered"], result["waiting"], names(settings)) == (30, 0, [])
    people = subprocess.run([*at, "drain"], capture_output=True, timeout=SECONDS, check=True)
    assert b"none left" in people.stdout and people.stderr == b""


def test_a_command_answers_even_if_it_cannot_drain(memory: LocalMemory, settings: Settings) -> None:
    put(settings, write(1))
    holder = apsw.Connection(str(settings.database))
    holder.execute("BEGIN IMMEDIATE")
    command = [COMMAND, "--data-dir", str(settings.data_dir), "list", "--json"]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
    holder.close()
    assert json.loads(done.stdout)["items"] == [] and len(names(settings)) == 1


@pytest.mark.parametrize("command", [("mcp",), ("serve", "--port", "0")], ids=" ".join)
def test_a_running_server_drains(settings: Settings, command: tuple[str, ...]) -> None:
    env = environment(COMMONPLACE_EMBEDDER="off")
    with subprocess.Popen(
        [COMMAND, "--data-dir", str(settings.data_dir), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    ) as server:
        fire(settings, payload=write(1))
        fire(settings, event="Stop", payload={"session_id": "s1", "cwd": "/src/my-api"})
        until(lambda: not names(settings))
        until(lambda: any((settings.data_dir / "openings").glob("*")))
        server.terminate()
        server.communicate(timeout=SECONDS)
    memory = open_memory(settings)
    assert len(observations(memory)) == 1
    memory.close()


def test_twenty_hooks_and_three_drainers_at_once_lose_and_double_nothing(
    memory: LocalMemory, settings: Settings, tmp_path: Path
) -> None:
    listing = [COMMAND, "--data-dir", str(settings.data_dir), "list"]
    processes = []
    for number in range(20):
        result = tmp_path / f"{number}.json"
        result.write_text(json.dumps(write(number)), encoding="utf-8")
        with result.open("rb") as payload:
            processes.append(subprocess.Popen(argv(settings, "claude-code", "PostToolUse"), stdin=payload))
        if number % 7 == 6:
            processes.append(subprocess.Popen(listing, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
    assert [process.wait(timeout=SECONDS) for process in processes] == [0] * len(processes)
    drain(memory, settings)
    assert sorted(item.title for item in observations(memory)) == sorted(f"Created part{n}.py" for n in range(20))


def test_a_trial_arrives_and_leaves_no_trace(memory: LocalMemory, settings: Settings) -> None:
    tried = try_hook(argv(settings, "gemini", "AfterTool"), b"{}", settings)
    assert (tried.why, tried.printed) == ("", "{}\n")
    shell = subprocess.list2cmdline(argv(settings, "gemini", "AfterTool"))
    assert try_hook(shell, b"{}", settings).why == ""
    assert drain(memory, settings).done == 0 and list(spool_path(settings).iterdir()) == []


def test_a_trial_tells_what_is_wrong(settings: Settings, tmp_path: Path) -> None:
    elsewhere = replace(settings, data_dir=tmp_path / "other")
    assert "did not arrive" in try_hook(argv(settings, "codex", "Stop"), b"{}", elsewhere).why
    assert try_hook([str(tmp_path / "missing")], b"{}", settings).why
    assert "did not arrive" in try_hook([sys.executable, "-c", "raise SystemExit(3)"], b"{}", settings).why


def test_a_turn_needs_a_spool_of_ours(settings: Settings) -> None:
    with DrainLock(settings.data_dir) as ours:
        assert not ours


@pytest.mark.parametrize("lines", [3_000, 20_000])
def test_blank_lines_hold_up_no_drain(memory: LocalMemory, settings: Settings, lines: int) -> None:
    said = ("I added it.\n\nNext steps:\n- Add a metric for logins", "I looked at it." + "\n" * lines + "That is all.")
    for number, answer in enumerate(said):
        turn = {"session_id": "s1", "cwd": "/src/my-api"}
        put(settings, {**turn, "prompt": f"Look at part {number} of the login service"}, "UserPromptSubmit")
        put(settings, {**turn, "last_assistant_message": answer}, "Stop")
    assert drain(memory, settings).left == 0 and names(settings) == []


def test_events_at_which_a_drain_died_are_tried_alone_after_the_others(memory: LocalMemory, settings: Settings) -> None:
    for number in range(4):
        put(settings, write(number))
    spool, (first, second, *_others) = spool_path(settings), names(settings)
    (spool / BEGUN).write_text(f"now {first}\nnow {second}", encoding="utf-8")
    order: list[tuple[str, ...]] = []
    drain_to(lambda events: order.append(tuple(str(event.input["file_path"])[-8:] for event in events)), settings)
    assert order == [("part2.py", "part3.py"), ("part0.py",), ("part1.py",)]
    assert not (spool / BEGUN).exists()


def test_an_event_that_was_alone_when_drains_died_is_set_aside(memory: LocalMemory, settings: Settings) -> None:
    put(settings, write(1))
    put(settings, write(2))
    spool, (first, _second) = spool_path(settings), names(settings)
    (spool / BEGUN).write_text(f"1 {first}\nnow {first}", encoding="utf-8")
    done = drain(memory, settings)
    assert (done.remembered, done.refused, done.left) == (1, {ENDED_THE_DRAIN: 1}, 0)
    assert [path.name.startswith(first.removesuffix(EVENT)) for path in (spool / REFUSED).iterdir()] == [True]


def test_a_store_that_is_busy_counts_as_no_death(memory: LocalMemory, settings: Settings) -> None:
    put(settings, write(1))

    def refuse(_events: object) -> None:
        raise StoreBusy("somebody writes")

    for _ in range(3):
        with pytest.raises(StoreBusy):
            drain_to(refuse, settings)
    assert drain(memory, settings).remembered == 1
