"""What the judges are known to say, and why it is right so: everything else that they find is a failure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """A finding that is explained: patterns of where and of which check, an expression for what is said, the reason.

    One that no finding fits is out of date, which is a failure as well, unless it comes `by_chance`.
    """

    judge: str
    where: str
    check: str
    text: str
    reason: str
    by_chance: bool = False


_FIXTURE = "|".join(
    (
        r"Unknown (tool|prompt): test_",
        r"Resource not found: test://",
        r"diagnostic tool 'test_",
        r"'json_schema_2020_12_tool' not found",
        r"no tool with x-mcp-header",
        r"re-requesting via InputRequired",
        r"(Expected|initial) InputRequiredResult",
    )
)
_NAMED = "The suite asks for a tool, prompt or resource of its own; the same check passes on the fixtures."
_TASKS = "Tasks are an optional extension, which the server does not offer."
_BACK = "Asks the client back in the middle of a call, which 2026-07-28 abolished; the server never does."
_LOGS = "Logging through the protocol is deprecated and not offered; the server logs to standard error."
_ONE_ANSWER = "A call has one answer as JSON, without progress on the way: no tool works long enough for it."
_SUBSCRIBE = "Subscriptions to resources are not offered, and 2026-07-28 abolished them."
_NO_SESSION = "Each request stands alone, so there is no session with streams to resume."
_SUCCESS = (
    "Calls every success a finding, also of inputs that the schema allows; "
    "what was accepted over HTTP is held against the schema of its tool, and none broke it."
)
_REPEATED = (
    "A memory gives back what it was given, and an error repeats an unknown name, shortened: JSON for a program. "
    "The dashboard escapes what it shows."
)
_WORDS_OF_TOOLS = (
    "Looks for words such as fetch and path in the definitions of tools; `fetch` gives one memory, paths are those of "
    "rules, and no tool reads files or calls anybody."
)
_READINESS = "Looks for words such as timeout and retry in the definition of a tool; ours call no outside service."
_PROMPTS = "Asks for prompts without the arguments that they require, and is refused; their descriptions were read."
_PLAIN = "The server speaks plain HTTP on the loopback interface only; for others a proxy with TLS stands before it."


def _conformance(check: str, reason: str, where: str = "*", text: str = "") -> Expected:
    return Expected("conformance", where, check, text, reason)


EXPECTED: tuple[Expected, ...] = (
    _conformance("tasks-*", _TASKS, "* 2026-07-28"),
    _conformance("tools-call-with-progress:*", _ONE_ANSWER, text="Unknown tool: test_"),
    _conformance("tools-call-with-logging:*", _LOGS, "* 2025-11-25", "Method not found"),
    _conformance("logging-set-level:*", _LOGS, "* 2025-11-25", "Method not found"),
    _conformance("tools-call-sampling:*", _BACK, "* 2025-11-25", "Unknown tool: test_"),
    _conformance("tools-call-elicitation:*", _BACK, "* 2025-11-25", "Unknown tool: test_"),
    _conformance("elicitation-sep1*", _BACK, "* 2025-11-25", "Unknown tool: test_"),
    _conformance("resources-*subscribe:*", _SUBSCRIBE, "* 2025-11-25", "Method not found"),
    _conformance("server-sse-*", _NO_SESSION, "* 2025-11-25", "provides session ID"),
    _conformance("*", _NAMED, "product *", _FIXTURE),
    Expected("mcp-fuzzer", "*", "accepted_malformed:*", "non-error response", _SUCCESS),
    Expected("mcp-fuzzer", "*", "injection_reflection:*", "reflected verbatim", _REPEATED, by_chance=True),
    Expected("mcp-fuzzer", "*", "dangerous_capability_combo:*", "local-read and network-egress", _WORDS_OF_TOOLS),
    Expected("mcp-scanner", "stdio tools", "readiness_analyzer:*", "does not specify a timeout", _READINESS),
    Expected("mcp-scanner", "http prompts", "MCP:*", "did not complete", _PROMPTS),
    Expected("mcp-scanner", "http protocol", "MCPS-001", "unencrypted HTTP", _PLAIN),
)
