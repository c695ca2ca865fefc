"""Checks of a config against a corpus: what `spacy train` would find out late, or not at all."""

import contextlib
import io
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_config, load_model_from_config, resolve_dot_names
from thinc.api import Config

from ...corpus.statistics.records import Statistics
from ...errors import SHIPPED_CONFIGS, Errors
from ...readers.base import check_dev_corpus
from ...types import Overrides
from ..limits import check_written
from ..train import filled_in, message_of, uncomputed_scores
from .checks import Check, Level, Results, listed, run_check

NERS = ("ner", "beam_ner", "longtail_ner", "longtail_token_ner", "longtail_gated_ner")
TYPE_SETTINGS = ("include", "labels", "weak_labels")  # of a component: lists of types
N_READ = 100  # examples, since a reader may be endless
N_UPDATE = 8  # examples


@dataclass(frozen=True)
class BuiltConfig:
    """A config that builds, and the corpus it is for."""

    path: Path
    given: Config  # with overrides, not interpolated
    nlp: Language
    statistics: Statistics  # of the corpus

    @cached_property
    def config(self) -> Config:
        """Filled and interpolated."""
        return self.nlp.config.interpolate()

    @property
    def training(self) -> Config:
        return self.config["training"]

    def reader(self, kind: str) -> Callable[[Language], Iterator[Example]]:
        """What reads train_corpus or dev_corpus."""
        return resolve_dot_names(self.config, [self.training[kind]])[0]


