"""Out-of-fold class probabilities: predictions of models for documents of other folds."""

import io
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import spacy
from spacy.language import DEFAULT_CONFIG_PATH, Language
from spacy.tokens import Doc
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, minibatch
from thinc.api import Config
from thinc.types import Floats2d, Ints1d

from ..corpus.converted import ConvertedCorpus
from ..corpus.cutting import bare
from ..corpus.folder import CorpusTypes, load_docs, part_path, read_types, write_corpus
from ..corpus.splits import document_folds
from ..corpus.suspects import Audit, OutOfFold, cleanlab, find_suspects
from ..errors import Errors
from ..heads import SOFT_HEADS
from ..output.console import progress
from ..pipes.token.ner import TokenNER
from .filling import load_with_corpus_values
from .loading import with_any_encoder

BATCH = 64  # number of documents in a batch
# The rest is spaCy's default, and longtail_token_ner's: softmax, a HashEmbedCNN of its own
OWN_CONFIG = """
[nlp]
pipeline = ["ner"]
[components]
[components.ner]
factory = "longtail_token_ner"
[training]
dropout = 0.2
[training.batcher]
@batchers = "spacy.batch_by_words.v1"
discard_oversize = false
tolerance = 0.2
size = 1000
"""


def out_of_fold(
    docs: list[Doc],
    fold: Ints1d,
    types: CorpusTypes,
    *,
    corpus: Path | None = None,
    config: Path | None = None,
    steps: int = 300,
    seed: int = 0,
    gpu_id: int = -1,
) -> OutOfFold:
    """Train a model for each fold on the other folds, and predict the fold with it.

    docs (List[Doc]): Annotated documents.
    fold (Ints1d): Fold of each document, shape (n_docs,).
    types (CorpusTypes): Types of the corpus, and the language of the pipelines.
    corpus (Optional[Path]): Folder of the corpus, for configs that use its lists of names.
    config (Optional[Path]): Config with a longtail_token_ner. By default a small pipeline.
    steps (int): Number of training steps on each fold.
    seed (int): Random seed of the trainings.
    gpu_id (int): ID of the GPU, or -1 for the CPU.
    RETURNS (OutOfFold): Class probabilities, in which all tags of a type are added up.
    """
    classes = list(dict.fromkeys(["O", *types.labels, *(e.label_ for doc in docs for e in doc.ents)]))
    bounds = np.cumsum([0, *map(len, docs)])
    p = np.zeros((int(bounds[-1]), len(classes)))
    learnt = np.zeros_like(p)
    for i in progress(np.unique(fold).tolist(), "Folds", " trainings"):
        held_out = [docs[k] for k in np.flatnonzero(fold == i)]
        with tempfile.TemporaryDirectory(prefix="longtail-") as folder:
            place = Path(folder)
            rest = [docs[k] for k in np.flatnonzero(fold != i)]
            write_corpus(place, {"train": rest, "dev": held_out}, types, corpus)
            nlp = _trained(_settings(config, place, steps, seed), place, gpu_id)
        known, rows = class_probabilities(nlp, held_out, config)
        seen = {"O", *(ent.label_ for doc in rest for ent in doc.ents)}
        # a component may know types by their descriptions without having been trained on them
        shared = [i for i, name in enumerate(known) if name in classes and name in seen]
        columns = np.array([classes.index(known[i]) for i in shared])
        tokens = np.flatnonzero(np.repeat(fold == i, np.diff(bounds)))
        p[np.ix_(tokens, columns)] = rows[:, shared]
        learnt[np.ix_(tokens, columns)] = 1.0
    return OutOfFold(classes, p, learnt)


def _settings(path: Path | None, corpus: Path, steps: int, seed: int) -> Config:
    """Return the config of one fold, the user's or the default, with the files of its corpus."""
    if path is None:
        path = corpus / "config.cfg"
        own = load_config(DEFAULT_CONFIG_PATH).merge(Config().from_str(OWN_CONFIG))
        own.to_disk(path, interpolate=False)
    settings = {
        "training.max_steps": steps,
        "training.patience": 0,
        "training.seed": seed,
        "training.eval_frequency": steps,  # the fold's scores are not looked at
    }
    config = load_with_corpus_values(path, corpus, settings)
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1"}
    written = json.dumps(str(part_path(corpus, "train")))[1:-1]  # escaped as it is among the corpora
    filled = config.interpolate()
    name = filled["training"]["train_corpus"].rpartition(".")[2]
    if written not in json.dumps(filled.get("corpora", {}).get(name)):
        raise ValueError(
            Errors.L450.format(
                path=path,
                problem="no corpus is read from ${paths.train}, "
                "so that its models would see what they judge",
                fix="Set path = ${paths.train} in the training corpus.",
            )
        )
    return config


