"""A package from outside adds a host, an import format and an embedder, and a broken one breaks only itself.

The package is the one of docs/reference/add-a-host.md, put on the path of the real command with the metadata of an
installed one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "reference" / "add-a-host.md").read_text(encoding="utf-8")
COMMAND = str(Path(sys.executable).with_name("commonplace"))
SECONDS = 120


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def install(folder: Path, name: str, code: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Leave a package as `pip install` does: its module and its metadata."""
    module = name.replace("-", "_")
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = []
    for group, names in entry_points.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in names.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


class Machine:
    """A home with Commonplace and the packages that are installed next to it."""

    def __init__(self, tmp_path: Path) -> None:
        self.home, self.packages, self.project = tmp_path / "home", tmp_path / "packages", tmp_path / "work"
        for folder in (self.home, self.packages, self.project / ".git"):
            folder.mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")

    def run(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("COMMONPLACE_")},
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "COMMONPLACE_DATA_DIR": str(self.home / "data"),
            "COMMONPLACE_EMBEDDER": "off",
            "COMMONPLACE_HOOKS_DRAIN": "off",
            "COMMONPLACE_HOOKS_SECONDS": "60",
            "PYTHONPATH": os.pathsep.join([str(self.packages), str(ROOT / "src")]),
            "NO_COLOR": "1",
            **env,
        }
        return subprocess.run(
            [COMMAND, *arguments],
            cwd=self.project,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def json(self, *arguments: str, **env: str) -> Any:
        done = self.run(*arguments, "--json", **env)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    entry_points = tomllib.loads(blocks("toml")[0])["project"]["entry-points"]
    install(made.packages, "acme-commonplace", "\n".join(blocks("python")), entry_points)
    return made


def test_a_host_of_a_package_is_connected_and_disconnected(machine: Machine) -> None:
    (machine.home / ".acme").mkdir()
    # It is found like our own, because it is installed.
    connected = machine.json("connect")["hosts"]
    assert [(host["host"], host["state"], host["hooks"]) for host in connected] == [
        ("acme", "connected", ["Opened", "Asked", "ToolRan", "Answered"])
    ]
    settings = json.loads((machine.home / ".acme" / "settings.json").read_text(encoding="utf-8"))
    assert settings["mcpServers"]["commonplace"]["args"][-3:] == ["mcp", "--profile", "core"]
    assert settings["hooks"]["Asked"][0]["command"].endswith(" acme Asked")
    assert machine.json("connect", "acme")["hosts"][0]["state"] == "already connected"
    assert machine.json("disconnect", "acme")["hosts"][0]["state"] == "disconnected"
    assert not (machine.home / ".acme" / "settings.json").exists()


def test_rule_files_of_its_host_are_written_and_learned(machine: Machine) -> None:
    machine.run("add", "Use pnpm, never npm", "--type", "rule")
    (machine.project / ".acme").mkdir()
    assert machine.json("generate")["targets"] == ["acme"]
    assert "Use pnpm, never npm" in (machine.project / "ACME.md").read_text(encoding="utf-8")
    (machine.project / "ACME.md").write_text("- Tabs, not spaces\n", encoding="utf-8")
    assert [file["target"] for file in machine.json("learn")["files"]] == ["acme"]
    assert machine.json("generate", "acme", "--dry-run")["targets"] == ["acme"]


def test_its_hooks_are_captured_and_answered(machine: Machine) -> None:
    machine.run("add", "The release is cut on Fridays", "--type", "decision")
    payload = {"cwd": str(machine.project), "session_id": "s1"}
    # On a busy machine the first session may start without its text; it is ready for the next one when it was drained.
    machine.run("hook", "acme", "Opened", stdin=json.dumps(payload))
    machine.run("drain")
    opened = machine.run("hook", "acme", "Opened", stdin=json.dumps(payload))
    assert opened.stdout.startswith("Remembered:\n") and "Fridays" in opened.stdout
    for event, more in (
        ("Asked", {"question": "Why does the login fail after an hour?"}),
        ("ToolRan", {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "output": {"exit_code": 1}}),
        ("Answered", {"answer": "The token expired: it lives for an hour, and nothing renewed it."}),
    ):
        done = machine.run("hook", "acme", event, stdin=json.dumps({**payload, **more}))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    drained = machine.run("drain")
    assert drained.returncode == 0, drained.stderr
    found = machine.json("search", "login fails after an hour")
    assert any("token expired" in json.dumps(hit) or "login" in json.dumps(hit) for hit in found["results"])


def test_its_sessions_are_ingested(machine: Machine) -> None:
    session = machine.home / ".acme" / "sessions" / "one.jsonl"
    session.parent.mkdir(parents=True)
    records: list[dict[str, Any]] = [
        {"acme_session": "s-9", "folder": str(machine.project)},
        {"role": "user", "text": "Which port does the gateway use?", "time_ms": 1_742_049_000_000},
        {"role": "assistant", "text": "The gateway listens on port 8443.", "time_ms": 1_742_049_001_000},
    ]
    session.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert machine.json("ingest")["by_source"] == {"acme": 1}
    with session.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"role": "user", "text": "And the proxy?", "time_ms": 1_742_049_002_000}) + "\n")
    assert machine.json("ingest", str(session))["messages"]["added"] == 1
    assert machine.json("sessions", "--source", "acme")["sessions"][0]["message_count"] == 3


