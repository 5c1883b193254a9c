"""Gemini CLI: a turn is an agent's, a compaction a compression, and an answer stands beside its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commonplace.hosts.hook_event import Event, HookRecord, PayloadFields, failed, make_event, plain

_FORM = (
    *("Command", "Directory", "Output", "Stdout", "Stderr", "Error", "Exit Code", "Signal", "Background PIDs"),
    "Process Group PGID",
)
_NOTHING = ("", "(none)", "(empty)")


def adapt(name: str, payload: Mapping[str, Any], record: HookRecord) -> Event | None:
    """The event; None where there is nothing in it for a memory."""
    told, name = PayloadFields(payload), plain(name)
    if name == "aftertool" and told.text("tool_name"):
        output = told.any("tool_response")
        return make_event(
            record,
            "tool",
            told,
            tool=told.text("tool_name"),
            input=told.object("tool_input"),
            output=_answer(output),
            failed=failed(output),
        )
    if name == "beforeagent" and told.text("prompt"):
        return make_event(record, "prompt", told, text=told.text("prompt"))
    if name == "afteragent":
        return make_event(record, "stop", told, text=told.text("prompt_response"))
    if name == "precompress":
        return make_event(record, "compact", told, reason=told.text("trigger"))
    if name == "sessionstart":
        return make_event(record, "session-start", told, reason=told.text("source", "trigger"))
    if name == "sessionend":
        return make_event(record, "session-end", told, reason=told.text("reason", "trigger"))
    return None


def _answer(output: Any) -> Any:
    """What the model got to see; the rest is for the screen."""
    told = PayloadFields(output)
    seen = told.any("error", "llm_content", "return_display") if isinstance(output, Mapping) else output
    return _printed(seen) if isinstance(seen, str) else seen


def _printed(seen: str) -> Any:
    """What a command printed and exited with, out of the form in which the model gets it."""
    if not seen.startswith(("Command: ", "Output: ")):
        return seen
    form: dict[str, str] = {}
    last = ""
    for line in seen.splitlines():
        # What it printed may have lines like those of the form: a part comes after the one before it only.
        name = next(
            (name for name in _FORM[_FORM.index(last) + 1 if last else 0 :] if line.startswith(f"{name}: ")), ""
        )
        last = name or last
        form[last] = line.removeprefix(f"{name}: ") if name else f"{form[last]}\n{line}"
    known = {name: "" if form.get(name, "").strip() in _NOTHING else form[name] for name in _FORM}
    code = {"exit_code": known["Exit Code"].strip()} if known["Exit Code"] else {}
    wrong = [known[name] for name in ("Stderr", "Error") if known[name]]
    return {"stdout": known["Output"] or known["Stdout"], "stderr": "\n".join(wrong), **code}
