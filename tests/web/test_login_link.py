"""Whoever starts the server at a terminal is let in by a link, once; a log never tells one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest
from tests.mcp.conftest import DEADLINE, Served, environment

from commonplace.errors import Unauthorized
from commonplace.web.login import LoginTickets

HTML = {"accept": "text/html"}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_the_link_at_a_terminal_signs_in_once(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "commonplace", "serve", "--port", "0", "--no-open"]
    process = subprocess.Popen(command, env=environment(tmp_path), stdin=theirs, stdout=theirs, stderr=theirs)
    timer = threading.Timer(DEADLINE, process.kill)
    timer.start()
    try:
        os.close(theirs)
        text = ""
        while "ticket=" not in text or not text.endswith("\n"):
            text += os.read(ours, 4096).decode()
        link = next(word for word in text.split() if "/enter?ticket=" in word)
        with httpx2.Client(follow_redirects=True, headers=HTML) as browser:
            assert "Home" in browser.get(link).text
        with httpx2.Client(follow_redirects=True, headers=HTML) as another:
            reply = another.get(link)
            assert reply.status_code == 401 and "already used" in reply.text
    finally:
        timer.cancel()
        process.terminate()
        process.wait(DEADLINE)
        os.close(ours)


def test_a_server_without_a_terminal_tells_no_ticket(tmp_path: Path) -> None:
    server = Served(tmp_path, "--port", "0")
    _code, log = server.end()
    assert "ticket" not in server.greeting + server.remark + log


def test_a_ticket_is_good_once() -> None:
    tickets = LoginTickets()
    ticket = tickets.issue("secret")
    assert tickets.redeem(ticket) == "secret"
    for wrong in (ticket, "", "x"):
        with pytest.raises(Unauthorized):
            tickets.redeem(wrong)
