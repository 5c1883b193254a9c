"""Names for files, made of titles in any language, that every operating system accepts."""

from __future__ import annotations

import re
import unicodedata

# Bytes of a name before its ending; file systems allow 255 for all of it.
MAX_BYTES = 160
# What Windows or a shell takes for something else, and what cannot be seen.
_UNFIT = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?", re.IGNORECASE)


def file_name(title: str) -> str:
    """The title as the name of a file, without an ending; never empty, hidden or reserved."""
    name = " ".join(_UNFIT.sub(" ", unicodedata.normalize("NFC", title)).split())
    name = name.encode("utf-8")[:MAX_BYTES].decode("utf-8", "ignore").lstrip(" .-~").rstrip(" .")
    return f"_{name}" if not name or _RESERVED.fullmatch(name) else name


def same_name(name: str) -> str:
    """What two names have in common that some file system takes for one."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
