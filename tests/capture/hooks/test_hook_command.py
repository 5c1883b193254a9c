"""A hook never hurts: whatever it is given, it ends with 0, soon, and says nothing that its host does not want."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.polling import until

from commonplace.capture.hooks.spool_reader import clear_failures, read_record, spool_path, spool_state
from commonplace.config import Settings
from commonplace.fast.host_events import HOSTS
from commonplace.fast.spool import SECONDS_VARIABLE, SPOOL, has_disk_space, seconds_to_wait

from .hook_runner import COMMAND, SECONDS, argv, environment, fire, names

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="what only POSIX has")


@pytest.fixture
def own_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks wait no longer than they do for a user."""
    monkeypatch.delenv(SECONDS_VARIABLE)


PAYLOADS = {
    "empty": b"",
    "an object": b'{"session_id": "s"}',
    "truncated": b'{"session_id": "s", "tool_na',
    "binary": bytes(range(256)) * 20,
    "a list": b"[1, 2]",
    "a number": b"7",
    "deep": b"[" * 50_000,
    "NULs": b"\0" * 5000,
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_any_payload_is_kept_and_nothing_is_said(settings: Settings, payload: bytes) -> None:
    done = fire(settings, payload=payload)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (name,) = names(settings)
    record = read_record(spool_path(settings), name)
    assert (record.host, record.event, record.payload, record.size) == (
        "claude-code",
        "PostToolUse",
        payload,
        len(payload),
    )
    assert (record.cwd, record.ended) == (str(Path.cwd()), "whole")


def test_a_huge_payload_is_cut_and_that_is_told(settings: Settings) -> None:
    done = fire(settings, payload=b'{"a": "' + b"x" * 5_000_000 + b'"}')
    assert (done.returncode, done.stdout) == (0, b"")
    (name,) = names(settings)
    record = read_record(spool_path(settings), name)
    assert (len(record.payload), record.size, record.ended) == (1 << 20, 5_000_009, "cut")


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_hears_what_it_wants(settings: Settings, host: str) -> None:
    assert fire(settings, host, "whatever", b"{}").stdout == (b"{}\n" if host == "gemini" else b"")
    polite = b'{"continue": true}\n' if host == "cursor" else b"{}\n" if host == "gemini" else b""
    assert fire(settings, host, "beforeSubmitPrompt", b"{}").stdout == polite
    # Nothing is remembered, so there is nothing to open with.
    assert fire(settings, host, "SessionStart", b"{}").stdout == (b"{}\n" if host == "gemini" else b"")


@pytest.mark.parametrize("arguments", [(), ("nobody",), ("nobody", "Stop"), ("claude-code",), ("", "Stop")])
def test_a_wrong_command_line_is_counted_and_harms_nobody(settings: Settings, arguments: tuple[str, ...]) -> None:
    command = [COMMAND, "--data-dir", str(settings.data_dir), "hook", *arguments]
    done = subprocess.run(command, input=b"{}", capture_output=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert sum(spool_state(settings).hook_failures.values()) == 1
    assert names(settings) == []


@pytest.mark.usefixtures("own_limits")
def test_a_host_that_leaves_standard_input_open_is_not_waited_for(settings: Settings) -> None:
    with subprocess.Popen(argv(settings, "kiro", "stop"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hook:
        # Standard input stays open until after the hook has ended.
        assert hook.wait(timeout=SECONDS) == 0
    until(lambda: len(names(settings)) == 1)


def test_a_host_that_leaves_it_open_after_a_whole_event_is_not_waited_for(settings: Settings) -> None:
    hook = subprocess.Popen(argv(settings, "claude-code", "Stop"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert hook.stdin is not None and hook.stdout is not None
    hook.stdin.write(b'{"session_id": "s1", "cwd": "/"}')
    hook.stdin.flush()
    hook.wait(timeout=SECONDS)
    hook.communicate(timeout=SECONDS)
    assert read_record(spool_path(settings), names(settings)[0]).ended == "whole"


@pytest.mark.usefixtures("own_limits")
def test_a_host_that_stops_in_the_middle_is_not_waited_for(settings: Settings) -> None:
    with subprocess.Popen(argv(settings, "codex", "Stop"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hook:
        assert hook.stdin is not None
        hook.stdin.write(b'{"session_id": "s", ')
        hook.stdin.flush()
        assert hook.wait(timeout=SECONDS) == 0
    until(lambda: names(settings))
    record = read_record(spool_path(settings), names(settings)[0])
    assert record.payload == b'{"session_id": "s", '


@pytest.mark.usefixtures("own_limits")
def test_old_kiro_tells_the_prompt_in_the_environment(settings: Settings) -> None:
    env = environment(USER_PROMPT="Fix the login")
    with subprocess.Popen(argv(settings, "kiro", "userPromptSubmit"), stdin=subprocess.PIPE, env=env) as hook:
        assert hook.wait(timeout=SECONDS) == 0
    assert read_record(spool_path(settings), names(settings)[0]).prompt == "Fix the login"


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("", 2.0), ("5", 5.0), ("0.25", 0.25), ("0", 2.0), ("-1", 2.0), ("nan", 2.0), ("inf", 2.0), ("long", 2.0)],
)
def test_the_environment_says_how_long_a_hook_waits(given: str, seconds: float) -> None:
    assert seconds_to_wait({SECONDS_VARIABLE: given}, 2.0) == seconds
    assert seconds_to_wait({}, 2.0) == 2.0


def test_standard_streams_may_be_closed(settings: Settings) -> None:
    script = f"import os; [os.close(n) for n in (0, 1, 2)]; os.execv({COMMAND!r}, {argv(settings, 'gemini', 'Stop')!r})"
    assert subprocess.run([sys.executable, "-c", script], timeout=SECONDS, check=False).returncode == 0
    assert len(names(settings)) == 1


def test_twenty_hooks_at_once_leave_twenty_events(settings: Settings) -> None:
    hooks = [
        subprocess.Popen(argv(settings, "claude-code", "PostToolUse"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(20)
    ]
    for number, hook in enumerate(hooks):
        hook.communicate(json.dumps({"number": number}).encode(), timeout=SECONDS)
    assert [hook.returncode for hook in hooks] == [0] * 20
    lines = [json.loads(read_record(spool_path(settings), name).payload)["number"] for name in names(settings)]
    assert sorted(lines) == list(range(20))


@POSIX
def test_a_killed_hook_leaves_nothing_that_is_taken_for_an_event(settings: Settings) -> None:
    hook = subprocess.Popen(argv(settings, "claude-code", "Stop"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert hook.stdin is not None
    hook.stdin.write(b"{")
    hook.stdin.flush()
    hook.send_signal(signal.SIGKILL)
    hook.communicate(timeout=SECONDS)
    assert hook.returncode == -signal.SIGKILL and not (settings.data_dir / SPOOL).exists()
    assert fire(settings).returncode == 0 and len(names(settings)) == 1


@POSIX
def test_a_full_disk_is_counted_and_leaves_no_half_event(settings: Settings) -> None:
    def fill() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = fire(settings, payload=b'{"a": "' + b"x" * 100_000 + b'"}', preexec_fn=fill)
    assert (done.returncode, done.stdout) == (0, b"")
    assert spool_state(settings).hook_failures == {"disk-full": 1}
    assert [path.name for path in spool_path(settings).iterdir()] == ["troubles"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a small file system of its own")
def test_what_a_disk_without_any_room_could_not_take_is_counted(settings: Settings) -> None:
    disk = settings.data_dir
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    try:
        subprocess.run(["dd", "if=/dev/zero", f"of={disk / 'rest'}", "bs=4k"], capture_output=True, check=False)
        for _ in range(3):
            done = fire(settings)
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"commonplace hook: disk-full\n")
        state = spool_state(settings)
        assert state.hook_failures == {"disk-full": 3} and state.last_failure_ms
        clear_failures(settings)
        assert spool_state(settings).hook_failures == {}
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    ("free", "total", "room"),
    [(60 << 20, 1 << 40, True), (40 << 20, 1 << 40, False), (40 << 20, 100 << 20, True), (4 << 20, 100 << 20, False)],
)
def test_a_spool_that_nobody_drains_fills_no_disk(free: int, total: int, room: bool) -> None:
    assert has_disk_space(free, total) is room


def test_a_data_folder_that_cannot_be_written_is_told_on_standard_error(settings: Settings) -> None:
    settings.data_dir.write_text("no folder", encoding="ascii")
    done = fire(settings)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"commonplace hook: ") and b"not counted" in done.stderr


@POSIX
def test_a_spool_that_is_a_link_is_refused(settings: Settings, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    settings.data_dir.mkdir()
    (settings.data_dir / SPOOL).symlink_to(elsewhere)
    done = fire(settings)
    assert (done.returncode, done.stdout) == (0, b"") and b"not-our-folder" in done.stderr
    assert list(elsewhere.iterdir()) == [] and "link" in spool_state(settings).broken


@POSIX
def test_only_the_owner_can_read_what_waits(settings: Settings) -> None:
    settings.data_dir.mkdir()
    (settings.data_dir / SPOOL).mkdir(mode=0o777)
    (settings.data_dir / SPOOL).chmod(0o777)
    fire(settings)
    spool = spool_path(settings)
    assert stat.S_IMODE(spool.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in spool.iterdir()] == [0o600]


def test_a_hook_imports_next_to_nothing(settings: Settings) -> None:
    command = [sys.executable, "-X", "importtime", *argv(settings, "claude-code", "PostToolUse")]
    done = subprocess.run(command, input=b"{}", capture_output=True, timeout=SECONDS, check=True)
    bare = [sys.executable, "-X", "importtime", "-c", "pass"]
    usual = subprocess.run(bare, capture_output=True, timeout=SECONDS, check=True)
    loaded, anyway = ({line.split("|")[-1].strip() for line in r.stderr.decode().splitlines()} for r in (done, usual))
    ours = {name for name in loaded - anyway if name.startswith("commonplace")}
    rooms = {"commonplace", "commonplace.__main__", "commonplace.fast", "commonplace.data_folder"}
    mine = {f"commonplace.fast.{name}" for name in ("arguments", "hook_command", "host_events", "payload", "spool")}
    assert mine <= ours <= mine | rooms
    assert loaded - anyway - ours <= {"__future__", "errno", "gc", "select", "time", "importlib", "imported package"}


def test_help_is_for_people() -> None:
    done = subprocess.run([COMMAND, "hook", "--help"], capture_output=True, timeout=SECONDS, check=True)
    assert all(host.encode() in done.stdout for host in HOSTS)


@POSIX
def test_the_folder_may_be_gone(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    script = f"import os; os.rmdir({str(folder)!r}); os.execv({COMMAND!r}, {argv(settings, 'codex', 'Stop')!r})"
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, input=b"{}", timeout=SECONDS, check=False)
    assert done.returncode == 0 and read_record(spool_path(settings), names(settings)[0]).cwd == ""
