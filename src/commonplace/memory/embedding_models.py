"""The models that could make vectors: which one does, and what each costs on this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from commonplace import plugins
from commonplace.config import EMBEDDERS, FOLDER, Settings, embedder_kind, model_folder
from commonplace.embed import Embedder
from commonplace.embed.onnx_embedder import OnnxEmbedder
from commonplace.errors import CommonplaceError, EmbedderUnavailable
from commonplace.memory.local_memory import LocalMemory, make_embedder

# What is embedded to measure a model: passages as they are stored, so many rounds, for about so long.
SAMPLE_TEXTS = tuple(
    f"{subject} was discussed again this morning. We looked at the figures of the last two weeks, compared them with"
    f" what the customers report, and decided to change one thing at a time: first the time-outs, then the size of the"
    f" pool. If {subject.lower()} is still slow on Friday, we go back to the old configuration and measure it there."
    for subject in ("The checkout", "The nightly import", "Search", "The mail queue")
)
MEASURED_ROUNDS, MEASURED_SECONDS = 5, 2.0


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One value that the setting `embedder` may have. What is None is not known, or was not measured.

    `waiting` is how many passages need a vector of it, in use or once it is.
    """

    embedder: str
    name: str | None = None
    in_use: bool = False
    bytes: int | None = None
    dimension: int | None = None
    max_tokens: int | None = None
    load_seconds: float | None = None
    ms_per_text: float | None = None
    waiting: int = 0
    problem: str | None = None
    suggestion: str | None = None


def list_models(memory: LocalMemory, folders: Sequence[str] = (), *, measure: bool = False) -> list[dict[str, object]]:
    """Every model that is there, and those in other folders, as plain data. Only `measure` loads any of them."""
    records = [_record(memory, embedder, measure) for embedder in _choices(memory.settings, folders)]
    return [asdict(record) for record in records]


def _choices(settings: Settings, folders: Sequence[str]) -> list[str]:
    """The values of the setting that would work, each once."""
    builtin, endpoint, off = EMBEDDERS
    configured = [settings.embedder] if embedder_kind(settings.embedder) == FOLDER else []
    in_use = [model_folder(folder) for folder in configured]
    endpoints = [endpoint] if settings.endpoint_url and settings.endpoint_model else []
    others = [folder for folder in folders if model_folder(folder) not in in_use]
    added = [name for name in plugins.names(plugins.EMBEDDERS) if name not in EMBEDDERS]
    return list(dict.fromkeys([builtin, *configured, *others, *endpoints, *added, off]))


def _record(memory: LocalMemory, embedder: str, measure: bool) -> ModelRecord:
    settings = replace(memory.settings, embedder=embedder)
    counts = memory.store.counts()
    record = ModelRecord(embedder, in_use=embedder == memory.settings.embedder, waiting=counts.passages)
    foreign = embedder_kind(embedder) not in (FOLDER, *EMBEDDERS)
    if foreign and not (measure or record.in_use):
        # The code of another package is only run if it has to be.
        return record
    try:
        made = make_embedder(settings)
        if made is None:
            return replace(record, waiting=0)
        record = replace(record, name=made.name)
        if record.in_use and memory.store.uses_model(made.name):
            record = replace(record, waiting=counts.pending)
        if isinstance(made, OnnxEmbedder):
            cost = made.cost()
            record = replace(record, bytes=cost.bytes, dimension=cost.dim, max_tokens=cost.max_tokens)
        return _measured(record, made) if measure else record
    except CommonplaceError as error:
        return replace(record, problem=error.message, suggestion=error.hint)
    except Exception as error:
        if not foreign:
            raise
        return replace(
            record, problem=f"{type(error).__name__}: {error}", suggestion="Update the package that adds it."
        )


def _measured(record: ModelRecord, embedder: Embedder) -> ModelRecord:
    began = time.perf_counter()
    embedder.embed(["The first text loads the model."])
    loaded = time.perf_counter()
    fastest = float("inf")
    for _ in range(MEASURED_ROUNDS):
        start = time.perf_counter()
        vectors = embedder.embed(SAMPLE_TEXTS)
        fastest = min(fastest, time.perf_counter() - start)
        if time.perf_counter() - loaded > MEASURED_SECONDS:
            break
    if vectors.shape != (len(SAMPLE_TEXTS), embedder.dim):
        raise EmbedderUnavailable(f"{record.name} makes vectors of different lengths.", "Use another model.")
    return replace(
        record,
        dimension=embedder.dim,
        load_seconds=round(loaded - began, 2),
        ms_per_text=round(fastest * 1000 / len(SAMPLE_TEXTS), 2),
    )
