"""Pretrained encoders: spaCy pipelines that configs name, as `en_longtail_cnn` of the package."""

import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ..errors import Errors

HERE = Path(__file__).parent
TRANSFORMERS = ("en_longtail_trf", "en_longtail_trf_small")  # each a wheel of its own
META = "meta.json"  # of a pipeline, and of a package of one

# spaCy's `source = "en_longtail_cnn"` finds installed packages alone: this folder looks like their
# place. At the end of the path it hides none.
if str(HERE) not in sys.path:
    sys.path.append(str(HERE))


def shipped_encoder(lang: str) -> str | None:
    """The name of the encoder of a language that comes with the package."""
    name = f"{lang}_longtail_cnn"
    return name if (HERE / name).is_dir() else None


def installed_transformers(lang: str) -> list[str]:
    """The transformer encoders of a language that are installed, the best first."""
    return [name for name in TRANSFORMERS if name.startswith(f"{lang}_") and _package(name)]


def located(source: str | Path) -> Path:
    """Where an encoder, or a file of it, lies.

    source (str | Path): An installed package of a pipeline, as "en_longtail_cnn", or a file of it;
        anything else is a path.
    """
    name, *rest = Path(source).parts or ("",)
    package = _package(name)
    return Path(source) if package is None else package.joinpath(*rest)


def check_encoder(source: str | Path) -> Path:
    """Where an encoder lies. RAISES (ValueError): L720 if there is no pipeline."""
    path = located(source)
    if not (path / META).is_file():
        raise ValueError(Errors.L720.format(source=source))
    return path


def _package(name: str) -> Path | None:
    """The folder of the pipeline in an installed package."""
    spec = None
    if name.isidentifier():
        with suppress(ImportError, ValueError):  # of a module that cannot say where it is from
            spec = find_spec(name)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    if not (folder / META).is_file():
        return None
    return next(folder.glob(f"{name}-*/{META}"), folder / META).parent
