"""Codex CLI tells the same as Claude Code, under the same names."""

from __future__ import annotations

from commonplace.capture.hooks.adapters.claude_code import adapt

__all__ = ["adapt"]
