"""Hook payloads: whatever a host says, the event is remembered, passed over or refused for a reason of its own."""

from __future__ import annotations

import json

from commonplace.capture.hooks import for_fast_hooks
from commonplace.capture.hooks.drain import drain
from commonplace.fast.arguments import Arguments
from commonplace.fast.hook_command import HookCall
from commonplace.fast.host_events import HOSTS
from commonplace.fast.session_start import session_start_text
from commonplace.fast.spool import encode_record, spool_folder, write_event
from fuzzing import workspace
from fuzzing.target import must

ENDINGS = ("whole", "cut", "stalled", "silent")
WORDS = (
    *HOSTS,
    *("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd", "PreCompact", "AfterTool", "stop"),
    *("beforeSubmitPrompt", "afterFileEdit", "afterShellExecution", "post_write_code", "agentSpawn", "postToolUse"),
    *('"session_id"', '"cwd"', '"tool_name"', '"tool_input"', '"tool_response"', '"prompt"', '"file_path"', '"edits"'),
    *('"command"', '"exit_code"', '"Bash"', '"Edit"', '"Read"', '"workspace_roots"', '"output"', '"old_string"'),
    *('"new_string"', '"transcript_path"', '"source"', '"compact"', '"last_assistant_message"', '"is_error"', '"/"'),
    *("null", "true", "{}", "[]", "1e999", "-1", '"\\ud800"', '""', "\n", ",", ":", "{", "}", "[", "]", "<private>"),
)


def take(data: bytes) -> None:
    """The first line says host, event, and how reading ended."""
    first, _, payload = data.partition(b"\n")
    host, event, ended = [*first.decode("ascii", "ignore").replace("\0", "").split()[:3], "", "", ""][:3]
    fields = (host, event, str(workspace.NOW), str(workspace.folder()), "", str(len(payload)), ended or ENDINGS[0])
    folder = str(workspace.settings().data_dir)
    write_event(spool_folder(folder), encode_record(fields, payload))
    drained = drain(workspace.memory(), workspace.settings())
    must(drained.done == 1 and not drained.left, "an event is drained")
    must(not [why for why in drained.refused if why.startswith("not-rememberable")], f"it fails: {drained.refused}")
    if host in HOSTS and HOSTS[host].starts:
        hook = HookCall(Arguments(["--data-dir", folder, "hook", host, event]), {}, lambda: for_fast_hooks)
        hook.folder, hook.content = str(workspace.folder()), payload
        _opened(hook.shape(session_start_text(hook)), host)


def _opened(received: bytes, host: str) -> None:
    """What a host is told when a session starts is in the shape that it reads."""
    if received and HOSTS[host].output != "plain_text":
        must(isinstance(json.loads(received), dict), "a host is told an object")
