"""`serve`: the server starts, answers and stops as a person expects."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from .conftest import Run


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_serve_says_where_it_and_its_key_are_and_stops_on_ctrl_c(data_dir: Path) -> None:
    command = [sys.executable, "-m", "commonplace", "serve", "--port", "0", "--profile", "core"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        log, remark = process.stderr.readline(), process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", log)
        assert address, log
        with urllib.request.urlopen(f"{address[0]}/health", timeout=60) as answer:
            assert json.load(answer)["status"] == "healthy"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130) and out == "" and "Traceback" not in err
    key = data_dir / "api-key"
    assert str(key) in remark and key.read_text(encoding="utf-8").strip() not in log + remark + err


def test_serve_refuses_what_it_cannot_protect(run: Run) -> None:
    done = run("serve", "--host", "0.0.0.0", "--port", "0", "--json")
    assert done.code == 2 and done.error["code"] == "VALIDATION_ERROR"
    assert "allowed_hosts" in done.error["suggestion"]
