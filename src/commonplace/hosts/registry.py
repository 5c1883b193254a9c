"""The table of hosts that rule files are written for and learned from, and what a project uses of them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from commonplace.errors import InvalidInput
from commonplace.hosts.agents import AGENTS
from commonplace.hosts.claude import CLAUDE
from commonplace.hosts.cline import CLINE
from commonplace.hosts.connect.claude_code import CLAUDE_CODE_EDITOR
from commonplace.hosts.connect.claude_desktop import CLAUDE_DESKTOP_EDITOR
from commonplace.hosts.connect.cline import CLINE_EDITOR
from commonplace.hosts.connect.codex import CODEX_EDITOR
from commonplace.hosts.connect.cursor import CURSOR_EDITOR
from commonplace.hosts.connect.gemini import GEMINI_EDITOR
from commonplace.hosts.connect.kiro import KIRO_EDITOR
from commonplace.hosts.connect.opencode import OPENCODE_EDITOR
from commonplace.hosts.connect.vscode import VSCODE_EDITOR
from commonplace.hosts.connect.windsurf import WINDSURF_EDITOR
from commonplace.hosts.connect.zed import ZED_EDITOR
from commonplace.hosts.connections import only_made_here
from commonplace.hosts.copilot import COPILOT
from commonplace.hosts.cursor import CURSOR
from commonplace.hosts.gemini import GEMINI
from commonplace.hosts.host import Editor, Locations, RuleTarget
from commonplace.hosts.kiro import KIRO
from commonplace.hosts.roo import ROO
from commonplace.hosts.windsurf import WINDSURF

TARGETS: tuple[RuleTarget, ...] = (AGENTS, CLAUDE, CURSOR, WINDSURF, COPILOT, GEMINI, KIRO, CLINE, ROO)
TARGET_NAMES = tuple(host.name for host in TARGETS)


def targets_for(names: Sequence[str], root: Path) -> list[RuleTarget]:
    """The hosts of these names; without any, those that the project uses; AGENTS.md if it uses none."""
    unknown = [name for name in names if name not in TARGET_NAMES]
    if unknown:
        raise InvalidInput(
            f"There is no target {', '.join(map(repr, unknown))}.", f"Targets: {', '.join(TARGET_NAMES)}."
        )
    if names:
        return [host for host in TARGETS if host.name in names]
    return [host for host in TARGETS if host.used_in(root)] or [AGENTS]


EDITORS: tuple[Editor, ...] = (
    *(CLAUDE_CODE_EDITOR, CLAUDE_DESKTOP_EDITOR, CURSOR_EDITOR, WINDSURF_EDITOR, VSCODE_EDITOR, CLINE_EDITOR),
    *(KIRO_EDITOR, CODEX_EDITOR, GEMINI_EDITOR, OPENCODE_EDITOR, ZED_EDITOR),
)
EDITOR_NAMES = tuple(editor.name for editor in EDITORS)


def editor_named(name: str) -> Editor:
    for editor in EDITORS:
        if editor.name == name:
            return editor
    raise InvalidInput(f"There is no editor {name!r}.", f"Known are {', '.join(EDITOR_NAMES)}.")


def is_installed(editor: Editor, places: Locations) -> bool:
    """Whether a sign of it is there, or one of its commands on the PATH."""
    path = places.env.get("PATH", "")
    files = (editor.file(places), editor.hooks.file(places) if editor.hooks else None)
    signs = (sign for sign in editor.signs(places) if not only_made_here(sign, files))
    return any(sign.exists() for sign in signs) or any(
        shutil.which(program, path=path) for program in editor.programs if path
    )


def installed_editors(places: Locations) -> list[Editor]:
    """The editors on this machine that can be connected here."""
    return [editor for editor in EDITORS if editor.file(places) is not None and is_installed(editor, places)]


def editors_named(names: Sequence[str]) -> list[Editor]:
    """Editors by their names, in the order of the table."""
    wanted = {editor_named(name).name for name in names}
    return [editor for editor in EDITORS if editor.name in wanted]
