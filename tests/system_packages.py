"""Programs of the system that tests need: found, or installed where that is possible."""

from __future__ import annotations

import os
import shutil
import subprocess

INSTALL_SECONDS = 600


def can_install() -> bool:
    """Whether this is a Debian, or one of its relatives, where we may install packages."""
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def install(package: str) -> None:
    """Install a package, after a look for its newest version if it is not known yet."""
    try:
        _apt("install", "--yes", "--no-install-recommends", package)
    except subprocess.CalledProcessError:
        _apt("update")
        _apt("install", "--yes", "--no-install-recommends", package)


def program(name: str) -> str | None:
    """Where a program is, installed from the package of its name if it is missing; None if it cannot be had."""
    if shutil.which(name) is None and can_install():
        install(name)
    return shutil.which(name)


def _apt(*arguments: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-qq", *arguments]
    subprocess.run(command, check=True, timeout=INSTALL_SECONDS, env=environment, stdout=subprocess.DEVNULL)
