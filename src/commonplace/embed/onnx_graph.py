"""An ONNX graph of a model: the files that it is made of, its session, and which inputs and outputs it has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# Which tokens become the vector: all of them, the first or the last one.
MEAN, CLS, LAST = "mean", "cls", "last"
# What a graph may call a vector for each token, and a vector for the text.
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
TEXT_OUTPUTS = ("sentence_embedding", "sentence_embeddings", "embedding", "embeddings")
# A graph with this input pools by itself, the tokens that are marked in it.
POOLED_INPUT = "pooled"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model and how it wants to be used. `title` and `advice` are for messages."""

    title: str
    advice: str
    model: Path
    tokenizer: Path
    max_tokens: int
    # The graph that makes token vectors.
    token_model: Path | None = None
    # Numbers per vector, where they are known; else the model is tried.
    dim: int | None = None
    # One of the three above; None if nothing says it.
    pooling: str | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    pad_id: int = 0
    # Layers after pooling that only a graph with a vector for the whole text has applied.
    needs_text_output: bool = False

    def unavailable(self, why: str) -> EmbedderUnavailable:
        """An error about this model. It may reach callers of a server, so it names no path of this machine."""
        for path in (self.model, self.token_model, self.tokenizer):
            why = why if path is None else why.replace(str(path), path.name)
        return EmbedderUnavailable(f"{self.title} {why}", self.advice)


def checked_inputs(session: InferenceSession, files: ModelFiles) -> dict[str, str]:
    """The inputs of the graph and the numpy types that they take."""
    known = ("input_ids", "attention_mask", "token_type_ids", "position_ids", POOLED_INPUT)
    inputs = session.get_inputs()
    strange = [one.name for one in inputs if one.name not in known]
    if strange or not any(one.name == "input_ids" for one in inputs):
        raise files.unavailable(
            f"takes the inputs {', '.join(one.name for one in inputs)}; a sentence model takes input_ids,"
            " attention_mask, and perhaps token_type_ids or position_ids."
        )
    fixed = [one.name for one in inputs if any(isinstance(size, int) for size in one.shape or ())]
    if fixed:
        raise files.unavailable(f"takes texts of one fixed size only (its input {fixed[0]} is {inputs[0].shape}).")
    types = {one.name: one.type.removeprefix("tensor(").removesuffix(")") for one in inputs}
    return {name: "float32" if kind == "float" else kind for name, kind in types.items()}


def chosen_output(session: InferenceSession, files: ModelFiles) -> str:
    """The output of the graph that vectors are made of."""
    names = [one.name for one in session.get_outputs()]
    tokens = next((name for name in TOKEN_OUTPUTS if name in names), None)
    text = next((name for name in TEXT_OUTPUTS if name in names), None)
    if files.needs_text_output and text is None:
        raise files.unavailable(
            "has layers after pooling that its ONNX file does not contain (modules.json names them; the file has no"
            " output sentence_embedding)."
        )
    # With a vector for each token, the text before can be read and left out of the vector.
    if tokens and files.pooling == MEAN and not files.needs_text_output:
        return tokens
    chosen = text or tokens or (names[0] if len(names) == 1 else None)
    if chosen is None:
        raise files.unavailable(
            f"has the outputs {', '.join(names)}; one of {', '.join((*TOKEN_OUTPUTS, TEXT_OUTPUTS[0]))} is needed."
        )
    return chosen


def open_session(path: Path) -> InferenceSession:
    """An ONNX file as onnxruntime runs it here: on one thread of the processor, silent, calling nobody."""
    # The library sends telemetry unless this is set before its import; two names, of two versions.
    os.environ.update(ORT_DISABLE_TELEMETRY="1", ORT_TELEMETRY_DISABLED="1")
    # It imports a part of numpy, which fails while another thread is in the middle of importing numpy.
    import numpy  # noqa: F401, ICN001
    from onnxruntime import InferenceSession, SessionOptions, disable_telemetry_events

    # The same for the systems where it does not look at the environment.
    disable_telemetry_events()
    options = SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Errors only: a warning of the library must not reach a terminal or a protocol stream.
    options.log_severity_level = 3
    return InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def first_line(error: Exception) -> str:
    """What an error of a library says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
