"""Pretrained encoders: spaCy pipelines that a config can name, such as `en_longtail_cnn`."""

import atexit
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import srsly
from spacy import blank
from thinc.api import Config

from ..errors import Errors

HERE = Path(__file__).parent
TRANSFORMERS = ("en_longtail_trf", "en_longtail_trf_small")  # separate packages
MAJOR = "1"  # major version of these packages that this code loads
KNOWN_TYPES = HERE / "known_types.json"  # descriptions that the shipped encoders were pretrained on
META = "meta.json"  # of a pipeline, and of a package that contains one

# spaCy's `source = "en_longtail_cnn"` only finds installed packages, so this folder is searched as
# theirs is. At the end of the path, it cannot hide any of them.
if str(HERE) not in sys.path:
    sys.path.append(str(HERE))


def shipped_encoder(lang: str) -> str:
    """Return the name of the CNN encoder to start from in a language.

    lang (str): spaCy language code of the corpus.
    RETURNS (str): The encoder of that language, else the multilingual one, else the English one.
    """
    names = (f"{code}_longtail_cnn" for code in (lang, "xx"))
    return next((name for name in names if (HERE / name).is_dir()), "en_longtail_cnn")


def installed_transformers(lang: str) -> list[str]:
    """Return the installed transformer encoders of a language, the most accurate one first.

    lang (str): spaCy language code.
    """
    return [name for name in TRANSFORMERS if name.startswith(f"{lang}_") and _package(name)]


@cache
def in_language(source: str, lang: str) -> str:
    """Return a pipeline that spaCy can source components from into a pipeline of a language.

    spaCy refuses a source of another language (E150), although the weights of an encoder do not
    depend on it: the tokenizer and `nlp.lang` are those of the pipeline that is trained.

    source (str): Installed package of a pipeline, or a folder.
    lang (str): Language code of the pipeline that gets the components.
    RETURNS (str): The source itself if it has that language; else a temporary copy that declares
        it, which is deleted when the program ends.
    RAISES (ValueError): If there is no such pipeline.
    """
    folder = check_encoder(source)
    config = Config().from_disk(folder / "config.cfg", interpolate=False)
    if config.get("nlp", {}).get("lang") == lang:
        return source
    temporary = tempfile.mkdtemp(prefix="longtail-encoder-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    copy = Path(temporary) / folder.name
    shutil.copytree(folder, copy)
    config["nlp"] |= {"lang": lang, "tokenizer": {"@tokenizers": "spacy.Tokenizer.v1"}}
    config.to_disk(copy / "config.cfg", interpolate=False)
    tokenizer: Any = blank("xx").tokenizer  # that of another language may need a library
    tokenizer.to_disk(copy / "tokenizer")
    srsly.write_json(copy / META, {**srsly.read_json(copy / META), "lang": lang})
    return str(copy)


def located(source: str | Path) -> Path:
    """Return the path of an encoder, or of a file in it.

    source (str | Path): Installed package of a pipeline, such as "en_longtail_cnn", or a file in
        it, such as "en_longtail_cnn/meta.json". Anything else is a path.
    """
    name, *rest = Path(source).parts or ("",)
    package = _package(name)
    return Path(source) if package is None else package.joinpath(*rest)


def check_encoder(source: str | Path) -> Path:
    """Return the folder of an encoder.

    source (str | Path): Installed package such as "en_longtail_trf", or a folder.
    RAISES (ValueError): If there is no pipeline, or the package has another major version.
    """
    path = located(source)
    if not (path / META).is_file():
        raise ValueError(Errors.L720.format(source=source))
    if str(source) in TRANSFORMERS:
        version = str(srsly.read_json(path / META).get("version"))
        if version.split(".")[0] != MAJOR:
            raise ValueError(Errors.L890.format(name=source, version=version, major=MAJOR))
    return path


def _package(name: str) -> Path | None:
    """Return the folder of the pipeline in an installed package; null if there is none."""
    spec = None
    if name.isidentifier():
        with suppress(ImportError, ValueError):  # a module without a known origin
            spec = find_spec(name)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    if not (folder / META).is_file():
        return None
    return next(folder.glob(f"{name}-*/{META}"), folder / META).parent
