"""A database of its own for each test, without any table yet, or migrated and empty."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres_server import PostgresServer


@pytest.fixture
def bare(postgres: PostgresServer) -> Iterator[str]:
    """The address of a database without any table."""
    name = f"commonplace_bare_{os.getpid()}"
    yield postgres.new_database(name)
    postgres.run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path) -> Iterator[str]:
    """The address of a migrated database."""
    yield postgres.database(tmp_path)
    postgres.leave(tmp_path)
