"""Key of a trial: a checksum of its config, its corpus and the code, by which it is found again."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from thinc.api import Config

from ...corpus.folder import PARTS, read_types
from ...corpus.names import NAMES
from ...corpus.parts import checksum, checksums, part_path
from ...errors import Errors
from ...training.provenance import file_content, installed_versions, json_checksum, with_short_paths
from ...training.startup import imported_code

CorpusVersion = Mapping[str, object]  # JSON data, equal for corpora that can share trials

content_of = cache(file_content)  # so that a command reads each file once


@cache
def code_version() -> str:
    """Return a checksum of the installed versions and of the files given by --code."""
    return json_checksum(
        {"versions": installed_versions(), "code": [checksum(path) for path in imported_code()]}
    )


def corpus_version(corpus: Path) -> CorpusVersion:
    """Return the data of a corpus on which a trial depends.

    corpus (Path): Folder of a converted corpus.
    RETURNS (CorpusVersion): Types, language and checksums of the parts and of the lists of names.
    RAISES (ValueError): If train, dev or test is missing.
    """
    for path in (part_path(corpus, part) for part in PARTS):
        if not path.exists():
            raise ValueError(Errors.L402.format(path=path, fix="Trials need train, dev and test."))
    return {**read_types(corpus)._asdict(), **content_of_parts(corpus, PARTS)}


def content_of_parts(corpus: Path, parts: Iterable[str]) -> dict[str, str]:
    """Return checksums of parts of a corpus and, if it has any, of its lists of names.

    corpus (Path): Folder of a converted corpus.
    parts (Iterable[str]): Names of the parts, which must exist.
    """
    return checksums({**{part: part_path(corpus, part) for part in parts}, NAMES: corpus / NAMES})


def config_content(config: Config) -> dict[str, object]:
    """Return the data of a config on which a trial depends: all except the path of its corpus.

    config (Config): The config, not interpolated.
    RETURNS (Dict[str, object]): JSON data. Other paths of files and folders are replaced by
        checksums of their content, so that it does not matter how a path is written.
    """
    paths = {k: v for k, v in config.get("paths", {}).items() if k not in ("train", "dev")}
    # without "files" all keys of earlier trials would change
    return {**with_short_paths(_by_content({**config, "paths": paths})), "files": {}}


def _by_content(value: object, section: str = "") -> object:
    """Return a config value with checksums instead of paths that exist. section (str): Its own."""
    if isinstance(value, Mapping):
        return {key: _by_content(inner, section or key) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_by_content(inner, section) for inner in value]
    text = str(value)
    may_be_file = section == "paths" or "/" in text or Path(text).suffix
    return (content_of(text) if may_be_file else "") or value


def trial_key(config: Config, corpus: CorpusVersion, **more: object) -> str:
    """Return the content key of a trial, which does not depend on the path of the corpus.

    config (Config): Complete config of the training, not interpolated.
    corpus (CorpusVersion): Result of `corpus_version`.
    **more (object): Other JSON data on which the trial depends.
    RETURNS (str): The key.
    """
    return json_checksum(
        {"config": config_content(config), "corpus": corpus, "code": code_version(), **more}
    )
