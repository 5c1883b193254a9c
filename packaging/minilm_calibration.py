"""How much of each layer norm's size goes into the weights that follow it, before both are quantised.

The method is SmoothQuant's. The outliers belong to the model, not to the text: they show as well on random words as on
real ones, so calibration needs no corpus. Factors are powers of two: they cost no precision, and small differences of
arithmetic between machines do not change the model that is built.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper

from minilm_graph import Tensors, build, inputs_of_norms, weight_of

# Between "all stays in the activations" (0) and "all goes to the weights" (1); 0.5 and 0.8 were a little worse.
STRENGTH = 0.65
TEXTS, TOKENS = 32, 64
CLS, SEP, FULL_STOP, FIRST_WORD, VOCABULARY = 101, 102, 1012, 1000, 30_522


def smoothing(tensors: Tensors) -> dict[str, NDArray[np.float32]]:
    """One factor per input channel, for every linear step that reads a layer norm."""
    factors: dict[str, NDArray[np.float32]] = {}
    for step, size in _sizes(tensors).items():
        weight, _ = weight_of(tensors, step)
        factor = size**STRENGTH / np.abs(weight).max(axis=0) ** (1 - STRENGTH)
        factor /= np.exp(np.log(factor).mean())
        factors[step] = np.exp2(np.rint(np.log2(factor))).astype(np.float32)
    return factors


def _sizes(tensors: Tensors) -> dict[str, NDArray[np.float32]]:
    """The largest magnitude of each channel in front of those steps, over random sentences."""
    watched = inputs_of_norms()
    model = build(tensors)
    model.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in dict.fromkeys(watched.values())
    )
    ids = _sentences()
    session = session_of(model)
    values = session.run(
        list(watched.values()), {"input_ids": ids, "attention_mask": np.ones_like(ids), "pooled": np.ones_like(ids)}
    )
    return {step: np.abs(value).max(axis=0) for step, value in zip(watched, values, strict=True)}


def _sentences() -> NDArray[np.int64]:
    chance = np.random.default_rng(0)
    ids = chance.integers(FIRST_WORD, VOCABULARY, size=(TEXTS, TOKENS))
    ids[chance.random(ids.shape) < 0.1] = FULL_STOP
    ids[:, 0], ids[:, -1] = CLS, SEP
    return ids


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """A session for a graph that was not written to disk."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
