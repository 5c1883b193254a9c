"""Hooks of an editor that is connected to a server elsewhere: capture goes there, sessions start with its memory."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.polling import until
from tests.rest.conftest import Site, running, settings_in

from commonplace.capture.hooks.drain_inline import drain_all
from commonplace.capture.hooks.spool import spool_folder
from commonplace.capture.hooks.team_server import TeamServer, load_server, save_server, team_server
from commonplace.config import Settings
from commonplace.memory.api_keys import create_key
from commonplace.memory.local_memory import LocalMemory, for_space, open_memory
from commonplace.memory.remember import NewItem, remember_item
from commonplace.memory.spaces import Limits, create_space, create_space_key

from .hook_runner import COMMAND, fire, names
from .hook_sessions import items

FOLDER_NAME = "shop-api"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / FOLDER_NAME
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_in(tmp_path_factory.mktemp("server"))) as site:
        yield site


@pytest.fixture
def team(site: Site, request: pytest.FixtureRequest) -> tuple[LocalMemory, str]:
    """A space of its own on the server, and a key to it."""
    name = f"team-{abs(hash(request.node.name))}"
    create_space(site.memory, name, Limits())
    return for_space(site.memory, name), create_space_key(site.memory, name, "anna", "write")[1]


@pytest.fixture
def server(site: Site, team: tuple[LocalMemory, str], settings: Settings) -> TeamServer:
    made = team_server(settings.data_dir, f"{site.url}/mcp?profile=core", team[1])
    save_server(made)
    return made


def at(server: TeamServer, settings: Settings) -> Settings:
    return replace(settings, data_dir=server.folder)


def say(server: TeamServer, settings: Settings, folder: Path, event: str, session: str = "s1", **more: Any) -> str:
    """Run a hook of the connection; returns what it prints."""
    payload = {"session_id": session, "cwd": str(folder), "hook_event_name": event, **more}
    return fire(at(server, settings), "claude-code", event, payload, cwd=folder).stdout.decode()


def a_turn(server: TeamServer, settings: Settings, folder: Path, session: str, question: str, answer: str) -> None:
    say(server, settings, folder, "UserPromptSubmit", session, prompt=question)
    say(server, settings, folder, "Stop", session, last_assistant_message=answer)


def texts(memory: LocalMemory) -> list[str]:
    return [item.body for item in items(memory, "observation")]


def test_capture_goes_to_the_space_of_the_key_and_sessions_start_with_it(
    server: TeamServer, settings: Settings, team: tuple[LocalMemory, str], folder: Path
) -> None:
    memory, _key = team
    remember_item(memory, NewItem("Prices are kept in cents.", type="decision", project=FOLDER_NAME))
    started = say(server, settings, folder, "SessionStart", source="startup")
    assert "Prices are kept in cents." in json.loads(started)["hookSpecificOutput"]["additionalContext"]
    a_turn(server, settings, folder, "s1", "Why do carts lock?", "The sweeper freed a reservation too early.")
    drained = drain_all(settings)
    assert (drained.remembered, drained.left) == (3, 0)
    assert texts(memory) == ["Why do carts lock?", "The sweeper freed a reservation too early."]
    assert {item.project for item in items(memory, "observation", "summary")} == {FOLDER_NAME}
    # Nothing of it is in this machine's own memory, which is not even there.
    assert not settings.database.exists() and not (server.folder / "commonplace.db").exists()


def test_what_is_sent_twice_is_stored_once(
    server: TeamServer, settings: Settings, team: tuple[LocalMemory, str], folder: Path
) -> None:
    a_turn(server, settings, folder, "s1", "Why do carts lock?", "The sweeper freed a reservation too early.")
    spool = Path(spool_folder(str(server.folder)))
    copies = {name: (spool / name).read_bytes() for name in names(at(server, settings))}
    drain_all(settings)
    before = [(item.id, item.rev) for item in items(team[0])]
    # As if the reply of the server had been lost.
    for name, content in copies.items():
        (spool / name).write_bytes(content)
    assert drain_all(settings).left == 0
    assert [(item.id, item.rev) for item in items(team[0])] == before and before


def test_a_private_project_stays_on_this_machine(
    server: TeamServer, settings: Settings, team: tuple[LocalMemory, str], folder: Path, tmp_path: Path
) -> None:
    (settings.data_dir / "config.toml").write_text('sync_private = "diary, taxes"\nembedder = "off"\n')
    diary = tmp_path / "diary"
    diary.mkdir()
    with contextlib.closing(open_memory(settings)) as own:
        remember_item(own, NewItem("Write every evening.", type="rule", project="diary"))
    started = say(server, settings, diary, "SessionStart", "s2", source="startup")
    assert "Write every evening." in started
    a_turn(server, settings, folder, "s1", "Why do carts lock?", "The sweeper freed a reservation too early.")
    a_turn(server, settings, diary, "s2", "What did I write in spring?", "You wrote about the garden and the cat.")
    assert drain_all(settings).left == 0
    assert "garden" not in repr(texts(team[0])) and len(texts(team[0])) == 2
    with contextlib.closing(open_memory(settings)) as own:
        assert "You wrote about the garden and the cat." in texts(own)


def test_secrets_and_private_text_are_not_sent(
    server: TeamServer, settings: Settings, team: tuple[LocalMemory, str], folder: Path
) -> None:
    key = "sk-ant-api03-" + "Ab1" * 40
    a_turn(server, settings, folder, "s1", f"Use {key} for it <private>and my diary</private> please", "It is set.")
    drain_all(settings)
    assert key not in repr(items(team[0])) and "diary" not in repr(items(team[0])) and items(team[0])


@pytest.mark.parametrize("why", ["revoked key", "read-only key", "key for one project", "other program"])
def test_events_wait_while_the_server_does_not_take_them(
    site: Site, settings: Settings, folder: Path, why: str
) -> None:
    url, key = f"{site.url}/mcp", "sk-sekha-" + "0" * 48
    if why == "read-only key":
        key = site.secrets["read"]
    elif why == "key for one project":
        key = create_key(site.memory, "one", "write", project="other")[1]
    elif why == "other program":
        url, key = f"{site.url}/elsewhere", site.secrets["write"]
    server = team_server(settings.data_dir, url, key)
    save_server(server)
    a_turn(server, settings, folder, "s1", "Why do carts lock?", "The sweeper freed a reservation too early.")
    drained = drain_all(settings)
    assert drained.left == 2 and drained.waits_because and not drained.refused


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def serving(data: Path, port: int) -> Iterator[None]:
    """A server process of its own."""
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", str(port), "--data-dir", str(data)],
        env={**os.environ, "COMMONPLACE_EMBEDDER": "off"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def answers() -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        return process.poll() is not None

    try:
        until(answers)
        yield
    finally:
        process.terminate()
        process.wait(60)


def test_connected_while_the_server_is_away_and_back_again(home: Path, tmp_path: Path, folder: Path) -> None:
    """As people do it: `connect`, hooks as the editor runs them, `doctor`, a server that comes and goes."""
    (home / ".claude").mkdir()
    data, port = tmp_path / "server", free_port()

    def command(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        more = {**os.environ, "COMMONPLACE_EMBEDDER": "off", **env}
        return subprocess.run([COMMAND, *arguments], env=more, cwd=folder, capture_output=True, text=True, check=False)

    key = command("keys", "create", "anna", "--data-dir", str(data)).stdout.split()[-1]
    done = command("connect", "claude-code", "--http", f"http://127.0.0.1:{port}/mcp", "--key", key)
    assert done.returncode == 0, done
    settings = home / ".claude" / "settings.json"
    hooks = json.loads(settings.read_text())["hooks"]

    def hook(event: str, session: str, **more: Any) -> str:
        payload = json.dumps({"session_id": session, "cwd": str(folder), "hook_event_name": event, **more})
        line = hooks[event][0]["hooks"][0]["command"]
        env = {**os.environ, "COMMONPLACE_HOOKS_SECONDS": "5"}
        return subprocess.run(line, shell=True, input=payload.encode(), capture_output=True, env=env).stdout.decode()

    assert hook("SessionStart", "s1", source="startup") == ""
    for number, session in enumerate(("s1", "s2", "s3")):
        hook("UserPromptSubmit", session, prompt=f"Question number {number} about the carts")
        hook("Stop", session, last_assistant_message=f"Cart {number} was locked because of its payment.")
    assert "7 still waiting" in command("drain").stdout
    assert "does not reach" in command("doctor", "hooks").stdout
    assert "7 events are waiting" in command("doctor", "spool").stdout
    with serving(data, port):
        proved = command("doctor", "hooks").stdout
        assert "was found and removed" in proved
        # It has sent what waited before.
        assert "none left" in command("drain").stdout
        started = hook("SessionStart", "s4", source="startup")
        assert "Cart 2 was locked because of its payment." in started
    listed = json.loads(command("list", "--type", "answer", "--json", "--data-dir", str(data)).stdout)
    assert [one["title"] for one in listed["items"]] == [
        f"Cart {number} was locked because of its payment." for number in (2, 1, 0)
    ]
    assert "check by the doctor" not in command("list", "--data-dir", str(data)).stdout
    # The server is away again: what it said last is shown.
    assert hook("SessionStart", "s5", source="startup") == started
    command("drain")
    gone = command("disconnect", "claude-code")
    assert "still wait" in gone.stderr and not settings.exists()


def test_the_key_is_readable_by_its_owner_only_and_removed_by_disconnecting(home: Path, site: Site) -> None:
    (home / ".claude").mkdir()
    command = [COMMAND, "connect", "claude-code", "--http", f"{site.url}/mcp", "--key", site.secrets["write"]]
    dry = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=True)
    assert site.secrets["write"] not in dry.stdout
    assert not list(home.rglob("server.json"))
    subprocess.run(command, capture_output=True, check=True)
    (file,) = home.rglob("server.json")
    server = load_server(file.parent)
    assert server is not None and server.key == site.secrets["write"]
    if os.name == "posix":
        assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)] == [
            0o600,
            0o700,
            0o700,
        ]
    subprocess.run([COMMAND, "disconnect", "claude-code"], capture_output=True, check=True)
    assert not file.exists()


def test_a_folder_whose_server_is_gone_is_left_alone(
    server: TeamServer, settings: Settings, folder: Path, home: Path
) -> None:
    (server.folder / "server.json").unlink()
    assert say(server, settings, folder, "SessionStart", source="startup") == ""
    assert drain_all(at(server, settings)).left == 1
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "drain", "--data-dir", str(server.folder)], capture_output=True, text=True
    )
    assert "1 still waiting" in done.stdout and not (server.folder / "commonplace.db").exists()
