"""Real coding agents, each with a scripted stand-in for its model, at work over several sessions with our memory.

An agent is connected, works, and is disconnected, on a SQLite file and against a team's server. What hooks showed is
looked for in what the model was given, what hooks and transcripts captured in the memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.mcp.conftest import Served
from tests.polling import until

from commonplace import Memory
from commonplace.capture.hooks.team_hints import HINTS_PATH
from commonplace.http_client import HttpClient
from judges.agent_drivers import AGENTS, MODEL_URL, Agent
from judges.installed import node, version
from judges.report import Finding, Report
from judges.scripted_model import Call, Given, Say, ScriptedModel, Step, scripted_model
from judges.served import UNLIMITED

PROJECT = "shop"
SESSION_SECONDS, COMMAND_SECONDS, BACKGROUND_SECONDS = 900, 300, 300
# What a session starts with at most, in bytes.
LONGEST_START = 2_600
# A decision that every session starts with, a fact that only a prompt needs, a rule that concerns one file.
DECISION = "Prices are kept in cents and never as floating point numbers."
FACT = "A reservation in a cart expires after 15 minutes, then the sweeper frees it."
RULE = "Locks of orders are taken in one place, with a comment that says why."
# What the agent says at the end of the first session.
CAUSE = "The deadlock came from two carts that locked the same rows in opposite order, so each waited for the other."
OPEN_STEP = "Tell the mobile team about the new order of locks"
ANSWER = f"{CAUSE} Rows are now locked in ascending order.\n\nNext steps:\n- {OPEN_STEP}\n"
QUESTION = "How long does a reservation in a cart last until the sweeper frees it?"
FIXED_FILE, FIXED_CONTENT = "orders.py", "def lock(rows):\n    return sorted(rows)\n"
TEST_COMMAND = "sh run-tests.sh"
TEST_SCRIPT = """if grep -q sorted orders.py 2>/dev/null; then
  echo "2 passed in 0.01s"
else
  echo "FAILED test_orders.py::test_two_carts - psycopg.errors.DeadlockDetected: deadlock detected"
  echo "1 failed, 1 passed in 0.01s"
  exit 1
