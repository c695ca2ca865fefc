"""Storages that processes share."""

import pytest

from .postgresql import database, server


@pytest.fixture(scope="session")
def postgresql_server():
    with server() as found:
        yield found


@pytest.fixture
def postgresql(postgresql_server):
    return database(postgresql_server)


@pytest.fixture(params=["url", "path", "postgresql"])
def storage(request, tmp_path):
    """Of processes that share a study."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    return f"sqlite:///{tmp_path}/s.db" if request.param == "url" else str(tmp_path / "s.db")
