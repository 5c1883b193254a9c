"""A database of its own for each test, without any table yet, or migrated and empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres_server import PostgresServer


@pytest.fixture
def bare(postgres: PostgresServer) -> Iterator[str]:
    """The address of a database without any table."""
    yield postgres.new_database("commonplace_bare")
    postgres.run("DROP DATABASE commonplace_bare WITH (FORCE)")


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path) -> Iterator[str]:
    """The address of a migrated database."""
    yield postgres.database(tmp_path)
    postgres.leave(tmp_path)