def test_its_format_is_imported_by_name_and_recognised(machine: Machine) -> None:
    chats = [{"id": 1, "title": "Ports", "lines": [["user", "Which port?"], ["assistant", "8443."]]}]
    file = machine.project / "export.json"
    file.write_text(json.dumps({"acme_chats": [*chats, {"id": 2, "title": "Empty", "lines": []}]}), encoding="utf-8")
    imported = machine.json("import", str(file), "--format", "acme-chat")
    assert imported["conversations"]["added"] == 1 and imported["messages"]["added"] == 2
    assert "no messages" in json.dumps(imported)
    assert machine.json("import", str(file))["conversations"]["known"] == 1


def test_a_format_that_raises_while_it_reads_loses_nothing(machine: Machine) -> None:
    chat = {"id": 1, "title": "Ports", "lines": [["user", "Which port?"], ["assistant", "8443."]]}
    file, other = machine.project / "broken.json", machine.project / "sound.json"
    file.write_text(json.dumps({"acme_chats": [chat, {"id": 2, "title": "No lines"}]}), encoding="utf-8")
    other.write_text(json.dumps({"acme_chats": [{**chat, "id": 3, "title": "Hosts"}]}), encoding="utf-8")
    done = machine.run("import", str(file), str(other), "--format", "acme-chat", "--json")
    report = json.loads(done.stdout)
    # What was read before it, and the next file, are there; what was not read is named, with why.
    assert report["conversations"]["added"] == 2 and report["messages"]["added"] == 4
    (skipped,) = report["examples"]
    assert skipped["what"].endswith("broken.json")
    assert skipped["why"] == "The plugin acme-chat cannot read it: KeyError: 'lines'"
    assert "Traceback" not in done.stdout + done.stderr
    file.write_text(json.dumps({"acme_chats": [chat, {**chat, "id": 2, "title": "Lines"}]}), encoding="utf-8")
    again = machine.json("import", str(file), "--format", "acme-chat")
    assert (again["conversations"]["known"], again["conversations"]["added"]) == (1, 1)


def test_its_embedder_makes_the_vectors(machine: Machine) -> None:
    machine.run("add", "The gateway listens on port 8443", COMMONPLACE_EMBEDDER="acme-model")
    machine.json("search", "gateway", COMMONPLACE_EMBEDDER="acme-model")
    status = machine.json("status", COMMONPLACE_EMBEDDER="acme-model")
    assert "acme-letters-1" in json.dumps(status)
    models = {one["embedder"]: one for one in machine.json("models", "--measure")["models"]}
    assert models["acme-model"]["name"] == "acme-letters-1" and models["acme-model"]["dimension"] == 26
    unknown = machine.run("status", COMMONPLACE_EMBEDDER="acme-modell")
    assert unknown.returncode != 0 and "Setting embedder is 'acme-modell'" in unknown.stderr


