"""A real session of Claude Code at the real door: its explanation, its steps and its cure are there afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.config import Settings
from commonplace.memory.local_memory import open_memory
from commonplace.memory.session_context import session_context

from .hook_runner import environment, fire
from .real_session import EXPLANATION, SESSION, commonplace, payloads, play, transcript


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    return folder


def test_the_explanation_the_steps_and_the_cure_are_remembered(settings: Settings, work: Path) -> None:
    play(settings, work)
    (found, *_) = json.loads(commonplace(settings, work, "search", '"freed a reservation"', "--json"))["results"]
    assert found["type"] == "answer" and EXPLANATION[:60] in found["title"]
    (summary,) = json.loads(commonplace(settings, work, "list", "--kind", "summary", "--json"))["items"]
    shown = commonplace(settings, work, "show", str(summary["id"]))
    assert EXPLANATION in shown

    report = json.loads(commonplace(settings, work, "report", "--json"))
    ends = [(end["what"], end["text"]) for end in report["open_ends"]]
    assert ends == [("next step", "Add a metric for lock waits"), ("next step", "Tell the mobile team")]
    assert "mobile team" in commonplace(settings, work, "search", '"mobile team"', "--json")

    (suggestion,) = json.loads(commonplace(settings, work, "predict", "deadlock detected", "--json"))["suggestions"]
    assert suggestion["title"].startswith("Fixed before: ")
    assert EXPLANATION in suggestion["summary"] and "Changed orders.py" in suggestion["summary"]

    # What the next session is told; a hook gives up on it after a second, which a busy machine may take.
    memory = open_memory(settings)
    result = session_context(memory, "shop", settings.opening_tokens)
    memory.close()
    assert "no, keep 15 minutes" not in result.partition("## Where work stopped")[2].partition("##")[0]
    assert "Tell the mobile team" in result.partition("## Left to do")[2].partition("##")[0]


def test_ingesting_the_transcript_leaves_one_hit(settings: Settings, work: Path) -> None:
    play(settings, work)
    commonplace(settings, work, "drain")
    file = work.parent / f"{SESSION}.jsonl"
    file.write_text(transcript(work), encoding="utf-8")
    for _again in range(2):
        commonplace(settings, work, "ingest", str(file))
        hits = json.loads(commonplace(settings, work, "search", '"freed a reservation"', "--json"))["results"]
        assert [hit["type"] for hit in hits if hit["type"] in ("answer", "message")] == ["message"]
    # Hooks that are drained after the transcript was read add nothing either.
    stop = next(payload for event, payload in payloads(work) if event == "Stop")
    stop = {**stop, "last_assistant_message": stop["last_assistant_message"] + "\n"}
    fire(settings, event="Stop", payload=stop, env=environment(COMMONPLACE_HOOKS_DRAIN="off"))
    commonplace(settings, work, "drain")
    hits = json.loads(commonplace(settings, work, "search", '"freed a reservation"', "--json"))["results"]
    assert [hit["type"] for hit in hits if hit["type"] in ("answer", "message")] == ["message"]


def test_a_stop_without_the_answer_finds_it_in_the_transcript(settings: Settings, work: Path) -> None:
    file = work.parent / ".claude" / "projects" / "shop" / f"{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    first_turn = transcript(work).splitlines(keepends=True)[:8]
    file.write_text("".join(first_turn), encoding="utf-8")
    for event, payload in payloads(work)[:6]:
        payload.pop("last_assistant_message", None)
        fire(settings, event=event, payload=payload, env=environment(COMMONPLACE_HOOKS_DRAIN="off"))
    (found, *_) = json.loads(commonplace(settings, work, "search", '"freed a reservation"', "--json"))["results"]
    assert found["type"] == "answer"


def test_a_session_in_which_nothing_happened_is_nowhere(settings: Settings, work: Path) -> None:
    for event, payload in payloads(work):
        if event in ("SessionStart", "SessionEnd"):
            fire(settings, event=event, payload=payload, env=environment(COMMONPLACE_HOOKS_DRAIN="off"))
    assert json.loads(commonplace(settings, work, "sessions", "--json"))["sessions"] == []
    play(settings, work, turns=1)
    assert len(json.loads(commonplace(settings, work, "sessions", "--json"))["sessions"]) == 1


def test_the_same_error_in_two_sessions_is_repeated(settings: Settings, work: Path) -> None:
    play(settings, work, turns=1)
    play(settings, work, session="0d6b1c1e-0000-4000-8000-000000000002", turns=1)
    (suggestion,) = json.loads(commonplace(settings, work, "predict", "deadlock detected", "--json"))["suggestions"]
    assert suggestion["title"].startswith("Repeated error, fixed before: ")
