"""Trained runs combined: behind one pipe, or as one network; written as one pipeline, and measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spacy.language import Language

from ..corpus.descriptions import CorpusTypes, read_types
from ..corpus.formats.docbin import check_docs
from ..corpus.parts import part_path
from ..errors import Errors
from ..evaluation.evaluate import update_performance
from ..output.writing import check_folder, check_outside, coded_io, whole_folder, write_file
from ..records import Record
from ..training.loading import load_pipeline
from ..training.provenance import RunRecord, command, read_run, versions, write_run
from ..training.train import BEST
from .averaging import average
from .comparison import Candidate, System, measure, megabytes
from .teacher import own_types
from .weights import average_weights

RECORD = "ensemble.json"  # in the pipeline's folder
ENSEMBLE = "ensemble"  # what it is called beside its members
AVERAGE = "average"  # of weights
DEV = "dev"


@dataclass(frozen=True)
class Request:
    """What is combined.

    runs (Sequence[Path]): Folders of `train`, or pipelines. gold (Optional[Path]): A converted corpus to
        measure members and ensemble on; null measures nothing. part (str): Of it. The scores on dev go
        into the pipeline's meta, where a training leaves its own. weights (bool): Average their weights
        into one network, in place of their probabilities.
    """

    runs: tuple[Path, ...]
    gold: Path | None = None
    part: str = DEV
    weights: bool = False


class Part(Record):
    """What was made, or a run that it was made of, as a pipeline on disk."""

    name: str
    model: str
    megabytes: float


class Ensemble(Record):
    """What was combined, as ensemble.json has it."""

    types: list[str]
    scheme: str | None  # of the tags; null where weights were averaged
    pipelines: list[Part]  # the runs, and what was made of them
    corpus: str | None = None  # that they were measured on
    part: str | None = None
    systems: tuple[System, ...] = ()  # in the same order; speeds are compared with the first member's


def build_ensemble(
    request: Request, output: Path, say: Callable[[str], None] = lambda _: None
) -> Ensemble:
    """Put the token NERs of trained runs behind one pipe, or average their weights; write that pipeline.

    request (Request): What is combined. output (Path): A folder for the pipeline; one of an earlier
        ensemble is replaced. say (Callable[[str], None]): Gets what is being done.
    RETURNS (Ensemble): Its members, sizes and, with a corpus, scores and speeds.
    RAISES (ValueError): L402, L403, L404, L408, L417, L430; L432, L434, L436, L437; L514, L525 to L527.
    """
    models = [_model_in(run) for run in request.runs]
    _check_runs(request.runs, models)
    inputs = [*request.runs, *([] if request.gold is None else [request.gold])]
    check_folder(output, inputs, _foreign)
    check_outside(output, inputs, "folder")
    types = None if request.gold is None else _gold_types(request.gold, request.part)
    made = _run_record(request, models, output)
    nlp, *others = map(load_pipeline, models)
    if types is not None:
        _check_gold(nlp, request, types)
    scores = list(nlp.meta.get("performance", {}))
    scheme = None
    if request.weights:
        average_weights(nlp, models[0], others, models[1:])
    else:
        scheme = average(nlp, models[0], others, models[1:]).codec.scheme
    others.clear()
    if request.gold is not None and request.part == DEV:
        update_performance(nlp, part_path(request.gold, DEV), scores)
    say(f"Writing {output}")
    with coded_io(output), whole_folder(output) as folder:
        nlp.to_disk(folder)
        write_run(folder, made)
        found = _described(nlp, scheme, request, models, folder, output)
        if types is not None and request.gold is not None:
            say(f"Measuring on {request.part} of {request.gold}")
            systems = _measured(found, models, nlp, folder, request.gold, types, request.part)
            own = {"corpus": str(request.gold), "part": request.part, "systems": tuple(systems)}
            found = found.model_copy(update=own)
        write_file(folder / RECORD, found.model_dump_json(indent=2))
    return found


def _model_in(run: Path) -> Path:
    """The pipeline of a run: the best one of a folder of `train`. RAISES (ValueError): L402."""
    best = run / BEST
    found = best if best.is_dir() else run
    if not (found / "config.cfg").is_file():
        fix = "Name a folder that `train` wrote, or a pipeline."
        raise ValueError(Errors.L402.format(path=found / "config.cfg", fix=fix))
    return found


def _check_runs(runs: Sequence[Path], models: Sequence[Path]) -> None:
    """RAISES (ValueError): L525, L526."""
    if len(runs) < 2:
        raise ValueError(Errors.L525.format(found=", ".join(map(str, runs)) or "none"))
    places = [model.resolve() for model in models]
    for i, place in enumerate(places):
        if place in places[:i]:
            raise ValueError(Errors.L526.format(path=runs[i], model=place))


def _foreign(folder: Path) -> str:
    return "" if (folder / RECORD).is_file() else f"it holds no {RECORD} of an earlier `ensemble`"


def _gold_types(gold: Path, part: str) -> CorpusTypes:
    """The types of a corpus that has the part. RAISES (ValueError): L402, L403, L404, L430."""
    data = part_path(gold, part)
    if not data.exists():
        raise ValueError(Errors.L402.format(path=data, fix="`split` makes the parts."))
    check_docs(data)
    return read_types(gold)


def _check_gold(nlp: Language, request: Request, types: CorpusTypes) -> None:
    """Whether the corpus is one of the pipelines'. RAISES (ValueError): L527."""
    known = {label for _, pipe in nlp.pipeline for label in getattr(pipe, "labels", ())}
    problem = ""
    if types.lang != nlp.lang:
        problem = f"it is of the language {types.lang!r}, and {request.runs[0]} of {nlp.lang!r}"
    elif not known & set(types.labels):
        problem = f"it declares {', '.join(types.labels)}, none of which {request.runs[0]} reads"
    if problem:
        raise ValueError(Errors.L527.format(path=request.gold, problem=problem))


