"""Cline: an extension of VS Code with a file of its own; it reads no servers from projects and has no hooks of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commonplace.hosts.connect.vscode import user_folder
from commonplace.hosts.host import Editor, Locations, addressed, stdio

ALWAYS: dict[str, Any] = {"disabled": False, "autoApprove": []}


def _folder(places: Locations) -> Path:
    return user_folder(places) / "globalStorage" / "saoudrizwan.claude-dev"


CLINE_EDITOR = Editor(
    name="cline",
    title="Cline",
    file=lambda places: None if places.project else _folder(places) / "settings" / "cline_mcp_settings.json",
    signs=lambda places: (_folder(places),),
    stdio=lambda server: stdio(server) | ALWAYS,
    http=addressed("url", type="streamableHttp", **ALWAYS),
)
