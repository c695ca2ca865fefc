"""Content keys of trials: checksums of the config, the data and the code."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from spacy.util import dict_to_dot
from thinc.api import Config

from ...corpus.folder import PARTS, part_path, read_types
from ...errors import Errors
from ...training.provenance import checksum, digest, file_content, shortened, versions
from ...training.startup import imported_code
from .plan import Trial

PACKAGE = Path(__file__).parents[2]
# code on which a trained model and its scores cannot depend
IDLE = (
    *("cli", "errors.py", "output", "corpus/statistics", "evaluation/report"),
    *("evaluation/significance", "pretraining", "studies", "corpus/checks.py", "unlabelled"),
)

content_of = cache(file_content)  # so that a command reads each file once

CorpusVersion = Mapping[str, object]  # JSON data, equal for corpora that can share trials


@cache
def code_version() -> str:
    """Return a checksum of installed versions and of the code that a training runs.

    The code is that of this package and of the files given by --code.
    """
    sources = hashlib.sha256()
    paths = [*PACKAGE.rglob("*.py"), PACKAGE / "corpus" / "type_words.yml"]
    files = {path.relative_to(PACKAGE).as_posix(): path for path in paths}
    for name in sorted(files):
        if not name.startswith(IDLE):
            sources.update(name.encode("utf8") + b"\0" + files[name].read_bytes())
    for path in imported_code():
        sources.update(path.read_bytes())
    return digest({"versions": versions(), "sources": sources.hexdigest()})


def corpus_version(corpus: Path) -> CorpusVersion:
    """Return the data of a corpus on which a trial depends.

    corpus (Path): Folder of a converted corpus.
    RETURNS (CorpusVersion): Types, language and a checksum of each part.
    RAISES (ValueError): If train, dev or test is missing.
    """
    paths = {part: part_path(corpus, part) for part in PARTS}
    for path in paths.values():
        if not path.exists():
            raise ValueError(Errors.L402.format(path=path, fix="Trials need train, dev and test."))
    return {**read_types(corpus)._asdict(), **{part: checksum(path) for part, path in paths.items()}}


def config_content(config: Config) -> dict[str, object]:
    """Return the data of a config on which a trial depends: all except the path of its corpus.

    config (Config): The config, not interpolated.
    RETURNS (Dict[str, object]): JSON data. Other paths are represented by the content of the files.
    """
    paths = {k: v for k, v in config.get("paths", {}).items() if k not in ("train", "dev")}
    sections = {**config, "paths": paths}
    files = {}
    for name, value in dict_to_dot(sections).items():
        text = str(value)
        may_be_file = name.startswith("paths.") or "/" in text or Path(text).suffix
        if may_be_file and "\0" not in text and (content := content_of(text)):
            files[name] = content
    return {**shortened(sections), "files": files}


def trial_key(trial: Trial, corpus: CorpusVersion) -> str:
    """Return the content key of a trial, which does not depend on the path of the corpus.

    trial (Trial): The trial.
    corpus (CorpusVersion): Result of `corpus_version`.
    RETURNS (str): The key.
    """
    return digest({"config": config_content(trial.config()), "corpus": corpus, "code": code_version()})
