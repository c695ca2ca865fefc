"""What a search would try, and how long it would take."""

from collections.abc import Callable
from statistics import mean

from pydantic import JsonValue

from ...corpus.folder import part_path
from ...corpus.formats.docbin import count_tokens
from ...output.amounts import number
from ...output.estimates import MINUTE, Estimate, Outlook, Stage
from ...training.device import use_gpu
from ...training.probe import probe_training
from ..trials.estimate import ELSEWHERE
from ..trials.filling import fill
from ..trials.ledger import read_lines
from ..trials.process import time_start
from ..trials.storage import STUDY, import_optuna, is_lost
from .run import STARTUP, Options
from .search import Search


def search_outlook(search: Search, options: Options, say: Callable[[str], None]) -> Outlook:
    """The trials of a search that are not finished, and how long they would take. Nothing is written.

    search (Search): What is searched. options (Options): How. say (Callable): Gets progress.
    RETURNS (Outlook): Its data has the parameters.
    RAISES (ValueError): L406, L482, L486, L515; L564 if a training of the baseline would fail.
    """
    lines = read_lines(search.records)
    is_again = bool(lines) and options.storage is None and is_lost(search.output / STUDY)
    lines = [] if is_again else lines
    done = {k: line for line in lines if (k := str(line["key"])).startswith(f"{search.name}-")}
    n_left = max(options.n_trials - len(done), 0)
    if n_left:
        import_optuna()
        search.check()
    each = _each(search, options, [*done.values()], say) if n_left else None
    trials, steps = number(options.n_trials, "trial"), number(search.steps, "step")
    facts = [f"{trials} with the baseline's, {steps} each at most"]
    facts += [f"{len(done)} of them are finished."] if done else []
    facts += [f"{STUDY} is damaged or gone: all of them are run again."] if is_again else []
    facts += [ELSEWHERE] if options.storage and n_left else []
    parameters: list[JsonValue] = [
        {"name": p.name, "range": p.text, "baseline": str(p.baseline)} for p in search.space.parameters
    ]
    shown = [f"{p.name}: {p.text}; baseline {p.baseline}" for p in search.space.parameters]
    stages = [Stage("search", n_left, "trainings", each)]
    return Outlook(facts, stages, options.workers, shown, {"parameters": parameters})


def _each(
    search: Search, options: Options, done: list[dict[str, JsonValue]], say: Callable[[str], None]
) -> Estimate | None:
    """A trial's time: by those that are done, else by a probe of the baseline."""
    is_pruned = options.n_trials > STARTUP  # once so many are done
    seconds = [line["seconds"] for line in done if line.get("status") == "done"]
    own = [float(s) for s in seconds if isinstance(s, (int, float))]
    if own:
        basis = f"from {len(own)} finished trial{'s' * (len(own) > 1)}"
        found = Estimate(mean(own), basis, is_pruned)
    else:
        use_gpu(options.gpu_id)
        say("Measuring the baseline")
        probe = probe_training(fill(search.space.config, search.corpus, {}), options.gpu_id)
        probed = probe.training(count_tokens(part_path(search.corpus, "dev")))
        if probed is None:
            return None
        found = probed._replace(seconds=time_start() + probed.seconds, at_most=is_pruned)
    limit = None if options.minutes is None else MINUTE * options.minutes
    return found if limit is None else found.within(limit)
