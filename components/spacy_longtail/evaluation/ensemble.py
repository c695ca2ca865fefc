"""Ensembles: several trained pipelines combined into one, measured and recorded."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ..corpus.folder import check_docs, part_path, read_types
from ..output.targets import check_folder, check_outside, unless_holds
from ..output.writing import refuse_mount_point, whole_folder
from ..records import Record
from ..training.averaging import average, average_weights, refused
from ..training.loading import load_pipeline, pipeline_folder, types_read_by
from ..training.provenance import BEST, RunRecord, installed_versions, read_run, shell_command
from .evaluate import DEV, update_performance
from .measuring import MeasuredPipeline, measure

RECORD = "ensemble.json"  # in the pipeline's folder


class Ensemble(Record):
    """Content of ensemble.json: the members and, if they were measured, the scores of all."""

    types: list[str]
    members: list[str]
    corpus: str | None = None  # on which they were measured
    part: str | None = None
    systems: tuple[MeasuredPipeline, ...] = ()  # the members, then the ensemble


def build_ensemble(
    runs: Sequence[Path],
    output: Path,
    gold: Path | None = None,
    part: str = DEV,
    weights: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Ensemble:
    """Combine the token NERs of trained runs, or average their weights, and save the result.

    runs (Sequence[Path]): At least two: folders that `train` wrote, pipelines or packages.
    output (Path): Folder of the new pipeline.
    gold (Optional[Path]): Converted corpus on which all pipelines are measured. By default nothing
        is measured.
    part (str): Part of the corpus. Scores on dev are also stored in the pipeline's meta data, where
        a training stores its own.
    weights (bool): Whether to average weights instead of tag probabilities.
    say (Callable): Receives messages about the progress.
    RETURNS (Ensemble): The content of ensemble.json.
    RAISES (ValueError): If the pipelines cannot be combined (L514).
    """
    models = [pipeline_folder(run / BEST if (run / BEST).is_dir() else run) for run in runs]
    places = {model.resolve() for model in models}
    problem = "" if len(models) > 1 else "an ensemble takes two pipelines or more, found 1"
    if len(places) < len(models):
        problem = "one pipeline is named twice"
    if problem:
        raise refused(", ".join(map(str, runs)), problem, "Name runs of different seeds, each once.")
    inputs = [*runs, *([] if gold is None else [gold])]
    check_folder(output, inputs, unless_holds(RECORD))
    refuse_mount_point(output)
    check_outside(output, inputs, "folder")
    types = None
    if gold is not None:
        check_docs(part_path(gold, part))
        types = read_types(gold)
    given = {"output": output, **({} if gold is None else {"gold": gold, "part": part})}
    made = _run_record(models, shell_command("ensemble", list(runs), given) + " --weights" * weights)
    members = list(map(load_pipeline, models))
    nlp = members[0]
    if types is not None and not (types.lang == nlp.lang and {*types.labels} & {*types_read_by(nlp)}):
        raise refused(
            runs[0],
            f"{gold} is of another language, or has none of their types",
            "Name a corpus that they were trained for.",
        )
    scores = list(nlp.meta.get("performance", {}))
    (average_weights if weights else average)(members, models)
    del members
    if gold is not None and part == DEV:
        update_performance(nlp, part_path(gold, DEV), scores)
    say(f"Writing {output}")
    with whole_folder(output) as folder:
        nlp.to_disk(folder)
        made.write(folder)
        ensemble = Ensemble(types=types_read_by(nlp), members=list(map(str, models)))
        if types is not None and gold is not None:
            say(f"Measuring on {part} of {gold}")
            pipelines = {f"m{i}": (load_pipeline(m), m) for i, m in enumerate(models, 1)}
            pipelines["average" if weights else "ensemble"] = (nlp, folder)
            *singles, joined = measure(pipelines, gold, types, part)
            ensemble = ensemble.model_copy(
                update={
                    "corpus": str(gold),
                    "part": part,
                    "systems": (*singles, joined.model_copy(update={"model": str(output)})),
                }
            )
        (folder / RECORD).write_bytes(ensemble.model_dump_json(indent=2).encode("utf8", "replace"))
    return ensemble


def _run_record(models: Sequence[Path], made: str) -> RunRecord:
    """Return the record of the ensemble, with the corpus and the data that all members share.

    models (Sequence[Path]): Folders of the members.
    made (str): Command that makes the ensemble.
    """
    first, *others = map(read_run, models)
    shared = {k: v for k, v in first.checksums.items() if all(o.checksums.get(k) == v for o in others)}
    return RunRecord(
        command=made,
        corpus=first.corpus if all(other.corpus == first.corpus for other in others) else "",
        checksums=shared,
        versions=installed_versions(),
    )
