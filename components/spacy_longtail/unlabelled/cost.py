"""What texts would cost: what a pipeline would give to its secondaries, which are not built."""

from importlib import import_module
from pathlib import Path

from spacy import util
from thinc.api import Config

from ..corpus.formats.context import Events, Settings
from ..errors import Errors
from ..pipes.gated_pipe import DEFAULTS, WHO
from ..pipes.usage import Usage
from ..pipes.weak_sentences import flagged_parts
from ..records import Record
from ..training.loading import load_pipeline
from .pool import read_pool


class Cost(Record):
    """Of one secondary."""

    texts: int
    sentences: int
    flagged: int  # sentences
    share: float  # of the sentences, how many are flagged
    words: int  # of the flagged sentences; a prompt comes on top for each call
    calls: int  # the secondary is given each flagged sentence once


def estimate(pipeline: str, texts: Path, settings: Settings, batch_size: int = 64) -> dict[str, Cost]:
    """Run a pipeline over texts, but for its secondaries, and count what these would be given.

    pipeline (str): A folder or an installed package. Its secondaries are not built: no key is needed.
    texts (Path): A file, or a folder of files, as for `mine`. settings (Settings): How to read it.
    RETURNS (Dict[str, Cost]): By name of the secondary.
    RAISES (ValueError): L293, L402, L403, L408, L420 to L427.
    """
    keys = _secondaries(pipeline)
    nlp = load_pipeline(pipeline, exclude=list(keys))
    used = {name: Usage() for name in keys}
    n_texts = 0
    for doc in nlp.pipe(read_pool(texts, nlp, settings, Events()), batch_size=batch_size):
        n_texts += 1
        for name, usage in used.items():
            parts = flagged_parts(doc, keys[name], name)
            usage.add_document(doc, parts)
            usage.add(calls=len(parts))
    return {
        name: Cost(
            texts=n_texts,
            sentences=own.sentences,
            flagged=own.flagged,
            share=own.share,
            words=own.words,
            calls=own.calls,
        )
        for name, own in used.items()
    }


def _secondaries(pipeline: str) -> dict[str, str]:
    """The key of flagged sentences of each secondary. RAISES (ValueError): L293, L408."""
    blocks = _config(pipeline).get("components")
    if not isinstance(blocks, dict) or not all(isinstance(block, dict) for block in blocks.values()):
        blocks = load_pipeline(pipeline).config["components"]  # says what is wrong
    found = {
        name: block.get("spans_key", DEFAULTS["spans_key"])
        for name, block in blocks.items()
        if block.get("factory") == WHO
    }
    if not found:
        shown = ", ".join(block.get("factory", name) for name, block in blocks.items()) or "no component"
        raise ValueError(Errors.L293.format(path=pipeline, found=shown))
    return found


def _config(pipeline: str) -> Config:
    folder = Path(pipeline)
    if not folder.exists() and util.is_package(pipeline):
        package = Path(str(import_module(pipeline).__file__)).parent
        meta = util.get_model_meta(package)
        folder = package / f"{meta['lang']}_{meta['name']}-{meta['version']}"
    if not (folder / "config.cfg").is_file():
        return load_pipeline(pipeline).config.interpolate()  # says what is wrong
    return util.load_config(folder / "config.cfg", interpolate=True)
