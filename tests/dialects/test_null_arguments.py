"""Null means omitted, in every tool of every profile: strict clients send every argument there is."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.dialects.tool import IdNumber, Param, Tool
from commonplace.dialects.tool_profiles import ALL, DIALECTS
from commonplace.errors import InvalidInput, UnknownArgument

TOOLS = list({id(tool): tool for tool in (*ALL, *(tool for tools in DIALECTS.values() for tool in tools))}.values())
SAMPLES: dict[type, Any] = {str: "x", int: 1, IdNumber: 1, float: 1.0, bool: True, dict: {}, list: []}


def named(tool: Tool) -> str:
    return f"{tool.dialect}:{tool.name}:{len(tool.params)}"


def sample(param: Param) -> Any:
    return param.choices[0] if param.choices else SAMPLES[param.type]


@pytest.mark.parametrize("tool", TOOLS, ids=named)
@pytest.mark.promise("kiro:bad-input:null", "ecm:bad-input:null", "memories:bad-input:wrong-type")
def test_null_for_an_optional_argument_is_its_default(tool: Tool) -> None:
    needed = {param.name: sample(param) for param in tool.params if param.required}
    optional = [param.name for param in tool.params if not param.required]
    assert tool.checked(needed | dict.fromkeys(optional)) == tool.checked(needed)


@pytest.mark.parametrize("tool", TOOLS, ids=named)
@pytest.mark.promise("kiro:bad-input:null", "ecm:bad-input:null", "sekha:bad-input:wrong-type")
def test_null_for_a_required_argument_is_a_missing_one(tool: Tool) -> None:
    needed = {param.name: sample(param) for param in tool.params if param.required}
    for name in needed:
        missing = {other: value for other, value in needed.items() if other != name}
        with pytest.raises(InvalidInput) as absent:
            tool.checked(missing)
        with pytest.raises(InvalidInput) as null:
            tool.checked(missing | {name: None})
        assert (null.value.message, null.value.hint) == (absent.value.message, absent.value.hint)
        assert f"{tool.name} needs the argument {name!r}." == null.value.message


@pytest.mark.parametrize("tool", TOOLS, ids=named)
def test_null_for_an_unknown_argument_is_still_an_unknown_argument(tool: Tool) -> None:
    needed = {param.name: sample(param) for param in tool.params if param.required}
    with pytest.raises(UnknownArgument, match="'nonsense'"):
        tool.checked(needed | {"nonsense": None})
