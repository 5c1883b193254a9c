"""A server for the tests of the judges' own tools."""

from __future__ import annotations

from tests.mcp.conftest import served

__all__ = ["served"]