def check_config(
    path: Path,
    corpus: Path,
    statistics: Statistics,
    overrides: Overrides | None = None,
    update: bool = False,
) -> Iterator[Check]:
    """Everything that can be said of a config before a training.

    path (Path): The config. corpus (Path): A folder that `convert` wrote.
    statistics (Statistics): Of the corpus.
    overrides (Optional[Overrides]): Config values by dotted name, as in a training.
    update (bool): Whether to initialize the pipeline and make one update.
    YIELDS (Check): What was found; only the first problem where the config does not build.
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix=SHIPPED_CONFIGS))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            given = load_config(path, overrides=filled_in(path, corpus, overrides), interpolate=False)
            check_written(given)
            nlp = load_model_from_config(given, auto_fill=True)
    except Exception as error:  # a config can name any function, and each fails in its own way
        yield Check("fail", "Config", f"{path} does not build: {message_of(error)}")
        return
    built = BuiltConfig(path, given, nlp, statistics)
    yield Check("good", "Config", f"{path} builds: {', '.join(nlp.pipe_names)}.")
    yield from (Check("warn", "Config", str(warning.message)) for warning in caught)
    for function, section, good in CHECKS[: None if update else -1]:
        yield from run_check(function, section, good, built)


def check_declared(built: BuiltConfig) -> Results:
    """`train` fills [longtail] in from the corpus, `spacy train` does not."""
    written = load_config(built.path, interpolate=False).get("longtail", {})
    used = built.config.get("longtail", {})
    for key, own in (("labels", built.statistics.labels), ("tail", built.statistics.tail)):
        if written.get(key) is not None and set(written[key]) != set(own):
            text = f"[longtail] {key} = {written[key]} is not the corpus's {own}"
            fix = "`python -m spacy_longtail train` fills that in, `spacy train` does not"
            yield "warn", f"{text}. {fix}."
        unknown = set(used.get(key) or ()) - set(built.statistics.labels)
        if unknown:
            yield "fail", f"[longtail] {key} names types that the corpus lacks: {listed(unknown)}."


def check_readers(built: BuiltConfig) -> Results:
    for kind in ("train_corpus", "dev_corpus"):
        name = built.training[kind]
        try:
            with (
                warnings.catch_warnings(record=True) as caught,
                contextlib.redirect_stdout(io.StringIO()),  # a reader may print what it does
            ):
                warnings.simplefilter("always")
                examples = list(islice(built.reader(kind)(built.nlp), N_READ))
        except Exception as error:  # any reader, any error
            yield "fail", f"{name} cannot be read: {message_of(error)}"
            continue
        yield from (("warn", str(warning.message)) for warning in caught)
        if not examples:
            yield "fail", f"{name} yields no example."
        elif any(not isinstance(eg, Example) for eg in examples):
            yield "fail", f"{name} yields {type(examples[0]).__name__}, not Example."
        else:
            more = " or more" if len(examples) == N_READ else ""
            yield "good", f"{name} yields {len(examples)} examples{more}."


def check_dev(built: BuiltConfig) -> Results:
    try:
        check_dev_corpus(built.nlp)
    except ValueError as error:
        yield "fail", str(error)


def check_components(built: BuiltConfig) -> Results:
    """The types that each component is to learn, against what training has."""
    factories = {name: built.nlp.get_pipe_meta(name).factory for name in built.nlp.pipe_names}
    if not any(factory in NERS for factory in factories.values()):
        yield "fail", f"No component labels entities, found {', '.join(factories) or 'none'}."
    mentions = {t: own.mentions for t, own in built.statistics.parts["train"].types.items()}
    for name, factory in factories.items():
        block = built.config["components"][name]
        lists = {key: block[key] for key in TYPE_SETTINGS if isinstance(block.get(key), list)}
        if factory in NERS and "source" in built.given["components"][name]:
            yield _of_source(built, name, [t for t, n in mentions.items() if n])
        elif factory in NERS and not lists:
            yield "info", f"{name} ({factory}) learns all types."
        for key, labels in lists.items():
            yield "info", f"{name} ({factory}): {key} = {listed(labels)}."
            absent = [t for t in labels if not mentions.get(t)]
            if absent:
                yield "fail", f"{name}: {key} names types without a training mention: {listed(absent)}."
        if factory in NERS and built.training["max_epochs"] == -1:
            yield from _streamed(built, name)
    if built.training["max_epochs"] == -1 and not built.training["max_steps"]:
        yield "fail", "max_epochs = -1 with max_steps = 0 never ends. Set max_steps."


def _of_source(built: BuiltConfig, name: str, types: list[str]) -> tuple[Level, str]:
    """What a trained component learns, which spaCy does not initialize again.

    types (List[str]): Those with a training mention.
    """
    if name in built.training["frozen_components"]:
        return "info", f"{name} comes from a source and is frozen: it learns nothing."
    own = getattr(built.nlp.get_pipe(name), "labels", ())
    if strange := [t for t in types if t not in own]:
        text = f"{name} comes from a source that does not know the types {listed(strange)}"
        return "warn", f"{text}, and will not learn them. Add them there with add_label."
    return "info", f"{name} comes from a source and goes on to learn {listed(own)}."


def _streamed(built: BuiltConfig, name: str) -> Results:
    """With max_epochs = -1 spaCy shows 100 examples to each component before the training."""
    settings = built.config["initialize"]["components"].get(name, {})
    labels = settings.get("labels")
    path = labels.get("path") if isinstance(labels, dict) else None
    if not {"labels", "counts_corpus"} & settings.keys():
        text = f"{name} sees 100 examples before training and may miss rare types. Give it"
        fix = f"labels or, if it takes one, counts_corpus in [initialize.components.{name}]"
        yield "fail", f"{text} {fix}."
    if path and not Path(path).exists():
        yield "fail", f"{name} is to read its labels from {path}, which does not exist."


def check_scores(built: BuiltConfig) -> Results:
    weights = built.training["score_weights"]
    if not any(weights.values()):
        yield "fail", "No score has a weight above 0 in [training.score_weights]: any model is the best."
        return
    try:
        lost, known = uncomputed_scores(built.nlp, built.reader("dev_corpus"), weights)
    except Exception as error:  # any scorer, any error
        yield "fail", f"Scoring fails: {message_of(error)}"
        return
    if lost:
        text = f"[training.score_weights] weighs scores that nothing computes: {listed(lost)}"
        yield "fail", f"{text}. Computed: {listed(known)}."
        return
    total = sum(weight or 0.0 for weight in weights.values())
    shares = (f"{100 * weight / total:.3g} % {name}" for name, weight in weights.items() if weight)
    yield "good", f"Checkpoints are chosen by {', '.join(shares)}."


def check_update(built: BuiltConfig) -> Results:
    """Initialize as `spacy train` does, and train one batch."""
    training, losses = built.training, dict[str, float]()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            nlp = init_nlp(built.given)
            batch = list(islice(built.reader("train_corpus")(nlp), N_UPDATE))
            frozen, annotating = (training[f"{k}_components"] for k in ("frozen", "annotating"))
            nlp.update(batch, losses=losses, exclude=frozen, annotates=annotating)
    except Exception as error:  # any component, any error
        yield "fail", f"The first update fails: {message_of(error)}"
        return
    shown = ", ".join(f"{name} {loss:.4g}" for name, loss in losses.items())
    if all(math.isfinite(loss) for loss in losses.values()):
        yield "good", f"One update of {len(batch)} examples has finite losses: {shown}."
    else:
        yield "fail", f"The first update has no finite loss: {shown}. Lower weights or learning rate."


CHECKS = (
    (check_declared, "Config", ""),
    (check_readers, "Readers", ""),
    (check_dev, "Readers", "The dev corpus is read as it is."),
    (check_components, "Components", ""),
    (check_scores, "Scores", ""),
    (check_update, "Update", ""),  # the last: only if it is asked for
)
