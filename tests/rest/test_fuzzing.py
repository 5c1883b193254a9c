"""Requests that nobody would think of: everything the document allows is taken, everything else refused, no fault."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from commonplace.memory.remember import NewItem, remember

from .conftest import DOCUMENT, Site, running, settings_in

ROOT = Path(__file__).parents[2]
# Boundaries beyond this make megabytes of examples; they have tests of their own.
LARGE = 500
# The whole environment is looked through with each request.
INHERITED = ("HOME", "PATH", "TMPDIR")


def bounded(value: Any) -> Any:
    """The document without limits that are expensive to reach."""
    if isinstance(value, dict):
        large = {key for key in ("maxLength", "maxItems") if isinstance(value.get(key), int) and value[key] > LARGE}
        return {key: bounded(entry) for key, entry in value.items() if key not in large}
    return [bounded(entry) for entry in value] if isinstance(value, list) else value


def lean(document: dict[str, Any]) -> dict[str, Any]:
    """The document with each header on the first route of its method only: one handler reads it for all of them."""
    seen: set[tuple[str, str]] = set()
    paths: dict[str, dict[str, Any]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parameters = [
                one for one in operation["parameters"] if one["in"] != "header" or (method, one["name"]) not in seen
            ]
            seen |= {(method, one["name"]) for one in parameters}
            paths.setdefault(path, {})[method] = {**operation, "parameters": parameters}
    return {**document, "paths": paths}


def fuzz(site: Site, folder: Path, *arguments: str) -> None:
    (folder / "openapi.json").write_text(json.dumps(bounded(lean(DOCUMENT))), encoding="utf-8")
    token = site.secrets["admin"]
    (folder / "settings.toml").write_text(f'[auth.openapi]\nbearer = {{ bearer = "{token}" }}\n', encoding="utf-8")
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(folder / "settings.toml")),
        *("run", str(folder / "openapi.json"), "--url", site.url, "--seed", "1", "--no-color"),
        *(
            "--workers",
            "1",
            "--generation-database",
            "none",
            "--generation-codec",
            "iso-8859-1",
            "--request-timeout",
            "30",
        ),
        # Guessing keys is slowed down, which this check takes for an answer.
        *("--exclude-checks", "ignored_auth"),
        *arguments,
    ]
    # Its tables of characters take seconds to make; the tests' own Hypothesis keeps them in the same place.
    env = {
        **{name: os.environ[name] for name in INHERITED if name in os.environ},
        "SCHEMATHESIS_HOOKS": "tests.rest.fuzzing_hooks",
        "PYTHONPATH": str(ROOT),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis"),
    }
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=540, check=False)
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    assert done.returncode == 0, output
    counted = re.search(r"(\d+) generated, (\d+) passed", output)
    assert counted and counted[1] == counted[2], output


def filled(site: Site) -> None:
    """Some items to change and forget."""
    # The generator of requests takes a second to import, which only this test needs.
    from .fuzzing_hooks import KNOWN_ITEMS

    for number in range(KNOWN_ITEMS):
        remember(site.memory, NewItem(f"Thing number {number}"))


def test_nothing_is_found_by_looking_everywhere(tmp_path: Path) -> None:
    # No schema tells what a file to import holds.
    paths = ("/api/v1/events", "/api/v1/items/batch", "/api/v1/import")
    elsewhere = tuple(word for path in paths for word in ("--exclude-path", path))
    with running(settings_in(tmp_path)) as site:
        filled(site)
        fuzz(site, tmp_path, *elsewhere, "-n", "3", "--phases", "coverage,fuzzing")


def test_nothing_is_found_in_batches(tmp_path: Path) -> None:
    with running(settings_in(tmp_path)) as site:
        fuzz(site, tmp_path, "--include-path", "/api/v1/items/batch", "-n", "10", "--phases", "fuzzing")
