"""The contract every engine keeps: tests here use only the Store protocol; a new engine is one line in ENGINES."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pytest
from tests.postgres_server import PostgresServer
from tests.store_template import write_store_file

from commonplace.model import Draft, Kind, Passage, PassageText, Scope
from commonplace.store.postgres.store import PostgresStore
from commonplace.store.protocol import Store
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.store.sqlite.store import SqliteStore
from commonplace.store.types import Job
from commonplace.text.query import parse_query

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

# 2025-03-15T14:30:00.000Z
THEN = 1_742_049_000_000
LEASE = 60_000
EVERYWHERE = Scope()


@dataclass(frozen=True, slots=True)
class Engine:
    """How to open (folder, space), and how to leave nothing of what was opened under a folder."""

    open: Callable[[Path, str], Store]
    leave: Callable[[Path], None] = lambda _folder: None


def sqlite(_request: pytest.FixtureRequest) -> Engine:
    def opened(folder: Path, space: str) -> Store:
        if space == "default":
            write_store_file(folder / "store.db")
        return SqliteStore(folder / "store.db", space=space, now_ms=THEN)

    return Engine(opened)


def postgres(request: pytest.FixtureRequest) -> Engine:
    server: PostgresServer = request.getfixturevalue("postgres")
    return Engine(
        lambda folder, space: PostgresStore(server.database(folder, connected=True), space=space, now_ms=THEN),
        server.leave,
    )


# Opening the same folder twice gives two handles on one database.
ENGINES: Mapping[str, Callable[[pytest.FixtureRequest], Engine]] = {"sqlite": sqlite, "postgres": postgres}


class Opener(Protocol):
    def __call__(self, space: str = "default", name: str = "one") -> Store: ...


@pytest.fixture(params=ENGINES, scope="session")
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param](request)


@pytest.fixture
def open_store(engine: Engine, tmp_path: Path) -> Iterator[Opener]:
    """Opens a handle: same `name`, same database."""
    handles: list[Store] = []

    def opener(space: str = "default", name: str = "one") -> Store:
        (tmp_path / name).mkdir(exist_ok=True)
        handles.append(engine.open(tmp_path / name, space))
        return handles[-1]

    yield opener
    for handle in handles:
        handle.close()
    engine.leave(tmp_path)


@pytest.fixture
def store(open_store: Opener) -> Store:
    return open_store()


@pytest.fixture
def neighbour(open_store: Opener) -> Store:
    """Another handle on the same space, as another process has it."""
    return open_store()


def make_draft(
    body: str = "",
    *,
    kind: Kind = "memory",
    type: str = "note",  # noqa: A002
    title: str = "",
    project: str | None = None,
    session: str | None = None,
    at: int = THEN,
    tags: Sequence[str] = (),
    details: Mapping[str, str] | None = None,
    parts: Sequence[str] = (),
    uid: str | None = None,
    importance: float | None = None,
    meta: Mapping[str, object] | None = None,
) -> Draft:
    """A finished draft. `parts` cuts the body into several passages."""
    body = body or "\n\n".join(parts)
    text = json.dumps([kind, session, type, title, body, sorted((details or {}).items())])
    return Draft(
        kind=kind,
        type=type,
        title=title,
        body=body,
        content_hash=hashlib.sha256(text.encode()).digest(),
        details=dict(details or {}),
        meta=dict(meta or {}),
        project=project,
        session=session,
        tags=tuple(tags),
        importance=importance,
        tokens=len(body) // 4,
        created_ms=at,
        passages=tuple(Passage(n, part) for n, part in enumerate(parts)) if len(parts) > 1 else (Passage(0),),
        uid=uid,
    )


@pytest.fixture
def draft() -> Callable[..., Draft]:
    return make_draft


class Words(Protocol):
    def __call__(self, store: Store, query: str, scope: Scope = EVERYWHERE, k: int = 50) -> list[int]: ...


@pytest.fixture
def by_words() -> Words:
    """Ids of the items that a query finds, best first, each once."""

    def find(store: Store, query: str, scope: Scope = EVERYWHERE, k: int = 50) -> list[int]:
        answer = store.search_text(parse_query(query, QUERY_COLUMNS), scope, k)
        return list(dict.fromkeys(hit.item_id for hit in answer.hits))

    return find


class Embed(Protocol):
    def __call__(
        self,
        store: Store,
        vector_of: Callable[[PassageText], NDArray[float32]],
        *,
        model: str = "tiny",
        dim: int = 8,
        owner: str = "worker",
        now: int = THEN,
    ) -> int: ...


@pytest.fixture
def embed() -> Embed:
    """Does every waiting job with hand-made vectors and tells how many were stored."""

    def work(
        store: Store,
        vector_of: Callable[[PassageText], NDArray[float32]],
        *,
        model: str = "tiny",
        dim: int = 8,
        owner: str = "worker",
        now: int = THEN,
    ) -> int:
        store.use_model(model, dim)
        done = 0
        while jobs := store.claim_jobs(owner, 100, now, LEASE):
            stored = store.finish_jobs(jobs, stacked(jobs, vector_of), owner)
            if not stored:
                break
            done += stored
        return done

    return work


def stacked(jobs: Sequence[Job], vector_of: Callable[[PassageText], NDArray[float32]]) -> NDArray[float32]:
    return np.stack([vector_of(job.passage) for job in jobs]).astype(np.float32)


class Pointing(Protocol):
    def __call__(self, *weights: float, dim: int = 8) -> NDArray[float32]: ...


@pytest.fixture
def pointing() -> Pointing:
    """A unit vector with these first coordinates."""

    def vector(*weights: float, dim: int = 8) -> NDArray[float32]:
        values = np.zeros(dim, np.float32)
        values[: len(weights)] = weights
        length = float(np.linalg.norm(values))
        return (values / length if length else values).astype(np.float32)

    return vector


@pytest.fixture(scope="session")
def make() -> Callable[..., Draft]:
    """`draft` for fixtures that live longer than a test."""
    return make_draft