def _trained(config: Config, output: Path, gpu_id: int) -> Language:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fold may lack a type; its scores are not used
        nlp = init_nlp(with_any_encoder(config), use_gpu=gpu_id)
        train(nlp, output, use_gpu=gpu_id, stdout=io.StringIO(), stderr=io.StringIO())
    return spacy.load(output / "model-last")  # has the averaged weights


def class_probabilities(
    nlp: Language, docs: list[Doc], config: Path | None = None
) -> tuple[list[str], Floats2d]:
    """Return the classes of a pipeline's token NER and their probabilities.

    nlp (Language): Pipeline with a longtail_token_ner whose head is softmax or crf.
    docs (List[Doc]): Documents, whose annotation is not used.
    config (Optional[Path]): The config, for the message.
    RETURNS (Tuple[List[str], Floats2d]): Classes, O first, and probabilities of shape (n_tokens,
        n_classes), in which all tags of a type are added up.
    RAISES (ValueError): If no component has such probabilities (L450).
    """
    pipes = [pipe for _, pipe in nlp.pipeline]
    readable = (p for p in pipes if isinstance(p, TokenNER) and p.cfg["head"] in SOFT_HEADS)
    if (pipe := next(readable, None)) is None:
        factories = ", ".join(nlp.get_pipe_meta(name).factory for name in nlp.pipe_names)
        raise ValueError(
            Errors.L450.format(
                path=config,
                problem=f"it trains {factories}, without a probability of each class",
                fix="Use a longtail_token_ner with head = 'softmax' or 'crf', or omit --config.",
            )
        )
    with nlp.select_pipes(enable=nlp.pipe_names[: pipes.index(pipe)]):
        stream = nlp.pipe(bare(doc, nlp.vocab) for doc in docs)
        tags = np.concatenate([pipe.tokens.marginals(batch) for batch in minibatch(stream, BATCH)])
    label, _ = pipe.tokens.codec.layout()
    return ["O", *pipe.tokens.codec.labels], tags @ np.eye(1 + len(pipe.tokens.codec.labels))[label + 1]


def audit_corpus(
    corpus: Path,
    *,
    part: str = "train",
    config: Path | None = None,
    folds: int = 5,
    steps: int = 300,
    seed: int = 0,
    gpu_id: int = -1,
) -> Audit:
    """Find annotations that models trained on the rest of the corpus contradict.

    corpus (Path): Folder of a converted corpus.
    part (str): Part to audit. "train" is the whole of a corpus that was not split.
    config (Optional[Path]): Config with a longtail_token_ner to train. By default a small pipeline.
    folds (int): Number of cross-validation folds.
    steps (int): Number of training steps on each fold.
    seed (int): Random seed of folds and trainings.
    gpu_id (int): ID of the GPU, or -1 for the CPU.
    RETURNS (Audit): The suspects, and how far the models agree with the annotation.
    RAISES (ValueError): If the part has no mention, or the config cannot be used (L450).
    """
    cleanlab()  # fails early if it is not installed
    types = read_types(corpus)
    path = ConvertedCorpus(corpus).parts.get(part) or part_path(corpus, part)
    docs = load_docs(path, spacy.blank("xx"))
    if not any(doc.ents for doc in docs):
        raise ValueError(
            Errors.L450.format(
                path=path,
                problem="it has no mention",
                fix="Check the part, and that its entities are annotated.",
            )
        )
    fold = document_folds(docs, folds, seed, types.group_by)
    predicted = out_of_fold(
        docs, fold, types, corpus=corpus, config=config, steps=steps, seed=seed, gpu_id=gpu_id
    )
    return find_suspects(docs, predicted, types.tail)