def _run_record(request: Request, models: Sequence[Path], output: Path) -> RunRecord:
    """How the ensemble is made, with the data that all members were trained on.

    RAISES (ValueError): L417.
    """
    first, *others = map(read_run, models)
    gold = {} if request.gold is None else {"gold": request.gold, "part": request.part}
    return RunRecord(
        command=command("ensemble", list(request.runs), {"output": output, **gold})
        + " --weights" * request.weights,
        corpus=first.corpus if all(own.corpus == first.corpus for own in others) else "",
        checksums={
            part: digest
            for part, digest in first.checksums.items()
            if all(own.checksums.get(part) == digest for own in others)
        },
        versions=versions(),
    )


def _described(
    nlp: Language,
    scheme: str | None,
    request: Request,
    models: Sequence[Path],
    folder: Path,
    output: Path,
) -> Ensemble:
    made = AVERAGE if request.weights else ENSEMBLE
    parts = [Part(name=f"m{i}", model=str(m), megabytes=megabytes([m])) for i, m in enumerate(models, 1)]
    parts.append(Part(name=made, model=str(output), megabytes=megabytes([folder])))
    return Ensemble(types=own_types(nlp), scheme=scheme, pipelines=parts)


def _measured(
    found: Ensemble,
    models: Sequence[Path],
    nlp: Language,
    folder: Path,
    gold: Path,
    types: CorpusTypes,
    part: str,
) -> list[System]:
    """Members, read anew, and ensemble. They take turns, in this process."""
    pipelines = [*map(load_pipeline, models), nlp]
    places = [*models, folder]
    names = [own.name for own in found.pipelines]
    candidates = [
        Candidate(name, own, (place,)) for name, own, place in zip(names, pipelines, places, strict=True)
    ]
    *members, own = measure(candidates, gold, types, part)
    return [*members, own.model_copy(update={"model": found.pipelines[-1].model})]
