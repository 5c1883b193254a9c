"""The pages about the HTTP interface are true: the table is the table, and the examples run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from commonplace.rest.endpoint_table import ENDPOINTS

from .conftest import DEADLINE, running, settings_in

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE = REFERENCE / "rest.md"
# For machines without curl or a POSIX shell: as much of both as the page uses.
STAND_IN = Path(__file__).parent / "curl.py"


def examples() -> list[str]:
    pages = PAGE.read_text(encoding="utf-8") + (REFERENCE / "compatible-clients.md").read_text(encoding="utf-8")
    return re.findall(r"```sh\n(.*?)```", pages, re.DOTALL)


def run(example: str, env: dict[str, str]) -> str:
    shell, curl = shutil.which("bash"), shutil.which("curl")
    if shell is not None and sys.platform != "win32":
        prefix = "set -e\n" if curl else f"set -e\ncurl() {{ '{sys.executable}' '{STAND_IN}' \"$@\"; }}\n"
        command = [shell, "-c", prefix + example.replace("curl -s", "curl -s --fail-with-body" if curl else "curl -s")]
    else:
        command = [sys.executable, str(STAND_IN), "--script", example]
    done = subprocess.run(command, env=env, capture_output=True, timeout=DEADLINE, check=False)
    assert done.returncode == 0, done
    return done.stdout.decode()


# Described by their prefix: nobody but these clients calls them.
OF_CLIENTS = ("Tools over HTTP", "memories.sh SDK", "Library", "Sync", "Hooks", "Documentation")


def test_the_main_routes_on_the_page_are_told_as_they_are() -> None:
    """A row for each path, with the key if it is an unusual one. The site lists all (tests/test_docs_site.py)."""
    text = PAGE.read_text(encoding="utf-8").partition("\n## Routes\n")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) > 15
    for path, told in rows:
        methods = []
        for one in ENDPOINTS:
            if one.path == path:
                usual = "read" if one.method == "GET" else "write"
                key = "" if one.scope == usual else f" ({one.scope or 'no key'})"
                methods.append(f"{one.method}: {one.summary}{key}")
        assert told == "; ".join(methods), path


def test_the_routes_of_certain_clients_are_named_by_how_they_begin() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("\n### For certain clients\n")[2]
    named = re.findall(r"`(/[^`]+)`", text)
    prefixes = tuple(re.sub(r"(\.\.\.|\{tool\})$", "", name) for name in named if name.endswith(("...", "{tool}")))
    for one in ENDPOINTS:
        if one.tag in OF_CLIENTS:
            assert one.path in named or one.path.startswith(prefixes), one.path


def test_the_examples_on_the_page_run_in_order(tmp_path: Path) -> None:
    with running(settings_in(tmp_path)) as site:
        env = {**os.environ, "COMMONPLACE_URL": site.url, "COMMONPLACE_KEY": site.secrets["admin"]}
        lines = [run(example, env) for example in examples()]
    assert len(lines) >= 7
    remembered, page, changed, twice, events, moved, context = lines
    assert '"duplicate":false' in remembered and '"relevance"' in remembered
    assert len(json.loads(page)["items"]) == 1
    assert '"tags":["redis","sessions"]' in changed and '"op":"edit"' in changed
    first, second = twice.replace("}{", "}\n{").splitlines()
    assert first == second
    assert "event: item.edited" in events
    assert '"conversation_count":1' in moved and "Which cache?" in moved
    assert [one["scope"] for one in json.loads(context)["data"]["memories"]] == ["project"]


def test_the_stand_in_for_curl_does_the_same(tmp_path: Path) -> None:
    with running(settings_in(tmp_path)) as site:
        env = {**os.environ, "COMMONPLACE_URL": site.url, "COMMONPLACE_KEY": site.secrets["admin"]}
        for example in examples():
            command = [sys.executable, str(STAND_IN), "--script", example]
            done = subprocess.run(command, env=env, capture_output=True, timeout=DEADLINE, check=False)
            assert done.returncode == 0 and done.stdout, done
