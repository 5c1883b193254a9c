"""What the suite's tools and prompt ask back, round by round, before they answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types

Answer = types.CallToolResult | types.InputRequiredResult
Question = dict[str, Any]


def _requested(message: str, field: str, kind: str = "string") -> Question:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def _sampled(message: str, tokens: int) -> Question:
    text = {"role": "user", "content": {"type": "text", "text": message}}
    return {"method": "sampling/createMessage", "params": {"messages": [text], "maxTokens": tokens}}


_NAME = _requested("What is your name?", "name")
_ROOTS: Question = {"method": "roots/list", "params": {}}
# Each round has the questions by their keys. More than one round, or "state" in the name, travels with a state.
ROUNDS: Mapping[str, tuple[Mapping[str, Question], ...]] = {
    "test_input_required_result_elicitation": ({"user_name": _NAME},),
    "test_input_required_result_sampling": ({"capital_question": _sampled("What is the capital of France?", 100)},),
    "test_input_required_result_list_roots": ({"client_roots": _ROOTS},),
    "test_input_required_result_request_state": ({"confirm": _requested("Please confirm", "ok", "boolean")},),
    "test_input_required_result_tampered_state": ({"confirm": _requested("Please confirm", "ok", "boolean")},),
    "test_input_required_result_multiple_inputs": (
        {"user_name": _NAME, "greeting": _sampled("Generate a greeting", 50), "client_roots": _ROOTS},
    ),
    "test_input_required_result_multi_round": (
        {"step1": _requested("Step 1: What is your name?", "name")},
        {"step2": _requested("Step 2: What is your favorite color?", "color")},
    ),
    "test_input_required_result_capabilities": ({"user_name": _NAME, "greeting": _sampled("Generate a greeting", 50)},),
    "test_streaming_elicitation": ({"user_name": _NAME},),
    "test_input_required_result_prompt": (
        {"user_context": _requested("What context should the prompt use?", "context")},
    ),
}
_STATELESS = {"elicitation", "sampling", "list_roots", "capabilities", "prompt"}
_CAPABILITY = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def declared(meta: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What a client of the 2026 era says that it can do."""
    can: Mapping[str, Any] = (meta or {}).get(types.CLIENT_CAPABILITIES_META_KEY) or {}
    return can


def next_round(
    name: str, given: Mapping[str, Any] | None, state: str | None, can: Mapping[str, Any]
) -> types.InputRequiredResult | None:
    """What to ask now; nothing when all was answered."""
    rounds, number = ROUNDS[name], int(state or 0)
    if rounds[number].keys() <= (given or {}).keys():
        number += 1
    if number == len(rounds):
        return None
    asks = {key: request for key, request in rounds[number].items() if not can or _CAPABILITY[request["method"]] in can}
    saved = None if name.rpartition("result_")[2] in _STATELESS else str(number)
    return types.InputRequiredResult.model_validate({"inputRequests": asks, "requestState": saved})
