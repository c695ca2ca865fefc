"""Thresholds, calibration and decision offsets, chosen on documents that no model had seen.

A development part has a dozen mentions of a rare type; the folds together have all of the training data.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from spacy.language import Language
from spacy.training import Corpus, Example

from ..errors import Errors, Warnings
from ..numerics import sigmoid
from ..pipes.thresholding import ANY_TYPE
from ..pipes.thresholds import as_stored
from ..pipes.token_ner import TokenNER
from .analysis.records import PRF
from .calibration import Scored, ScoredNER, entity_outcomes, measure_reliability
from .chosen import Chosen, ChosenOffsets, ChosenTypes, Expected
from .entity_thresholds import choose_types, set_types, warn_of
from .evaluate import load_pipeline, update_performance
from .goal import Goal
from .held_out import HeldOut
from .offsets import FAMILIES, Aim, Family, Found, find_offsets, find_recall, mean_f1, shown
from .significance.metrics import f1
from .significance.resampled import resampled_t
from .thresholds import (
    check_abstain_key,
    check_output,
    to_choose_for,
    write_pipeline,
)


class FoldModel(NamedTuple):
    """A pipeline, and the documents that it was not trained on."""

    model: Path
    data: Path


class OffsetWish(NamedTuple):
    """What decision offsets are wanted for.

    families (Sequence[str]): Of FAMILIES, those to choose among.
    tail (Sequence[str]): Rare types, to raise their F1; empty is that of all types.
    recalls (Mapping[str, float]): Recall to reach by type, in place of a better F1.
    """

    families: Sequence[Family] = FAMILIES
    tail: Sequence[str] = ()
    recalls: Mapping[str, float] = {}


class _Read(NamedTuple):
    nlp: Language  # of the fold
    examples: list[Example]  # read by what stands before the NER


def fit_out_of_fold(
    model: Path,
    folds: Sequence[FoldModel],
    dev: Path,
    *,
    goal: Goal,
    calibrate: bool = True,
    abstain_key: str | None = None,
    min_mentions: int = 10,
    offsets: OffsetWish | None = None,
    output: Path | None = None,
) -> Chosen:
    """Choose for the one NER of a pipeline by what models of folds say, and write it into the pipeline.

    model (Path): The pipeline. folds (Sequence[FoldModel]): Trained as it was, each on other documents.
    dev (Path): Development data, for the scores in the pipeline's meta.
    goal (Goal): Of the thresholds. calibrate (bool): Whether scores are made probabilities first.
    abstain_key (Optional[str]): Key in doc.spans for entities below their threshold; null keeps the
        component's own, and drops them where it has none.
    min_mentions (int): Gold mentions that a threshold is chosen on at least.
    offsets (Optional[OffsetWish]): Of decision offsets; null chooses none.
    output (Optional[Path]): Folder for the pipeline; null writes it where it is.
    RETURNS (Chosen): By component. Offsets that do not gain on held-out folds are not used.
    RAISES (ValueError): As `fit_thresholds`; L310, L311, L313.
    """
    check_output(model, dev, output)
    nlp = load_pipeline(model)
    name = check_one_ner(nlp, model, offsets)
    check_abstain_key(nlp, abstain_key, name)
    read = [_read(fold, name) for fold in folds]
    tried = _offsets(read, name, offsets) if offsets else []
    for used in (own for own in tried if own.used):
        for pipeline in (nlp, *(fold.nlp for fold in read)):
            pipeline.get_pipe(name).cfg["decision_offsets"] = used.offsets  # type: ignore[attr-defined]
        nlp.get_pipe_config(name)["decision_offsets"] = used.offsets
    by_type, by_fold = _outcomes(read, name)
    n_gold = {label: sum(own[label] for own in by_fold) for label in by_type}
    choice = choose_types(by_type, n_gold, goal, calibrate, min_mentions)
    warn_of(choice, name, goal, min_mentions)
    set_types(nlp, name, choice, abstain_key)
    expected = _expected(by_type, by_fold, goal, calibrate, min_mentions)
    if goal.recall is None and goal.precision is None and expected.after < expected.before:
        points = 100 * (expected.before - expected.after)
        warnings.warn(Warnings.W089.format(name=name, goal=goal, points=f"{points:.1f}"), stacklevel=2)
    chosen = ChosenTypes(goal=str(goal), types=choice.types, expected=expected, offsets=tuple(tried))
    if calibrate:
        chosen = chosen.measured(measure_reliability(list(by_type.values())))
    report: Chosen = {name: chosen}
    update_performance(nlp, dev)
    write_pipeline(nlp, model, output, report)
    return report


def check_one_ner(nlp: Language, path: Path, offsets: OffsetWish | None) -> str:
    """The NER to choose for. RAISES (ValueError): L251, L255, L310, L311, L313."""
    ners = [name for name, pipe in nlp.pipeline if hasattr(pipe, "candidates")]
    others = [name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns]
    name = to_choose_for(nlp, path, ners)[0]
    if others != [name]:
        raise ValueError(Errors.L310.format(path=path, found=", ".join(others)))
    pipe = nlp.get_pipe(name)
    if offsets is not None:
        if not isinstance(pipe, TokenNER):
            raise ValueError(Errors.L311.format(name=name, factory=nlp.get_pipe_meta(name).factory))
        unknown = sorted(set(offsets.recalls) - set(pipe.labels))
        if unknown:
            known = ", ".join(pipe.labels)
            raise ValueError(Errors.L313.format(found=", ".join(unknown), known=known))
    return name


def _read(fold: FoldModel, name: str) -> _Read:
    nlp = load_pipeline(fold.model)
    examples = list(Corpus(fold.data)(nlp))
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    with nlp.select_pipes(enable=before):
        docs = list(nlp.pipe(eg.predicted for eg in examples))
    for eg, doc in zip(examples, docs, strict=True):
        eg.predicted = doc
    return _Read(nlp, examples)


def _offsets(read: Sequence[_Read], name: str, wish: OffsetWish) -> list[ChosenOffsets]:
    """What each family of offsets does; the best of them is used, if it gains on held-out folds.

    RAISES (ValueError): L312, L314.
    """
    pipes = [cast(TokenNER, fold.nlp.get_pipe(name)) for fold in read]
    labels = pipes[0].labels
    for pipe in pipes:
        if set(pipe.labels) != set(labels):
            found, known = (", ".join(own) for own in (pipe.labels, labels))
            raise ValueError(Errors.L314.format(found=found, known=known))
    folds = [HeldOut.of(pipe, fold.examples, labels) for pipe, fold in zip(pipes, read, strict=True)]
    among = [i for i, label in enumerate(labels) if not wish.tail or label in wish.tail]
    recalls = {labels.index(label): value for label, value in wish.recalls.items()}
    aim = Aim(mean_f1(among), _prior(read, labels), recalls)
    if recalls:
        found = find_recall(folds, aim)
        if isinstance(found, dict):
            reached = ", ".join(f"{labels[t]} {100 * most:.1f} %" for t, most in found.items())
            raise ValueError(Errors.L312.format(reached=reached))
        goal = "recall of " + ", ".join(f"{t} {100 * v:g} %" for t, v in wish.recalls.items())
        return [_chosen(found, labels, aim, goal, used=True)]
    goal = "mean F1 of rare types" if wish.tail else "macro F1"
    every = [find_offsets(folds, family, aim) for family in wish.families]
    best = max(every, key=lambda own: aim.score(own.nested))
    gains = aim.score(best.nested) > aim.score(best.before)
    return [_chosen(own, labels, aim, goal, used=gains and own is best) for own in every]


def _chosen(found: Found, labels: Sequence[str], aim: Aim, goal: str, used: bool) -> ChosenOffsets:
    def by_label(counts: np.ndarray) -> dict[str, PRF]:
        rows = zip(labels, shown(counts), strict=True)
        return {label: PRF(p=p, r=r, f=f) for label, (p, r, f) in rows}

    before = aim.score(found.before)
    k = len(found.gains)
    test = resampled_t(found.gains, 1 / (k - 1))
    return ChosenOffsets(
        family=found.family,
        used=used,
        offsets={t: as_stored(o) for t, o in zip(labels, found.offsets, strict=True) if o},
        before=by_label(found.before),
        after=by_label(found.after),
        nested=by_label(found.nested),
        goal=goal,
        gain=aim.score(found.after) - before,
        expected=Expected(
            folds=k, before=before, after=aim.score(found.nested), p=None if test is None else test.p
        ),
    )


def _prior(read: Sequence[_Read], labels: Sequence[str]) -> np.ndarray:
    """Log odds of O against each type, by annotated tokens, of which a type has half a one at least."""
    inside = dict.fromkeys(labels, 0)
    total = 0
    for eg in (eg for fold in read for eg in fold.examples):
        total += np.count_nonzero(eg.reference.to_array("ENT_IOB"))
        for ent in eg.reference.ents:
            if ent.label_ in inside:
                inside[ent.label_] += len(ent)
    counts = np.maximum(np.asarray([inside[label] for label in labels], dtype="float64"), 0.5)
    return np.log(max(total - counts.sum(), 1.0) / counts)


def _outcomes(read: Sequence[_Read], name: str) -> tuple[dict[str, Scored], list[dict[str, int]]]:
    """The candidates of each type, whose fold is that of the model, and the gold mentions by fold."""
    parts: list[dict[str, Scored]] = []
    by_fold = []
    for i, fold in enumerate(read):
        pipe = cast(ScoredNER, fold.nlp.get_pipe(name))
        scored, n_gold = entity_outcomes(pipe, fold.examples, fold.nlp.batch_size)
        parts.append({t: own._replace(fold=np.full_like(own.fold, i)) for t, own in scored.items()})
        by_fold.append(n_gold)
    joined = {}
    for label in parts[0]:
        columns = zip(*(own[label] for own in parts), strict=True)
        joined[label] = Scored(*map(np.concatenate, columns))
    return joined, by_fold


def _expected(
    by_type: Mapping[str, Scored],
    by_fold: Sequence[Mapping[str, int]],
    goal: Goal,
    calibrate: bool,
    least: int,
) -> Expected:
    """Macro F1 of all candidates, and of those that thresholds keep which were chosen on other folds."""
    labels = list(by_type)
    total = {label: sum(own[label] for own in by_fold) for label in labels}
    before, after = np.zeros((len(by_fold), len(labels), 3)), np.zeros((len(by_fold), len(labels), 3))
    for i, n_gold in enumerate(by_fold):
        rest = {t: Scored(*(a[s.fold != i] for a in s)) for t, s in by_type.items()}
        others = {label: total[label] - n_gold[label] for label in labels}
        choice = choose_types(rest, others, goal, calibrate, least)
        for k, (label, scored) in enumerate(by_type.items()):
            own = scored.fold == i
            slope, shift = choice.curves.get(label, choice.curves.get(ANY_TYPE, (1.0, 0.0)))
            p = sigmoid(scored.logits[own] * slope + shift)
            kept, right = p >= choice.thresholds.get(label, 0.0), scored.right[own]
            before[i, k] = right.sum(), own.sum(), n_gold[label]
            after[i, k] = right[kept].sum(), kept.sum(), n_gold[label]
    gains = f1(after).mean(axis=1) - f1(before).mean(axis=1)
    test = resampled_t(gains, 1 / (len(by_fold) - 1))
    return Expected(
        folds=len(by_fold),
        before=float(f1(before.sum(axis=0)).mean()),
        after=float(f1(after.sum(axis=0)).mean()),
        p=None if test is None else test.p,
    )
