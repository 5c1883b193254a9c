"""What each host does at its events, for hooks: importing the host itself would take longer than the whole hook.

`python -m commonplace.hosts.event_table` writes the rows below from the files in `hosts/`. The row of a host that
another package adds is made when it is needed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


# Here a sub-agent starts, in the hosts that tell of it. It is told something, and it is nothing to remember.
SUBAGENT_START = "subagentstart"


def normalised_name(name: str) -> str:
    """A name without case, hyphens and underscores, so that all spellings of it are equal."""
    return name.replace("_", "").replace("-", "").lower()


class HostEvents:
    """The events of a host by their normalised names; hosts/host.py says what each field means."""

    __slots__ = ("ends", "hints", "output", "prompt_variable", "replies", "starts")

    def __init__(
        self,
        *,
        starts: tuple[str, ...],
        ends: tuple[str, ...],
        hints: Mapping[str, str],
        replies: Mapping[str, str],
        prompt_variable: str,
        output: str | Callable[[str, str], str],
    ) -> None:
        self.starts, self.ends, self.hints = starts, ends, hints
        self.replies, self.prompt_variable, self.output = replies, prompt_variable, output

    def reply(self, name: str) -> str:
        """What the host has to read after an event at which it is told nothing."""
        return self.replies.get(name) or self.replies.get("*", "")


# Written by `python -m commonplace.hosts.event_table`.
HOSTS = {
    "claude-code": HostEvents(
        starts=("sessionstart", "subagentstart"),
        ends=("precompact", "stop", "sessionend"),
        hints={
            "userpromptsubmit": "prompt",
            "pretooluse": "before-tool",
            "posttooluse": "after-tool",
            "posttoolusefailure": "after-tool",
        },
        replies={},
        prompt_variable="",
        output="hook_specific_output",
    ),
    "cursor": HostEvents(
        starts=("sessionstart",),
        ends=("afteragentresponse", "precompact", "stop", "sessionend"),
        hints={
            "posttooluse": "after-tool",
        },
        replies={
            "beforesubmitprompt": '{"continue": true}\n',
        },
        prompt_variable="",
        output="additional_context",
    ),
    "windsurf": HostEvents(
        starts=(),
        ends=("postcascaderesponse", "postcascaderesponsewithtranscript"),
        hints={},
        replies={},
        prompt_variable="",
        output="plain_text",
    ),
    "kiro": HostEvents(
        starts=("sessionstart", "agentspawn"),
        ends=("stop", "agentstop"),
        hints={
            "userpromptsubmit": "prompt",
            "promptsubmit": "prompt",
        },
        replies={},
        prompt_variable="USER_PROMPT",
        output="plain_text",
    ),
    "codex": HostEvents(
        starts=("sessionstart", "subagentstart"),
        ends=("precompact", "stop", "sessionend"),
        hints={
            "userpromptsubmit": "prompt",
            "posttooluse": "after-tool",
        },
        replies={},
        prompt_variable="",
        output="hook_specific_output",
    ),
    "gemini": HostEvents(
        starts=("sessionstart",),
        ends=("afteragent", "sessionend"),
        hints={
            "beforeagent": "prompt",
            "aftertool": "after-tool",
        },
        replies={
            "*": "{}\n",
        },
        prompt_variable="",
        output="hook_specific_output",
    ),
    "opencode": HostEvents(
        starts=("session.created",),
        ends=("session.idle",),
        hints={
            "chat.message": "prompt",
            "tool.execute.after": "after-tool",
        },
        replies={},
        prompt_variable="",
        output="plain_text",
    ),
}
