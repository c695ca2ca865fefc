"""Cross-validation folds of a plan's corpora, which are written as corpora of their own."""

from collections.abc import Mapping
from pathlib import Path

from ...corpus.folder import load_docs, read_types, write_corpus
from ...corpus.parts import part_path
from ...corpus.splits import document_folds, parts_of_fold
from ...corpus.tokenizers import blank
from ...output.targets import check_folder, unless_holds
from ...output.writing import whole_folder
from ...training.provenance import json_checksum
from ..trials.key import content_of_parts
from ..trials.plan import Plan
from ..trials.plan_file import invalid_plan
from ..trials.store import FOLDER, TrialStore

FOLDS_FOLDER = "folds"  # in the output folder
HELD_OUT = "the held-out fold"  # what messages call the test part of a fold

FoldsByCorpus = Mapping[Path, list[Path]]


def fold_plan(plan: Plan, output: Path, n_folds: int) -> tuple[Plan, FoldsByCorpus]:
    """Replace the corpora of a plan by their cross-validation folds, which are written.

    plan (Plan): The plan.
    output (Path): Folder of the trials, in which the folds are written.
    n_folds (int): Number of folds of train and dev together, at least 3.
    RETURNS (Tuple[Plan, Mapping[Path, List[Path]]]): The plan, and the folds of each corpus.
    RAISES (ValueError): If the plan has learning curves.
    """
    if plan.draws:
        raise invalid_plan("The plan", "sizes and shares cannot be compared on folds.")
    folds = {corpus: write_folds(corpus, output, n_folds) for corpus in plan.corpora}
    return plan._replace(corpora=[fold for paths in folds.values() for fold in paths]), folds


def write_folds(corpus: Path, output: Path, n_folds: int) -> list[Path]:
    """Write a corpus for each cross-validation fold of train and dev, stratified by type.

    The fold is the test part of its corpus, and the next fold is the dev part.

    corpus (Path): Folder of a converted corpus.
    output (Path): Folder of the results. Existing folds are reused.
    n_folds (int): Number of folds, at least 3.
    RETURNS (List[Path]): Folder of each fold.
    """
    types = read_types(corpus)
    paths = {part: part_path(corpus, part) for part in ("train", "dev")}
    data = {**types._asdict(), **content_of_parts(corpus, paths)}
    place = output / FOLDS_FOLDER / json_checksum({**data, "folds": n_folds, "seed": 0})
    check_folder(output, [corpus], unless_holds(FOLDER))
    TrialStore(output).create()
    folders = [place / f"{corpus.resolve().name}-fold-{i}" for i in range(n_folds)]
    if all(folder.is_dir() for folder in folders):
        return folders
    nlp = blank(types.lang, types.tokens)
    docs = [doc for path in paths.values() for doc in load_docs(path, nlp)]
    fold = document_folds(docs, n_folds, group_by=types.group_by)
    for i, folder in enumerate(folders):
        if not folder.is_dir():
            with whole_folder(folder) as new:
                chosen = parts_of_fold(fold, i, n_folds).items()
                write_corpus(new, {part: [docs[k] for k in at] for part, at in chosen}, types, corpus)
    return folders
