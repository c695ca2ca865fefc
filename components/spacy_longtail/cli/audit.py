"""`audit`: what is wrong with a corpus; suspect annotations."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import srsly
import typer
from typer import Option
from wasabi import msg

from ..corpus.checks import Check, check_corpus
from ..corpus.formats.context import excerpt
from ..output.amounts import number
from ..output.writing import check_file, write_file
from ..training.audit import Audit, ReviewFormat, audit_corpus, problem, review_records
from ..training.startup import use_gpu
from .app import CORPUS_PANEL, Code, Corpus, GpuId, Json, app, print_json, print_table, refuse_given
from .boundary import FAILED
from .options import Seed

MARK = '"problem":'  # in each record of a review file
SHOWN = 10
N_SHOWN = 200  # characters of a text, unless --verbose


@app.command(rich_help_panel=CORPUS_PANEL)
def audit(
    context: typer.Context,
    corpus: Corpus,
    output: Annotated[Path | None, Option("--output", "-o", help="The review file of suspects.")] = None,
    config: Annotated[
        Path | None, Option(help="A config with a longtail_token_ner to train, in place of a small one.")
    ] = None,
    verbose: Annotated[bool, Option("--verbose", "-V", help="Print long texts whole.")] = False,
    format: Annotated[ReviewFormat, Option(help="The tool that opens the file.")] = "prodigy",
    part: Annotated[str, Option(help="Part to look at; of a corpus that was not split, all.")] = "train",
    folds: Annotated[int, Option(min=2, help="Trainings; each reads what it was not trained on.")] = 5,
    steps: Annotated[int, Option(min=1, help="Training steps of each.")] = 300,
    seed: Seed = 0,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Check a corpus; with -o, find annotations that look wrong.

    Checks take seconds. Exit code 1 if one fails. With -o models are trained on the corpus, each
    without a fold. What they contradict there is a suspect, rare types first.
    """
    if output is None:
        of_suspects = ["config", "format", "part", "folds", "steps", "seed", "gpu_id"]
        refuse_given(context, of_suspects, "it needs -o")
        checks = list(check_corpus(corpus))
        if as_json:
            refuse_given(context, ["verbose"], "--json has long texts whole")
            print_json([check._asdict() for check in checks])
        else:
            _print_checks(checks, verbose)
        if any(check.level == "fail" for check in checks):
            raise typer.Exit(FAILED)
        return None
    refuse_given(context, ["verbose"], "it is of checks, without -o")
    use_gpu(gpu_id)
    check_file(output, mark=MARK)
    report = audit_corpus(
        corpus, part=part, config=config, folds=folds, steps=steps, seed=seed, gpu_id=gpu_id
    )
    records = review_records(report, format)
    write_file(output, "".join(f"{srsly.json_dumps(record)}\n" for record in records))
    if as_json:
        agreement = {name: {"alike": n, "tokens": of} for name, (n, of) in report.agreement.items()}
        suspects = [suspect._asdict() for suspect in report.suspects]
        return print_json({"sentences": len(records), "agreement": agreement, "suspects": suspects})
    _print_suspects(report)
    return msg.good(f"Wrote {output}: {number(len(records), 'sentence')} with suspects")


def _print_checks(checks: list[Check], verbose: bool) -> None:
    section = ""
    for check in checks:
        if check.section != section:
            section = check.section
            msg.divider(section)
        is_cut = not verbose and len(check.text) > N_SHOWN
        getattr(msg, check.level)(f"{check.text[:N_SHOWN]} ..." if is_cut else check.text)
    counts = {level: sum(check.level == level for check in checks) for level in ("fail", "warn", "good")}
    msg.divider("Summary")
    msg.text(", ".join(f"{n} {level}" for level, n in counts.items()))


def _print_suspects(report: Audit) -> None:
    """How far models and annotation agree, which types are confused, and the first suspects."""
    rows = [
        (name, f"{n:,}", f"{100 * alike / n:.1f} %" if n else "-")
        for name, (alike, n) in report.agreement.items()
    ]
    msg.divider("What the models read as annotated")
    print_table(("type", "tokens", "alike"), rows)
    rare = {suspect.type for suspect in report.suspects if suspect.rare}
    pairs = Counter((suspect.annotated, suspect.read) for suspect in report.suspects)
    rows = [(*(t + " *" * (t in rare) for t in pair), str(n)) for pair, n in pairs.most_common()]
    msg.divider(f"{len(report.suspects)} suspects")
    print_table(("annotated (* rare)", "read", "suspects"), rows, "llr")
    for suspect in report.suspects[:SHOWN]:
        doc = report.docs[suspect.doc_i]
        span = doc[suspect.start : suspect.end]
        sys.stdout.write(f"{suspect.score:.3f}  {problem(doc, suspect)}\n")
        sys.stdout.write(f"       {excerpt(doc.text, span.start_char, span.end_char)}\n")
