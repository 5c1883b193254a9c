"""Every command, as people and as programs see it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.capture.hooks.hook_runner import put

from commonplace.config import Settings
from commonplace.fast.drain_process import DrainLock

from .conftest import Run


def test_add_tells_what_was_remembered_and_where(run: Run) -> None:
    done = run("add", "We use PostgreSQL 16", "--type", "decision", "--project", "my-api")
    assert done.code == 0 and done.err == ""
    assert done.out.startswith("Remembered memory 1 (") and done.out.endswith(") in my-api\n")
    again = run("add", "We use PostgreSQL 16", "--type", "decision", "--project", "my-api")
    assert again.out.startswith("Already known: memory 1 (")


def test_add_answers_programs_with_every_spelling_of_the_id(run: Run) -> None:
    data = run("add", "Tabs are four spaces", "--type", "rule", "--global", "--json").data
    assert data == {
        "id": 1,
        "uid": data["uid"],
        "short_id": data["uid"][-12:],
        "duplicate": False,
        "project": None,
        "kind": "memory",
        "type": "rule",
        "contradicts": [],
    }
    for spelling in ("1", "#1", data["uid"], data["short_id"]):
        assert run("show", spelling, "--json").data["items"][0]["id"] == 1


def test_add_keeps_every_field(run: Run, folder: Path) -> None:
    added = run(
        *("add", "All of it", "--kind", "observation", "--type", "file-write", "--title", "Modified auth.py"),
        *("--subtitle", "edit", "--narrative", "Checks tokens", "--facts", "1,000 rows", "--facts", "two"),
        *(
            "--concepts",
            "security,api",
            "--concepts",
            "tokens",
            "--files-read",
            "a.py",
            "--files-modified",
            "b.py,c.py",
        ),
        *("--tag", "x", "--tag", "y", "--session", "s1", "--importance", "7.5", "--at", "2025-03-15T14:30:00Z"),
        *("--project", "git@github.com:acme/my-api.git", "--json"),
    )
    assert added.code == 0, added
    item = run("show", "1", "--json").data["items"][0]
    wanted = {
        "content": "All of it",
        "title": "Modified auth.py",
        "subtitle": "edit",
        "narrative": "Checks tokens",
        "facts": "1,000 rows, two",
        "concepts": "security, api, tokens",
        "files_read": "a.py",
        "files_modified": "b.py, c.py",
        "tags": ["x", "y"],
        "session": "s1",
        "importance": 7.5,
        "created_at": "2025-03-15T14:30:00.000Z",
        "created_at_epoch": 1_742_049_000_000,
        "project": "github.com/acme/my-api",
        "metadata": {"root": str(folder)},
    }
    assert {name: item[name] for name in wanted} == wanted


def test_add_reads_a_pipe(run: Run, spawn: Run) -> None:
    assert run("add", "-", stdin="From a pipe: naïve café\n").code == 0
    assert spawn("add", stdin="\ufeffWithout a dash\r\n").code == 0
    assert run("show", "1", "2", "--json").data["items"][0]["content"] == "From a pipe: naïve café"
    assert run("show", "2", "--json").data["items"][0]["content"] == "Without a dash"


def test_add_with_a_title_does_not_wait_for_a_pipe(run: Run) -> None:
    assert run("add", "--title", "Only a title", stdin="unread").code == 0
    assert run("show", "1", "--json").data["items"][0]["content"] == ""


def test_add_takes_the_project_of_the_folder(run: Run, folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(
        ["git", "-C", str(folder), "remote", "add", "origin", "https://github.com/acme/shop.git"], check=True
    )
    assert run("add", "Here", "--json").data["project"] == "github.com/acme/shop"
    assert run("add", "Everywhere", "--global", "--json").data["project"] is None
    assert "Here" in run("context").out
    assert run("context", "--json").data["project"] == "github.com/acme/shop"


def test_a_changed_file_makes_an_observation_stale(run: Run, folder: Path) -> None:
    (folder / "a.py").write_text("x", encoding="utf-8")
    run("add", "Old", "--kind", "observation", "--files-modified", "a.py", "--at", "2020-01-01")
    run("add", "New", "--kind", "observation", "--files-modified", "a.py", "--at", "2999-01-01")
    assert [item["is_stale"] for item in run("list", "--json").data["items"]] == [False, True]


def test_secrets_are_blacked_out(run: Run) -> None:
    key = "sk-ant-api03-" + "Ab3dEf9h" * 11
    run("add", f"The key is {key}")
    assert key not in run("show", "1", "--json").out


def test_search_shows_a_table(run: Run, story: list[int]) -> None:
    done = run("search", "authentication", "tokens")
    assert done.code == 0
    header, *rows = done.out.splitlines()
    assert header.split("\t") == ["id", "type", "title", "project", "when", "relevance"]
    assert {row.split("\t")[0] for row in rows} >= {"1", "2"}
    assert "keywords only" in done.err


def test_search_answers_programs(run: Run, story: list[int]) -> None:
    data = run("search", "middleware", "--json").data
    fields = {"results", "total", "by_meaning", "waiting_for_vectors", "note"}
    assert set(data) == fields and data["by_meaning"] is False
    (hit,) = data["results"]
    shown = "id uid short_id kind type title content project created_at created_at_epoch relevance semantic lexical"
    assert set(hit) == {*shown.split(), "is_stale", "author", "origin"}
    assert (hit["id"], hit["content"]) == (2, "Added a middleware that checks tokens")
    assert 0 < hit["relevance"] <= 1


def test_search_can_be_narrowed(run: Run, story: list[int]) -> None:
    run("add", "Authentication of another service", "--project", "other")
    assert len(run("search", "authentication", "--json").data["results"]) >= 3
    assert [h["id"] for h in run("search", "authentication", "--project", "other", "--json").data["results"]] == [7]
    assert [h["id"] for h in run("search", "request", "--global", "--json").data["results"]] == [6]
    kinds = run("search", "authentication", "--kind", "summary", "--json").data["results"]
    assert [hit["kind"] for hit in kinds] == ["summary"]
    types = run("search", "authentication", "--type", "decision", "--json").data["results"]
    assert [hit["type"] for hit in types] == ["decision"]
    assert len(run("search", "authentication", "--limit", "1", "--json").data["results"]) == 1


def test_search_and_list_keep_to_a_stretch_of_time_and_a_tag(run: Run) -> None:
    run("add", "The ferry left at nine", "--at", "2020-09-13T12:00", "--tag", "harbour")
    run("add", "The ferry left at ten", "--tag", "timetable")
    for request, name in ((("search", "ferry left"), "results"), (("list",), "items")):
        for narrowed, expected in ((("--since", "7d"), 2), (("--until", "2020-09-13"), 1), (("--tag", "time"), 2)):
            (found,) = run(*request, *narrowed, "--json").data[name]
            assert found["id"] == expected, (request, narrowed)
    assert "is not a time" in run("search", "ferry", "--since", "someday").err


def test_search_understands_operators(run: Run, story: list[int]) -> None:
    assert [
        h["id"] for h in run("search", "title:auth* AND concepts:security NOT oauth", "--json").data["results"]
    ] == [2]
    assert [h["id"] for h in run("search", '"47 passed"', "--json").data["results"]] == [3]
    assert [h["id"] for h in run("search", "-", "--json", stdin="concepts:security").data["results"]] == [2]


def test_nothing_found_is_not_an_error(run: Run) -> None:
    done = run("search", "xylophone")
    assert (done.code, done.out) == (0, "") and "Nothing was found." in done.err
    assert run("search", "xylophone", "--json").data["results"] == []


def test_context_reads_like_a_page(run: Run, story: list[int]) -> None:
    done = run("context", "my-api")
    assert done.code == 0
    assert done.out.startswith("# What to know about my-api\n")
    for part in (
        "## Use JWT for API authentication",
        "## Session: Add authentication",
        "## Where it stopped: Rate limiting",
    ):
        assert part in done.out


def test_context_answers_programs_as_agents(run: Run, story: list[int]) -> None:
    data = run("context", "my-api", "--query", "tokens", "--budget", "1500", "--json").data
    assert {"project", "items", "summaries", "tokenBudget", "tokensUsed", "checkpoint"} <= set(data)
    assert data["tokenBudget"] == 1500 and data["items"][0]["type"] in ("decision", "rule")
    assert set(data["items"][0]["signals"]) == {"semantic", "fts5", "recency", "projectMatch"}


def test_context_of_nothing_is_empty(run: Run) -> None:
    assert "Nothing is remembered here yet." in run("context").out
    assert run("context", "--json").data["items"] == []


def test_timeline_counts_from_its_anchor(run: Run, story: list[int]) -> None:
    data = run("timeline", "2", "--json").data
    assert [(row["id"], row["position"]) for row in data["timeline"]] == [(1, -1), (2, 0), (3, 1), (6, 2)]
    rows = [line.split("\t")[:2] for line in run("timeline", "2", "--before", "0").out.splitlines()]
    assert rows == [["position", "id"], ["+0", "2"], ["+1", "3"], ["+2", "6"]]


def test_show_tells_everything(run: Run, story: list[int]) -> None:
    done = run("show", "2", "4")
    assert "observation 2: Modified auth.ts" in done.out and "narrative: Added a middleware" in done.out
    assert "summary 4: Add authentication" in done.out and "uid" not in done.out
    assert "uid: " in run("show", "2", "--all").out


def test_show_answers_in_order_and_names_what_is_missing(run: Run, story: list[int]) -> None:
    done = run("show", "3", "99", "1", "--json")
    assert done.code == 3
    assert [item["id"] for item in done.data["items"]] == [3, 1] and done.data["missing"] == [99]
    people = run("show", "3", "99")
    assert people.code == 3 and "There is no item 99." in people.err and "npm test" in people.out


def test_a_duplicate_gets_new_tags_and_metadata(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("add", "Check tokens", "--project", "p", "--files-modified", "src/a.py", "--json")
    run(*arguments, "--tag", "auth")
    monkeypatch.chdir(tmp_path)
    again = run(*arguments, "--tag", "api").data
    (item,) = run("show", str(again["id"]), "--json").data["items"]
    assert again["duplicate"] and item["tags"] == ["api", "auth"] and item["metadata"] == {"root": str(tmp_path)}


def test_edit_keeps_history(run: Run, story: list[int]) -> None:
    done = run("edit", "1", "--content", "Use PASETO", "--type", "rule", "--tag", "auth", "--importance", "9")
    assert done.code == 0 and "revision 2" in done.out
    changed = run("edit", "2", "--field", "narrative=Checks PASETO", "--title", "Modified it", "--json").data
    assert (changed["narrative"], changed["title"], changed["rev"]) == ("Checks PASETO", "Modified it", 2)
    item = run("show", "1", "--json").data["items"][0]
    assert (item["content"], item["type"], item["tags"], item["importance"]) == ("Use PASETO", "rule", ["auth"], 9.0)
    history = run("history", "1", "--json").data
    assert [change["before"]["content"] for change in history["changes"]] == ["Use JWT for API authentication"]
    assert "Use JWT for API authentication" in run("history", "1").out
    assert "has not been changed" in run("history", "3").out
    assert [hit["id"] for hit in run("search", "PASETO", "--json").data["results"]] == [1, 2]


def test_edit_moves_and_empties(run: Run, story: list[int]) -> None:
    moved = run(
        "edit", "2", "--project", "elsewhere", "--field", "concepts=", "--content", "-", "--json", stdin="piped\n"
    )
    assert moved.data["project"] == "elsewhere" and "concepts" not in moved.data and moved.data["content"] == "piped"


def test_forget_is_undone_by_restore(run: Run, story: list[int]) -> None:
    assert run("forget", "1", "2").out == (
        "Forgot memory 1: Use JWT for API authentication\nForgot observation 2: Modified auth.ts\n"
    )
    assert run("search", "JWT", "--json").data["results"] == []
    gone = run("show", "1")
    assert gone.code == 3 and "commonplace restore 1" in gone.err
    assert run("show", "1", "--forgotten").code == 0
    assert [entry["id"] for entry in run("restore", "1", "2", "--json").data["restored"]] == [1, 2]
    assert [hit["id"] for hit in run("search", "JWT", "--json").data["results"]] == [1]
    assert run("forget", "1", "--json").data["forgotten"][0]["title"] == "Use JWT for API authentication"
    assert run("restore", "1").out == "Restored memory 1: Use JWT for API authentication\n"


def test_forget_is_all_or_nothing(run: Run, story: list[int]) -> None:
    assert run("forget", "1", "99").code == 3
    assert run("show", "1").code == 0


def test_list_goes_page_by_page(run: Run, story: list[int]) -> None:
    seen, cursor = [], None
    while True:
        page = run("list", "--limit", "2", "--json", *(("--cursor", cursor) if cursor else ())).data
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [6, 5, 4, 3, 2, 1]
    people = run("list", "--limit", "2")
    assert len(people.out.splitlines()) == 3 and "--cursor" in people.err


def test_list_can_be_narrowed(run: Run, story: list[int]) -> None:
    def ids(*arguments: str) -> list[int]:
        return [item["id"] for item in run("list", *arguments, "--json").data["items"]]

    assert ids("--project", "my-api", "--kind", "memory") == [1]
    assert ids("--global") == [6]
    assert ids("--type", "rule", "--type", "decision") == [6, 1]
    assert ids("--tag", "unheard-of") == []
    assert "No items match." in run("list", "--tag", "unheard-of").err


def test_projects_answer_to_their_aliases(run: Run, story: list[int]) -> None:
    assert (
        run("projects", "alias", "my-api", "backend").out == "backend is now another name for github.com/acme/my-api.\n"
    )
    (project,) = run("projects", "--json").data["projects"]
    assert project["name"] == "github.com/acme/my-api" and "backend" in project["aliases"] and project["items"] == 5
    assert run("projects", "alias", "my-api", "b2", "--json").data == {
        "project": "github.com/acme/my-api",
        "alias": "b2",
    }
    assert "github.com/acme/my-api\t5" in run("projects").out
    assert len(run("list", "--project", "BACKEND", "--json").data["items"]) == 5


def test_no_project_yet(run: Run) -> None:
    assert run("projects").code == 0
    assert run("projects", "--json").data == {"projects": []}


def test_status_tells_where_and_how_much(run: Run, story: list[int], data_dir: Path) -> None:
    data = run("status", "--json").data
    assert data["total"] == 6 and data["data_dir"] == str(data_dir) and data["store"]["engine"] == "sqlite"
    assert data["model"]["state"] == "off" and data["search"] == "keywords only" and isinstance(data["pending"], int)
    people = run("status").out
    assert str(data_dir) in people and "keywords only" in people and "6 (" in people


def test_status_tells_what_hooks_captured_and_left_out(run: Run, data_dir: Path, folder: Path) -> None:
    assert "0 observations captured, 0 left out" in run("status").out
    settings, lines = Settings(data_dir), {"session_id": "s", "cwd": str(folder)}
    for prompt in ("Why is the build slow?", "yes", "thanks"):
        put(settings, {**lines, "prompt": prompt}, "UserPromptSubmit")
    put(settings, b"no event")
    with DrainLock(data_dir) as ours:
        assert ours
        waits = run("status", "--json").data["hooks"]
        assert waits["waiting"] == 4 and waits["waiting_since"] and waits["captured"] == {}
        assert "4 waiting since" in run("status").out
    data = run("status", "--json").data["hooks"]
    assert (data["captured"], data["left_out"]) == ({"prompt": 1}, {"small-talk": 2})
    assert (data["waiting"], data["waiting_since"], data["failed"]) == (0, None, 1)
    line = "1 observations captured, 2 left out (mostly small-talk), 1 failed, see `commonplace doctor`"
    assert line in run("status").out


def test_the_data_folder_can_be_named_before_and_after_the_command(run: Run, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    assert run("--data-dir", other, "add", "Elsewhere").code == 0
    assert run("list", "--data-dir", other, "--json").data["items"][0]["content"] == "Elsewhere"
    assert run("--json", "projects", "--data-dir", other).data == {"projects": []}
    assert run("list", "--json").data["items"] == []


def test_demo_does_not_use_the_database_of_the_settings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", "postgresql://127.0.0.1:1/nobody")
    assert run("demo", "--json").data["context"]["items"]


@pytest.mark.no_store
def test_demo_runs_without_a_model_and_leaves_nothing(
    run: Run, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = data_dir.parent / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    done = run("demo")
    assert done.code == 0 and "What to know about my-api" in done.out and " ms" in done.out
    assert not data_dir.exists() and list(scratch.iterdir()) == []
    assert json.loads(run("demo", "--json").out)["context"]["items"]