def test_a_broken_package_is_named_and_breaks_nothing_else(machine: Machine) -> None:
    groups = {
        "commonplace.hosts": {"broken": "broken_commonplace:HOST"},
        "commonplace.importers": {"broken": "broken_commonplace:FORMAT"},
        "commonplace.embedders": {"broken": "broken_commonplace:make"},
    }
    install(machine.packages, "broken-commonplace", "raise RuntimeError('an old API')\n", groups)
    install(machine.packages, "odd-commonplace", "HOST = 7\n", {"commonplace.hosts": {"odd": "odd_commonplace:HOST"}})
    named = machine.run("connect", "broken")
    assert named.returncode != 0
    assert "plugin broken of the package broken-commonplace 1.0" in named.stderr and "an old API" in named.stderr
    hook = machine.run("hook", "broken", "Stop", stdin="{}")
    assert (hook.returncode, hook.stdout) == (0, "") and "unknown-host" in hook.stderr
    (machine.home / ".acme").mkdir()
    (machine.home / ".zed").mkdir()
    assert [host["host"] for host in machine.json("connect", "acme", "zed")["hosts"]] == ["zed", "acme"]
    findings = json.loads(machine.run("doctor", "versions", "--json").stdout)["findings"]
    plugins = {finding["what"]: finding for finding in findings if finding["what"].startswith("plugin ")}
    assert {what: finding["state"] for what, finding in plugins.items() if "acme" in what} == {
        "plugin acme": "ok",
        "plugin acme-chat": "ok",
        "plugin acme-model": "ok",
    }
    assert plugins["plugin broken"]["state"] == plugins["plugin odd"]["state"] == "failure"
    assert "odd-commonplace 1.0" in plugins["plugin odd"]["sentence"]


def test_our_own_names_cannot_be_taken_over(machine: Machine) -> None:
    code = "\n".join(blocks("python")).replace('name="acme",\n    title', 'name="cursor",\n    title')
    install(machine.packages, "taken-over", code, {"commonplace.hosts": {"cursor": "taken_over:HOST"}})
    machine.json("connect", "cursor")
    assert (machine.home / ".cursor" / "mcp.json").exists() and not (machine.home / ".acme").exists()


@pytest.mark.parametrize("code", ["import sys; sys.exit(3)", "raise BaseException('no')"])
def test_a_package_that_ends_the_program_breaks_only_itself(tmp_path: Path, code: str) -> None:
    machine = Machine(tmp_path)
    points = {"commonplace.embedders": {"ending": "ending:embedder"}}
    install(machine.packages, "ending", f"{code}\n", points)
    done = machine.run("status", "--json", COMMONPLACE_EMBEDDER="ending")
    assert "ending" in done.stderr + done.stdout and "Traceback" not in done.stderr


# By print, by the descriptor, and by a child.
PRINTS = """
import os, subprocess, sys
print("printed")
os.write(1, b"raw")
subprocess.run([sys.executable, "-c", "print('child')"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a server speaks its protocol on the same descriptor there")
def test_what_a_package_prints_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    blocks_and_prints = PRINTS + "\n".join(blocks("python"))
    points = tomllib.loads(blocks("toml")[0])["project"]["entry-points"]
    install(machine.packages, "acme-commonplace", blocks_and_prints, points)
    added = machine.run("add", "The release is cut on Fridays", "--json", COMMONPLACE_EMBEDDER="acme-model")
    assert json.loads(added.stdout)
    assert all(text in added.stderr for text in ("printed", "raw", "child"))
    machine.json("doctor", "versions")
    payload = {"cwd": str(machine.project), "session_id": "s1", "question": "Why does the login fail after an hour?"}
    assert machine.run("hook", "acme", "Asked", stdin=json.dumps(payload)).stdout == ""


def test_a_package_that_hangs_is_given_up(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    groups = {group: {"hanging": "hanging:thing"} for group in ("commonplace.hosts", "commonplace.embedders")}
    install(machine.packages, "hanging", "import threading\nthreading.Event().wait()\n", groups)
    given_up = {"COMMONPLACE_PLUGIN_SECONDS": "0.2"}
    named = machine.run("connect", "hanging", **given_up)
    assert named.returncode != 0 and "hanging 1.0 cannot be used: loading it took longer" in named.stderr
    hook = machine.run("hook", "hanging", "Stop", stdin="{}", **given_up)
    assert (hook.returncode, hook.stdout) == (0, "") and "unknown-host" in hook.stderr
    findings = json.loads(machine.run("doctor", "versions", "--json", **given_up).stdout)["findings"]
    assert {one["state"] for one in findings if one["what"] == "plugin hanging"} == {"failure"}
    search = machine.run("search", "anything", COMMONPLACE_EMBEDDER="hanging", **given_up)
    assert "hanging 1.0 cannot be used" in search.stderr
