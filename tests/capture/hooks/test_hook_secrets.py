"""Secrets that only their surroundings tell reach no field of what hooks leave, whatever line is told of them."""

from __future__ import annotations

import pytest
from tests.whole_items import all_words

from commonplace.capture.hooks.remember_events import remember_events
from commonplace.memory.local_memory import LocalMemory

from .hook_sessions import Telling, items

# Put together at run time so that no scanner takes this file for a leak.
KEY = [f"Q2w3E4r5T6y7U8i9O0pAsDfGhJkLzXcVbNmQwErTyUiOpAsDfGhJkLzXcVbNm9{number}" for number in range(4)]
BEGIN, END = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
HEAD, TAIL, WHOLE = [BEGIN, *KEY[:2]], [*KEY[2:], END], [BEGIN, *KEY, END]


@pytest.mark.parametrize("lines", [HEAD, TAIL, WHOLE], ids=["head", "tail", "whole"])
@pytest.mark.parametrize("shape", ["stdout", "text", "list", "failed", "blocks"])
def test_no_line_of_a_private_key_is_told(memory: LocalMemory, lines: list[str], shape: str) -> None:
    text = "\n".join(lines)
    outputs = {
        "stdout": {"stdout": text, "stderr": ""},
        "list": lines,
        "blocks": [{"type": "text", "text": line} for line in lines],
    }
    telling = Telling()
    telling.asks("Why is my key refused?")
    telling.add(
        "tool",
        tool="Bash",
        input={"command": "cat id_rsa"},
        output=outputs.get(shape, text),
        failed=shape == "failed",
    )
    telling.uses("mcp__files__show", outputs.get(shape, text), path="id_rsa")
    telling.uses("Bash", "written", command=f"cat > id_rsa <<'EOF'\n{text}\nEOF")
    telling.uses("Write", file_path="id_rsa", content=text)
    telling.stops(f"The key is refused because it is too short:\n{text}")
    remember_events(memory, telling.events)
    stored = all_words(items(memory))
    assert "id_rsa" in stored and not [line for line in KEY if line[:24] in stored]
