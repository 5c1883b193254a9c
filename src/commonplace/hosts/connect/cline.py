"""Cline: an extension of VS Code with a file of its own; it reads no servers from projects and has no hooks of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commonplace.hosts.connect.editor import Editor, addressed, stdio
from commonplace.hosts.connect.places import Places
from commonplace.hosts.connect.vscode import user_folder

ALWAYS: dict[str, Any] = {"disabled": False, "autoApprove": []}


def _folder(places: Places) -> Path:
    return user_folder(places) / "globalStorage" / "saoudrizwan.claude-dev"


CLINE = Editor(
    name="cline",
    title="Cline",
    file=lambda places: None if places.project else _folder(places) / "settings" / "cline_mcp_settings.json",
    signs=lambda places: (_folder(places),),
    stdio=lambda server: stdio(server) | ALWAYS,
    http=addressed("url", type="streamableHttp", **ALWAYS),
)
