"""The real model, loaded once for all tests, and its fp32 form to compare with."""

from __future__ import annotations

from pathlib import Path

import pytest

import minilm_adapter
import minilm_source
import minilm_token_graph
from commonplace.embed.model_files import MiniLM


@pytest.fixture(scope="session")
def model() -> MiniLM:
    return MiniLM()


@pytest.fixture(scope="session")
def fp32(tmp_path_factory: pytest.TempPathFactory) -> MiniLM:
    """The same graph before quantisation."""
    folder: Path = tmp_path_factory.mktemp("fp32")
    source = minilm_source.fetch()
    tensors = minilm_adapter.merged(source.tensors, minilm_adapter.read(minilm_adapter.ENCODER))
    tokens = minilm_adapter.read(minilm_adapter.TOKEN_VECTORS)
    (folder / "model.onnx").write_bytes(minilm_token_graph.build_encoder(tensors, None, tokens).SerializeToString())
    (folder / "token_vectors.onnx").write_bytes(minilm_token_graph.build(tensors, None, tokens).SerializeToString())
    (folder / "tokenizer.json").write_bytes(source.tokenizer)
    return MiniLM(folder=folder)
