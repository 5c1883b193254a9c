"""OpenCode's hooks are a plugin: a file of ours that runs our command, and takes what it prints to the model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commonplace.errors import Conflict
from commonplace.hosts.connections import plan_connection, plan_disconnection, read_connection
from commonplace.hosts.host import Locations, editor_named

from .conftest import connect, disconnect, tree, wanted

OPENCODE = editor_named("opencode")
EVENTS = ["session.created", "chat.message", "tool.execute.after", "session.idle"]
# Plays a session with the plugin, and prints what the model would be given.
PLAY = """
const { Commonplace } = await import(process.argv[2])
const hooks = await Commonplace({ directory: process.cwd() })
const sessionID = "ses_1"
const event = (type, properties) => hooks.event({ event: { type, properties } })
await event("session.created", { info: { id: sessionID } })
const parts = [{ id: "prt_0001", messageID: "msg_1", sessionID, type: "text", text: "why is it slow" }]
await hooks["chat.message"]({ sessionID }, { message: {}, parts })
const result = { title: "", output: "2 passed", metadata: { exit: 0 } }
await hooks["tool.execute.after"]({ tool: "bash", sessionID, callID: "c", args: { command: "pytest" } }, result)
await event("message.updated", { info: { id: "msg_2", sessionID, role: "assistant" } })
const part = { id: "prt_9", messageID: "msg_2", sessionID, type: "text", text: "No index." }
await event("message.part.updated", { part })
await event("session.idle", { sessionID })
await event("session.created", { info: { id: "ses_2", parentID: sessionID } })
const child = [{ id: "prt_2", messageID: "msg_3", sessionID: "ses_2", type: "text", text: "look there" }]
await hooks["chat.message"]({ sessionID: "ses_2" }, { message: {}, parts: child })
console.log(JSON.stringify({ parts, output: result.output, child: child.length }))
"""
# Stands for our command: it writes down what it is called with, and prints something at two events.
PROGRAM = """
import json, sys
event = sys.argv[-1]
with open("calls.jsonl", "a", encoding="utf-8") as file:
    file.write(json.dumps([event, json.load(sys.stdin)]) + "\\n")
if event in ("session.created", "tool.execute.after"):
    print(f"remembered at {event}")
"""


def plugin_of(places: Locations) -> Path:
    return places.home / ".config" / "opencode" / "plugins" / "commonplace.js"


def test_the_plugin_comes_and_goes_with_the_connection(places: Locations) -> None:
    before = tree(places.home)
    assert connect(OPENCODE, places).state == "connected"
    there = read_connection(OPENCODE, places)
    assert there is not None and [hook.event for hook in there.hooks] == EVENTS
    assert all(hook.command.startswith("/opt/tools/commonplace hook opencode ") for hook in there.hooks)
    assert plan_connection(OPENCODE, places, wanted()).state == "already connected"
    plugin = plugin_of(places)
    plugin.write_text(plugin.read_text(encoding="utf-8").replace("/opt/tools", "/old"), encoding="utf-8")
    assert connect(OPENCODE, places).state == "updated" and "/old" not in plugin.read_text(encoding="utf-8")
    assert disconnect(OPENCODE, places).state == "disconnected"
    assert tree(places.home) == before and not plugin.parent.exists()


def test_a_plugin_of_somebody_else_stays(places: Locations) -> None:
    plugin = plugin_of(places)
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const Mine = async () => ({})\n", encoding="utf-8")
    with pytest.raises(Conflict, match="not a file of ours"):
        plan_connection(OPENCODE, places, wanted())
    assert plan_disconnection(OPENCODE, places).state == "not connected"
    connect(OPENCODE, places, force=True)
    assert read_connection(OPENCODE, places) is not None


@pytest.mark.skipif(shutil.which("node") is None or sys.platform == "win32", reason="needs Node.js and a POSIX shell")
def test_a_session_is_told_and_shown_what_is_remembered(tmp_path: Path, places: Locations) -> None:
    program = tmp_path / "commonplace"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}", encoding="utf-8")
    program.chmod(0o755)
    connect(OPENCODE, places, wanted()._replace(hook_program=(str(program),)))
    # Node takes a file without a package.json for a script of the older kind.
    plugin = shutil.copy(plugin_of(places), tmp_path / "commonplace.mjs")
    play = tmp_path / "play.mjs"
    play.write_text(PLAY, encoding="utf-8")
    command = ["node", str(play), str(plugin)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    seen: dict[str, Any] = json.loads(done.stdout)
    shown = seen["parts"][1]
    assert shown["synthetic"] and shown["id"] > "prt_0001" and shown["messageID"] == "msg_1"
    assert shown["text"] == "<commonplace-memory>\nremembered at session.created\n</commonplace-memory>"
    assert seen["output"] == "2 passed\n\n<commonplace-memory>\nremembered at tool.execute.after\n</commonplace-memory>"
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text(encoding="utf-8").splitlines()]
    # What a sub-agent does is part of the session that started it.
    assert [event for event, _payload in calls] == EVENTS and seen["child"] == 1
    by_event = dict(calls)
    assert {payload["session_id"] for payload in by_event.values()} == {"ses_1"}
    assert by_event["session.created"]["source"] == "startup"
    assert by_event["chat.message"]["prompt"] == "why is it slow"
    assert by_event["tool.execute.after"]["tool_response"] == {"output": "2 passed", "exit_code": 0}
    assert by_event["session.idle"]["last_assistant_message"] == "No index."
