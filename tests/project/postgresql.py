"""A PostgreSQL server of our own, where its binaries and a driver are installed: pgserver brings them."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

DRIVERS = {"psycopg2": "postgresql+psycopg2", "psycopg": "postgresql+psycopg"}  # and how URLs begin
INSTALLED = Path("/usr/lib/postgresql")  # of Debian, which has no initdb on its path
USER = "tester"
SECONDS = 60


def binaries() -> Path | None:
    """The folder of initdb and postgres, null if they are not installed."""
    found = [path.parent for path in sorted(INSTALLED.glob("*/bin/initdb"))]
    if path := shutil.which("initdb"):
        found.append(Path(path).resolve().parent)
    if (package := find_spec("pgserver")) and package.origin:
        found.append(Path(package.origin).parent / "pginstall" / "bin")
    return found[0] if found else None


def scheme() -> str | None:
    """How a URL begins, null if there is no driver."""
    return next((scheme for name, scheme in DRIVERS.items() if find_spec(name)), None)


class Server:
    """A server on a free port of this machine, until `stop`.

    binaries (Path): Of PostgreSQL. folder (Path): For its data, empty. scheme (str): Of URLs.
    """

    def __init__(self, binaries: Path, folder: Path, scheme: str) -> None:
        self.binaries, self.folder, self.scheme = binaries, folder, scheme
        # it refuses to run as root
        self.user = "nobody" if hasattr(os, "geteuid") and os.geteuid() == 0 else None
        if self.user is not None:
            shutil.chown(folder, self.user)
        call = [binaries / "initdb", "-D", folder / "data", "-U", USER, "--auth=trust", "--no-sync"]
        subprocess.run(call, user=self.user, check=True, capture_output=True, cwd=folder)
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        where = ["-h", "127.0.0.1", "-p", f"{self.port}"]
        call = [self.binaries / "postgres", "-D", self.folder / "data", *where, "-k", self.folder, "-F"]
        self.process = subprocess.Popen(call, user=self.user, cwd=self.folder, stderr=subprocess.DEVNULL)
        end = time.monotonic() + SECONDS
        ready = [self.binaries / "pg_isready", *where, "-q"]
        while subprocess.run(ready, check=False).returncode:
            assert self.process.poll() is None and time.monotonic() < end, "the server does not start"
            time.sleep(0.1)

    def stop(self) -> None:
        """At once, as if it had crashed."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(SECONDS)

    def database(self, name: str) -> str:
        """Make a database. name (str): Its name. RETURNS (str): Its URL."""
        self.run(f"CREATE DATABASE {name}")
        return f"{self.scheme}://{USER}@127.0.0.1:{self.port}/{name}"

    def close_connections(self, name: str) -> None:
        """Close all that a database has. name (str): Its name."""
        self.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")

    def run(self, statement: str) -> None:
        """Run a statement of SQL."""
        where = ["-h", "127.0.0.1", "-p", f"{self.port}", "-U", USER, "-d", "postgres", "-q", "-t"]
        call = [self.binaries / "psql", *where, "-c", statement]
        subprocess.run(call, check=True, capture_output=True)


@contextmanager
def server() -> Iterator[Server | None]:
    """A server of our own, null if it cannot be had."""
    found, begin = binaries(), scheme()
    if found is None or begin is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as name:
        running = Server(found, Path(name), begin)
        try:
            yield running
        finally:
            running.stop()
