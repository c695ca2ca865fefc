"""Trained runs combined into one pipeline, written, and measured beside its members."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ..corpus.descriptions import read_types
from ..corpus.formats.docbin import check_docs
from ..corpus.parts import part_path
from ..errors import Errors
from ..evaluation.evaluate import update_performance
from ..output.writing import check_folder, check_outside, coded_io, unless_holds, whole_folder
from ..records import Record
from ..training.loading import load_pipeline
from ..training.provenance import RunRecord, command, read_run, versions
from ..training.train import BEST
from .averaging import average, average_weights, refused
from .measuring import MeasuredPipeline, measure
from .teacher import types_read_by

RECORD = "ensemble.json"  # in the pipeline's folder
DEV = "dev"


class Ensemble(Record):
    """What was combined, as ensemble.json has it."""

    types: list[str]
    members: list[str]
    corpus: str | None = None  # that they were measured on
    part: str | None = None
    systems: tuple[MeasuredPipeline, ...] = ()  # the members, and what was made of them


def build_ensemble(
    runs: Sequence[Path],
    output: Path,
    gold: Path | None = None,
    part: str = DEV,
    weights: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Ensemble:
    """Combine the token NERs of trained runs, or average the runs' weights; write that pipeline.

    gold (Optional[Path]): A converted corpus to measure all on; null measures nothing.
    part (str): Of it. Scores on dev go into the pipeline's meta, where a training leaves its own.
    """
    models = [_model_in(run) for run in runs]
    places = {model.resolve() for model in models}
    if len(places) < max(2, len(models)):
        problem = f"an ensemble takes two pipelines or more, found {len(places)}"
        raise refused(", ".join(map(str, runs)), problem, "Name runs of different seeds, each once.")
    inputs = [*runs, *([] if gold is None else [gold])]
    check_folder(output, inputs, unless_holds(RECORD))
    check_outside(output, inputs, "folder")
    types = None
    if gold is not None:
        check_docs(part_path(gold, part))
        types = read_types(gold)
    given = {"output": output, **({} if gold is None else {"gold": gold, "part": part})}
    made = _run_record(models, command("ensemble", list(runs), given) + " --weights" * weights)
    members = list(map(load_pipeline, models))
    nlp = members[0]
    if types is not None and not (types.lang == nlp.lang and {*types.labels} & {*types_read_by(nlp)}):
        problem = f"{gold} is of another language, or has none of their types"
        raise refused(runs[0], problem, "Name a corpus that they were trained for.")
    scores = list(nlp.meta.get("performance", {}))
    (average_weights if weights else average)(members, models)
    del members
    if gold is not None and part == DEV:
        update_performance(nlp, part_path(gold, DEV), scores)
    say(f"Writing {output}")
    with coded_io(output), whole_folder(output) as folder:
        nlp.to_disk(folder)
        made.write(folder)
        ensemble = Ensemble(types=types_read_by(nlp), members=list(map(str, models)))
        if types is not None and gold is not None:
            say(f"Measuring on {part} of {gold}")
            pipelines = {f"m{i}": (load_pipeline(m), m) for i, m in enumerate(models, 1)}
            pipelines["average" if weights else "ensemble"] = (nlp, folder)
            *singles, own = measure(pipelines, gold, types, part)
            systems = (*singles, own.model_copy(update={"model": str(output)}))
            measured = {"corpus": str(gold), "part": part, "systems": systems}
            ensemble = ensemble.model_copy(update=measured)
        (folder / RECORD).write_bytes(ensemble.model_dump_json(indent=2).encode("utf8", "replace"))
    return ensemble


def _model_in(run: Path) -> Path:
    """The pipeline of a run: the best one of a folder of `train`."""
    model = run / BEST if (run / BEST).is_dir() else run
    if not (model / "config.cfg").is_file():
        fix = "Name a folder that `train` wrote, or a pipeline."
        raise ValueError(Errors.L402.format(path=model / "config.cfg", fix=fix))
    return model


def _run_record(models: Sequence[Path], made: str) -> RunRecord:
    """How the ensemble is made, with the data that all members share. made (str): By what."""
    first, *others = map(read_run, models)
    shared = {k: v for k, v in first.checksums.items() if all(o.checksums.get(k) == v for o in others)}
    return RunRecord(
        command=made,
        corpus=first.corpus if all(own.corpus == first.corpus for own in others) else "",
        checksums=shared,
        versions=versions(),
    )
