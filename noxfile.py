"""What CONTRIBUTING describes, each in an environment of its own: `nox --list`, `nox -s lint`."""

import nox

nox.options.sessions = ["lint", "tests"]
CONSTRAINTS = ("-c", "constraints.txt")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, import order, generated pages and configs."""
    session.install(*CONSTRAINTS, "-e", ".[test,dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("python", "scripts/document.py", "--check")
    session.run("python", "scripts/configs.py", "--check")


@nox.session(python=["3.10", "3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """Run the fast tests; arguments go to pytest, as in `nox -s tests-3.11 -- -m slow`."""
    session.install(*CONSTRAINTS, "-e", ".[test]")
    session.run("pytest", "-n", "auto", "--dist", "loadfile", *session.posargs)


@nox.session
def light(session: nox.Session) -> None:
    """Train and predict in an installation without extras."""
    session.install(*CONSTRAINTS, ".")
    session.run("python", "tests/light.py")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site and check every link."""
    session.install(*CONSTRAINTS, "-e", ".[docs]")
    session.run("mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def dist(session: nox.Session) -> None:
    """Build the package and check what PyPI would show."""
    session.install("build", "twine")
    session.run("python", "-m", "build")
    session.run("twine", "check", "--strict", "dist/*")
