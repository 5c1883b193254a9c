"""Hooks of an editor that is connected to a server elsewhere: capture goes there, sessions start with its memory."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
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
from tests.whole_items import all_words

from commonplace.capture.hooks.drain_inline import drain_all
from commonplace.capture.hooks.spool import spool_folder
from commonplace.capture.hooks.team_server import (
    EVERY_FOLDER,
    TeamServer,
    ask_about_key,
    load_server,
    save_server,
    stays_here,
    team_server,
)
from commonplace.config import Settings
from commonplace.errors import Unauthorized
from commonplace.memory.api_keys import create_key, list_keys, revoke_key
from commonplace.memory.local_memory import LocalMemory, for_space, open_memory
from commonplace.memory.projects import alias_project
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
    made = team_server(settings.data_dir, f"{site.url}/mcp?profile=core", team[1], shared=[EVERY_FOLDER])
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


def is_refused(server: TeamServer) -> bool:
    """Whether the server has noticed that the key was revoked, which takes it seconds."""
    try:
        ask_about_key(server.url, server.key)
    except Unauthorized:
        return True
    return False


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


@pytest.mark.parametrize("private", ["github.com/me/*", "me/*", "dia*", "https://github.com/me/diary.git", "journal"])
def test_what_a_name_or_pattern_keeps_private_reaches_no_door(
    server: TeamServer, settings: Settings, team: tuple[LocalMemory, str], tmp_path: Path, home: Path, private: str
) -> None:
    """Hooks, the tools of the server, and `connect` of this one project; `journal` is an alias."""
    (settings.data_dir / "config.toml").write_text(f'sync_private = "taxes, {private}"\nembedder = "off"\n')
    diary = tmp_path / "writing"
    subprocess.run(["git", "init", "-q", str(diary)], check=True)
    remote = ["git", "-C", str(diary), "remote", "add", "origin", "git@github.com:me/diary.git"]
    subprocess.run(remote, check=True)
    with contextlib.closing(open_memory(settings)) as own:
        remember_item(own, NewItem("Write every evening.", type="rule", project="github.com/me/diary"))
        alias_project(own, "github.com/me/diary", "journal")
    a_turn(server, settings, diary, "s2", "What did I write in spring?", "You wrote about the garden and the cat.")
    call = {"tool_name": "mcp__commonplace__add_memory", "tool_input": {"content": "The cat is ill"}}
    refused = json.loads(say(server, settings, diary, "PreToolUse", "s2", **call))["hookSpecificOutput"]
    assert refused["permissionDecision"] == "deny"
    assert drain_all(settings).left == 0 and texts(team[0]) == []
    with contextlib.closing(open_memory(settings)) as own:
        assert "You wrote about the garden and the cat." in texts(own)
    connect = [COMMAND, "--data-dir", str(settings.data_dir), "connect", "claude-code", "--http", server.url]
    connect += ["--key", server.key, "--share", "all"]
    done = subprocess.run([*connect, "--project", str(diary)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "github.com/me/diary is private" in done.stderr
    assert not (diary / ".mcp.json").exists()
    (home / ".claude").mkdir()
    told = subprocess.run(connect, capture_output=True, text=True, check=True).stderr
    assert f"every folder but the projects of sync_private (taxes, {private})" in told


def test_only_what_was_named_is_shared(
    site: Site, settings: Settings, team: tuple[LocalMemory, str], folder: Path, tmp_path: Path
) -> None:
    server = team_server(settings.data_dir, f"{site.url}/mcp", team[1], shared=[FOLDER_NAME])
    save_server(server)
    wedding = tmp_path / "wedding"
    wedding.mkdir()
    a_turn(server, settings, folder, "s1", "Why do carts lock?", "The sweeper freed a reservation too early.")
    a_turn(server, settings, wedding, "s2", "Where do we marry?", "You decided to marry in Ravenna in June.")
    assert drain_all(settings).left == 0
    assert len(texts(team[0])) == 2 and "Ravenna" not in all_words(items(team[0]))
    with contextlib.closing(open_memory(replace(settings, embedder="off"))) as own:
        assert "You decided to marry in Ravenna in June." in texts(own)
    started = say(server, settings, wedding, "SessionStart", "s3", source="startup")
    assert "Ravenna" in started and "sweeper" not in started
    # Nor do its agents use the server's tools there.
    call = {"tool_name": "mcp__commonplace__add_memory", "tool_input": {"content": "We marry in Ravenna"}}
    refused = json.loads(say(server, settings, wedding, "PreToolUse", "s3", **call))["hookSpecificOutput"]
    assert refused["permissionDecision"] == "deny" and "not shared" in refused["permissionDecisionReason"]
    assert say(server, settings, folder, "PreToolUse", "s4", **call) == ""
    assert say(server, settings, wedding, "PreToolUse", "s3", tool_name="Read", tool_input={"file_path": "a"}) == ""


def test_no_tool_of_the_server_is_told_of_a_private_project(
    server: TeamServer, settings: Settings, folder: Path
) -> None:
    """Also from a folder that is shared: the server does not know what is private here."""
    (settings.data_dir / "config.toml").write_text('sync_private = "github.com/me/*, diary"\nembedder = "off"\n')
    for given in (
        {"content": "The cat is ill", "project_id": "diary"},
        {"content": "The cat is ill", "project_id": "github.com/me/garden"},
        {"query": "What is wrong with the cat?", "project": "Diary"},
    ):
        call = {"tool_name": "mcp__commonplace__add_memory", "tool_input": given}
        refused = json.loads(say(server, settings, folder, "PreToolUse", "s1", **call))["hookSpecificOutput"]
        assert refused["permissionDecision"] == "deny" and "not shared" in refused["permissionDecisionReason"]
    for given in ({"content": "Carts lock"}, {"content": "Carts lock", "project_id": FOLDER_NAME}):
        call = {"tool_name": "mcp__commonplace__add_memory", "tool_input": given}
        assert say(server, settings, folder, "PreToolUse", "s1", **call) == ""


def test_what_names_a_file_of_another_folder_stays_with_it(
    site: Site, settings: Settings, team: tuple[LocalMemory, str], folder: Path, tmp_path: Path
) -> None:
    """An agent that works in a shared repository writes into a folder that is not, or runs a command there."""
    server = team_server(settings.data_dir, f"{site.url}/mcp", team[1], shared=[FOLDER_NAME])
    save_server(server)
    wedding, diary, inner = tmp_path / "wedding", tmp_path / "diary", folder / "vendor" / "taxes"
    for one in (wedding, diary, inner, folder / "src"):
        one.mkdir(parents=True)
    for repository in (diary, inner):
        subprocess.run(["git", "init", "-q", str(repository)], check=True)
    say(server, settings, folder, "UserPromptSubmit", prompt="Move what is private out of the repository, please.")

    def used(tool: str, output: str = "", **given: Any) -> None:
        response = {"stdout": output, "stderr": "", "interrupted": False}
        say(server, settings, folder, "PostToolUse", tool_name=tool, tool_input=given, tool_response=response)

    secret = "Zephyrworks"
    for path in (wedding / "guests.md", diary / "june.md", inner / "return.md", "../wedding/list.md"):
        used("Write", file_path=str(path), content=f"{secret} writes {path}")
    patch = f"*** Begin Patch\n*** Update File: {diary / 'july.md'}\n+{secret}\n*** End Patch"
    used("apply_patch", input=patch)
    for command in (f"cp plan.md {diary}/plan.md", "make -C ../diary deploy", f"cd '{diary}' && make deploy"):
        used("Bash", f"{secret} is deployed", command=command)
    used("Task", f"{secret} is on page two", prompt=f"Read {diary} and tell me what it says", description="Read it")
    used("Write", file_path="src/cart.py", content="cart = 1")
    used("Bash", "3 passed in 0.2s", command="/usr/bin/env pytest ./tests/test_cart.py /dev/null")
    say(server, settings, folder, "Stop", last_assistant_message="All that was private is out of the repository now.")
    assert drain_all(settings).left == 0
    shared = items(team[0])
    assert secret not in all_words(shared)
    assert {"Created cart.py"} <= {one.title for one in shared} and "test_cart.py" in all_words(shared)
    with contextlib.closing(open_memory(replace(settings, embedder="off"))) as own:
        assert all_words(items(own)).count(secret) >= 4


@pytest.mark.parametrize(
    ("pattern", "project", "shared"),
    [
        ("github.com/acme/*", "github.com/acme/shop-api", True),
        ("github.com/acme/*", "github.com/acme-private/diary", False),
        ("github.com/acme/shop-api", "shop-api", False),
        ("shop-api", "github.com/Acme/Shop-API", True),
        ("shop-*", "github.com/acme/shop-web", True),
        ("shop-api", "my-shop-api", False),
        ("*", None, True),
        ("shop-api", None, False),
        ("acme/*", "github.com/acme/shop-api", True),
        ("acme/*", "github.com/acme-private/diary", False),
        ("https://github.com/acme/shop-api.git", "github.com/acme/shop-api", True),
        ("acme-*", "github.com/acme-private/diary", False),
    ],
)
def test_patterns_name_projects(settings: Settings, pattern: str, project: str | None, shared: bool) -> None:
    server = TeamServer("https://memory.example/mcp", "key", settings.data_dir, shared=(pattern,))
    assert stays_here(server, settings, project) is not shared
    # What is shared by a pattern is private by the same one.
    everywhere = server._replace(shared=(EVERY_FOLDER,))
    if shared:
        assert stays_here(everywhere, replace(settings, sync_private=f"taxes, {pattern}"), project)


def test_a_short_name_is_private_if_it_may_be_a_private_project(settings: Settings) -> None:
    server = TeamServer("https://memory.example/mcp", "key", settings.data_dir)
    private = replace(settings, sync_private="github.com/me/diary")
    assert stays_here(server, private, "diary") and stays_here(server, private, "github.com/me/diary")
    assert not stays_here(server, private, "github.com/acme/diary") and not stays_here(server, private, None)


def test_a_refused_key_empties_what_it_had_brought(
    server: TeamServer, settings: Settings, team: tuple[LocalMemory, str], folder: Path
) -> None:
    remember_item(team[0], NewItem("Carts lock in the order of their ids.", type="rule", project=FOLDER_NAME))
    assert "order of their ids" in say(server, settings, folder, "SessionStart", "s1", source="startup")
    assert list((server.folder / "openings").iterdir())
    (key,) = list_keys(team[0])
    revoke_key(team[0], key.id)
    until(lambda: is_refused(server))
    started = say(server, settings, folder, "SessionStart", "s2", source="startup")
    assert "order of their ids" not in started and "refuses this person's key" in started
    assert not (server.folder / "openings").exists()
    # What is kept is what the agent was told just now.
    (kept,) = server.folder.glob("hints/*")
    assert "refuses this person's key" in kept.read_text(encoding="utf-8")
    assert "order of their ids" not in kept.read_text(encoding="utf-8")


def test_a_key_that_is_refused_when_events_are_sent_empties_it_as_well(
    server: TeamServer, settings: Settings, team: tuple[LocalMemory, str], folder: Path
) -> None:
    remember_item(team[0], NewItem("Carts lock in the order of their ids.", type="rule", project=FOLDER_NAME))
    assert "order of their ids" in say(server, settings, folder, "SessionStart", "s1", source="startup")
    (key,) = list_keys(team[0])
    revoke_key(team[0], key.id)
    until(lambda: is_refused(server))
    a_turn(server, settings, folder, "s1", "Why do carts lock?", "The sweeper freed a reservation too early.")
    assert drain_all(settings).left == 3
    assert not list(server.folder.glob("openings/*")) and not list(server.folder.glob("hints/*"))


def test_what_waits_under_an_old_key_is_sent_with_the_new_one(
    home: Path, site: Site, settings: Settings, folder: Path
) -> None:
    (home / ".claude").mkdir()
    create_space(site.memory, "moved", Limits())
    old, first = create_space_key(site.memory, "moved", "anna", "write")
    command = [COMMAND, "connect", "claude-code", "--http", f"{site.url}/mcp", "--share", FOLDER_NAME, "--key"]
    env = {**os.environ, "COMMONPLACE_DATA_DIR": str(settings.data_dir)}
    subprocess.run([*command, first], capture_output=True, check=True, env=env)
    (file,) = settings.data_dir.rglob("server.json")
    server = load_server(file.parent)
    assert server is not None and server.space == "moved"
    revoke_key(for_space(site.memory, "moved"), old.id)
    until(lambda: is_refused(server))
    a_turn(server, settings, folder, "s1", "Why do carts lock?", "The sweeper freed a reservation too early.")
    assert drain_all(settings).left == 2
    second = create_space_key(site.memory, "moved", "anna again", "write")[1]
    subprocess.run([*command, second], capture_output=True, check=True, env=env)
    assert drain_all(settings).left == 0 and len(texts(for_space(site.memory, "moved"))) == 2


@pytest.mark.parametrize("why", ["read-only key", "key for one project", "unknown key", "not encrypted"])
def test_connecting_tries_the_address_and_the_key(home: Path, site: Site, why: str) -> None:
    (home / ".claude").mkdir()
    url, key, says = f"{site.url}/mcp", site.secrets["write"], "can read the key"
    if why == "read-only key":
        key, says = site.secrets["read"], "may only read"
    elif why == "key for one project":
        key, says = create_key(site.memory, "one project", "write", project="other")[1], "only the project other"
    elif why == "unknown key":
        key, says = "sk-sekha-" + "0" * 48, "does not know this key"
    else:
        url = "http://memory.example/mcp"
    command = [COMMAND, "connect", "claude-code", "--http", url, "--key", key, "--share", "all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and says in done.stderr and "hint:" in done.stderr
    assert not list(home.rglob("server.json")) and not (home / ".claude" / "settings.json").exists()


def test_secrets_and_private_text_are_not_sent(
    server: TeamServer, settings: Settings, team: tuple[LocalMemory, str], folder: Path
) -> None:
    key = "sk-ant-api03-" + "Ab1" * 40
    a_turn(server, settings, folder, "s1", f"Use {key} for it <private>and my diary</private> please", "It is set.")
    drain_all(settings)
    assert key not in all_words(items(team[0])) and "diary" not in all_words(items(team[0])) and items(team[0])


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
    server = team_server(settings.data_dir, url, key, shared=[EVERY_FOLDER])
    save_server(server)
    a_turn(server, settings, folder, "s1", "Why do carts lock?", "The sweeper freed a reservation too early.")
    drained = drain_all(settings)
    assert drained.left == 2 and not drained.refused
    # Who waits for a server that is there, and only refuses the key, waits for nothing.
    assert ("wait for a new key" in drained.waits_because) == ("key" in why), drained.waits_because


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
    connect = ("connect", "claude-code", "--http", f"http://127.0.0.1:{port}/mcp", "--key", key)
    refused = command(*connect)
    assert refused.returncode == 10 and "cannot be reached" in refused.stderr and "--no-check" in refused.stderr
    done = command(*connect, "--share", FOLDER_NAME, "--no-check")
    assert done.returncode == 0 and "Everything else stays on this machine." in done.stderr, done
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
    waiting = command("doctor", "spool").stdout
    assert "7 events are waiting" in waiting and "No events are waiting" not in waiting
    connections = command("doctor", "connections").stdout
    assert f"Check that this machine reaches http://127.0.0.1:{port}/mcp" in connections
    assert "commonplace serve" not in connections
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
    assert "still waiting" in gone.stderr and "removes its key" in gone.stderr and not settings.exists()
    left = next(home.rglob("server.json")).parent
    assert (left / "server.json").exists() and not list(left.glob("openings/*")) and not list(left.glob("hints/*"))
    with serving(data, port):
        assert "none left" in command("drain").stdout
    assert not left.exists()


def test_the_key_is_readable_by_its_owner_only_and_removed_by_disconnecting(home: Path, site: Site) -> None:
    (home / ".claude").mkdir()
    command = [COMMAND, "connect", "claude-code", "--http", f"{site.url}/mcp", "--key", site.secrets["write"]]
    dry = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=True)
    assert site.secrets["write"] not in dry.stdout
    assert not list(home.rglob("server.json"))
    unsaid = subprocess.run(command, capture_output=True, text=True, check=False)
    assert unsaid.returncode == 2 and "Which repositories are shared" in unsaid.stderr and "--share" in unsaid.stderr
    subprocess.run([*command, "--share", "all"], capture_output=True, check=True)
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


def test_a_key_that_an_editor_has_already_shares_nothing_that_nobody_named(home: Path, site: Site) -> None:
    (home / ".claude").mkdir()

    def connect(*more: str) -> subprocess.CompletedProcess[str]:
        command = [COMMAND, "connect", "claude-code", "--http", f"{site.url}/mcp", *more]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    alone = connect("--key", site.secrets["write"], "--no-hooks")
    assert alone.returncode == 0 and "in every folder" in alone.stderr and "--project" in alone.stderr
    unsaid = connect()
    assert unsaid.returncode == 2 and "Which repositories are shared" in unsaid.stderr
    assert not list(home.rglob("server.json"))
    assert "Everything else stays on this machine." in connect("--share", FOLDER_NAME).stderr
    (file,) = home.rglob("server.json")
    named = load_server(file.parent)
    assert named is not None and named.shared == (FOLDER_NAME,) and named.key == site.secrets["write"]
    # It is tried like one that is given.
    connect("--key", site.secrets["read"], "--no-hooks")
    reader = connect("--share", FOLDER_NAME)
    assert reader.returncode == 8 and "may only read" in reader.stderr


@pytest.mark.parametrize("resident", ["off", "on"])
def test_each_command_says_whose_memory_it_is(
    server: TeamServer, settings: Settings, team: tuple[LocalMemory, str], folder: Path, resident: str
) -> None:
    remember_item(team[0], NewItem("Prices are kept in cents.", type="rule", project=FOLDER_NAME))

    def command(*arguments: str, where: Path = folder) -> subprocess.CompletedProcess[str]:
        more = {"COMMONPLACE_EMBEDDER": "off", "COMMONPLACE_RESIDENT": resident, "COMMONPLACE_HOOKS_SECONDS": "60"}
        line = [COMMAND, "--data-dir", str(settings.data_dir), *arguments]
        return subprocess.run(line, env={**os.environ, **more}, cwd=where, capture_output=True, text=True, check=False)

    try:
        asked = (
            "search review rules context list profile sessions contradictions projects overview conversations topics"
        )
        for name in (*asked.split(), "report", ""):
            said = command(*filter(None, (name, "cents" if name == "search" else "")))
            assert said.returncode == 0 and "cents" not in said.stdout, (name, said)
            assert said.stderr.count("This is the memory of this machine.") == 1, (name, said)
        elsewhere = command("list", where=settings.data_dir)
        assert "This is the memory" in elsewhere.stderr, "all folders are shared"
        save_server(server._replace(shared=(FOLDER_NAME,)))
        assert "This is the memory" not in command("list", where=settings.data_dir).stderr
        # What a session gets comes from the server.
        start = command("context", "--start")
        assert "Prices are kept in cents." in start.stdout and f"From {server.url}" in start.stderr
        assert "This is the memory" not in start.stderr
        assert "gets nothing" in command("context", "--start", where=settings.data_dir).stderr
    finally:
        command("stop")


def test_the_doctor_shares_nothing_that_nobody_named(home: Path, site: Site) -> None:
    (home / ".claude").mkdir()
    connect = [COMMAND, "connect", "claude-code", "--http", f"{site.url}/mcp", "--key", site.secrets["write"]]
    subprocess.run([*connect, "--share", FOLDER_NAME], capture_output=True, check=True)
    (file,) = home.rglob("server.json")
    shutil.rmtree(file.parent)
    # As an earlier version had left them: the doctor connects the editor again.
    settings = home / ".claude" / "settings.json"
    hooks = json.loads(settings.read_text(encoding="utf-8"))
    del hooks["hooks"]["Stop"]
    settings.write_text(json.dumps(hooks), encoding="utf-8")
    subprocess.run([COMMAND, "doctor", "hooks", "--fix"], capture_output=True, check=False)
    assert "Stop" in settings.read_text(encoding="utf-8")
    (file,) = home.rglob("server.json")
    mended = load_server(file.parent)
    assert mended is not None and mended.shared == ()


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
