"""The config that a search found best, complete, and with what was searched in its comments."""

from pathlib import Path

from ...evaluation.report.wording import percent
from ...output.amounts import number
from ...output.writing import write_file
from ..trials.filling import commented, fill
from .draws import Tried
from .search import Search
from .space import Parameter

BEST = "best.cfg"


def write_best(
    search: Search, tried: list[Tried], best: Tried, baseline: Tried | None, made: str
) -> Path:
    """Write the best config, which `spacy train` takes as it is.

    search (Search): What was searched. tried (List[Tried]): All finished trials.
    best (Tried): The best. baseline (Optional[Tried]): The baseline, if it came to its end.
    made (str): The command.
    RETURNS (Path): The file. RAISES (ValueError): L432, L486.
    """
    config = fill(search.space.configure(best.values), search.corpus, best.values)
    comments = {
        p.name: f"tuned: {p.text}; {_baseline(p, baseline)}"
        for p in search.space.parameters
        if p.name in best.values
    }
    text = commented(config, _head(search, tried, best, baseline, made), comments)
    path = search.output / BEST
    write_file(path, text)
    return path


def _baseline(parameter: Parameter, baseline: Tried | None) -> str:
    value = parameter.baseline if baseline is None else baseline.values.get(parameter.name, "none")
    return f"the baseline has {'null' if value is None else value}"


def _head(
    search: Search, tried: list[Tried], best: Tried, baseline: Tried | None, made: str
) -> list[str]:
    pruned = sum(trial.status == "pruned" for trial in tried)
    against = f"; the baseline {percent(baseline.score)}" if baseline is not None else ""
    name = f"trial {best.number}" + (", the baseline: no trial was better" if best.is_baseline else "")
    trials, steps = number(len(tried), "trial"), number(search.steps, "step")
    return [
        f"The best of {trials} ({pruned} pruned) of {steps}: {name}.",
        f"Macro F1 on {search.corpus.name}'s dev {percent(best.score)}{against}.",
        "It was chosen on dev, so that this flatters it.",
        f"Searched: {'; '.join(f'{p.name} {p.text}' for p in search.space.parameters)}.",
        f"Made by: {made}",
        "Train it: python -m spacy train best.cfg --output training/best",
    ]