fi
"""


@dataclass(slots=True)
class Trial:
    """One agent with one memory: its home, the folder in which it works, and what was checked."""

    agent: Agent
    where: str
    folder: Path
    model: ScriptedModel
    # The address and the key of a team's server; empty for a memory on this machine.
    url: str = ""
    key: str = ""
    checks: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "work" / PROJECT

    def check(self, name: str, holds: object, detail: str = "") -> None:
        self.checks += 1
        if not holds:
            self.findings.append(Finding(f"{self.agent.name} {self.where}", name, detail[-2000:] or "It is not so."))

    def check_eventually(self, name: str, holds: Callable[[], object]) -> None:
        """What is done in the background is waited for."""
        try:
            until(holds, BACKGROUND_SECONDS)
            found: object = True
        except AssertionError:
            found = False
        self.check(name, found)

    def environment(self) -> dict[str, str]:
        """Nothing but the home, a way to programs, and no way to the network."""
        saved = {name: os.environ[name] for name in ("SYSTEMROOT", "LANG") if name in os.environ}
        own = {name: value.replace(MODEL_URL, self.model.url) for name, value in self.agent.environment.items()}
        nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
        local = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        return {
            **saved, **own, **nowhere, **local, "PATH": os.pathsep.join((str(node().parent), os.environ["PATH"])),
            "HOME": str(self.home), "USERPROFILE": str(self.home), "XDG_DATA_HOME": str(self.home / "data"),
            "NO_COLOR": "1",
            "COMMONPLACE_DATA_DIR": str(self.home / "memory"), "COMMONPLACE_HOOKS_SECONDS": "30",
        }  # fmt: skip

    def commonplace(self, *arguments: str) -> str:
        """Run a command of ours as the person at this machine does."""
        done = subprocess.run(
            [sys.executable, "-m", "commonplace", *arguments], cwd=self.work, env=self.environment(), check=False,
            capture_output=True, text=True, encoding="utf-8", timeout=COMMAND_SECONDS,
        )  # fmt: skip
        self.check(f"commonplace {arguments[0]}", done.returncode == 0, done.stdout + done.stderr)
        return done.stdout

    def session(self, name: str, prompt: str, *steps: Step) -> list[Given]:
        """Run the agent with a prompt; what its model was given at each request."""
        self.model.play(steps)
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                self.agent.command(prompt), cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=SESSION_SECONDS,
                check=False,
            )  # fmt: skip
            self.check(f"{name}: runs", done.returncode == 0, done.stdout + done.stderr)
            self.check(f"{name}: plays the whole script", not self.model.steps, done.stdout + done.stderr)
            given = self.model.given()
            return [*given, *[Given("", "")] * (len(steps) - len(given))]
        self.check(f"{name}: ends", holds=False, detail=f"It still ran after {SESSION_SECONDS} s.")
        return [Given("", "")] * len(steps)

    def shows(self, moment: str) -> bool:
        """Whether the model is shown memories at this moment."""
        return moment in self.agent.moments

    @contextlib.contextmanager
    def memory(self) -> Iterator[Memory]:
        """The memory that it is connected to."""
        where = (self.url, {"key": self.key}) if self.url else (self.home / "memory", {})
        with Memory(where[0], **where[1]) as opened:
            yield opened


def judge(name: str, folder: Path) -> Report:
    """Try an agent, in each way in which it calls tools, with both memories."""
    checks, findings = 0, list[Finding]()
    agents = [agent for agent in AGENTS if agent.host == name]
    for agent in agents:
        with scripted_model() as model:
            trials = [_on_sqlite(agent, folder / agent.name / "sqlite", model)]
            trials.append(_on_team_server(agent, folder / agent.name / "team", model))
        for trial in trials:
            checks += trial.checks
            findings += trial.findings
    return Report(name, version(agents[0].package), checks, tuple(findings))


JUDGES = {agent.host: partial(judge, agent.host) for agent in AGENTS}


def _on_sqlite(agent: Agent, folder: Path, model: ScriptedModel) -> Trial:
    trial = Trial(agent, "on SQLite", folder, model)
    try:
        _try(trial, "connect", agent.host)
    finally:
        trial.commonplace("stop")
    return trial


def _on_team_server(agent: Agent, folder: Path, model: ScriptedModel) -> Trial:
    (folder / "server").mkdir(parents=True)
    server = Served(folder / "server", "--port", "0", COMMONPLACE_EMBEDDER="builtin", **UNLIMITED)
    trial = Trial(agent, "with a team's server", folder, model, server.url, server.key)
    try:
        _try(trial, "connect", agent.host, "--http", server.url, "--key", server.key)
        with Memory(trial.home / "memory") as local:
            trial.check("nothing is captured on this machine", not local.list().items)
    finally:
        trial.commonplace("stop")
        server.end()
    return trial


def _try(trial: Trial, *connect: str) -> None:
    _settle_in(trial)
    before = _own_files(trial)
    trial.commonplace(*connect)
    connected = _own_files(trial)
    with trial.memory() as memory:
        memory.remember(DECISION, type="decision", project=PROJECT)
        memory.remember(FACT, type="fact", project=PROJECT)
    _fix_a_bug(trial)
    _remember_it(trial)
    _trivia(trial)
    if trial.agent.transcripts and not trial.url:
        _transcripts(trial)
    trial.commonplace("doctor")
    untouched = {path for path, content in _own_files(trial).items() if connected.get(path) == content}
    trial.commonplace("disconnect", trial.agent.host)
    after = _own_files(trial)
    for path, content in before.items():
        trial.check(f"disconnect: {path} is as it was", path not in untouched or after.get(path) == content)
        trial.check(f"disconnect: nothing of ours is in {path}", b"commonplace" not in after.get(path, b""))
    given = trial.session("disconnected", "How long does a reservation in a cart last?", Say("I do not know."))
    trial.check("disconnected: the model is told nothing of ours", "ommonplace" not in given[0].text, given[0].text)


def _settle_in(trial: Trial) -> None:
    trial.work.mkdir(parents=True)
    (trial.work / ".git").mkdir()
    (trial.work / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    (trial.work / "run-tests.sh").write_text(TEST_SCRIPT, encoding="ascii")
    for path, content in trial.agent.own_files.items():
        file = trial.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content.replace(MODEL_URL, trial.model.url), encoding="utf-8")


def _own_files(trial: Trial) -> dict[str, bytes]:
    return {path: (trial.home / path).read_bytes() for path in trial.agent.own_files if (trial.home / path).is_file()}


def _fix_a_bug(trial: Trial) -> None:
    """The first session: a test fails, a file is written, the test passes, and the agent explains it."""
    agent, fixed = trial.agent, str(trial.work / FIXED_FILE)
    steps = (agent.run(TEST_COMMAND), agent.write(fixed, FIXED_CONTENT), agent.run(TEST_COMMAND), Say(ANSWER))
    given = trial.session("first", "The tests of orders fail with a deadlock. Find out why, and fix it.", *steps)
    if trial.shows("start"):
        trial.check("first: the start shows a decision", DECISION in given[0].text, given[0].text)
        trial.check("first: the start shows it once", given[0].text.count(DECISION) == 1)
    trial.check("first: the failure reaches the model", "DeadlockDetected" in given[1].new, given[1].new)
    trial.check("first: the model saw the test pass", "2 passed" in given[3].new, given[3].new)
    if agent.moments:
        trial.check_eventually("first: the explanation is captured", lambda: _finds(trial, "opposite order"))
        trial.check_eventually("first: the file is captured", lambda: _finds(trial, FIXED_FILE))


def _remember_it(trial: Trial) -> None:
    """The second: a question that the memory answers, the same failure, a tool that recalls, a file with a rule."""
    agent = trial.agent
    fixed = trial.work / FIXED_FILE
    fixed.unlink(missing_ok=True)

    def write() -> Call:
        """Somebody adds a rule in another window before the file is written."""
        with trial.memory() as memory:
            memory.remember(RULE, type="rule", project=PROJECT, paths=[FIXED_FILE])
        return agent.write(str(fixed), FIXED_CONTENT)

    question = "how did the deadlock of the orders come about" if agent.moments else "how long is a cart reserved"
    steps = (agent.run(TEST_COMMAND), agent.recall(question), write, Say("It expires after 15 minutes."))
    with _another_window(trial):
        given = trial.session("second", QUESTION, *steps)
    if trial.shows("start"):
        started = _context(given[0].text)
        trial.check("second: the start shows the open step", OPEN_STEP in started, started)
        trial.check("second: the start has at most 2.5 kB", len(started.encode()) <= LONGEST_START, started)
    if trial.shows("prompt"):
        trial.check("second: the prompt shows the fact", FACT in given[0].text, given[0].text)
        trial.check("second: it is shown once", given[1].text.count(FACT) == 1, given[1].text)
    trial.check("second: the same failure again", "DeadlockDetected" in given[1].new, given[1].new)
    if trial.shows("failure"):
        result = given[1].new
        trial.check("second: the failure shows what helped", "Fixed before" in result and FIXED_FILE in result, result)
    known = "opposite order" if agent.moments else "reservation in a cart"
    trial.check("second: recall answers", known in given[2].new, given[2].new)
    if trial.shows("tool"):
        trial.check("second: the file shows its rule", RULE in given[3].new, given[3].new)


@contextlib.contextmanager
def _another_window(trial: Trial) -> Iterator[None]:
    """Another editor is open for a while, so that the resident process has loaded its model; a script is too quick.

    With a team's server, the model is loaded there by the first prompt that asks for something.
    """
    if trial.url and trial.shows("prompt"):
        trial.check_eventually("second: the server is warm", lambda: _is_warm(trial))
    if trial.url or not trial.shows("prompt"):
        yield
        return
    command = [sys.executable, "-m", "commonplace", "mcp"]
    window = subprocess.Popen(
        command, cwd=trial.work, env=trial.environment(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    resident = trial.home / "memory" / "resident"
    trial.check_eventually("second: the resident process is warm", lambda: list(resident.glob("*.replies")))
    try:
        yield
    finally:
        window.communicate(timeout=COMMAND_SECONDS)


def _trivia(trial: Trial) -> None:
    """The third session: nothing was asked, so nothing is shown at the prompt."""
    given = trial.session("third", "thanks, go on", Say("You are welcome."))
    trial.check("third: trivia show nothing", "perhaps of use here" not in given[0].text, given[0].text)


def _transcripts(trial: Trial) -> None:
    """The sessions on disk become conversations, but for the third, in which nothing happened.

    Nothing is there twice, and nothing recalled is stored.
    """
    trial.commonplace("ingest")
    found = json.loads(trial.commonplace("conversations", "--json"))["conversations"]
    trial.check("transcripts: one conversation for each session", len(found) == 2, json.dumps(found))
    hits = json.loads(trial.commonplace("search", '"opposite order"', "--json"))["results"]
    texts = [hit for hit in hits if hit["type"] in ("answer", "message")]
    trial.check("transcripts: the explanation is one hit", len(texts) == 1, json.dumps(hits))
    hits = json.loads(trial.commonplace("search", '"floating point numbers"', "--json"))["results"]
    trial.check("transcripts: what was shown is not stored again", len(hits) == 1, json.dumps(hits))


def _is_warm(trial: Trial) -> bool:
    """Whether the team's server shows the fact at a prompt of another session."""
    event = {
        "host": "claude-code", "kind": "prompt", "id": "is-it-warm", "session": "claude-code:another", "at_ms": 1,
        "text": QUESTION, "folder": {"path": str(trial.work), "project": PROJECT},
    }  # fmt: skip
    client = HttpClient(trial.url, trial.key)
    try:
        return FACT in str(client.request("POST", HINTS_PATH, {"moment": "prompt", "event": event})["text"])
    finally:
        client.close()


def _finds(trial: Trial, words: str) -> bool:
    with trial.memory() as memory:
        return any(True for _hit in memory.search(f'"{words}"', project=PROJECT))


def _context(given: str) -> str:
    """What the session started with, out of all that the model was given."""
    return given[given.find("# Commonplace: ") :].partition("\n\n\n")[0]
