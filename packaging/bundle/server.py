"""What a desktop bundle starts: the server that `connect` would write into the editor's settings."""

from __future__ import annotations

import sys

from commonplace.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["mcp", "--profile", "core", *sys.argv[1:]]))
