"""Outside a repository: what hooks told of a folder is its project, for every command."""

from __future__ import annotations

import json
from pathlib import Path

from commonplace.fast.spool import encode_record, spool_folder, write_event

from .conftest import Run


def write_hook_event(data_dir: Path, folder: Path) -> None:
    """What a hook leaves that ran in a folder."""
    payload = {"session_id": "s1", "cwd": str(folder), "prompt": "Sort the letters of the alphabet, please"}
    content = json.dumps(payload).encode()
    fields = ("claude-code", "UserPromptSubmit", "1742049000000", str(folder), "", str(len(content)), "whole")
    write_event(spool_folder(str(data_dir)), encode_record(fields, content))


def test_a_folder_that_hooks_ran_in_is_a_project(run: Run, folder: Path, data_dir: Path) -> None:
    assert "for every project" in run("add", "Before any hook").out
    write_hook_event(data_dir, folder)
    assert "Sort the letters" in run("context").out
    assert run("add", "Letters are upper case", "--json").data["project"] == folder.name


def test_a_repository_elsewhere_that_ends_in_the_same_name_is_another(run: Run, folder: Path) -> None:
    run("add", "Not about this folder", "--project", f"github.com/acme/{folder.name}")
    assert run("add", "For everybody", "--json").data["project"] is None
