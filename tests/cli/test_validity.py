"""When items hold, on the command line: given, read, shown, overridden, and as of a moment."""

from __future__ import annotations

import json

from .conftest import Run


def test_an_interval_is_given_read_and_overridden(run: Run) -> None:
    outcome = run("add", "Until 31 December 2098 walrus deploys go through Ines.", "--type", "rule", "--global")
    assert "valid until 2098-12-31 (read from the text)" in outcome.out
    assert run("add", "The otter demo is on port 80", "--global", "--valid-until", "2020-05-31").code == 0
    assert [item["id"] for item in json.loads(run("list", "--json").out)["items"]] == [1]
    assert [item["id"] for item in json.loads(run("list", "--include-expired", "--json").out)["items"]] == [2, 1]
    assert run("edit", "2", "--valid-until", "none").code == 0
    assert [hit["id"] for hit in json.loads(run("search", "otter", "--json").out)["results"]] == [2]
    assert json.loads(run("list", "--as-of", "2020-01-01", "--json").out)["items"] == []
    assert [item["id"] for item in run("list", "--as-of", "now", "--json").data["items"]] == [2, 1]
    assert [item["id"] for item in run("list", "--as-of", "today", "--json").data["items"]] == [2, 1]
    assert run("list", "--as-of", "yesterday", "--json").data["items"] == []
    assert run("edit", "2", "--valid-until", "now").code == 0
    assert [item["id"] for item in run("list", "--as-of", "now", "--json").data["items"]] == [1]
    refused = run("add", "Something", "--valid-until", "soon")
    assert refused.code == 2 and "2026-05-31" in refused.err


def test_undoing_a_change_that_is_still_to_come_takes_back_its_end(run: Run) -> None:
    run("add", "The request timeout is 30 seconds", "--global")
    run("add", "The request timeout is 60 seconds", "--global", "--valid-from", "2099-12-01")

    def end() -> str | None:
        found: str | None = run("show", "1", "--json").data["items"][0].get("valid_until")
        return found

    listed = run("contradictions").out
    assert "2 of" not in listed and ", valid from 2099-12-01  The request" in listed
    assert run("contradictions", "1", "2", "--keep", "new").code == 0
    assert run("contradictions").out == ""
    assert end() is not None
    assert run("contradictions", "1", "2", "--undo").code == 0
    assert end() is None
    run("supersede", "1", "--by", "2")
    assert end() is not None
    assert run("restore", "1").code == 0
    assert end() is None


def test_show_and_history_name_the_day_that_add_named(run: Run) -> None:
    outcome = run(
        "add", "Deploys go through Ines", "--global", "--valid-until", "2099-12-01", "--valid-from", "2020-01-02"
    )
    assert "valid from 2020-01-02 to 2099-12-01" in outcome.out
    shown = run("show", "1").out
    assert "  valid_from: 2020-01-02\n" in shown and "  valid_until: 2099-12-01\n" in shown
    run("edit", "1", "--valid-until", "2099-12-05", "--expires", "2099-12-24T18:00")
    assert "  expires_at: 2099-12-24T18:00\n" in run("show", "1").out
    run("profile", "pin", "1")
    run("edit", "1", "--content", "Deploys go through Omar")
    run("forget", "1")
    header, *rows = run("history", "1").out.splitlines()
    place = header.split("\t").index("changed")
    assert [row.split("\t")[place] for row in rows] == [
        "valid_until: 2099-12-01 → 2099-12-05; expires: none → 2099-12-24T18:00",
        "tags: none → profile-pinned",
        "title; content",
        "",
    ]
