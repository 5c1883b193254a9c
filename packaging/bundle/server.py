"""What a desktop bundle starts: the server that `connect` would write into the editor's settings."""

from __future__ import annotations

import sys

from commonplace.__main__ import main

if __name__ == "__main__":
    sys.argv[1:] = ["mcp", "--profile", "core", *sys.argv[1:]]
    main()
