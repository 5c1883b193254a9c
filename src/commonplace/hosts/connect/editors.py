"""The table of editors that can be connected, and which of them are on a machine."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from commonplace.errors import InvalidInput
from commonplace.hosts.connect.claude_code import CLAUDE_CODE
from commonplace.hosts.connect.claude_desktop import CLAUDE_DESKTOP
from commonplace.hosts.connect.cline import CLINE
from commonplace.hosts.connect.codex import CODEX
from commonplace.hosts.connect.cursor import CURSOR
from commonplace.hosts.connect.editor import Editor
from commonplace.hosts.connect.gemini import GEMINI
from commonplace.hosts.connect.kiro import KIRO
from commonplace.hosts.connect.made import only_made_here
from commonplace.hosts.connect.opencode import OPENCODE
from commonplace.hosts.connect.places import Places
from commonplace.hosts.connect.vscode import VSCODE
from commonplace.hosts.connect.windsurf import WINDSURF
from commonplace.hosts.connect.zed import ZED

EDITORS: tuple[Editor, ...] = (
    *(CLAUDE_CODE, CLAUDE_DESKTOP, CURSOR, WINDSURF, VSCODE, CLINE),
    *(KIRO, CODEX, GEMINI, OPENCODE, ZED),
)
NAMES = tuple(editor.name for editor in EDITORS)


def editor_called(name: str) -> Editor:
    for editor in EDITORS:
        if editor.name == name:
            return editor
    raise InvalidInput(f"There is no editor {name!r}.", f"Known are {', '.join(NAMES)}.")


def installed(editor: Editor, places: Places) -> bool:
    """Whether a sign of it is there, or one of its commands on the PATH."""
    path = places.env.get("PATH", "")
    files = (editor.file(places), editor.hooks.file(places) if editor.hooks else None)
    signs = (sign for sign in editor.signs(places) if not only_made_here(sign, files))
    return any(sign.exists() for sign in signs) or any(
        shutil.which(program, path=path) for program in editor.programs if path
    )


def found(places: Places) -> list[Editor]:
    """The editors on this machine that can be connected here."""
    return [editor for editor in EDITORS if editor.file(places) is not None and installed(editor, places)]


def called(names: Sequence[str]) -> list[Editor]:
    """Editors by their names, in the order of the table."""
    wanted = {editor_called(name).name for name in names}
    return [editor for editor in EDITORS if editor.name in wanted]
