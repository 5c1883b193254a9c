"""The tools that the conformance suite asks for by name, with the answers that it expects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from judges.fixture_rounds import ROUNDS, Answer, declared, next_round

# A red dot, and a sound of no length.
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="

NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
HEADER = {"region": {"type": "string", "x-mcp-header": "Region"}}
VOCABULARY = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Fixture:
    """A tool: what it answers, given the request and what the client says that it can do."""

    name: str
    answer: Callable[[types.CallToolRequestParams, Mapping[str, Any]], Answer]
    schema: Mapping[str, Any] = field(default_factory=lambda: NO_ARGUMENTS)


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def picture() -> dict[str, Any]:
    return {"type": "image", "data": PICTURE, "mimeType": "image/png"}


def embedded(uri: str, content: str, mime_type: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": content}}


def _always(
    name: str, *blocks: dict[str, Any], failed: bool = False, schema: Mapping[str, Any] | None = None
) -> Fixture:
    """A tool that always says the same."""
    result = types.CallToolResult.model_validate({"content": list(blocks), "isError": failed})
    return Fixture(name, lambda _params, _declared: result, schema or NO_ARGUMENTS)


def _needs_sampling(_params: types.CallToolRequestParams, can: Mapping[str, Any]) -> Answer:
    if "sampling" not in can:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "The client cannot sample.", needed)
    return types.CallToolResult.model_validate({"content": [text("It can.")]})


def _rounds(name: str) -> Fixture:
    """A tool that asks back before it answers."""

    def answer(params: types.CallToolRequestParams, can: Mapping[str, Any]) -> Answer:
        request = next_round(name, params.input_responses, params.request_state, can)
        printed = json.dumps({key: str(content) for key, content in (params.input_responses or {}).items()})
        return request or types.CallToolResult.model_validate({"content": [text(f"state-ok {printed}")]})

    return Fixture(name, answer)


_MIXED = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
TOOLS = {
    tool.name: tool
    for tool in (
        _always("test_simple_text", text("This is a simple text response for testing.")),
        _always("test_image_content", picture()),
        _always("test_audio_content", {"type": "audio", "data": SOUND, "mimeType": "audio/wav"}),
        _always(
            "test_embedded_resource", embedded("test://embedded-resource", "This is an embedded resource content.")
        ),
        _always("test_multiple_content_types", text("Multiple content types test:"), picture(), _MIXED),
        _always("test_error_handling", text("This tool intentionally returns an error for testing"), failed=True),
        _always("test_logging_tool", text("Nothing is logged through the protocol.")),
        _always("test_header", text("Read."), schema={**NO_ARGUMENTS, "properties": HEADER}),
        _always("json_schema_2020_12_tool", text("Described."), schema=VOCABULARY),
        Fixture("test_missing_capability", _needs_sampling),
        *(_rounds(name) for name in ROUNDS if name != "test_input_required_result_prompt"),
    )
}

__all__ = ["TOOLS", "Fixture", "declared", "embedded", "picture", "text"]
