"""Folds of a corpus's training part, and a model for each that has never seen it."""

import shutil
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc
from spacy.util import load_config
from thinc.api import Config
from thinc.types import Ints1d

from ..corpus.folder import load_docs, part_path, read_types, write_corpus
from ..corpus.tokenizers import blank
from ..corpus.units import document_folds
from ..errors import Errors, Warnings
from ..evaluation.chosen import Chosen
from ..evaluation.folds import FoldModel, check_one_ner, fit_out_of_fold
from ..evaluation.offset_choice import OffsetWish
from ..output.writing import coded_io, whole_folder
from ..settings import whole
from ..training.loading import load_pipeline
from ..training.provenance import checksum
from .trials.child import MODEL
from .trials.filling import interpolated
from .trials.keys import digest
from .trials.ledger import FOLDER, check_output
from .trials.methods import Method
from .trials.plan import Plan
from .trials.run import Matrix, Options

FOLDS = "folds"  # in the output folder
LEAST = 2  # folds; with two a model has half of the training data


class Fold(NamedTuple):
    corpus: Path  # train without the fold, dev as it is, the fold as test
    n_train: int  # documents
    n_test: int


def write_folds(
    corpus: Path, output: Path, n_folds: int, seed: int = 0, *, with_dev: bool = False
) -> list[Fold]:
    """Write a corpus per fold, stratified over types. The fold is its test part.

    Folds are of train, and dev stays as it is; or of train and dev together, and dev is the next fold.

    corpus (Path): A folder that `convert` wrote. output (Path): Folder of the results; folds that are
        there are taken as they are.
    n_folds (int): At least 2, or 3 with dev. seed (int): Fixes the folds.
    with_dev (bool): Whether dev is cut into folds, too.
    RAISES (ValueError): L001, L402 to L404, L430, L432, L434, L436, L442, L476; L537 where a type has
        too few mentions for decisions of its own (with dev a warning).
    """
    n_folds = whole("folds", n_folds, "5 is the default.", low=LEAST + with_dev)
    types = read_types(corpus)
    train, dev = (part_path(corpus, part) for part in ("train", "dev"))
    vocab = blank(types.lang, types.tokens)
    docs = [doc for path in ([train, dev] if with_dev else [train]) for doc in load_docs(path, vocab)]
    fold = document_folds(docs, n_folds, seed)
    if problem := _unlearnt(docs, fold, types.labels, n_folds):
        if not with_dev:  # of what is decided for each type
            raise ValueError(Errors.L537.format(path=corpus, n=n_folds, problem=problem))
        warnings.warn(Warnings.W102.format(path=corpus, n=n_folds, problem=problem), stacklevel=2)
    data = {"train": checksum(train), "dev": checksum(dev), "with_dev": with_dev}
    place = output / FOLDS / digest({**types._asdict(), **data, "folds": n_folds, "seed": seed})
    check_output(output, [corpus], FOLDER)
    with coded_io(output):
        (output / FOLDER).mkdir(parents=True, exist_ok=True)
    found = []
    for i in range(n_folds):
        own_dev = (i + 1) % n_folds if with_dev else None
        parts = {
            "train": [doc for doc, k in zip(docs, fold, strict=True) if k not in (i, own_dev)],
            "test": [doc for doc, k in zip(docs, fold, strict=True) if k == i],
        }
        if with_dev:
            parts["dev"] = [doc for doc, k in zip(docs, fold, strict=True) if k == own_dev]
        own = place / f"{corpus.resolve().name}-fold-{i}"
        if not own.is_dir():
            with coded_io(own), whole_folder(own) as new:
                write_corpus(new, parts, types)
                if not with_dev:
                    copy = shutil.copytree if dev.is_dir() else shutil.copyfile
                    copy(dev, new / dev.name)
        found.append(Fold(own, len(parts["train"]), len(parts["test"])))
    return found


