"""Thresholds, calibration and decision offsets, chosen on documents that no model had seen.

A development part has a dozen mentions of a rare type; the folds together have all of the training data.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from spacy.language import Language
from spacy.training import Corpus, Example

from ..errors import Errors, Warnings
from ..numerics import sigmoid
from ..pipes.thresholding import ANY_TYPE
from ..pipes.token_ner import TokenNER
from ..training.loading import load_pipeline
from .calibration import Scored, ScoredNER, entity_outcomes, measure_reliability
from .chosen import Chosen, ChosenTypes, Expected
from .entity_thresholds import Choice, choose_types, set_types, warn_of, without_thresholds
from .evaluate import update_performance
from .goal import Goal
from .offset_choice import Decided, OffsetWish, choose_offsets
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


class _Read(NamedTuple):
    nlp: Language  # of the fold
    examples: list[Example]  # read by what stands before the NER


_Choose = Callable[[Mapping[str, Scored], Mapping[str, int]], Choice]  # candidates, gold mentions


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
    RETURNS (Chosen): By component. Offsets that do not gain on held-out folds are not used, nor are
        thresholds for the best F1 that lose there, and those that were there are removed. The threshold
        of a type with a wanted recall keeps that recall.
    RAISES (ValueError): As `fit_thresholds`; L310 to L314, L590.
    """
    check_output(model, dev, output)
    nlp = load_pipeline(model)
    name = check_one_ner(nlp, model, offsets)
    check_abstain_key(nlp, abstain_key, name)
    read = [_read(fold, name) for fold in folds]
    decided = _decide(nlp, name, read, offsets)
    by_type, by_fold = _outcomes(read, name, decided.offsets)
    n_gold = {label: sum(own[label] for own in by_fold) for label in by_type}
    recalls = offsets.recalls if offsets else {}
    choose: _Choose = partial(
        choose_types, goal=goal, calibrate=calibrate, least=min_mentions, recalls=recalls
    )
    choice = choose(by_type, n_gold)
    warn_of(choice, name, min_mentions)
    same = decided.offsets  # most offsets without a fold: not read again
    views = [by_type if own == same else _outcomes(read, name, own)[0] for own in decided.without]
    expected = _expected(views, by_fold, choose)
    withheld = goal == Goal() and expected.after < expected.before
    if withheld:
        points = 100 * (expected.before - expected.after)
        warnings.warn(Warnings.W089.format(name=name, goal=goal, points=f"{points:.1f}"), stacklevel=2)
        choice = without_thresholds(choice, recalls)
    set_types(nlp, name, choice, abstain_key)
    goals = [str(goal), *(f"{Goal(recall=value)} of {label}" for label, value in recalls.items())]
    chosen = ChosenTypes(
        goal=", ".join(goals),
        types=choice.types,
        expected=expected,
        withheld=withheld,
        offsets=decided.tried,
        offsets_expected=decided.expected,
    )
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


def _decide(nlp: Language, name: str, read: Sequence[_Read], wish: OffsetWish | None) -> Decided:
    """Offsets by a wish, set in the pipeline; without a wish those that it has."""
    before = cast(TokenNER, nlp.get_pipe(name)).cfg.get("decision_offsets")
    if wish is None:
        return Decided(before, [before] * len(read))
    pipes = [cast(TokenNER, fold.nlp.get_pipe(name)) for fold in read]
    found = choose_offsets(pipes, [fold.examples for fold in read], wish)
    _set_offsets([nlp], name, found.offsets)
    nlp.get_pipe_config(name)["decision_offsets"] = found.offsets
    if before and not found.offsets:
        old = ", ".join(f"{label} {value:+.2f}" for label, value in before.items())
        warnings.warn(Warnings.W116.format(name=name, offsets=old), stacklevel=3)
    return found


def _set_offsets(pipelines: Sequence[Language], name: str, offsets: dict[str, float] | None) -> None:
    for nlp in pipelines:
        nlp.get_pipe(name).cfg["decision_offsets"] = offsets  # type: ignore[attr-defined]


def _outcomes(
    read: Sequence[_Read], name: str, offsets: dict[str, float] | None
) -> tuple[dict[str, Scored], list[dict[str, int]]]:
    """The candidates of each type under offsets, and the gold mentions by fold.

    The fold of a candidate is that of the model.
    """
    _set_offsets([fold.nlp for fold in read], name, offsets)
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
    views: Sequence[Mapping[str, Scored]], by_fold: Sequence[Mapping[str, int]], choose: _Choose
) -> Expected:
    """Macro F1 of all candidates, and of those that thresholds keep which were chosen on other folds.

    views (Sequence[Mapping[str, Scored]]): For each fold all candidates, by offsets chosen without it.
    by_fold (Sequence[Mapping[str, int]]): Gold mentions. choose (Callable): Chooses thresholds.
    """
    labels = list(views[0])
    total = {label: sum(own[label] for own in by_fold) for label in labels}
    before, after = np.zeros((len(by_fold), len(labels), 3)), np.zeros((len(by_fold), len(labels), 3))
    for i, (by_type, n_gold) in enumerate(zip(views, by_fold, strict=True)):
        rest = {t: Scored(*(a[s.fold != i] for a in s)) for t, s in by_type.items()}
        others = {label: total[label] - n_gold[label] for label in labels}
        choice = choose(rest, others)
        for k, (label, scored) in enumerate(by_type.items()):
            own = scored.fold == i
            slope, shift = choice.curves.get(label, choice.curves.get(ANY_TYPE, (1.0, 0.0)))
            p = sigmoid(scored.logits[own] * slope + shift)
            kept, right = p >= choice.thresholds.get(label, 0.0), scored.right[own]
            before[i, k] = right.sum(), own.sum(), n_gold[label]
            after[i, k] = right[kept].sum(), kept.sum(), n_gold[label]
    gains = f1(after).mean(axis=1) - f1(before).mean(axis=1)
    test = resampled_t(gains, 1 / (len(by_fold) - 1))  # dev is no fold
    return Expected(
        folds=len(by_fold),
        before=float(f1(before.sum(axis=0)).mean()),
        after=float(f1(after.sum(axis=0)).mean()),
        p=None if test is None else test.p,
    )
