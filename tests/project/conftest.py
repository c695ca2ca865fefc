"""Storages that processes share."""

import uuid

import pytest

from .postgresql import server


@pytest.fixture(scope="session")
def postgresql_server():
    with server() as found:
        if found is None:
            pytest.skip("needs PostgreSQL or pgserver, and psycopg2 or psycopg")
        yield found


@pytest.fixture
def postgresql(postgresql_server):
    return postgresql_server.database(f"study_{uuid.uuid4().hex}")


@pytest.fixture(params=["url", "path", "postgresql"])
def storage(request, tmp_path):
    """Of processes that share a study."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    return f"sqlite:///{tmp_path}/s.db" if request.param == "url" else str(tmp_path / "s.db")
