"""A plan on folds: each of its corpora in parts, of which each is held out once."""

from pathlib import Path

from ...corpus.folder import load_docs, part_path, read_types, write_corpus
from ...corpus.splits import document_folds, parts_of_fold
from ...corpus.tokenizers import blank
from ...output.writing import check_folder, coded_io, unless_holds, whole_folder
from ...training.checksums import checksum, digest
from ..trials.plan import Plan, unusable
from ..trials.records import FOLDER
from .summary import Folds

FOLDS = "folds"  # in the output folder


def fold_plan(plan: Plan, output: Path, n_folds: int) -> tuple[Plan, Folds]:
    """A plan with the folds of its corpora in their place, each trained as long as it gets better.

    plan (Plan): The plan. output (Path): Folder of the trials, in which the folds are written.
    n_folds (int): Of train and dev together, at least 3.
    RETURNS (Tuple[Plan, Mapping[Path, List[Path]]]): The plan, and the folds of each corpus.
    """
    if plan.draws:
        raise unusable("The plan", "sizes and shares cannot be compared on folds.")
    folds = {corpus: write_folds(corpus, output, n_folds) for corpus in plan.corpora}
    every = [fold for own in folds.values() for fold in own]
    return plan._replace(corpora=every), folds


def write_folds(corpus: Path, output: Path, n_folds: int) -> list[Path]:
    """Write a corpus for each fold of train and dev together, stratified over types.

    The fold is the test part of its corpus, and the next fold is the dev part.

    corpus (Path): A folder that `convert` wrote.
    output (Path): Folder of the results. Folds that are there are taken as they are.
    n_folds (int): At least 3.
    RETURNS (List[Path]): The folder of each fold.
    """
    types = read_types(corpus)
    paths = {part: part_path(corpus, part) for part in ("train", "dev")}
    vocab = blank(types.lang, types.tokens)
    docs = [doc for path in paths.values() for doc in load_docs(path, vocab)]
    fold = document_folds(docs, n_folds)
    data = {part: checksum(path) for part, path in paths.items()}
    place = output / FOLDS / digest({**types._asdict(), **data, "folds": n_folds, "seed": 0})
    check_folder(output, [corpus], unless_holds(FOLDER))
    with coded_io(output):
        (output / FOLDER).mkdir(parents=True, exist_ok=True)
    found = []
    for i in range(n_folds):
        own = place / f"{corpus.resolve().name}-fold-{i}"
        if not own.is_dir():
            with coded_io(own), whole_folder(own) as new:
                chosen = parts_of_fold(fold, i, n_folds)
                write_corpus(new, {name: [docs[k] for k in at] for name, at in chosen.items()}, types)
        found.append(own)
    return found
