"""How long the trials of a plan would take: by finished ones of the same method, else by a probe."""

import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from statistics import mean
from time import monotonic

from ...corpus.folder import part_path
from ...corpus.formats.docbin import count_tokens
from ...errors import Warnings
from ...output.estimates import MINUTE, Estimate, Outlook, Stage
from ...training.device import use_gpu
from ...training.probe import Probe, probe_training
from ...training.train import load_filled
from .child import SCORED
from .ledger import read_finished
from .plan import Trial
from .process import time_start
from .records import TrialRecord
from .run import Matrix, Options
from .storage import import_optuna

PROBING = 40.0  # seconds of probes, after which further methods are taken to be like those before
ELSEWHERE = "Trials that other machines have finished are not looked at."

Say = Callable[[str], None]
Group = tuple[str, str]  # method, and the corpus that its folds or itself are of


def estimate_trials(
    matrix: Matrix,
    options: Options,
    say: Say,
    *,
    keys: Iterable[str] | None = None,
    sources: Mapping[str, str] | None = None,
) -> Outlook:
    """Which trials are left, and how long they would take. Nothing is written but temporary files.

    matrix (Matrix): The trials. options (Options): How they would be run. say (Callable): Gets progress.
    keys (Optional[Iterable[str]]): Of the trials to count; null is all.
    sources (Optional[Mapping[str, str]]): Name of the corpus that each fold is of, by the fold's.
    RETURNS (Outlook): A stage for each method, and each corpus where there are several.
    RAISES (ValueError): L406, L432, L480, L515.
    """
    records = read_finished(matrix.output)
    among = list(matrix.trials if keys is None else keys)
    wanted = set(matrix.wanted(records, options, among))
    if wanted:
        import_optuna()
        use_gpu(options.gpu_id)
        matrix.check(key for key in among if key in wanted)
    clock = _Clock(matrix, options, records, dict(sources or {}), say)
    groups: dict[Group, list[str]] = {}
    for key in among:
        groups.setdefault(clock.group(matrix.trials[key]), []).append(key)
    left = {g: [key for key in own if key in wanted] for g, own in groups.items()}
    each = clock.estimates(left)
    several = len({source for _, source in left}) > 1
    stages = [
        Stage(f"{g[0]} on {g[1]}" if several else g[0], len(own), "trainings", each.get(g))
        for g, own in left.items()
    ]
    n_done = len(among) - len(wanted)
    facts = [f"{n_done} of {len(among)} trials are finished."] if n_done else []
    facts += [ELSEWHERE] if options.storage and wanted else []
    return Outlook(facts, stages, options.workers)


class _Clock:
    """Knows how long a trial of each group takes."""

    def __init__(
        self,
        matrix: Matrix,
        options: Options,
        records: Mapping[str, TrialRecord],
        sources: Mapping[str, str],
        say: Say,
    ) -> None:
        self.matrix, self.options, self.records, self.say = matrix, options, records, say
        self.sources = sources

    @cached_property
    def start(self) -> float:
        """Seconds until a trial's process does something."""
        return time_start()

    def group(self, trial: Trial) -> Group:
        return trial.method.name, self.sources.get(trial.corpus.name, trial.corpus.name)

    def estimates(self, groups: Mapping[Group, list[str]]) -> dict[Group, Estimate | None]:
        """Of a trial of each group. groups (Mapping[Tuple[str, str], List[str]]): Keys of its trials."""
        found = {g: self._by_records(g) for g in groups}
        begin = monotonic()
        measured: list[Estimate] = []
        unmeasured = []
        for g, keys in groups.items():
            if found[g] is not None or not keys:
                continue
            if measured and monotonic() - begin > PROBING:
                unmeasured.append(g)
            elif (estimate := self._by_probe(g, self._largest(keys))) is not None:
                found[g] = estimate
                measured.append(estimate)
        if unmeasured:
            usual = mean(estimate.seconds for estimate in measured)
            n = len(measured)
            basis = f"not measured: {'like the one that was' if n == 1 else f'the mean of {n} others'}"
            at_most = any(estimate.at_most for estimate in measured)
            found |= dict.fromkeys(unmeasured, Estimate(usual, basis, at_most))
        limit = None if self.options.minutes is None else self.options.minutes * MINUTE
        return {
            g: own if own is None or limit is None else own.within(limit) for g, own in found.items()
        }

    def _largest(self, keys: list[str]) -> Trial:
        """The trial with the most training data, of which batches are fullest."""
        draws = self.matrix.plan.draws
        trials = [self.matrix.trials[key] for key in keys]
        return max(trials, key=lambda t: -1 if t.draw is None else draws.index(t.draw))

    def _by_records(self, group: Group) -> Estimate | None:
        """By finished trials; of draws by those of the largest."""
        plan = self.matrix.plan
        largest = plan.draws[-1] if plan.draws else None
        own = [
            record
            for record in self.records.values()
            if (record.method, self.sources.get(record.corpus, record.corpus)) == group
            and record.is_done
            and record.steps_trained
            and record.draw == largest
        ]
        same = [r for r in own if (r.steps, r.training.patience) == (plan.steps, plan.patience)]
        if same:
            seconds, at_most = mean(r.seconds for r in same), False
        elif own:
            seconds = mean(r.seconds * plan.steps / r.steps_trained for r in own)
            at_most = bool(plan.patience)
        else:
            return None
        n = len(same or own)
        others = "" if same else " of other steps"
        basis = f"from {n} finished trial{'s' * (n > 1)}{others}"
        return Estimate(seconds, basis, at_most or len(plan.draws) > 1)

    def _by_probe(self, group: Group, trial: Trial) -> Estimate | None:
        self.say(f"Measuring {' on '.join(group)}")
        try:
            probe = probe_trial(trial, self.options.gpu_id)
        except ValueError as error:
            name = f"a training of {group[0]}"
            warnings.warn(Warnings.W104.format(name=name, problem=error), stacklevel=2)
            return None
        if (found := probe.training(_scored_words(trial))) is None:
            return None
        at_most = found.at_most or len(self.matrix.plan.draws) > 1
        return found._replace(seconds=self.start + found.seconds, at_most=at_most)


def probe_trial(trial: Trial, gpu_id: int = -1) -> Probe:
    """Its training, probed; arguments and errors as `probe_training` has them."""
    with tempfile.TemporaryDirectory(prefix="longtail-") as folder:
        path = Path(folder) / "config.cfg"
        trial.config().to_disk(path, interpolate=False)
        return probe_training(load_filled(path, trial.corpus), gpu_id)


def least_seconds(trial: Trial, gpu_id: int = -1) -> tuple[float, str]:
    """What a trial takes at least, and on how many updates that was measured, in words.

    trial (Trial): Of a plan. gpu_id (int): -1 is the CPU.
    RETURNS (Tuple[float, str]): 0 seconds where it is not known. RAISES (ValueError): L564.
    """
    probe = probe_trial(trial, gpu_id)
    return probe.least(_scored_words(trial)) or 0.0, probe.measured


def _scored_words(trial: Trial) -> int:
    return sum(count_tokens(part_path(trial.corpus, part)) for part in SCORED)
