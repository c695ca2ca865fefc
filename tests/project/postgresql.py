"""A PostgreSQL server of our own for tests, where its binaries and a driver are installed."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

DRIVERS = {"psycopg2": "postgresql", "psycopg": "postgresql+psycopg"}  # modules, and how URLs begin
INSTALLED = Path("/usr/lib/postgresql")  # of Debian, which has no initdb on its path
USER = "tester"
SECONDS = 60


class Server(NamedTuple):
    binaries: Path
    port: int
    scheme: str  # of URLs


@contextmanager
def server() -> Iterator[Server]:
    """A server with a folder and a port of its own. Skips the test if it cannot be had."""
    scheme = next((scheme for name, scheme in DRIVERS.items() if find_spec(name)), None)
    binaries = [path.parent for path in sorted(INSTALLED.glob("*/bin/initdb"))]
    if not binaries and (found := shutil.which("initdb")):
        binaries = [Path(found).resolve().parent]
    if scheme is None or not binaries:
        pytest.skip("needs the server PostgreSQL, and psycopg2 or psycopg")
    with tempfile.TemporaryDirectory() as name, running(binaries[-1], Path(name)) as port:
        yield Server(binaries[-1], port, scheme)


@contextmanager
def running(binaries: Path, folder: Path) -> Iterator[int]:
    """Run a server on a free port."""
    # it refuses to run as root
    user = "nobody" if hasattr(os, "geteuid") and os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user)
    data = folder / "data"
    call = [binaries / "initdb", "-D", data, "-U", USER, "--auth=trust", "--no-sync"]
    subprocess.run(call, user=user, check=True, capture_output=True, cwd=folder)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    call = [binaries / "postgres", "-D", data, "-h", "127.0.0.1", "-p", f"{port}", "-k", folder, "-F"]
    process = subprocess.Popen(call, user=user, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        ready = [binaries / "pg_isready", "-h", "127.0.0.1", "-p", f"{port}", "-q"]
        end = time.monotonic() + SECONDS
        while subprocess.run(ready, check=False).returncode:
            assert process.poll() is None and time.monotonic() < end, "the server does not start"
            time.sleep(0.1)
        yield port
    finally:
        process.send_signal(signal.SIGQUIT)  # at once: nothing is kept
        process.wait(SECONDS)


def database(found: Server) -> str:
    """The URL of a new database."""
    name = f"study_{uuid.uuid4().hex}"
    where = ["-h", "127.0.0.1", "-p", f"{found.port}", "-U", USER]
    subprocess.run([found.binaries / "createdb", *where, name], check=True)
    return f"{found.scheme}://{USER}@127.0.0.1:{found.port}/{name}"
