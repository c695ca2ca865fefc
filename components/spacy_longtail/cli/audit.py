"""Command `audit`: checks a corpus and finds suspected annotation errors."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import srsly
from typer import Context, Exit, Option
from wasabi import msg

from ..corpus.checks import Check, check_corpus
from ..corpus.formats.context import excerpt
from ..corpus.suspects import Audit, ReviewFormat, problem, review_records
from ..output.console import number
from ..output.targets import check_file
from ..output.writing import write_file
from ..training.out_of_fold import audit_corpus
from ..training.startup import use_gpu
from .app import CORPUS_PANEL, Code, Corpus, GpuId, Json, app, print_json, print_table, refuse_given
from .boundary import FAILED
from .options import Seed

MARK = '"problem":'  # in each record of a review file, which may be replaced
MAX_SUSPECTS_SHOWN = 10
MAX_CHARACTERS_SHOWN = 200  # of a text, unless --verbose


@app.command(rich_help_panel=CORPUS_PANEL)
def audit(
    context: Context,
    corpus: Corpus,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Find suspected annotation errors and write them to this file."),
    ] = None,
    config: Annotated[
        Path | None,
        Option(
            help="Config with a longtail_token_ner to train on each fold.",
            show_default="a small pipeline",
        ),
    ] = None,
    verbose: Annotated[bool, Option("--verbose", "-V", help="Print long texts in full.")] = False,
    format: Annotated[ReviewFormat, Option(help="Annotation tool that will open the file.")] = "prodigy",
    part: Annotated[
        str, Option(help="Part to audit. A corpus that was not split is audited as a whole.")
    ] = "train",
    folds: Annotated[int, Option(min=2, help="Number of cross-validation folds.")] = 5,
    steps: Annotated[int, Option(min=1, help="Number of training steps on each fold.")] = 300,
    seed: Seed = 0,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Check a corpus or, with -o, find suspected annotation errors in it.

    The checks take seconds. The exit code is 1 if one of them fails. With -o the command trains a
    model for each cross-validation fold, on all other folds. Annotations of the fold that the model
    contradicts are suspected errors. They are written to a file for review, rare types first.
    """
    if output is None:
        refuse_given(
            context, ["config", "format", "part", "folds", "steps", "seed", "gpu_id"], "it needs -o"
        )
        checks = list(check_corpus(corpus))
        if as_json:
            refuse_given(context, ["verbose"], "--json always has long texts in full")
            print_json([check._asdict() for check in checks])
        else:
            _print_checks(checks, verbose)
        if any(check.level == "fail" for check in checks):
            raise Exit(FAILED)
        return None
    refuse_given(context, ["verbose"], "it applies to the checks alone, which run without -o")
    use_gpu(gpu_id)
    check_file(output, mark=MARK)
    report = audit_corpus(
        corpus, part=part, config=config, folds=folds, steps=steps, seed=seed, gpu_id=gpu_id
    )
    records = review_records(report, format)
    write_file(output, "".join(f"{srsly.json_dumps(record)}\n" for record in records))
    if as_json:
        return print_json(
            {
                "sentences": len(records),
                "agreement": {
                    name: {"alike": n, "tokens": of} for name, (n, of) in report.agreement.items()
                },
                "suspects": [suspect._asdict() for suspect in report.suspects],
            }
        )
    _print_suspects(report)
    return msg.good(f"Wrote {output}: {number(len(records), 'sentence')} with suspected errors")


def _print_checks(checks: list[Check], verbose: bool) -> None:
    section = ""
    for check in checks:
        if check.section != section:
            section = check.section
            msg.divider(section)
        is_cut = not verbose and len(check.text) > MAX_CHARACTERS_SHOWN
        getattr(msg, check.level)(f"{check.text[:MAX_CHARACTERS_SHOWN]} ..." if is_cut else check.text)
    counts = {level: sum(check.level == level for check in checks) for level in ("fail", "warn", "good")}
    msg.divider("Summary")
    msg.text(", ".join(f"{n} {level}" for level, n in counts.items()))


def _print_suspects(report: Audit) -> None:
    """Print how far models and annotation agree, the confused types and the first suspects."""
    rows = [
        (name, f"{n:,}", f"{100 * alike / n:.1f} %" if n else "-")
        for name, (alike, n) in report.agreement.items()
    ]
    msg.divider("Agreement of models and annotation")
    print_table(("type", "tokens", "agreement"), rows)
    rare = {suspect.type for suspect in report.suspects if suspect.rare}
    pairs = Counter((suspect.annotated, suspect.read) for suspect in report.suspects)
    rows = [(*(t + " *" * (t in rare) for t in pair), str(n)) for pair, n in pairs.most_common()]
    msg.divider(number(len(report.suspects), "suspected error"))
    print_table(("annotated (* rare)", "predicted", "number"), rows, "llr")
    for suspect in report.suspects[:MAX_SUSPECTS_SHOWN]:
        doc = report.docs[suspect.doc_i]
        span = doc[suspect.start : suspect.end]
        sys.stdout.write(f"{suspect.score:.3f}  {problem(doc, suspect)}\n")
        sys.stdout.write(f"       {excerpt(doc.text, span.start_char, span.end_char)}\n")
