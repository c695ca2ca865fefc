"""What makes a trial the same trial: its config, its data and the code that runs it."""

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
# what a trained model or its scores cannot depend on
IDLE = (
    *("cli", "errors.py", "output", "corpus/statistics", "evaluation/report"),
    *("evaluation/significance", "pretraining", "studies", "corpus/checks.py", "unlabelled"),
)

content_of = cache(file_content)  # one command reads a file once

CorpusVersion = Mapping[str, object]  # JSON data, equal where trials can be shared


@cache
def code_version() -> str:
    """A checksum of the installed versions, and of the code of this package and of --code that a
    training runs."""
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
    """What of a corpus a trial depends on: types, language, and a checksum of each part.

    corpus (Path): A folder that `convert` wrote.
    """
    paths = {part: part_path(corpus, part) for part in PARTS}
    for path in paths.values():
        if not path.exists():
            raise ValueError(Errors.L402.format(path=path, fix="Trials need train, dev and test."))
    return {**read_types(corpus)._asdict(), **{part: checksum(path) for part, path in paths.items()}}


def config_content(config: Config) -> dict[str, object]:
    """What of a config a trial depends on: all but where its corpus lies.

    config (Config): Not interpolated.
    RETURNS (Dict[str, object]): JSON data. What other paths lead to counts by its content.
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
    """The content key of a trial. Where the corpus lies has no part in it.

    trial (Trial): The trial. corpus (CorpusVersion): What `corpus_version` returned.
    """
    return digest({"config": config_content(trial.config()), "corpus": corpus, "code": code_version()})
