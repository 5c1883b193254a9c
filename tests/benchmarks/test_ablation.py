"""What the ablation leaves out is there to be left out."""

from __future__ import annotations

import pytest
from benchmarks.ablation import ABLATIONS, Change, changed


@pytest.mark.parametrize(("step", "changes"), ABLATIONS)
def test_a_step_is_left_out_and_taken_again(step: str, changes: tuple[Change, ...]) -> None:
    before = [getattr(module, name) for module, name, _value in changes]
    with changed(changes):
        assert [getattr(module, name) for module, name, _value in changes] == [value for *_, value in changes], step
    assert [getattr(module, name) for module, name, _value in changes] == before
