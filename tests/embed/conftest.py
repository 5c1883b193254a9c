"""The real model, loaded once for all tests, and its fp32 form to compare with."""

from __future__ import annotations

import pytest
from benchmarks.embedding import fp32 as build_fp32

from commonplace.embed.model_files import MiniLM


@pytest.fixture(scope="session")
def model() -> MiniLM:
    return MiniLM()


@pytest.fixture(scope="session")
def fp32(tmp_path_factory: pytest.TempPathFactory) -> MiniLM:
    """The same graph before quantisation."""
    return build_fp32(tmp_path_factory.mktemp("fp32"))
