"""A real Chromium for the tests of the dashboard: one that is there, or, on Debian, one that is installed for them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.system_packages import can_install, install

# The same engine without windows, tabs and extensions: a test takes a third of the time with it.
HEADLESS = "chromium-headless-shell"
NAMES = (HEADLESS, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge", "chrome")
# No sandbox for those who are root, and no calls to its maker.
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-default-apps",
)  # fmt: skip
# Taking a picture takes longer than everything else that a test does with a page.
PICTURES = os.environ.get("COMMONPLACE_TEST_PICTURES")


def chromium() -> str:
    """The program; the tests fail where there is none and none can be installed."""
    named = os.environ.get("CHROMIUM")
    if found := named or next(filter(None, map(shutil.which, NAMES)), None):
        return found
    if not can_install():
        pytest.fail("These tests need Chromium: install it, or name its program in CHROMIUM.")
    try:
        install(HEADLESS)
    except subprocess.CalledProcessError:
        install("chromium")
    return chromium_there()


def prepare() -> None:
    """Install the light Chromium where the system knows it; any other serves as well, and takes longer."""
    if "CHROMIUM" not in os.environ and shutil.which(HEADLESS) is None and can_install():
        with contextlib.suppress(subprocess.SubprocessError):
            install(HEADLESS)
    chromium()


def chromium_there() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, "Chromium was installed, but is not on the path"
    return found


def pictures() -> Path | None:
    """Where a run keeps pictures of the pages for people to look at, if COMMONPLACE_TEST_PICTURES names a folder."""
    if not PICTURES:
        return None
    folder = Path(PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