def _unlearnt(docs: list[Doc], fold: Ints1d, labels: list[str], n_folds: int) -> str:
    """Which types some model cannot learn, in words; "" if there is none."""
    folds: dict[str, set[int]] = defaultdict(set)
    mentions: dict[str, int] = defaultdict(int)
    for doc, i in zip(docs, fold.tolist(), strict=True):
        for ent in doc.ents:
            folds[ent.label_].add(i)
            mentions[ent.label_] += 1
    few = {t: n for t, n in mentions.items() if t in labels and n < n_folds}
    lone = [t for t, found in folds.items() if t in labels and t not in few and len(found) == 1]
    problems = [f"{t} has {n} mention{'s' * (n > 1)}" for t, n in sorted(few.items())]
    problems += [f"{t} stands in one document, or in copies of one" for t in sorted(lone)]
    return "; ".join(problems)


def fold_models(
    config: Config, folds: list[Fold], output: Path, options: Options, say: Callable[[str], None]
) -> list[Path]:
    """Train a config on each fold's training part. What is finished is not trained again.

    config (Config): Of a trained pipeline, not interpolated.
    folds (List[Fold]): As `write_folds` gives them. output (Path): Folder of the results.
    options (Options): How trainings are run. say (Callable): Gets progress.
    RETURNS (List[Path]): A pipeline for each fold.
    RAISES (ValueError): L402, L406, L432, L434, L436, L476, L480; L560 if a training failed.
    """
    matrix = fold_matrix(config, folds, output)
    done = len(matrix.trials) - len(matrix.missing(matrix.trials))
    say(f"{len(folds)} trainings, {matrix.plan.schedule}" + (f"; {done} are there" if done else ""))
    records = matrix.run(options)
    found = []
    for key, trial in matrix.trials.items():
        record = records.get(key)
        model = output / FOLDER / key / MODEL / "model-best"
        if record is None or not record.is_done or not model.is_dir():
            problem = "has no model there" if record is None or record.is_done else record.error.strip()
            raise ValueError(Errors.L560.format(fold=trial.corpus.name, path=output, problem=problem))
        found.append(model)
    return found


def fold_matrix(config: Config, folds: list[Fold], output: Path) -> Matrix:
    """The trainings of a config on each fold's training part: arguments as `fold_models` has them.

    RAISES (ValueError): Those of `Matrix`.
    """
    filled = interpolated(config)
    training = filled["training"]
    method = Method("out of fold", {}, config)
    plan = Plan(
        corpora=[fold.corpus for fold in folds],
        methods=[method],
        seeds=[int(filled.get("system", {}).get("seed", 0) or 0)],
        draws=[],
        steps=int(training["max_steps"]),
        baseline=method.name,
        patience=int(training["patience"]),
    )
    return Matrix(plan, output, inputs=[])


def choose_out_of_fold(
    model: Path,
    corpus: Path,
    n_folds: int,
    folds_output: Path,
    options: Options,
    offsets: OffsetWish | None,
    say: Callable[[str], None],
    **settings: Any,
) -> Chosen:
    """Choose thresholds, calibration and decision offsets on folds of the training data.

    model (Path): A trained pipeline. corpus (Path): What it was trained on, a folder of `convert`.
    n_folds (int): Trainings. folds_output (Path): Folder of these. options (Options): How they are run.
    offsets (Optional[OffsetWish]): Of decision offsets; null chooses none.
    say (Callable): Gets progress. settings: Of `fit_out_of_fold`.
    RETURNS (Chosen): By component; written into the pipeline.
    RAISES (ValueError): As `write_folds`, `fold_models` and `fit_out_of_fold`.
    """
    check_one_ner(load_pipeline(model), model, offsets)  # before the trainings
    folds = write_folds(corpus, folds_output, n_folds)
    config = load_config(model / "config.cfg", interpolate=False)
    models = fold_models(config, folds, folds_output, options, say)
    pairs = [
        FoldModel(own, part_path(fold.corpus, "test")) for own, fold in zip(models, folds, strict=True)
    ]
    dev = part_path(corpus, "dev")
    return fit_out_of_fold(model, pairs, dev, offsets=offsets, **settings)
